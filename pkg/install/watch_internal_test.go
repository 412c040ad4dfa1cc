package install

import (
	"slices"
	"testing"
	"time"

	"github.com/oaictl/oaictl/pkg/install/internal/decide"
)

// TestAnotherCauseIsTold has a blocker stand with other words, and then with another
// remedy: only that is worth a line. Its key stays, by which is known for how long
// somebody has been waited for.
func TestAnotherCauseIsTold(t *testing.T) {
	var told []string
	w := newWatcher(func(e Event) { told = append(told, e.Message) })
	for _, x := range []Blocker{
		{Key: "cp-0", Reason: decide.ReasonBMC, Message: "connection refused", Remedy: "check the address"},
		{Key: "cp-0", Reason: decide.ReasonBMC, Message: "no route", Remedy: "check the address"},
		{Key: "cp-0", Reason: decide.ReasonBMC, Message: "it refuses the password", Remedy: "correct the password"},
	} {
		w.blockers(Plan{Blockers: []Blocker{x}}, time.Time{})
	}
	w.blockers(Plan{}, time.Time{})
	want := []string{"connection refused", "it refuses the password", "no longer in the way: it refuses the password"}
	if !slices.Equal(told, want) {
		t.Errorf("%q, want %q", told, want)
	}
}
