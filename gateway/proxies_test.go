package gateway

import (
	"net/http"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestClientBehindProxies(t *testing.T) {
	proxies, err := ParseProxies([]string{"10.0.0.0/8", "192.0.2.7", "fd00::/8"})
	require.NoError(t, err)
	for _, c := range []struct {
		name, remote string
		forwarded    []string
		want         string
	}{
		{"no proxy", "203.0.113.5:99", nil, "203.0.113.5"},
		{"a client that makes something up", "203.0.113.5:99", []string{"198.51.100.1"}, "203.0.113.5"},
		{"one proxy", "10.1.2.3:99", []string{"198.51.100.1"}, "198.51.100.1"},
		{"what the client wrote itself is before that", "10.1.2.3:99", []string{"1.1.1.1, 198.51.100.1"}, "198.51.100.1"},
		{"two proxies, two headers", "192.0.2.7:99", []string{"1.1.1.1", "198.51.100.1, 10.9.9.9"}, "198.51.100.1"},
		{"only proxies", "10.1.2.3:99", []string{"10.0.0.1"}, "10.0.0.1"},
		{"no header", "10.1.2.3:99", nil, "10.1.2.3"},
		{"nonsense", "10.1.2.3:99", []string{"198.51.100.1, unknown"}, "10.1.2.3"},
		{"mapped", "[::ffff:10.1.2.3]:99", []string{"::ffff:198.51.100.1"}, "198.51.100.1"},
		{"IPv6", "[fd00::1]:99", []string{"2001:db8::5"}, "2001:db8::5"},
	} {
		t.Run(c.name, func(t *testing.T) {
			addr, ok := proxies.Client(&http.Request{RemoteAddr: c.remote, Header: http.Header{"X-Forwarded-For": c.forwarded}})
			require.True(t, ok)
			require.Equal(t, c.want, addr.String())
		})
	}
	_, ok := proxies.Client(&http.Request{RemoteAddr: "@"})
	require.False(t, ok)
	_, err = ParseProxies([]string{"10.0.0.0/33"})
	require.ErrorContains(t, err, "10.0.0.0/33")
}

func FuzzClientBehindProxies(f *testing.F) {
	proxies, _ := ParseProxies([]string{"10.0.0.0/8"})
	f.Add("10.0.0.1:5", "1.2.3.4, 10.0.0.2")
	f.Fuzz(func(t *testing.T, remote, forwarded string) {
		addr, ok := proxies.Client(&http.Request{RemoteAddr: remote, Header: http.Header{"X-Forwarded-For": {forwarded}}})
		require.Equal(t, ok, addr.IsValid())
	})
}
