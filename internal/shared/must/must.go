// Package must ends a test where a step that the test needs fails.
package must

import (
	"fmt"
	"testing"
)

// Do ends the test with an error, if there is one, and says what it is about.
func Do(t testing.TB, err error, about ...any) {
	t.Helper()
	switch {
	case err == nil:
	case len(about) > 0:
		t.Fatalf("%s: %v", fmt.Sprint(about...), err)
	default:
		t.Fatal(err)
	}
}

// Get is what a call returns. If the call fails, the test ends with its error:
//
//	content := must.Get(os.ReadFile(path))(t)
func Get[V any](value V, err error) func(t testing.TB, about ...any) V {
	return func(t testing.TB, about ...any) V {
		t.Helper()
		Do(t, err, about...)
		return value
	}
}
