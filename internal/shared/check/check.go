// Package check compares in tests what is there with what should be. A test goes on after a difference.
package check

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// Do reports an error, if there is one.
func Do(t testing.TB, err error, about ...any) {
	t.Helper()
	if err != nil {
		t.Errorf("%s%v", prefix(about), err)
	}
}

// Err is the error of a call that returns a value, too.
func Err[V any](_ V, err error) error { return err }

// Equal reports a value that is not the wanted one.
func Equal[V comparable](t testing.TB, got, want V, about ...any) {
	t.Helper()
	if got != want {
		t.Errorf("%sgot %+v, want %+v", prefix(about), quoted(got), quoted(want))
	}
}

// Slice reports a slice with other elements than the wanted ones. One without elements may be nil.
func Slice[V comparable](t testing.TB, got, want []V, about ...any) {
	t.Helper()
	if !slices.Equal(got, want) {
		t.Errorf("%sgot %+v, want %+v", prefix(about), quoted(got), quoted(want))
	}
}

// Same reports where a value differs from the wanted one.
func Same(t testing.TB, want, got any, options ...cmp.Option) {
	t.Helper()
	if diff := cmp.Diff(want, got, options...); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

// Contains reports a text without a part of it.
func Contains(t testing.TB, text, part string, about ...any) {
	t.Helper()
	if !strings.Contains(text, part) {
		t.Errorf("%sno %q in:\n%s", prefix(about), part, text)
	}
}

// Says reports that there is no error, or one without a text.
func Says(t testing.TB, err error, text string, about ...any) {
	t.Helper()
	if err == nil || !strings.Contains(err.Error(), text) {
		t.Errorf("%serror %v, want one with %q", prefix(about), err, text)
	}
}

func prefix(about []any) string {
	if len(about) == 0 {
		return ""
	}
	return fmt.Sprint(about...) + ": "
}

// quoted shows where a text or a list of texts begins and ends.
func quoted(value any) any {
	switch value.(type) {
	case string, []string:
		return fmt.Sprintf("%q", value)
	}
	return value
}
