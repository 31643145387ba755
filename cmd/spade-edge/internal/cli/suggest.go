package cli

// didYouMean returns words that suggest the name of a list that is closest to what was typed, behind a sign; empty if
// none is close.
func didYouMean(typed, sign string, names []string) string {
	best, least := "", 3
	for _, name := range names {
		if d := distance(typed, name); d < least && d < len(typed) {
			best, least = name, d
		}
	}
	if best == "" {
		return ""
	}
	return "; did you mean " + sign + best + "?"
}

// distance counts the letters to be put in, left out or replaced, and neighbors to be swapped, that make one word of
// another.
func distance(a, b string) int {
	if len(a) > 32 || len(b) > 32 {
		return 32
	}
	var d [33][33]int
	for i := range len(a) + 1 {
		for j := range len(b) + 1 {
			if i == 0 || j == 0 {
				d[i][j] = i + j
				continue
			}
			cost := 1
			if a[i-1] == b[j-1] {
				cost = 0
			}
			d[i][j] = min(d[i-1][j]+1, d[i][j-1]+1, d[i-1][j-1]+cost)
			if i > 1 && j > 1 && a[i-1] == b[j-2] && a[i-2] == b[j-1] {
				d[i][j] = min(d[i][j], d[i-2][j-2]+1)
			}
		}
	}
	return d[len(a)][len(b)]
}
