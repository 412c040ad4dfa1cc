package cli

import "slices"

// closest is the candidate that was most likely meant by text: at most a third
// of its letters away. It is "" if none is near.
func closest(text string, candidates []string) string {
	best, at := "", max(1, len(text)/3)+1
	for _, candidate := range candidates {
		if d := distance(text, candidate); d < at {
			best, at = candidate, d
		}
	}
	return best
}

// distance is how many letters have to be added, removed, changed or swapped
// with their neighbour to turn a into b.
func distance(a, b string) int {
	before, last, row := []int(nil), sequence(len(b)+1), []int(nil)
	for i := 1; i <= len(a); i++ {
		row = make([]int, len(b)+1)
		row[0] = i
		for j := 1; j <= len(b); j++ {
			change := 1
			if a[i-1] == b[j-1] {
				change = 0
			}
			row[j] = slices.Min([]int{row[j-1] + 1, last[j] + 1, last[j-1] + change})
			if i > 1 && j > 1 && a[i-1] == b[j-2] && a[i-2] == b[j-1] {
				row[j] = min(row[j], before[j-2]+1)
			}
		}
		before, last = last, row
	}
	return last[len(b)]
}

func sequence(n int) []int {
	row := make([]int, n)
	for i := range row {
		row[i] = i
	}
	return row
}
