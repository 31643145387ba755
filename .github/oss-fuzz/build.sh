#!/bin/bash -eu
# Builds the fuzz targets of the root module: each "func FuzzX" in a test file. "bash build.sh -list" prints package, function and
# name of each, and builds nothing.
if [ "${1:-}" = -list ]; then cd "$(git rev-parse --show-toplevel)"; else cd "$SRC/spade-edge"; fi

# compile_native_go_fuzzer_v2 makes ordinary files of test files. Those of a package x_test do not fit beside x, so they go, and
# with them the targets that they have.
outside() { grep -rlE '^package [a-z0-9]+_test$' --include='*_test.go' .; }

targets() {
	module=$(sed -n 's/^module //p' go.mod)
	nested=$(find . -mindepth 2 -name go.mod -exec dirname {} \; | sed 's|$|/|')
	grep -rn '^func Fuzz' --include='*_test.go' . | grep -vF "$nested" | grep -vFf <(outside) | sort |
		while IFS=: read -r file _ line; do
			dir=$(dirname "${file#./}") function=${line#func }
			function=${function%%(*}
			echo "$module/$dir $function ${dir//\//_}_$function"
		done
}

if [ "${1:-}" = -list ]; then
	targets
	exit
fi
targets >"$WORK/targets"
outside | xargs rm
while read -r package function name; do
	compile_native_go_fuzzer_v2 "$package" "$function" "$name"
done <"$WORK/targets"
