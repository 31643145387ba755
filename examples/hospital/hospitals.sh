#!/usr/bin/env bash
# Four real hospitals train a shared model from their files, as in README.md: tidy and split, fit, keygen, init, check, run (four
# processes), export, verify, evaluate at each hospital, predict for one patient. Then they do the same without noise, and each alone, to
# show the gain and the cost of privacy. The script takes some seconds, needs Go, bash, awk and the data, and leaves nothing behind:
#   bash examples/hospital/hospitals.sh [FOLDER of cleveland.csv, hungarian.csv, switzerland.csv and va.csv]
. "$(dirname "$0")/../scratch.sh"
data=${1:-$root/../shared/data/heart-four-hospitals}
hospitals='cleveland hungarian switzerland va'
for name in $hospitals; do
	if [ ! -r "$data/$name.csv" ]; then
		echo "hospitals.sh: skipped, there is no $data/$name.csv: give the folder of the four files (UCI Heart Disease, CC BY 4.0)"
		exit 0
	fi
done
fail() {
	printf 'hospitals.sh: %s\n' "$*" >&2
	tail -n 5 "$work"/*/log >&2 || true
	exit 1
}

(cd "$root" && CGO_ENABLED=0 go build -trimpath -o "$work/spade-edge" ./cmd/spade-edge)
edge=$work/spade-edge

step 'at each hospital: what was not measured is left empty, who is ill is said, and a quarter is kept for tests'
# The same patients every time: of four in a row with one outcome, a draw from a fixed seed keeps one. A cholesterol or a blood pressure
# of 0 was not measured; num is the degree of disease, from 1 to 4.
for name in $hospitals; do
	mkdir "$work/$name"
	awk -F, -v OFS=, -v train="$work/$name/train.csv" -v test="$work/$name/test.csv" '
		NR == 1 { for (i = 1; i <= NF; i++) at[$i] = i; $at["num"] = "ill"; print >train; print >test; next }
		{
			if ($at["chol"] == 0) $at["chol"] = ""
			if ($at["trestbps"] == 0) $at["trestbps"] = ""
			y = $at["num"] = $at["num"] > 0 ? "yes" : "no"
			if (seen[y]++ % 4 == 0) { seed = (seed * 69069 + 12345) % 4294967296; pick[y] = int(seed / 4294967296 * 4) }
			kept = (seen[y] - 1) % 4 == pick[y]
			if (kept) print >test; else print >train
			count[kept, y]++
		}
		END { printf "%d to learn from, %d ill; %d for tests, %d ill\n", count[0, "no"] + count[0, "yes"], count[0, "yes"], count[1, "no"] + count[1, "yes"], count[1, "yes"] }
	' "$data/$name.csv" | sed "s/^/$name: /"
done

step 'together: what a file is turned into, from a table that describes nobody'
"$edge" fit -data "csv:$here/agreed.csv" -label ill -onehot cp,restecg,slope,thal -missing indicator -test-fraction 0 \
	-fitted-on 'a table of usual values, of nobody' -out "$work/task.json"

step 'at each hospital: a key, and a ledger of what its data give away in their life'
port=$((20000 + $$ % 10000))
for name in $hospitals; do
	while (exec 3<>"/dev/tcp/127.0.0.1/$port") 2>/dev/null; do
		port=$((port + 1))
	done
	(
		cd "$work/$name"
		"$edge" keygen -name "$name" -address "127.0.0.1:$port" 2>/dev/null >>../members.txt
		"$edge" privacy -new-ledger ledger.json -dataset "patients of $name" -unit record -epsilon 2 -never-used >/dev/null
	)
	port=$((port + 1))
done
cat "$work/members.txt"

study() { # NAME MEMBERS flags: makes a fleet, and brings each member's files to where its key, ledger and patients are
	(cd "$work" && "$edge" init "$1" -members "$2" -graph complete -task task.json -data csv:train.csv -test-fraction 0 "${@:3}")
	for file in "$work/$1"/*/node.json; do
		to=$work/$(basename "$(dirname "$file")")
		cp "$work/$1/fleet.json" "$to/"
		# a separate folder for each run, and the patients by whom the hospital decides at its end
		sed "s/\"state\": \"state\"/\"state\": \"$1\"/; s/\"data\": \"csv:train.csv\"/&, \"held_out\": \"csv:test.csv\"/" "$file" >"$to/node.json"
	done
}
run() { # the four nodes, each a process, until each has its model
	pids=()
	for name in $hospitals; do
		(cd "$work/$name" && exec "$edge" run node.json >outcome 2>log) &
		pids+=($!)
	done
	for pid in "${pids[@]}"; do
		wait "$pid" || fail 'a node has failed'
	done
	pids=()
}
judge() { # MODEL: scores it at each hospital, on patients that no model was trained on
	for name in $hospitals; do
		(cd "$work/$name" && "$edge" export node.json -out "$1.json" >/dev/null && "$edge" evaluate "$1.json" -data csv:test.csv >"$1.judged")
	done
}
figure() { awk -v what="$3" '$1 == what { print $2 }' "$work/$1/$2.judged"; } # HOSPITAL MODEL WHAT

step 'one of them: the study, at epsilon 1 for each patient, against everybody else together'
records=$(for name in $hospitals; do echo $(($(wc -l <"$work/$name/train.csv") - 1)); done | paste -sd ,) # how many patients each has is public
study private members.txt -unit record -records "$records" -epsilon 1

step 'at each hospital: is all well?'
for name in $hospitals; do
	(cd "$work/$name" && "$edge" check node.json >checked) || fail "$(cat "$work/$name/checked")"
done
grep -v neighbor "$work/va/checked"

step 'run: four processes'
run
cat "$work/va/outcome"

step 'at each hospital: is the shared model any good here? Nobody else learns the answer'
for name in $hospitals; do
	printf '%s\n' "$name"
	sed -n '/^verdict/,/^ *(for this device only/p' "$work/$name/outcome"
	(cd "$work/$name" && "$edge" export node.json -accepted -out accepted.json >/dev/null) || echo '  (no model is accepted)'
done

step 'at each hospital: the model, its certificate, and what it is worth'
judge private
for name in $hospitals; do
	"$edge" privacy -verify "$work/$name/private.json.certificate.json" -fleet "$work/private/fleet.json" -ledger "$work/$name/ledger.json" >"$work/$name/verified" ||
		fail "the certificate of $name is wrong"
done
cat "$work/va/private.judged"

step 'at va: one patient, of whom much was not measured'
awk 'NR <= 2 { sub(/,[^,]*$/, ""); print }' "$work/va/test.csv" | tee "$work/va/patient.csv"
(cd "$work/va" && "$edge" predict private.json -data csv:patient.csv)

# Only in a trial: after a run without noise, no epsilon holds for this data.
step 'what privacy has cost: the same without noise'
study open members.txt -samples 170 -non-private -cooldown 10
run
judge open

step 'what there is to gain: each alone'
for name in $hospitals; do
	grep "\"$name\"" "$work/members.txt" >"$work/$name.txt"
	study "alone-$name" "$name.txt" -samples 170 -non-private >/dev/null 2>&1
done
run
judge alone

for what in AUC accuracy sensitivity specificity Brier; do
	step "$what, by each hospital's own held out patients"
	printf '%-12s %-8s %-8s %s\n' '' alone open private
	for name in $hospitals; do
		printf '%-12s %-8s %-8s %s\n' "$name" "$(figure "$name" alone $what)" "$(figure "$name" open $what)" "$(figure "$name" private $what)"
	done
done
awk "BEGIN { exit !($(figure hungarian open AUC) > 0.85) }" || fail 'without noise the model is worth less than it was'

for python in python3 /usr/bin/python3; do
	if "$python" -c 'import numpy' 2>/dev/null; then
		step 'numpy says the same of the held out patients'
		for name in $hospitals; do
			"$edge" predict "$work/$name/private.json" -data "csv:$work/$name/test.csv" -json |
				"$python" -c 'import json, sys; [print(row["probability"][1]) for row in json.load(sys.stdin)["rows"]]' >"$work/said"
			"$python" "$root/examples/scorer/predict.py" "$work/$name/private.json" "$work/$name/test.csv" | cut -d, -f2 | paste -d, "$work/said" - |
				awk -F, '{ d = $1 - $2; if (d < 0) d = -d; if (d > worst) worst = d } END { printf "%d patients, at most %.1g apart\n", NR, worst; exit NR == 0 || worst > 1e-6 }' ||
				fail "numpy says something else at $name"
		done
		break
	fi
done

step 'done'
