package main

import (
	"context"
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/kith-nearby/kith/presence"
	"github.com/kith-nearby/kith/store"
)

func TestNames_AreBounded(t *testing.T) {
	n := newNames(nil)
	for i := range 3 * maxNames {
		n.remember(presence.PublicID(fmt.Sprint(i)), presence.UserID(i+1), 0)
		require.LessOrEqual(t, len(n.young)+len(n.old), 2*maxNames)
	}
	id, ok := n.known(presence.PublicID(fmt.Sprint(3*maxNames - 1)))
	require.True(t, ok)
	require.EqualValues(t, 3*maxNames, id)
	_, ok = n.known("0")
	require.False(t, ok)
}

// meanwhile is a store in which something happens while a user is being read.
type meanwhile struct {
	store.Users
	happens func()
}

func (m meanwhile) User(context.Context, presence.PublicID) (store.User, error) {
	m.happens()
	return store.User{ID: 7}, nil
}

// TestNames_WhatIsForgottenMeanwhileIsNotRemembered: the read began before the
// erase and ends after it.
func TestNames_WhatIsForgottenMeanwhileIsNotRemembered(t *testing.T) {
	erased := true
	n := newNames(nil)
	n.users = meanwhile{happens: func() {
		if erased {
			n.forget("ann")
		}
	}}
	_, err := n.resolve(t.Context(), []presence.PublicID{"ann"})
	require.NoError(t, err)
	_, ok := n.known("ann")
	require.False(t, ok, "the id of an erased user")
	erased = false
	_, err = n.resolve(t.Context(), []presence.PublicID{"ann"})
	require.NoError(t, err)
	id, ok := n.known("ann")
	require.True(t, ok)
	require.EqualValues(t, 7, id)
}
