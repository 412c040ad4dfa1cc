// Package spelling measures how far a mistyped word is from the known words, and finds the one that was meant.
package spelling

import "strings"

// Distance is the number of letters to add, drop, change or swap with their
// neighbour to turn a into b.
func Distance(a, b string) int {
	older, old, row := make([]int, len(b)+1), make([]int, len(b)+1), make([]int, len(b)+1)
	for j := range old {
		old[j] = j
	}
	for i := 1; i <= len(a); i++ {
		row[0] = i
		for j := 1; j <= len(b); j++ {
			cost := 1
			if a[i-1] == b[j-1] {
				cost = 0
			}
			row[j] = min(old[j]+1, row[j-1]+1, old[j-1]+cost)
			if i > 1 && j > 1 && a[i-1] == b[j-2] && a[i-2] == b[j-1] {
				row[j] = min(row[j], older[j-2]+1)
			}
		}
		older, old, row = old, row, older
	}
	return old[len(b)]
}

// Nearest is the candidate that key was most likely meant to be, or empty.
func Nearest(key string, candidates []string) string {
	best, least := "", max(2, len(key)/3)+1
	for _, candidate := range candidates {
		if PlainKey(candidate) == PlainKey(key) {
			return candidate
		}
		if distance := Distance(PlainKey(key), PlainKey(candidate)); distance < least && distance < len(candidate)-1 {
			best, least = candidate, distance
		}
	}
	return best
}

// PlainKey is a key without what people vary: case, dashes, underscores and
// the s of the plural.
func PlainKey(key string) string {
	key = strings.NewReplacer("-", "", "_", "").Replace(strings.ToLower(key))
	return strings.TrimSuffix(key, "s")
}
