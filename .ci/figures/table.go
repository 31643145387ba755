package main

import (
	"cmp"
	"fmt"
	"regexp"
	"slices"
	"strings"
)

// Parts of commands and patterns.
const (
	alzheimers = "-data csv:../shared/data/alzheimers/alzheimers_disease_data.csv -label Diagnosis -drop PatientID,DoctorInCharge" +
		" -onehot Ethnicity,EducationLevel"
	hearts  = "heart-four-hospitals"
	fashion = "-data idx:../shared/data/fashion-0-1 -pca 10"
	private = " -nodes 31 -partition dirichlet:0.3 -epsilon 8 "
	records = " -nodes 10 -partition iid -graph complete -unit record "
	value   = ` ([\d.]+) `
)

// table has the figures that a machine can measure again. Those of whole pages have programs of their own: .ci/bench writes
// results.md, whose ratios a gate checks, and tests of examples/paper compare its pages with results/*.csv.
var table = append([]figure{
	{"README.md", `sent +([\d.]+) KiB in all: 50 rounds`, "spade-edge demo", `sent +([\d.]+) KiB in all`, 10, "", false}, // its noise is real,
	{"README.md", `average +([\d.]+) % +([\d.]+) %`, "spade-edge demo", `average +([\d.]+) % +([\d.]+) %`, 2, "", false},
	{"README.md", `pooled +3200 +([\d.]+) %`, "spade-edge demo", `pooled +3200 +([\d.]+) %`, 0.05, "", false},
	accuracy(`Fashion-MNIST ([\d.]+) \(before: 95\.31\)`, fashion+private+"-graph er:0.3 -colluders 1 -seeds 1..4", 0.1, "fashion-0-1"),
	accuracy(`with and without: Alzheimer's ([\d.]+) and`, alzheimers+" -nodes 31 -graph complete -colluders 1 -seeds 1..4", 0.1, "alzheimers"),
	accuracy(`with and without: Alzheimer's [\d.]+ and ([\d.]+), Fashion`, alzheimers+" -nodes 31 -graph complete -colluders 1 -absent 0 -seeds 1..4", 0.1, "alzheimers"),
	accuracy(`, Fashion-MNIST ([\d.]+) and [\d.]+\.`, fashion+" -nodes 31 -graph complete -colluders 1 -seeds 1..4", 0.1, "fashion-0-1"),
	accuracy(`, Fashion-MNIST [\d.]+ and ([\d.]+)\.`, fashion+" -nodes 31 -graph complete -colluders 1 -absent 0 -seeds 1..4", 0.1, "fashion-0-1"),
	accuracy(`Alzheimer's, own \| 83.7 \|`+value, alzheimers+records+"-epsilon 1 -seeds 1..5", 0.1, "alzheimers"),
	accuracy(`Alzheimer's, own \| 83.7 \| [\d.]+ \|`+value, alzheimers+records+"-epsilon 2 -seeds 1..5", 0.1, "alzheimers"),
	accuracy(`Alzheimer's, shared \| 83.7 \|`+value, alzheimers+records+"-epsilon 1 -colluders 1 -seeds 1..5", 0.1, "alzheimers"),
	accuracy(`Alzheimer's, shared \| 83.7 \| [\d.]+ \|`+value, alzheimers+records+"-epsilon 2 -colluders 1 -seeds 1..5", 0.1, "alzheimers"),
	accuracy(`Fashion-MNIST, shared \(seeds 1 to 10\) \| \|`+value, fashion+records+"-epsilon 1 -colluders 1 -seeds 1..10", 0.1, "fashion-0-1"),
	{"examples/fleet/README.md", `image of about ([\d.]+) MB`, `wc -c <"$TMPDIR/spade-edge" | awk '{printf "%.1f\n", $1/1e6}'`, `([\d.]+)`, 0.3, "", false},
	{"examples/c/README.md", `for amd64 has ([\d,]+) bytes`, "cd examples/c && CGO_ENABLED=1 go build -trimpath -ldflags='-s -w' -buildmode=c-shared -o " +
		"$TMPDIR/libspade_edge.so . && wc -c <$TMPDIR/libspade_edge.so", `(\d+)`, 500_000, "", false},
	{"examples/hospital/README.md", `40 releases, ([\d.]+) KiB sent`, "bash examples/hospital/hospitals.sh", `40 releases, ([\d.]+) KiB sent`, 1.5, hearts, false},
	{"examples/hospital/README.md", `cleveland \| ([\d.]+) \| ([\d.]+) (?s:.*?)hungarian \| ([\d.]+) \| ([\d.]+) (?s:.*?)switzerland \| ([\d.]+) \| ([\d.]+) ` +
		`(?s:.*?)va \| ([\d.]+) \| ([\d.]+) `, "bash examples/hospital/hospitals.sh", `AUC, by.*\n.*\ncleveland +(\S+) +(\S+) .*\nhungarian +(\S+) +(\S+) .*\n` +
		`switzerland +(\S+) +(\S+) .*\nva +(\S+) +(\S+) `, 0.0006, hearts, false},
	{"examples/hospital/README.md", `city   alone is right about (\d+) %.*\n.* about (\d+) % .*with.*\n.* about (\d+) % .*with`, "go run ./examples/hospital",
		`city   alone is right about (\d+) %.*\n.* about (\d+) % .*with.*\n.* about (\d+) % .*with`, 0.5, "", false},
	{"examples/fleet/README.md", `W = 2 and W = 8 both gave ([\d.]+) %`, "spade-edge simulate -data idx:../shared/data/mnist-6-7 -pca 10 -nodes 100 -epsilon 8 -seeds 1..5 -grid-bits 2",
		mean, 0.1, "mnist-6-7", false},
	{"README.md", `MNIST 6/7, epsilon 8: (\d+) %`, "spade-edge simulate -data idx:../shared/data/mnist-6-7 -pca 10 -nodes 100 -epsilon 8 -seeds 1..2", mean, 0.5, "mnist-6-7", false},
	{"sdk/DEFAULTS.md", `ring of 31 \| 1617 \| (\d+) (?s:.*)\| 600 \| (\d+) (?s:.*)\| 863 \| (\d+) (?s:.*)\| 180 \| (\d+) (?s:.*)\| 13,344 \| (\d+) (?s:.*)\| 616 \| (\d+) `,
		"go test ./sdk/plan -run RoundsOfMessages -v", strings.Repeat(`partners, (\d+) by default(?s:.*)`, 6), 0, "", false},
	{"sdk/DEFAULTS.md", `of the (\d+) to which the table was not fitted, (\d+) lie(?s:.*)Of (\d+) that were made after the table, (\d+) lie within its interval; of the (\d+)\n.*, (\d+) do`,
		"go test ./sdk/plan -run ForecastIntervals -v | sed -E 's/.*map.client:([0-9]+) fresh:([0-9]+) .*records:([0-9]+) record.*map.client:([0-9]+) fresh:([0-9]+) .*records:([0-9]+) record.*/\\4 \\1 \\5 \\2 \\6 \\3/'",
		`(\d+) (\d+) (\d+) (\d+) (\d+) (\d+)\n`, 0, "", false},
	{"examples/scorer/README.md", `took ([\d.]+) us with CBOR and .score.c.; in Python, ([\d.]+) us with JSON and ([\d.]+) us`, "cat .ci/bench/results.md",
		`(?s)scorer in C, CBOR, d = 1,000: a query, released \| ([\d.]+) us.*a query, JSON \| ([\d.]+) us \| ([\d.]+) us`, 0.05, "", false},
	{"examples/python/README.md", `a query takes ([\d.]+) times as long`, "cat .ci/bench/results.md", `scorer in numpy .* in C \| ([\d.]+) `, 0.005, "", false},
	{".ci/bench/results.md", `program, released \| ([\d.]+) MB`, `wc -c <"$TMPDIR/spade-edge" | awk '{printf "%.1f\n", $1/1e6}'`, `([\d.]+)`, 0.3, "", false},
	{"sdk/DEFAULTS.md", `Brain Tumor ([\d.]+)\.\n`, "spade-edge simulate -data idx:../shared/data/brain-tumor-64 -pca 20" + private +
		"-graph er:0.3 -colluders 1 -seeds 1..4", mean, 0.1, "brain-tumor-64", true},
	adapters(), queries(),
	{"examples/browser/README.md", `has ([\d.]+) MB, ([\d.]+) MB with gzip`, "cd examples/browser && GOOS=js GOARCH=wasm go build -trimpath -ldflags='-s -w' -o " +
		`$TMPDIR/member.wasm . && for pack in cat gzip; do $pack <$TMPDIR/member.wasm | wc -c | awk '{printf "%.1f\n", $1/1e6}'; done`, `([\d.]+)\n([\d.]+)`, 0.3, "", false},
}, slices.Concat(rings(), steps(), flamby())...)

const mean = `mean accuracy.*\n\S+ +\d+ +([\d.]+) %`

// adapters returns the entry of the first table of examples/adapter.
func adapters() figure {
	const biases, space = "SPADE-Edge, the biases", "SPADE-Edge, random subspace"
	line, pick := `the frozen network \| \| \| ([\d.]+) %`, `(?s)the frozen network +([\d.]+) %`
	for _, row := range [][2]string{{"pooled, gradients", "none"}, {"pooled, gradients, the biases", "none"}, {biases, "none"}, {biases, "each digit, epsilon 4"},
		{biases, "each member's digits, epsilon 4, pairwise noise"}, {"pooled, gradients, random subspace", "none"}, {space, "none"},
		{space, "each digit, epsilon 4"}, {space, "each member's digits, epsilon 4, pairwise noise"}} {
		line += `(?s:.*?)\| ` + row[0] + ` \| [\d,]+ \| ` + row[1] + ` \| ([\d.]+) %`
		pick += `.*?\n` + row[0] + ` +\d+ +` + row[1] + ` +([\d.]+) %`
		if row[0] == biases || row[0] == space {
			line += ` \| ([\d,]+)`
			pick += ` +(\d+) bytes`
		}
	}
	return figure{"examples/adapter/README.md", line, "cd examples/adapter && go run ./digits", pick, 0.05, "", true}
}

// flamby returns the entries of FLamby's tables, and of the documents that quote them.
func flamby() []figure {
	const page, rival, value = "examples/paper/results/flamby/README.md", "DP-FedAvg of one step (DP-FedSGD), local noise", `([\d.]+) ± `
	rows := func(column, scale string) string { // without noise, at epsilon 4 and at 1: hearts, then cancers
		return `awk -F' *[|] *' '/^\| agreed values \| (no noise|4 \| 0.0001|1 \| 0.0001) / {print $` + column + `/` + scale + `}' ` + page
	}
	var measured string
	for range 2 { // tables
		for _, row := range []string{"agreed values | no noise | ", "each client's own standardization | no noise | ", "agreed values | 4 | 0.0001", "agreed values | 1 | 0.0001",
			"each client's own standardization | 1 | 0.0001", "agreed values, noise shared by pairs | 1 | 0.0001", rival + " | 4 | 0.0001", rival + " | 1 | 0.0001"} {
			measured += `(?s:.*?)` + regexp.QuoteMeta("| "+row) + ` ?\| ` + value + `.*? \| ` + value
		}
	}
	return []figure{
		{page, measured, "cd examples/paper && go run . flamby -data ../../../shared/data -out $TMPDIR >&2 && cat $TMPDIR/flamby/README.md", measured, 0.05, "flamby", true},
		{"README.md", `hearts, epsilon 1: (\d+)% right; no noise: (\d+)%`, rows("5", "1") + " | tac", `(?s)(\S+)\n\S+\n(\S+)\n$`, 0.5, "", false},
		{"README.md", `cancer survival: C-index ([\d.]+); ([\d.]+) \(`, rows("5", "100") + " | tac", `^(\S+)\n\S+\n(\S+)\n`, 0.005, "", false},
		{"examples/paper/README.md", `([\d.]+) % right without noise, ([\d.]+) with each patient at\s+epsilon 1 .*C-index ([\d.]+) without noise, ([\d.]+) at ` +
			`epsilon 4 and ([\d.]+) at epsilon 1`, rows("5", "1"), `^(\S+)\n\S+\n(\S+)\n(\S+)\n(\S+)\n(\S+)\n`, 0.05, "", false},
		{"examples/paper/README.md", `on all test rows together ([\d.]+), ([\d.]+) and ([\d.]+)\.`, rows("6", "1"), `(\S+)\n(\S+)\n(\S+)\n$`, 0.05, "", false},
	}
}

// accuracy returns an entry for a mean accuracy in sdk/DEFAULTS.md, with the flags of spade-edge simulate.
func accuracy(line, flags string, tolerance float64, needs string) figure {
	return figure{"sdk/DEFAULTS.md", line, "spade-edge simulate " + flags, mean, tolerance, needs, false}
}

// rings returns the entries of the tables about a ring of 31 and about mixing.
func rings() (all []figure) {
	for _, row := range [][2]string{{"| 1 | 2 neighbors (`-partners 0`) |", "-colluders 1 -partners 0"}, {"| 1 | 30 others |", "-colluders 1"},
		{"| 5 | 30 others (with neighbors refused) |", "-colluders 5"}, {"| 10 | 30 others (with neighbors refused) |", "-colluders 10"}} {
		line, flags := regexp.QuoteMeta(row[0]), " -nodes 31 -graph ring -seeds 1..3 "+row[1]
		plan := "spade-edge plan -nodes 31 -graph ring -dim 100 " + row[1]
		all = append(all,
			figure{"sdk/DEFAULTS.md", line + value, plan + ` -json | awk -F'[:,]' '/"clip"/ {c = $2} /"sigma"/ {s = $2} END {printf "%.2f\n", s/c}'`, `([\d.]+)`, 0.01, "", false},
			figure{"sdk/DEFAULTS.md", line + ` [\d.]+ \|` + value, plan, `, ([\d.]+) with all`, 0.05, "", false},
			accuracy(line+` [\d.]+ \| [\d.]+ \|`+value, fashion+flags, 0.1, "fashion-0-1"),
			accuracy(line+` [\d.]+ \| [\d.]+ \| [\d.]+ \|`+value, alzheimers+flags, 0.1, "alzheimers"))
	}
	for _, row := range [][2]string{{"ring of 31", "-nodes 31 -graph ring"}, {"er:0.3, N = 31", "-nodes 31 -graph er:0.3"},
		{"grid 5x6", "-nodes 30 -graph grid:5x6"}, {"complete, N = 10", "-nodes 10 -graph complete"}} {
		flags := fmt.Sprintf(" -partition dirichlet:0.3 -colluders 1 -partners 0 -seeds 1..4 %s", row[1])
		line := regexp.QuoteMeta("| "+row[0]+" |") + ` \S+ \| \d+ \|`
		all = append(all, accuracy(line+` [\d.]+, ([\d.]+) \|`, alzheimers+flags, 0.1, "alzheimers"),
			accuracy(line+` [\d.]+, [\d.]+ \| [\d.]+, ([\d.]+) \|`, fashion+flags, 0.1, "fashion-0-1"))
	}
	return all
}

// queries returns the entry of the second table of examples/adapter, which the command prints as it is.
func queries() figure {
	const value, rest = ` ([\d.]+) \|`, ` \|\n`
	var rows string
	for _, numbers := range []int{64, 128, 256, 512, 1024} {
		for _, digits := range []int{20, 60} {
			start := fmt.Sprintf(`\| %d \| %d \| `, numbers, digits)
			rows += start + `paper \|` + strings.Repeat(value, 5) + rest + start + `tracking \|` + strings.Repeat(value, 6) + `\n`
		}
	}
	return figure{"examples/adapter/README.md", rows, "cd examples/adapter && go run ./digits -queries", rows, 0.05, "", true}
}

// steps returns the entries of the table of step sizes: a row's name in the document, and in .ci/steps.
func steps() (all []figure) {
	for _, row := range [][2]string{{"Fashion-MNIST, N = 31"}, {"Fashion-MNIST, N = 8", "Fashion-MNIST, N = 8, complete"}, {"Brain Tumor, N = 31"},
		{"Alzheimer's, N = 31"}, {"Alzheimer's, N = 10", "Alzheimer's, N = 10, complete"}, {"generated clinics", "generated clinics, N = 50"},
		{"MNIST 6/7", "MNIST 6/7, N = 31"}, {"four hospitals"}, {"patients.csv", "patients.csv, N = 4"}, {"perceptron on clinics", "perceptron on generated clinics, N = 50"}} {
		name, sizes, slow := cmp.Or(row[1], row[0]), 7, false
		if row[0] == "Brain Tumor, N = 31" {
			sizes, slow = 5, true // diverges beyond
		}
		all = append(all, figure{"sdk/DEFAULTS.md", `(?m)^` + row[0] + strings.Repeat(` +([\d.]+)`, sizes+1) + `$`, `go run ./.ci/steps -private-seeds 1..1 "` + name + `" || true`, // its goals are for all tasks
			`(?m)^\| ` + name + ` \| [\d.]+ \|` + strings.Repeat(` ([\d.]+) \|`, sizes) + `.* ([\d.]+) \|$`, 0.1, "alzheimers", slow})
	}
	return all
}
