#!/usr/bin/env bash
# Runs fleets on five hosts of one machine: each host is a network namespace with an address and a cable to a switch. A fleet without
# privacy runs first, then a private one. During each run a cable is unplugged and plugged in again, a node is killed and restarted, and
# a host changes its address. The first fleet's models must equal those of a quiet run, bit for bit, and the second fleet's certificates
# must be valid. Before that, the first fleet runs in networks like those of hospitals: one site accepts no connections, and one reaches
# the others only through a proxy. This needs nftables and tinyproxy; the script prints what it skips.
#
# It needs Linux, Go, bash, iproute2 and util-linux, and root or the right to create user namespaces; if something is missing, it says so
# and exits with status 0. It takes less than two minutes and changes no interface of the machine: its namespaces end with the processes
# in them. Run it from anywhere: bash examples/fleet/hosts.sh
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)
root=$(cd "$here/../.." && pwd)
hosts='1 2 3 4 5'
fleets='open private'
limit=110 # seconds for the nodes

step() { printf '\n== %s\n' "$*"; }
skip() {
	printf 'skipped: %s\n' "$*"
	exit 0
}

# Outside: check the requirements, build the programs, and create the namespaces in which this script starts again.
outside() {
	[ "$(uname)" = Linux ] || skip 'network namespaces are a thing of Linux'
	local tool
	for tool in ip unshare mount; do
		command -v "$tool" >/dev/null || skip "no $tool here (Debian: apt-get install iproute2 util-linux)"
	done
	walls=(--net --mount --pid --fork --kill-child --mount-proc)
	[ "$(id -u)" = 0 ] || walls+=(--user --map-root-user)
	# Two hosts and a cable, before anything is built: whether everything needed is available.
	local said
	said=$(unshare "${walls[@]}" bash "$here/hosts.sh" try 2>&1) || skip "no network namespaces here: $said"

	work=$(mktemp -d)
	inside=
	trap leave EXIT
	trap 'exit 130' INT
	trap 'exit 143' TERM HUP
	step 'the program'
	(cd "$root" && CGO_ENABLED=0 go build -trimpath -ldflags '-s -w' -o "$work/spade-edge" ./cmd/spade-edge &&
		go build -o "$work/compare" ./.ci/compare)
	"$work/spade-edge" version
	unshare "${walls[@]}" bash "$here/hosts.sh" in "$work" &
	inside=$!
	wait "$inside"
}
leave() {
	[ -z "$inside" ] || kill -9 "$inside" 2>/dev/null || true # --kill-child ends everything in it
	wait 2>/dev/null || true
	rm -rf "$work"
}

# In a separate mount namespace, `ip netns` keeps its names in a separate /run.
settle() {
	mount -t tmpfs tmpfs /run
	ip link set lo up
}
host() { # NAME ADDRESS: a host on the switch
	ip netns add "$1"
	ip -n "$1" link set lo up
	ip link add "to-$1" type veth peer name eth0 netns "$1"
	ip link set "to-$1" master switch up
	ip -n "$1" addr add "$2/24" dev eth0
	ip -n "$1" link set eth0 up
}

case ${1-} in
'')
	outside
	exit
	;;
try)
	settle
	ip link add switch up type bridge
	host one 10.77.0.1
	host two 10.77.0.2
	exit
	;;
esac

# Inside.
work=$2
edge=$work/spade-edge
declare -A pids
fail() {
	printf 'hosts.sh: %s\n' "$*" >&2
	local log
	for log in "$work"/*/*/log; do
		printf -- '-- %s\n' "$log" >&2
		tail -n 5 "$log" >&2 || true
	done
	exit 1
}
run() { # HOST FLEET NUMBER
	ip netns exec "$1" "$edge" run -anyway "$work/$2/ward-$3/node.json" -json >"$work/$2/ward-$3/outcome.json" 2>>"$work/$2/ward-$3/log" &
	pids[$2-$3]=$!
}
lines() { cat "$work/$1/ward-$2/state/releases.log" 2>/dev/null | wc -l; } # FLEET NUMBER: releases made
reaches() { # FLEET NUMBER ROUNDS
	until [ "$(lines "$1" "$2")" -ge "$3" ]; do
		[ "$SECONDS" -lt "$limit" ] || fail "ward-$2 ($1) does not get to round $3 in $limit seconds"
		sleep 0.02
	done
}
halted() { # FLEET WHAT: nobody makes a release any more, and nobody has made the last
	local before=- now i made
	while :; do
		now=
		for i in $hosts; do
			made=$(lines "$1" "$i")
			[ "$made" -lt "$rounds" ] || fail "the $1 fleet was over before this: $2"
			now+=" $made"
		done
		[ "$now" != "$before" ] || break
		[ "$SECONDS" -lt "$limit" ] || fail "$2, and the $1 fleet goes on"
		before=$now
		sleep 1
	done
	echo "$2: all wait, after releases$now"
}
finish() { # FLEET
	local i
	for i in $hosts; do
		wait "${pids[$1-$i]}" || fail "ward-$i ($1) has failed"
		[ "$(lines "$1" "$i")" = "$rounds" ] || fail "ward-$i ($1) has made $(lines "$1" "$i") releases, want $rounds"
		"$edge" export "$work/$1/ward-$i/node.json" -out "$work/$1/ward-$i.npy" >/dev/null
		(cd "$work/$1" && sha256sum --quiet -c "ward-$i.npy.sha256")
	done
}
# A last time limit, if the nodes hang.
(sleep $((limit + 10)) && kill -9 -1) &

build() { # the hosts and their cables
	ip link add switch up type bridge
	local i
	for i in $hosts; do
		host "ward-$i" "10.77.0.$i"
		[ -z "$slow" ] || tc -n "ward-$i" qdisc add dev eth0 root netem delay 50ms loss 1%
	done
}
clear() {
	local name
	for name in ward-1 ward-2 ward-3 ward-4 ward-5 stranger; do
		ip link del "to-$name"
		ip netns del "$name"
	done
	ip link del switch
}

step 'links'
settle
ip link add probe type veth peer name eborp
if said=$(tc qdisc add dev probe root netem delay 50ms loss 1% 2>&1); then
	echo 'they will have a delay of 50 ms each way, and lose 1 %'
	slow=yes rounds=100
else
	echo "links are neither slow nor lossy: no netem here: $said"
	slow='' rounds=400
fi
ip link del probe

step 'two fleets, from keys to files'
port() { [ "$1" = open ] && echo 7443 || echo 7444; }
for fleet in $fleets; do
	mkdir "$work/$fleet"
	for i in $hosts; do
		mkdir "$work/$fleet/ward-$i"
		(cd "$work/$fleet/ward-$i" && "$edge" keygen -name "ward-$i" -address "10.77.0.$i:$(port "$fleet")") >>"$work/$fleet/members.txt"
	done 2>/dev/null
	private=-non-private
	[ "$fleet" = open ] || private='-unit record -epsilon 1'
	# shellcheck disable=SC2086 # several words
	(cd "$work/$fleet" && "$edge" init study -run "$fleet" -members members.txt -graph ring -data synthetic:clinical -deal -partition iid \
		-rounds $((rounds - 40)) -cooldown 40 $private) | grep -v ^node
	for i in $hosts; do
		cp "$work/$fleet/study/fleet.json" "$work/$fleet/study/ward-$i/node.json" "$work/$fleet/ward-$i/"
		[ "$fleet" = open ] || "$edge" privacy -new-ledger "$work/$fleet/ward-$i/ledger.json" -dataset "patients of ward-$i" -unit record -epsilon 4 -never-used >/dev/null
	done
done

step 'the quiet run: the open fleet on one loopback interface'
# The same files except for addresses and ports, which do not affect a run.
ip netns add quiet
ip -n quiet link set lo up
mkdir "$work/quiet"
for i in $hosts; do
	mkdir "$work/quiet/ward-$i"
	sed 's#wss://10.77.0.\([0-9]*\):7443/#wss://127.0.0.1:744\1/#' "$work/open/study/fleet.json" >"$work/quiet/ward-$i/fleet.json"
	sed "s#\":7443\"#\"127.0.0.1:744$i\"#" "$work/open/ward-$i/node.json" >"$work/quiet/ward-$i/node.json"
	cp "$work/open/ward-$i/node.key" "$work/quiet/ward-$i/"
	run quiet quiet "$i"
done
finish quiet
echo "five models, $SECONDS s after the beginning"

step 'the open fleet once more: a site with a firewall, and one behind a proxy'
# ward-3 accepts no connections, and ward-5 reaches others only through a proxy that asks for a password. Neither has an address, so both
# dial whatever their names are: ward-5 dials ward-4 and ward-1, ward-3 dials ward-2 and ward-4.
cp -r "$work/open" "$work/sites"
sed '/"ward-[35]"/s#, "addresses": \["wss://[^]]*\]##' "$work/open/study/fleet.json" >"$work/sites/study/fleet.json"
[ "$(grep -c '"addresses"' "$work/sites/study/fleet.json")" = 3 ] || fail 'ward-3 or ward-5 still has an address'
proxy=10.78.0.1:8888
for i in $hosts; do
	cp "$work/sites/study/fleet.json" "$work/sites/ward-$i/"
	case $i in 3 | 5) sed -i '/"listen"/d' "$work/sites/ward-$i/node.json" ;; esac
done
build
if said=$(ip netns exec ward-3 nft -f - 2>&1 <<-'END'
	table inet wall {
		chain incoming {
			type filter hook input priority 0; policy drop;
			ct state established,related accept
			iif lo accept
			meta l4proto icmpv6 accept
		}
	}
END
); then
	echo 'ward-3 drops whatever comes in'
else
	echo "ward-3 has no firewall: no nftables here: $said"
fi
if command -v tinyproxy >/dev/null; then
	ip link add inner up type bridge
	host proxy 10.77.0.200
	ip link add to-proxy-2 type veth peer name eth1 netns proxy
	ip link set to-proxy-2 master inner up
	ip -n proxy addr add 10.78.0.1/24 dev eth1
	ip -n proxy link set eth1 up
	ip link set to-ward-5 master inner
	ip -n ward-5 addr del 10.77.0.5/24 dev eth0
	ip -n ward-5 addr add 10.78.0.5/24 dev eth0
	printf '%s\n' 'Port 8888' 'Listen 10.78.0.1' 'Timeout 600' 'Allow 10.78.0.0/24' 'ConnectPort 7443' 'BasicAuth ward let-me-out' \
		"LogFile \"$work/proxy.log\"" >"$work/proxy.conf"
	ip netns exec proxy tinyproxy -d -c "$work/proxy.conf" &
	sed -i '1s#{#{\n  "proxy": "http://'"$proxy"'", "proxy_credentials": "proxy.txt",#' "$work/sites/ward-5/node.json"
	(umask 077 && echo ward:mistyped >"$work/sites/ward-5/proxy.txt")
	for ((n = 0; ; n++)); do
		ip netns exec ward-5 "$edge" check -edges "$work/sites/ward-5/node.json" >"$work/edges" 2>&1 || true
		! grep -m 1 'rejects the user and the password' "$work/edges" || break
		[ "$n" -lt 50 ] || fail "the proxy does not ask for a password: $(cat "$work/edges")"
		sleep 0.1
	done
	echo ward:let-me-out >"$work/sites/ward-5/proxy.txt"
else
	echo 'ward-5 is not behind a proxy, for there is no tinyproxy here (Debian: apt-get install tinyproxy)'
	proxy=
fi
began=$SECONDS
for i in 5 3 4 2 1; do
	run "ward-$i" sites "$i"
	sleep 0.2
done
reaches sites 3 40
for i in 3 5; do ip netns exec "ward-$i" "$edge" status "$work/sites/ward-$i/node.json" | grep '"ward-[1-5]": '; done >"$work/status"
[ "$(grep -c '(dialed wss://10.77.0' "$work/status")" = 4 ] || fail "ward-3 and ward-5 have not dialed: $(cat "$work/status")"
[ -z "$proxy" ] || [ "$(grep -c "through http://$proxy" "$work/status")" = 2 ] || fail "ward-5 goes another way: $(cat "$work/status")"
cut -c1-140 "$work/status"
ip -n ward-1 addr del 10.77.0.1/24 dev eth0
ip -n ward-1 addr add 10.77.0.11/24 dev eth0
halted sites 'ward-1 has another address'
for i in $hosts; do
	sed 's#10\.77\.0\.1:#10.77.0.11:#' "$work/sites/study/fleet.json" >"$work/sites/ward-$i/fleet.json.new"
	mv "$work/sites/ward-$i/fleet.json.new" "$work/sites/ward-$i/fleet.json"
done
for i in 2 5; do kill -HUP "${pids[sites-$i]}"; done
finish sites
echo "all have ended, after $rounds releases each and $((SECONDS - began)) s"
for i in $hosts; do
	cmp "$work/quiet/ward-$i.npy" "$work/sites/ward-$i.npy" || fail "ward-$i has another model than in the quiet run"
done
echo 'the models are those of the quiet run, five of five, bit for bit'
for name in ward-1 ward-2 ward-3 ward-4 ward-5 ${proxy:+proxy}; do
	ip link del "to-$name"
	ip netns pids "$name" | xargs -r kill
	ip netns del "$name"
done
[ -z "$proxy" ] || ip link del inner
ip link del switch

for fleet in $fleets; do
	step "the $fleet fleet on five hosts"
	began=$SECONDS
	build
	for i in $hosts; do run "ward-$i" "$fleet" "$i"; done

	reaches "$fleet" 3 10
	ip link set to-ward-3 down
	halted "$fleet" 'the cable of ward-3 is pulled'
	until "$edge" status "$work/$fleet/ward-2/node.json" >"$work/status" && grep 'waiting for "ward-3"' "$work/status"; do
		[ "$SECONDS" -lt "$limit" ] || fail 'ward-2 does not say whom it waits for'
		sleep 0.2
	done
	ip link set to-ward-3 up
	echo 'the cable is back'

	reaches "$fleet" 2 40
	kill -9 "${pids[$fleet-2]}"
	wait "${pids[$fleet-2]}" 2>/dev/null || true
	halted "$fleet" 'ward-2 has lost its power'
	run ward-2 "$fleet" 2
	echo 'ward-2 is started again'

	reaches "$fleet" 5 70
	ip -n ward-5 addr del 10.77.0.5/24 dev eth0
	ip -n ward-5 addr add 10.77.0.55/24 dev eth0
	# Another host takes the old address. It contacts the others, so that they know its link address, and refuses their connections.
	host stranger 10.77.0.5
	for i in 1 4; do
		until ip netns exec stranger timeout 2 bash -c "exec 3<>/dev/tcp/10.77.0.$i/$(port "$fleet")" 2>/dev/null; do
			[ "$SECONDS" -lt "$limit" ] || fail "nobody reaches ward-$i from the old address of ward-5"
			sleep 0.2
		done
	done
	halted "$fleet" 'ward-5 has another address'
	for i in $hosts; do
		sed 's#10\.77\.0\.5:#10.77.0.55:#' "$work/$fleet/study/fleet.json" >"$work/$fleet/ward-$i/fleet.json.new"
		mv "$work/$fleet/ward-$i/fleet.json.new" "$work/$fleet/ward-$i/fleet.json"
	done
	for i in 1 4; do kill -HUP "${pids[$fleet-$i]}"; done # they dial it
	echo 'its neighbors have a new fleet.json, and are told by SIGHUP'

	finish "$fleet"
	for i in 1 4; do
		grep -q 'the fleet file was reloaded' "$work/$fleet/ward-$i/log" || fail "ward-$i has not read its fleet file again"
	done
	clear
	echo "all have ended, after $rounds releases each and $((SECONDS - began)) s"
done

step 'the models of the open fleet are those of the quiet run'
for i in $hosts; do
	cmp "$work/quiet/ward-$i.npy" "$work/open/ward-$i.npy" || fail "ward-$i has another model than in the quiet run"
done
echo 'five of five, bit for bit'

step 'the certificates of the private fleet'
for i in $hosts; do
	"$edge" privacy -verify "$work/private/ward-$i.npy.certificate.json" -fleet "$work/private/study/fleet.json" \
		-ledger "$work/private/ward-$i/ledger.json" >"$work/private/ward-$i/verified" ||
		fail "ward-$i: $(cat "$work/private/ward-$i/verified")"
	printf 'ward-%d: %s\n' "$i" "$(tail -n 1 "$work/private/ward-$i/verified")"
done
"$work/compare" -tolerance 0.01 "$work"/private/ward-*.npy

step 'done'
