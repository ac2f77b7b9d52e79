package config

// nearest returns the name that is fewest edits from word, or "" if none is
// near enough to be what was meant.
func nearest(word string, names []string) string {
	if len(word) > 64 {
		return ""
	}
	best, least := "", len(word)/3+1
	for _, name := range names {
		if d := edits(word, name); d < least {
			best, least = name, d
		}
	}
	return best
}

// edits is the Levenshtein distance of a and b in bytes.
func edits(a, b string) int {
	row := make([]int, len(b)+1)
	for j := range row {
		row[j] = j
	}
	for i := range len(a) {
		diagonal := row[0]
		row[0] = i + 1
		for j := range len(b) {
			cost := 1
			if a[i] == b[j] {
				cost = 0
			}
			diagonal, row[j+1] = row[j+1], min(diagonal+cost, row[j]+1, row[j+1]+1)
		}
	}
	return row[len(b)]
}
