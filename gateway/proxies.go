package gateway

import (
	"fmt"
	"net/http"
	"net/netip"
	"slices"
	"strings"
)

// Proxies are the addresses whose X-Forwarded-For is believed. Everybody else
// could write anything there.
type Proxies []netip.Prefix

// ParseProxies reads addresses ("10.0.0.7") and ranges ("10.0.0.0/8").
func ParseProxies(list []string) (Proxies, error) {
	var proxies Proxies
	for _, s := range list {
		prefix, err := netip.ParsePrefix(s)
		if err != nil {
			addr, err := netip.ParseAddr(s)
			if err != nil {
				return nil, fmt.Errorf("%q is neither an address nor a range such as 10.0.0.0/8", s)
			}
			prefix = netip.PrefixFrom(addr, addr.BitLen())
		}
		proxies = append(proxies, prefix.Masked())
	}
	return proxies, nil
}

func (p Proxies) trusts(addr netip.Addr) bool {
	return slices.ContainsFunc(p, func(prefix netip.Prefix) bool { return prefix.Contains(addr) })
}

// maxHops bounds how much of X-Forwarded-For is read.
const maxHops = 16

// Client is the address of the client that sent r: the peer itself, or the last
// one named in X-Forwarded-For that is no trusted proxy. False if there is none
// to be had.
func (p Proxies) Client(r *http.Request) (netip.Addr, bool) {
	peer, err := netip.ParseAddrPort(r.RemoteAddr)
	if err != nil {
		return netip.Addr{}, false
	}
	addr := peer.Addr().Unmap()
	hops := strings.Split(strings.Join(r.Header.Values("X-Forwarded-For"), ","), ",")
	for i := len(hops) - 1; i >= 0 && i >= len(hops)-maxHops && p.trusts(addr); i-- {
		hop, err := netip.ParseAddr(strings.TrimSpace(hops[i]))
		if err != nil {
			break // a proxy wrote something else; the proxy is all that is known
		}
		addr = hop.Unmap()
	}
	return addr, true
}
