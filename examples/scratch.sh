# The start of scripts of the examples, which read it: $here is their folder, $root the project, and $work a folder that goes when they
# end, with the processes in $pids.
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)
root=$(cd "$here/../.." && pwd)
work=$(mktemp -d)
pids=()
leave() {
	exec 2>/dev/null # bash reports jobs that are killed
	for pid in "${pids[@]:-}"; do
		[ -z "$pid" ] || kill -9 "$pid" 2>/dev/null || true
	done
	wait 2>/dev/null || true
	rm -rf "$work"
}
trap leave EXIT
step() { printf '\n== %s\n' "$*"; }
