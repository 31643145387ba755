// Package device turns the files of a node into a running node. It is the part that all programs share that run one
// node, whatever their transport is.
//
//	file, err := fleetfile.ReadNode("node.json")
//	d, err := device.Load(file)
//	d.Open = func(log *slog.Logger) (device.Link, error) { return ws.New(...) }
//	outcome, err := d.Run(ctx)
//
// [Device.Run] loads the data or starts the oracle's program, locks the state folder and the ledger, opens the
// transport, and takes the node through all rounds. While it runs:
//
//   - SIGHUP makes it read the fleet file again and take over its keys and addresses;
//   - the socket "control" in the state folder answers [AskStatus] and [AskStop];
//   - the page of package monitor is served at [Device.HTTP];
//   - the service manager is told how the node is, if there is one (sd_notify);
//   - the run ends when every neighbor has another fleet ([ErrMismatch]).
//
// At the end it writes the certificate into the state folder.
package device
