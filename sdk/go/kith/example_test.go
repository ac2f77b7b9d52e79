package kith_test

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/kith-nearby/kith/sdk/go/kith"
)

// Alice and Bob are friends. Both report where they are, and Alice is shown Bob.
func Example() {
	node := realNode("alice", "bob")
	ctx, stop := context.WithTimeout(context.Background(), 30*time.Second)
	var running sync.WaitGroup
	defer running.Wait()
	defer stop()

	entered := make(chan kith.Friend, 10)
	alice := kith.New(kith.Options{
		URL:   node.url, // ws://HOST:PORT/v1/ws
		Token: node.token("alice"),
		OnFriends: func(m kith.Friends) {
			for _, f := range m.Near {
				entered <- f
			}
		},
	})
	bob := kith.New(kith.Options{URL: node.url, Token: node.token("bob")})
	running.Go(func() { _ = alice.Run(ctx) })
	running.Go(func() { _ = bob.Run(ctx) })

	accuracy := 12.0 // metres
	_, _ = alice.Fix(kith.Fix{Lat: 52.5200, Lng: 13.4050})
	_, _ = bob.Fix(kith.Fix{Lat: 52.5219, Lng: 13.4132, Accuracy: &accuracy})
	f := <-entered
	fmt.Printf("%s is %.0f m away, to %.0f m, at %.0f degrees\n", f.User, f.DistanceM, *f.Accuracy, f.Bearing)
	// Output: bob is 594 m away, to 12 m, at 69 degrees
}

// Carol asks Dan to be her friend; he accepts, but shows her only his area.
func ExampleClient_Friend() {
	node := realNode("carol")
	node.user("dan")
	ctx, stop := context.WithTimeout(context.Background(), 30*time.Second)
	var running sync.WaitGroup
	defer running.Wait()
	defer stop()

	there := make(chan string, 2)
	requests, answers := make(chan kith.Notice, 10), make(chan kith.Notice, 10)
	client := func(user string, notices chan kith.Notice) *kith.Client {
		c := kith.New(kith.Options{
			URL: node.url, Token: node.token(user),
			OnConnected: func(m kith.Connected) { there <- m.User },
			OnNotice:    func(n kith.Notice) { notices <- n },
		})
		running.Go(func() { _ = c.Run(ctx) })
		return c
	}
	carol, dan := client("carol", answers), client("dan", requests)
	<-there
	<-there

	fmt.Println(carol.Friend(ctx, "request", "dan"))
	n := <-requests
	fmt.Println("dan:", n.User, n.Op)
	fmt.Println(dan.Friend(ctx, "accept", n.User))
	n = <-answers
	fmt.Println("carol:", n.User, n.Op)
	fmt.Println(dan.Share(ctx, "carol", "area", 0))
	// Output:
	// <nil>
	// dan: carol requested
	// <nil>
	// carol: dan accepted
	// <nil>
}

// A fix may be made without a connection. Flush waits until all are on the
// node's disk.
func ExampleClient_Flush() {
	node := realNode("erin")
	ctx, stop := context.WithTimeout(context.Background(), 30*time.Second)
	var running sync.WaitGroup
	defer running.Wait()
	defer stop()

	erin := kith.New(kith.Options{URL: node.url, Token: node.token("erin"), Device: "watch"})
	for i := range 3 {
		_, _ = erin.Fix(kith.Fix{Lat: 52.52, Lng: 13.40 + float64(i)/1000})
	}
	fmt.Println("waiting:", erin.Stats().Pending)
	running.Go(func() { _ = erin.Run(ctx) })
	fmt.Println(erin.Flush(ctx))
	fmt.Println("acknowledged:", erin.Stats().Acked)
	// Output:
	// waiting: 3
	// <nil>
	// acknowledged: 3
}

// A token that the node does not take ends Run.
func ExampleClient_Run() {
	node := realNode("frank")
	frank := kith.New(kith.Options{
		URL:   node.url,
		Token: func(context.Context) (string, error) { return "made up", nil },
	})
	err := frank.Run(context.Background())
	var closed *kith.ClosedError
	if errors.As(err, &closed) {
		fmt.Println(closed.Code)
	}
	// Output: 4001
}
