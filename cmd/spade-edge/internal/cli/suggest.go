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

// distance counts the letters to be put in, left out or replaced that make one word of another.
func distance(a, b string) int {
	row := make([]int, len(b)+1) // from the letters of a so far to each beginning of b
	for j := range row {
		row[j] = j
	}
	for i := range len(a) {
		before := row[0]
		row[0] = i + 1
		for j := range len(b) {
			cost := before
			if a[i] != b[j] {
				cost++
			}
			before = row[j+1]
			row[j+1] = min(cost, before+1, row[j]+1)
		}
	}
	return row[len(b)]
}
