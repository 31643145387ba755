// Package fleetfile reads the two files behind a node, and writes the one that is shared.
//
// The fleet file is public and the same on every member: the run, its graph, its method and its privacy, and of each
// member the public keys and where it can be reached. All of it but keys and addresses is a [sdk.Fleet], whose hash two
// neighbors compare when they connect; keys and addresses may change during a run.
//
//	{
//	  "version": 1,
//	  "run": "ward-study",                  // 1 to 64 bytes
//	  "dim": 4,                             // parameters of the model
//	  "x0": {"zeros": true},                // or {"file": "x0.bin", "sha256": "..."}: float32, little endian
//	  "graph": {"edges": [["a", "b"]]},     // who talks to whom; connected
//	  "members": [
//	    {"name": "a", "keys": ["ed25519:..."], "addresses": ["wss://a.example:7443/"]},
//	    {"name": "b", "keys": ["ed25519:..."], "addresses": ["wss://b.example:7443/"]}
//	  ],
//	  "method": {"rounds": 50, "cooldown": 30, "tau": 2, "batch": 0, "rho": 1, "gain": 0.75, "eta": 0.8, "mu": 0.5,
//	             "estimator": "paper", "directions": "rademacher", "seed": 1},
//	  "privacy": {"clip": 0.1, "sigma": 0.9, "delta": 1e-5, "epsilon_limit": 8, "accounting": "gdp"},
//	  "wire": {"payload": "release", "grid_bits": 4},
//	  "task": {                             // what built-in models learn, and from what; as spade-edge fit writes it
//	    "fitted_on": "the public cohort of 2019",
//	    "source": "csv",                    // what a member's own data are: csv, idx or synthetic
//	    "columns": [{"name": "age"}, {"name": "ward", "categories": ["north", "south"]}],
//	    "label": "outcome", "classes": ["no", "yes"],
//	    "standardize": {"mean": [61.5, 0.5, 0.5], "std": [11.25, 0.5, 0.5]},
//	    "bias": true,
//	    "model": "softmax"                  // or "perceptron", and with it "hidden": 8 or so
//	  }
//	}
//
// In the method eta and mu are one number, or a list of one for each round; cooldown, batch, estimator, directions and
// seed may be left out, and so may epsilon_limit, accounting, and wire or parts of it: [sdk.Fleet] says what that
// means. A fleet without noise says so by name, {"non_private": true}, and nothing else in that place. A member that is
// dialed, which is one with a neighbor whose name sorts before its own, needs an address.
//
// A member has one key or two, the current one and the next. It may have "retired" keys, at most 8: they may not
// connect any more, but what they have signed while they could still counts, in certificates and elsewhere.
//
// The task is a [task.Recipe]; it may be left out, as it is in a fleet with models of its own. For images it has
// "pixels" in the place of columns and label. "subset": true leaves samples with other labels than the classes out,
// "pca" ({"mean": [...], "components": [[...], ...], "scale": 1}) comes after "standardize", and either may be left
// out. A perceptron needs a start that is not zero. The task is part of the hash: nodes that prepare their data in
// different ways refuse each other.
//
// The node file is private and stays on the device. Paths in it start from its own folder.
//
//	{
//	  "version": 1,
//	  "name": "a",                    // the member that this node is
//	  "fleet": "fleet.json",
//	  "key": "node.key",              // as keygen writes it
//	  "listen": "0.0.0.0:7443",       // may be left out if nobody dials this node
//	  "state": "state/",              // where the node keeps what it must not forget
//	  "ledger": "ledger.json",        // the lifetime ledger of its data set; for private fleets, and needed there
//	  "oracle": {"builtin": {"data": "csv:patients.csv"}},
//	  "http": "127.0.0.1:0"           // status, on loopback only; may be left out
//	}
//
// A device that can only dial out has, in place of listen, a broker: "transport": {"nats":
// "tls://broker.example:4222"}, with "credentials": "node.creds" if that wants to know who comes. Neighbors have to
// name the same one, no member needs an address, and the program is another, spade-edge-nats of the module
// transport/nats.
//
// The oracle is one of three: "builtin", a built-in model on the node's own data, of which "test_fraction" (0.2) are
// held back for tests, by "seed"; "stream", a program that answers query after query; or "oneshot", one that is started
// for each. Package scorer says what such a program has to do.
//
//	"oracle": {
//	  "stream": ["./scorer", "-fast"], // the program and its arguments
//	  "format": "json",                // of a stream: or "cbor"
//	  "start_seconds": 30,             // of a stream: how long until a process is ready
//	  "workers": 2,                    // processes side by side; 1 if left out
//	  "timeout_seconds": 30,           // how long until an answer
//	  "memory_mib": 512                // address space of each process; no limit if left out; Linux only
//	}
//	"oracle": {
//	  "oneshot": ["./scorer", "{params}", "{sample}"], // without {params} the parameters come on standard input
//	  "samples": 120                                   // how many there are; workers and limits as above
//	}
//
// Programs run in the node file's folder, so a path such as ./scorer starts there; a bare name is looked for in PATH.
//
// Four settings more may be given: "table" ("dense" or "seeded"), "average" (true or false), "linger_seconds" and
// "resend_seconds", see [Node].
//
// Both files are strict JSON, without comments. Unknown and repeated fields, wrong types and text behind the end are
// refused. Every fault of a file is told at once, with its place, what was found and what was wanted.
package fleetfile
