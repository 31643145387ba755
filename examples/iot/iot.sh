#!/usr/bin/env bash
# A dozen sensors, each a process, train one private model over an MQTT broker: Mosquitto with users and an access list. During the run
# one sensor is killed, one sleeps, and the broker restarts. The script takes some seconds, needs Go, bash and mosquitto, and leaves
# nothing behind. Run it from anywhere: bash examples/iot/iot.sh
. "$(dirname "$0")/../scratch.sh"
fail() {
	printf 'iot.sh: %s\n' "$*" >&2
	tail -n 3 "$work"/*.log >&2 || true
	exit 1
}
PATH=$PATH:/usr/sbin
command -v mosquitto >/dev/null || { echo 'skipped: no mosquitto, apt-get install mosquitto'; exit 0; }
sensors=12 rounds=90

step 'the program'
(cd "$root/transport/broker" && CGO_ENABLED=0 go build -trimpath -ldflags '-s -w' -o "$work/edge" ./cmd/spade-edge-mqtt)
(cd "$root" && go build -o "$work/compare" ./.ci/compare)
edge=$work/edge

step 'a fleet: keys, ledgers, and a file for each sensor'
port=$((22000 + $$ % 4000))
while (exec 3<>"/dev/tcp/127.0.0.1/$port") 2>/dev/null; do port=$((port + 1)); done 2>/dev/null
"$edge" init "$work/plant" -n $sensors -graph ring -mqtt "mqtt://127.0.0.1:$port" -unit record -epsilon 1 -rounds 60 -cooldown 30
node() { echo "$work/plant/node-$1/node.json"; }

step 'a broker, that knows each sensor by its client id, and its password'
touch "$work/passwords"
chmod 600 "$work/passwords"
for i in $(seq 0 $((sensors - 1))); do
	# The client id is in what check and run say; here is where it comes from: SHA-256 over run and name.
	id=$("$edge" check "$(node "$i")" 2>/dev/null | sed -n 's/.*client id \([0-9a-f]*\).*/\1/p')
	[ -n "$id" ] || fail 'check does not say the client id'
	mosquitto_passwd -b "$work/passwords" "$id" "secret-$i"
	(umask 077 && echo "$id:secret-$i" >"$work/plant/node-$i/broker.txt")
	sed -i 's#"mqtt": "[^"]*"#&, "user_file": "broker.txt"#' "$(node "$i")"
done
sed -n 's/^    \(pattern .*\)/\1/p' "$root/transport/broker/mqtt/README.md" >"$work/acl"
chmod 600 "$work/acl"
mkdir "$work/disk"
cat >"$work/mosquitto.conf" <<END
listener $port 127.0.0.1
password_file $work/passwords
acl_file $work/acl
persistence true
persistence_location $work/disk/
user $(id -un)
END
broker() {
	mosquitto -c "$work/mosquitto.conf" >>"$work/mosquitto.log" 2>&1 &
	broker=$!
	pids+=($broker)
	for _ in $(seq 200); do
		(exec 3<>"/dev/tcp/127.0.0.1/$port") 2>/dev/null && return
		sleep 0.02
	done
	fail 'the broker does not start'
}
broker
"$edge" check "$(node 0)"

step 'a dozen sensors'
run() { # NUMBER
	"$edge" run -anyway "$(node "$1")" -json >"$work/$1.json" 2>>"$work/$1.log" &
	pids+=($!)
	eval "sensor_$1=$!"
}
lines() { cat "$work/plant/node-$1/state/releases.log" 2>/dev/null | wc -l; }
reaches() { # NUMBER ROUND
	until [ "$(lines "$1")" -ge "$2" ]; do
		[ "$SECONDS" -lt 100 ] || fail "sensor $1 does not get to round $2"
		sleep 0.02
	done
}
for i in $(seq 0 $((sensors - 1))); do run "$i"; done
reaches 0 5
kill -9 "$sensor_3"
wait "$sensor_3" 2>/dev/null || true
echo "sensor 3 is killed after round $(lines 3)"
run 3
reaches 3 15
kill -STOP "$sensor_7"
echo "sensor 7 sleeps after round $(lines 7)"
sleep 1
kill -CONT "$sensor_7"
reaches 7 25
kill "$broker"
wait "$broker" 2>/dev/null || true
echo "the broker is restarted after round $(lines 0)"
broker

step 'all come to the same model, with a certificate each'
for i in $(seq 0 $((sensors - 1))); do
	eval "wait \"\$sensor_$i\"" || fail "sensor $i has failed"
	[ "$(lines "$i")" = $rounds ] || fail "sensor $i has made $(lines "$i") releases, want $rounds"
	"$edge" export "$(node "$i")" -out "$work/sensor-$i.npy" >/dev/null
done
pids=("$broker")
"$edge" privacy -verify "$work/sensor-3.npy.certificate.json" -fleet "$work/plant/fleet.json" -ledger "$work/plant/node-3/ledger.json" | tail -n 4
"$work/compare" -tolerance 0.01 "$work"/sensor-*.npy
step 'done'
