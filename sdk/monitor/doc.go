// Package monitor lets people and programs watch a node while it runs. It records the run in bounded memory and serves
// it over HTTP on this machine.
//
//	mon, err := monitor.New(monitor.Config{Fleet: fleet, Name: "ward-3"})
//	node, err := sdk.New(sdk.Config{ /* ... */ Events: mon.Events()})
//	listener, err := monitor.Listen("127.0.0.1:0")
//	go monitor.Serve(ctx, listener, mon.Handler())
//	mon.Begin(node)
//	err = node.Run(ctx)
//	mon.End(err)
//
//	/         a page for people: the node's state, its neighbors, and charts over the rounds
//	/status   the node's state as one JSON object, see [Status]
//	/history  the numbers of the charts, one [Point] per round
//	/metrics  for Prometheus, see [Metrics]
//	/healthz  200 while the run has not failed, otherwise 503 and the error
//	/readyz   200 during the run, unless the node has neighbors and all are known to be disconnected; otherwise 503
//
// There is no authentication, so [Listen] accepts only loopback addresses, and [Guard] refuses requests from
// elsewhere. Only GET and HEAD are allowed. The page loads nothing from other origins, and no CORS header lets other
// pages read it.
//
// Loss and accuracy on the device's data ([Config.Score]) and the number of failed queries come directly from the data,
// and the privacy guarantee does not cover them; the number of all queries reveals the number of samples. In a private
// run the page, /status and /history show these values and mark loss, accuracy and failed queries as not covered.
// /metrics does not have these values, because a collector takes metrics off the machine. All other values follow from
// releases, public parameters, and the times of messages; timing is outside the guarantee.
package monitor
