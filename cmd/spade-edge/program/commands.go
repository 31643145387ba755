// Package program is the program spade-edge over any transport: it trains one shared model on many devices, with no
// server, no gradients, no raw data leaving a device, and an account of what leaked. A main package says with [Main]
// over what its nodes meet, as spade-edge does over websockets and spade-edge-nats at a broker; all else is the same.
//
//	spade-edge demo        eight nodes with real websockets on this machine
//	spade-edge simulate    a network of any size in one process, on your data
//	spade-edge plan        what a run will take: rounds, bytes, memory, epsilon
//	spade-edge fit         how members prepare their data, fitted on public data
//	spade-edge keygen      the key of a node
//	spade-edge init        the files of a fleet
//	spade-edge fleet       members, keys, addresses and the next run of a fleet
//	spade-edge privacy     plan noise, verify a certificate, look after a ledger
//	spade-edge check       whether a node is fit to run
//	spade-edge run         one node of a fleet, on a device
//	spade-edge status      where a node stands, running or not
//	spade-edge stop        end a running node, to go on later
//	spade-edge export      a node's model in a file, with checksum and certificate
//	spade-edge predict     what an exported model says of new samples, and why
//	spade-edge evaluate    what an exported model is worth on labelled samples
//	spade-edge inspect     what is in a file or folder of a fleet
//	spade-edge completion  completion of commands, flags and files for a shell
//	spade-edge version     what this program was built from
//
// Each command explains itself with -h, and "spade-edge help TOPIC" what takes longer. With -json, one JSON object goes
// to standard output and everything else to standard error. Exit codes: 0 done, 1 failed, 2 wrong usage, 3 refused
// because a privacy budget is spent, 4 another fleet or state than the neighbors have.
package program

func init() { // completion and help look at all commands
	commands = []*command{
		{"demo", "eight nodes with real websockets on this machine", demo},
		{"simulate", "a network of any size in one process, on your data", simulate},
		{"plan", "what a run will take: rounds, bytes, memory, epsilon", planRun},
		{"fit", "how members prepare their data, fitted on public data", fit},
		{"keygen", "the key of a node", keygen},
		{"init", "the files of a fleet", initFleet},
		{"fleet", "members, keys, addresses and the next run of a fleet", fleetFiles},
		{"privacy", "plan noise, verify a certificate, look after a ledger", privacyRun},
		{"check", "whether a node is fit to run", checkNode},
		{"run", "one node of a fleet, on a device", runNode},
		{"status", "where a node stands, running or not", showStatus},
		{"stop", "end a running node, to go on later", stopNode},
		{"export", "a node's model in a file, with checksum and certificate", exportModel},
		{"predict", "what an exported model says of new samples, and why", predict},
		{"evaluate", "what an exported model is worth on labelled samples", evaluate},
		{"inspect", "what is in a file or folder of a fleet", inspectPath},
		{"completion", "completion of commands, flags and files for a shell", completion},
		{"version", "what this program was built from", version},
	}
}
