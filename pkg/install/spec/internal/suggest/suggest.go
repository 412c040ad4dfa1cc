// Package suggest finds what a word was probably meant to be.
package suggest

import (
	"strings"

	"github.com/oaictl/oaictl/internal/spelling"
)

// Nearest is the candidate that key was most likely meant to be, or empty.
func Nearest(key string, candidates []string) string {
	best, least := "", max(2, len(key)/3)+1
	for _, candidate := range candidates {
		if PlainKey(candidate) == PlainKey(key) {
			return candidate
		}
		if distance := spelling.Distance(PlainKey(key), PlainKey(candidate)); distance < least && distance < len(candidate)-1 {
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
