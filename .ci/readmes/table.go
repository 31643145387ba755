package main

// rule says how commands run that do not run as they are.
type rule struct {
	file, line string // a README, or empty for all; and a pattern of the command
	skip       string // why it is skipped
	before, as string // what runs before it, and what runs in its place
	data, slow bool   // whether it needs ../shared/data, and whether it takes minutes
}

// prelude is there for all commands.
const prelude = `members() { # PROGRAM NAME...
	local name
	for name in "${@:2}"; do "$1" keygen -name "$name" -out "$name.key" -address "$name.example:7443" 2>/dev/null; done >members.txt
}
`

const (
	others = "needs the other devices: fleet.sh, hospitals.sh and iot.sh have them"
	long   = "minutes to hours: results/ has what it prints"
)

// table has, for each command, the first rule that matches.
var table = []rule{
	{line: `@latest`, skip: "needs a published version: .ci/outside publishes one to a proxy of its own"},
	{line: `^docker|docker compose|^kubectl`, skip: "needs Docker or Kubernetes: .ci/validate checks the files"},
	{line: `^(useradd|install -d|chown|systemctl|cp .* /var/lib)`, skip: "changes the machine: .ci/debian installs the package in a root folder of its own"},
	{line: `^SPADE_\w+=|-fuzz `, skip: "a long test: .ci/README.md lists them"},
	{line: `^(cd transport/broker.* )?go test \./\.\.\.`, skip: "a step of .ci/run"},
	{file: ".ci/bench/README.md", line: `bench/run`, skip: "ten minutes on a quiet machine"},
	{file: ".ci/bench/README.md", line: `-gate|go test \.`, skip: "a step of .ci/run"},
	{file: ".ci/bench/README.md", line: `^go|^GOFLAGS`, slow: true},

	{file: "README.md", line: `init plant`, before: "members spade-edge gateway-1 gateway-2 gateway-3"},
	{file: "README.md", line: `check node.json`, skip: others},
	{file: "examples/adapter/README.md", line: `describe`, before: "head -c 407080 /dev/zero >base.bin"},
	{file: "examples/adapter/README.md", line: `init cameras`, before: "members spade-edge a b c d e f g h"},
	{file: "examples/browser/README.md", line: `http.server`, skip: "runs until it is stopped"},
	{file: "examples/browser/README.md", line: `init plant`, before: "members spade-edge-mqtt a b c"},
	{file: "examples/c/README.md", line: `sensor/run plant`, before: "for i in 1 2; do LD_LIBRARY_PATH=. ./sensor/run plant/node-$i/node.json & done"},
	{file: "examples/fleet/README.md", line: `init study .*-records`, before: `cp ../patients.csv .
spade-edge fit -data csv:patients.csv -label diagnosis -drop id -onehot ward -test-fraction 0 -fitted-on "made-up patients" -out task.json
members spade-edge ward-1 ward-2 ward-3 ward-4 ward-5`},
	{file: "examples/fleet/README.md", line: `(check|run|export) node.json|^sha256sum|-verify`, skip: others},
	{file: "examples/fleet/README.md", line: `-out ward-\$i.key`, before: "rm -rf study ward-*.key"},
	{file: "examples/fleet/README.md", line: `mkdir keys`, before: "rm -rf study ward-*.key"},
	{file: "examples/hospital/README.md", line: `hospitals.sh`, skip: "a step of .ci/run"},
	{file: "examples/hospital/README.md", line: `init private`, before: "members spade-edge cleveland hungarian switzerland va"},
	{file: "examples/hospital/README.md", line: `(check|run|export) node.json|-verify|private.json -data`, skip: others},
	{file: "examples/iot/README.md", line: `init plant`, before: "members spade-edge-mqtt sensor-1 sensor-2 sensor-3"},
	{file: "examples/iot/README.md", line: `(check|run) node.json`, skip: others},
	{file: "transport/broker/mqtt/README.md", line: `init plant`, before: "members spade-edge-mqtt a b c"},
	{file: "transport/broker/mqtt/README.md", line: `check node.json`, skip: others},
	{file: "transport/broker/nats/README.md", line: `init plant`, before: "members spade-edge-nats a b c"},
	{file: "transport/broker/nats/README.md", line: `run node.json`, skip: others},
	{file: "examples/python/README.md", line: `pip install`, skip: "fetches setuptools: .ci/run makes a wheel without"},
	{file: "examples/paper/README.md", line: `quick`, as: `go run . quick -data "$DATA"`, data: true, slow: true},
	{file: "examples/paper/README.md", line: `patients`, as: `go run . patients -data "$DATA"`, data: true, slow: true},
	{file: "examples/paper/README.md", line: `compare`, as: "go run . compare -data csv:../patients.csv -label diagnosis -drop id -onehot ward"},
	{file: "examples/paper/README.md", line: `go run`, skip: long},
}
