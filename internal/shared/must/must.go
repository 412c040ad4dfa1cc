// Package must ends a test where a step that the test needs fails.
package must

import "testing"

// Do ends the test with an error, if there is one.
func Do(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// Get is what a call returns. If the call fails, the test ends with its error:
//
//	content := must.Get(os.ReadFile(path))(t)
func Get[V any](value V, err error) func(testing.TB) V {
	return func(t testing.TB) V {
		t.Helper()
		Do(t, err)
		return value
	}
}
