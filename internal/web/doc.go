// Package web is a server whose defaults are safe.
//
// A [Site] is a list of [Route]s under one [Base]. Every request goes the same
// way: the Host header is one of ours, the path has one spelling, no other
// site began the write, the sender has a name (an access.Party), the table
// allows it the route's action, and only then the handler runs. A handler
// returns its error; one place turns it into a response.
//
// What it promises: no route without an action; no rule is asked about a path
// that a later step would read differently; no redirect that leaves the base;
// every response carries the strict headers until a handler says otherwise;
// what came out of a booth is served in a sandbox; a response that failed half
// way is cut, never ended as if it were whole; no secret from an address
// reaches a log; a file is still sent by the kernel.
//
// What it does not: it knows no booth and renders no page. It does not speak
// TLS; a proxy in front may.
package web
