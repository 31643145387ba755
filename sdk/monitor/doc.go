// Package monitor lets people and programs watch a node while it runs: it keeps what has happened, in bounded memory, and serves
// it over HTTP on this machine.
//
//	mon, err := monitor.New(monitor.Config{Fleet: fleet, Name: "ward-3"})
//	node, err := sdk.New(sdk.Config{ /* ... */ Observer: mon.Observer(sdk.Observer{})})
//	listener, err := monitor.Listen("127.0.0.1:0")
//	go monitor.Serve(ctx, listener, mon.Handler())
//	mon.Begin(node)
//	err = node.Run(ctx)
//	mon.End(err)
//
// What is served:
//
//	/         a page for people: where the node stands, its neighbors, and charts over the rounds; it keeps itself up to date
//	/status   the same as one JSON object, see [Status]
//	/history  the charts' numbers, see [History]
//	/metrics  for Prometheus, text format 0.0.4; every name starts with spade_edge_
//	/healthz  200 while the run has not failed, otherwise 503 and why it has
//	/readyz   200 while the node takes part: its oracle is ready, its run has begun and not ended, and at least one neighbor is
//	          connected, if it has any and the connections are known
//
// The page is one file with everything in it. It loads nothing, from nowhere, and its content security policy forbids it to.
//
// # Who may look
//
// Nobody has to say who they are, so only this machine is let in: [Listen] takes loopback addresses alone, and the handler refuses
// requests that come from elsewhere, that were passed on by a proxy, or whose Host is not this machine's (a page of
// a web site whose name has been pointed at 127.0.0.1 says its own name there). Nothing can be changed: only GET and HEAD are
// answered. There is no word of CORS, so no other web page can read along.
//
// # What the privacy guarantee does not cover
//
// Loss and accuracy on the device's own data ([Config.Score]), and how many losses could not be had, come from the data directly. In
// a private run they are in the page, /status and /history, each time marked as not covered, and not in /metrics: metrics are made
// to be collected elsewhere. Everything else there follows from releases, from public parameters, and from when messages come and
// go; timing is outside the guarantee.
package monitor
