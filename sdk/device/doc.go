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
// transport, takes the node through all rounds, and writes the certificate into the state folder. During the run:
//
//   - SIGHUP reloads the fleet file and applies its keys and addresses;
//   - the socket "control" in the state folder answers [AskStatus] and [AskStop];
//   - [Device.HTTP] serves the page of package monitor;
//   - a service manager receives the node's status (sd_notify);
//   - the run ends if every neighbor has a different fleet ([ErrMismatch]).
package device
