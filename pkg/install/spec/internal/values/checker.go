// Package values says what single values may be: names, addresses, keys,
// certificates, references. What goes together in a cluster is not its business.
package values

import (
	"strings"
)

// Checker tells what single values cannot be.
type Checker struct {
	Failed map[string]bool                     // fields whose value could not be taken
	Tell   func(field, message, remedy string) // notes a problem
}

// Report notes a problem with a field, unless the field could not even be read.
func (k *Checker) Report(field, message, remedy string) {
	if !k.IsFailed(field) {
		k.Tell(field, message, remedy)
	}
}

// IsFailed says whether the field, or one around or below it, has a value of
// the wrong type: what else would be said about it is a consequence.
func (k *Checker) IsFailed(field string) bool {
	if k.Failed[field] {
		return true
	}
	for failed := range k.Failed {
		if within(field, failed) || within(failed, field) {
			return true
		}
	}
	return false
}

// within says whether the field inner stands below the field outer.
func within(inner, outer string) bool {
	return len(inner) > len(outer) && strings.HasPrefix(inner, outer) && (inner[len(outer)] == '.' || inner[len(outer)] == '[')
}

// Required reports a field that is empty. It says whether the field is there.
func (k *Checker) Required(field, value, remedy string) bool {
	if value != "" {
		return true
	}
	k.Report(field, "is missing", remedy)
	return false
}
