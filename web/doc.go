// Package web is Kith's pages: the map at the node's public port, built from src
// by build.mjs into dist, which is committed and embedded.
//
// Invariants:
//
//	W1  The page loads nothing and sends nothing anywhere but to the node that
//	    served it, and to the tile server if the operator set one. The
//	    Content-Security-Policy says so, and so does a test with a browser.
//	W2  No script and no style stands in the page itself: the policy has no
//	    unsafe-inline and no unsafe-eval.
//	W3  A file under /assets has the hash of its content in its name and may be
//	    kept for ever; the page itself is asked for each time, by its ETag.
//	W4  All files together are below 400 KB as they cross the network.
//	W5  dist is what src makes.
//	W6  A token stands only in the URL's fragment, which browsers do not send,
//	    and leaves the address bar at once.
package web
