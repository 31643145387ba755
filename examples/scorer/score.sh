#!/bin/sh
# The loss of a logistic model on the rows of a CSV file, for SPADE-Edge. A POSIX shell with awk, od, wc and tr, and nothing else.
#
#   score.sh json DATA                  a stream, messages are lines of JSON
#   score.sh once DATA SAMPLE [PARAMS]  one loss; the parameters are in the file PARAMS or on standard input
#
# The last column of DATA is the class, 0 or 1. With p the probability that the model gives to it, the loss is (1 - p)^2.
data=$2

# loss SAMPLE X prints a loss; X holds the parameters, with commas between them. Each query has an awk of its own: some awks would not
# hand out a line before they have read a block of many.
loss() {
	awk -F, -v sample="$1" -v params="$2" '
		# single rounds to float32, to even where it has to choose: that is what the digits stand for.
		function single(x,   scale, whole, rest) {
			if (x < 0) return -single(-x)
			scale = 1
			while (x / scale >= 16777216) scale = scale * 2
			while (x > 0 && x / scale < 8388608 && scale > 2 ^ -149) scale = scale / 2
			whole = int(x / scale)
			rest = x / scale - whole
			if (rest > 0.5 || rest == 0.5 && whole % 2 == 1) whole++
			return whole * scale
		}
		NR == sample + 2 { # behind the names of the columns
			split(params, x)
			z = 0
			for (k = 1; k < NF; k++) z = z + single(x[k] + 0) * $k
			if ($NF == 1) z = -z
			# The probability of the other class, 1/(1 + exp(-z)); exp never sees a number above 0.
			if (z >= 0) wrong = 1 / (1 + exp(-z))
			else wrong = exp(z) / (1 + exp(z))
			printf "%.17g\n", wrong * wrong
		}' "$data"
}

# floats reads float32 numbers, the lowest byte of each first, and prints them with commas between them and all their digits.
floats() {
	od -An -v -tu1 | awk '
		function bits(b3, b2, b1, b0,   exponent, x) {
			exponent = b3 % 128 * 2 + int(b2 / 128)
			x = b2 % 128 * 65536 + b1 * 256 + b0
			if (exponent > 0) x = x + 8388608
			else exponent = 1
			for (; exponent < 150; exponent++) x = x / 2
			for (; exponent > 150; exponent--) x = x * 2
			return b3 >= 128 ? -x : x
		}
		{ for (k = 1; k <= NF; k++) b[n++] = $k }
		END { for (k = 0; k < n; k += 4) printf "%s%.17g", k ? "," : "", bits(b[k+3], b[k+2], b[k+1], b[k]) }'
}

case $1 in
json)
	columns=$(head -n 1 "$data" | tr -cd , | wc -c)
	lines=$(wc -l <"$data")
	echo "{\"hello\":1,\"dim\":$((columns)),\"samples\":$((lines - 1))}"
	while read -r line; do # {"id":1,"sample":7,"x":[0.5,-0.25,0]}
		id=${line#*:}
		sample=${line#*'"sample":'}
		x=${line#*[}
		value=$(loss "${sample%%,*}" "${x%]*}")
		echo "{\"id\":${id%%,*},\"loss\":$value}"
	done
	;;
once)
	if [ $# -gt 3 ]; then exec <"$4"; fi
	loss "$3" "$(floats)"
	;;
*)
	echo "usage: score.sh json DATA, or score.sh once DATA SAMPLE [PARAMS]" >&2
	exit 2
	;;
esac
