// Package document is the JSON form of what the verbs print: what -o json,
// yaml and jsonpath work on. The forms of plan and why are described by
// docs/plan.schema.json and docs/why.schema.json. Fields are added, never
// renamed; times are RFC 3339, and absent where there are none; lists are
// never null.
package document

import "time"

// Items is a list of things, under the key that kubectl uses for it.
type Items[T any] struct {
	Items []T `json:"items"`
}

// List wraps a list, which is empty rather than null.
func List[T any](items []T) Items[T] {
	if items == nil {
		items = []T{}
	}
	return Items[T]{items}
}

// moment is a time as a pointer, nil for none.
func moment(t time.Time) *time.Time {
	if t.IsZero() {
		return nil
	}
	t = t.UTC()
	return &t
}

// orEmpty keeps a list from being null.
func orEmpty[T any](list []T) []T {
	if list == nil {
		return []T{}
	}
	return list
}
