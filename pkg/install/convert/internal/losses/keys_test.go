package losses

import (
	"slices"
	"testing"

	"github.com/oaictl/oaictl/internal/shared/check"
)

func TestSteps(t *testing.T) {
	for path, want := range map[string][]string{
		"a":                    {"a"},
		"a.b":                  {"a", "b"},
		"metadata.labels[b.c]": {"metadata", "labels", "b.c"},
	} {
		check.Slice(t, Steps(path), want, path)
	}
}

// TestKeysLimitedFirst has the keys that are limited to values before those that are not.
func TestKeysLimitedFirst(t *testing.T) {
	for document, keys := range keysByDocument() {
		for _, list := range [][]Key{keys.Idle, keys.Lost} {
			limited := slices.IndexFunc(list, func(k Key) bool { return k.Values == nil })
			if limited >= 0 && slices.ContainsFunc(list[limited:], func(k Key) bool { return k.Values != nil }) {
				t.Errorf("%s has a limited key behind one that is not", document)
			}
		}
	}
}
