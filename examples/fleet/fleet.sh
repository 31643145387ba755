#!/usr/bin/env bash
# Runs a private fleet of five on this machine, from five keys to five models, as in README.md: keygen, init, check, run (one node is
# killed on the way), export, verify. It takes some seconds, needs Go, bash and common tools, and leaves nothing behind. Run it from
# anywhere: bash examples/fleet/fleet.sh
. "$(dirname "$0")/../scratch.sh"
fail() {
	printf 'fleet.sh: %s\n' "$*" >&2
	for log in "$work"/*/log; do
		printf -- '-- %s\n' "$log" >&2
		tail -n 5 "$log" >&2 || true
	done
	exit 1
}

step 'the program, static'
(cd "$root" && CGO_ENABLED=0 go build -trimpath -ldflags '-s -w' -o "$work/spade-edge" ./cmd/spade-edge &&
	go build -o "$work/compare" ./.ci/compare)
edge=$work/spade-edge
knows() { "$edge" help | grep -q "^  spade-edge $1 "; }
"$edge" version

# As in the Dockerfile: the program alone in an empty root folder.
jail=$work/jail
mkdir "$jail"
cp "$edge" "$jail/spade-edge"
if [ "$(id -u)" = 0 ] && chroot "$jail" /spade-edge version >/dev/null; then
	chroot "$jail" /spade-edge simulate -nodes 4 -graph ring -rounds 3 -cooldown 2 >/dev/null 2>&1 || fail 'does not work in an empty folder'
	echo 'works alone in an empty root folder'
elif unshare -r chroot "$jail" /spade-edge version >/dev/null 2>&1; then
	unshare -r chroot "$jail" /spade-edge simulate -nodes 4 -graph ring -rounds 3 -cooldown 2 >/dev/null 2>&1 || fail 'does not work in an empty folder'
	echo 'works alone in an empty root folder'
else
	echo 'skipped: no right to change the root folder here'
fi

if command -v systemd-analyze >/dev/null; then
	step 'the systemd unit'
	sed "s#/usr/local/bin/spade-edge#$edge#" "$here/spade-edge.service" >"$work/spade-edge.service"
	said=$(systemd-analyze verify "$work/spade-edge.service" 2>&1) || fail "$said"
	if printf '%s' "$said" | grep -F "$work/spade-edge.service"; then
		fail 'systemd has something to say about the unit'
	fi
	echo 'nothing to complain of'
fi

step 'five keys, each made on its device'
names='ward-1 ward-2 ward-3 ward-4 ward-5'
port=$((20000 + $$ % 10000))
for name in $names; do
	while (exec 3<>"/dev/tcp/127.0.0.1/$port") 2>/dev/null; do
		port=$((port + 1))
	done
	mkdir "$work/$name"
	(cd "$work/$name" && "$edge" keygen -name "$name" -address "127.0.0.1:$port") >>"$work/members.txt"
	port=$((port + 1))
done 2>/dev/null
cat "$work/members.txt"

step 'one fleet file'
(cd "$work" && "$edge" init study -members members.txt -graph ring -data synthetic:clinical -deal -partition iid \
	-rounds 150 -cooldown 40 -unit record -epsilon 1)
rounds=190
for name in $names; do
	cp "$work/study/fleet.json" "$work/study/$name/node.json" "$work/$name/"
	"$edge" privacy -new-ledger "$work/$name/ledger.json" -dataset "patients of $name" -unit record -epsilon 4 -never-used >/dev/null
done
cat "$work/study/fleet.json"

step 'check: all is well, and nobody is there yet'
for name in $names; do
	"$edge" check "$work/$name/node.json" >"$work/$name/check" || fail "$(cat "$work/$name/check")"
	grep -q 'not reachable (yet)' "$work/$name/check" || fail "$name reaches somebody who does not run"
done
cat "$work/ward-1/check"

step 'run: four nodes, then the fifth'
run() { # NAME
	"$edge" run -anyway "$work/$1/node.json" -json >"$work/$1/outcome.json" 2>>"$work/$1/log" &
	pids+=($!)
	eval "pid_${1//-/_}=$!"
}
for name in ward-1 ward-2 ward-3 ward-4; do run "$name"; done
lines() { cat "$work/$1/state/releases.log" 2>/dev/null | wc -l; }
reaches() { # NAME ROUNDS
	local end=$((SECONDS + 50)) # from here, so that the time of the build does not count
	until [ "$(lines "$1")" -ge "$2" ]; do
		[ "$SECONDS" -lt "$end" ] || fail "$1 does not get to round $2"
		sleep 0.02
	done
}
reaches ward-2 1 # whose two neighbors are there
reaches ward-3 1
"$edge" check "$work/ward-5/node.json" || fail 'ward-5 is not fit to run'
[ "$("$edge" check "$work/ward-5/node.json" | grep -c 'has the same fleet')" = 2 ] || fail 'ward-5 does not reach its two neighbors'
if knows status; then
	"$edge" status "$work/ward-1/node.json" -json | head -n 30
fi
if knows stop; then
	"$edge" stop "$work/ward-2/node.json" || fail 'ward-2 does not stop'
	run ward-2
fi
run ward-5

step 'one is killed, and goes on'
reaches ward-3 30
kill -9 "$pid_ward_3"
wait "$pid_ward_3" 2>/dev/null || true
at=$(lines ward-3)
[ "$at" -lt "$rounds" ] || fail 'the run was over before anybody was killed'
echo "killed after round $at of $rounds"
"$edge" export "$work/ward-3/node.json" -out "$work/halfway.npy" # of a node that is dead, and not done
run ward-3
for name in $names; do
	reaches "$name" "$rounds"
	eval "wait \"\$pid_${name//-/_}\"" || fail "$name has failed"
done
pids=()

step 'the models are taken home'
for name in $names; do
	"$edge" export "$work/$name/node.json" -out "$work/$name.npy" -json >"$work/$name/export.json"
	model=$(sed -n 's/.*"model_sha256": "\(.*\)".*/\1/p' "$work/$name/export.json")
	grep -q "\"model_sha256\": \"$model\"" "$work/$name/outcome.json" || fail "$name exports another model than it has run to"
	(cd "$work" && sha256sum -c "$name.npy.sha256")
	"$edge" privacy -verify "$work/$name.npy.certificate.json" -fleet "$work/study/fleet.json" -ledger "$work/$name/ledger.json" >"$work/$name/verified" || fail "$name's certificate is wrong"
	[ "$(lines "$name")" = "$rounds" ] || fail "$name has made $(lines "$name") releases, want $rounds"
done
tail -n 4 "$work/ward-3/verified"
grep -q -- '- countersigned by' "$work/ward-3/verified" || fail "no neighbor has countersigned the certificate of ward-3"
"$work/compare" -tolerance 0.01 "$work"/ward-*.npy

step 'done'
