package check_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/oaictl/oaictl/internal/shared/check"
)

// told is a test that keeps what it is told.
type told struct {
	testing.TB
	errors []string
}

func (t *told) Helper()             {}
func (t *told) Error(values ...any) { t.errors = append(t.errors, fmt.Sprint(values...)) }
func (t *told) Errorf(format string, args ...any) {
	t.errors = append(t.errors, fmt.Sprintf(format, args...))
}

// TestChecks holds each comparison to both of its ends.
func TestChecks(t *testing.T) {
	broken := errors.New("the disk is full")
	for name, tt := range map[string]struct {
		holds, fails func(t testing.TB)
		says         string
	}{
		"Do":       {func(t testing.TB) { check.Do(t, nil) }, func(t testing.TB) { check.Do(t, broken) }, "the disk is full"},
		"Equal":    {func(t testing.TB) { check.Equal(t, 1, 1) }, func(t testing.TB) { check.Equal(t, "a", "b", "the name") }, `the name: got "a", want "b"`},
		"Slice":    {func(t testing.TB) { check.Slice(t, nil, []int{}) }, func(t testing.TB) { check.Slice(t, []int{1}, []int{2}) }, "got [1], want [2]"},
		"Same":     {func(t testing.TB) { check.Same(t, []int{1}, []int{1}) }, func(t testing.TB) { check.Same(t, 1, 2) }, "(-want +got)"},
		"Contains": {func(t testing.TB) { check.Contains(t, "ab", "b") }, func(t testing.TB) { check.Contains(t, "ab", "c") }, `no "c" in:`},
		"Says":     {func(t testing.TB) { check.Says(t, broken, "full") }, func(t testing.TB) { check.Says(t, broken, "empty") }, `want one with "empty"`},
		"Err": {
			func(t testing.TB) { check.Says(t, check.Err(0, broken), "full") },
			func(t testing.TB) { check.Says(t, check.Err(0, nil), "full") }, "error <nil>",
		},
	} {
		t.Run(name, func(t *testing.T) {
			holds, fails := &told{TB: t}, &told{TB: t}
			tt.holds(holds)
			tt.fails(fails)
			if len(holds.errors) > 0 || len(fails.errors) != 1 || !strings.Contains(fails.errors[0], tt.says) {
				t.Errorf("where it holds: %q; where it fails: %q", holds.errors, fails.errors)
			}
		})
	}
}
