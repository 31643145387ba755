// Package device turns the files of a node into a running node, over any transport.
//
//	file, err := fleetfile.ReadNode("node.json")
//	d, err := device.Load(file)
//	d.Open = func(log *slog.Logger) (device.Link, error) {
//		return ws.New(ws.ConfigOf(d.Fleet, file.Name, d.Key, file.Listen)) // or package nats or mqtt
//	}
//	outcome, err := d.Run(ctx)
//
// [Device.Run] loads the data or starts the oracle's program, locks the state folder and the ledger, opens the
// transport, takes the node through all rounds, and writes the certificate into the state folder. While it runs:
//
//   - SIGHUP makes it read the fleet file again and take over its keys and addresses;
//   - the socket "control" in the state folder answers [AskStatus], [AskEnd] and [AskStop];
//   - the page of package monitor is served at [Device.HTTP];
//   - a service manager is notified of its status (sd_notify);
//   - the run ends when every neighbor has another fleet ([ErrMismatch]).
package device
