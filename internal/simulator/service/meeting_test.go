package service

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/oaictl/oaictl/internal/simulator/service/model"
)

// TestHostsThatWereNotLookedAt registers a host between two looks of the monitor: the
// others hear of it once the monitor has seen it.
func TestHostsThatWereNotLookedAt(t *testing.T) {
	b := compact(t, 2)
	b.pass(30 * time.Second)
	late := b.boot()
	late.poll()
	told := func() bool {
		text := b.must("GET", b.machines[0].path()+"/instructions", nil).text
		return strings.Contains(text, late.id)
	}
	if state := late.state(); state != model.HostDiscovering || told() {
		t.Errorf("the new host is %s, and the others are told of it: %v", state, told())
	}
	b.pass(10 * time.Second)
	if !told() {
		t.Error("the others are not told of a host that was looked at")
	}
}

// TestUnjudgedIsNoFailure reads a state's info while a check could not be made.
func TestUnjudgedIsNoFailure(t *testing.T) {
	c := model.Checks{List: []model.Check{{ID: "one", Status: model.Failed, Message: "it fails"}, {ID: "two", Status: model.Errored, Message: "it cannot be judged"}}}
	if got := c.Failures(); !slices.Equal(got, []string{"it fails"}) {
		t.Errorf("%q", got)
	}
}

// TestPacketSizesOfALonelyHost are not known before it has reported on others, even where
// there are none yet.
func TestPacketSizesOfALonelyHost(t *testing.T) {
	b := compact(t, 1)
	b.pass(10 * time.Second)
	if got := outcomes(t, b.machines[0].get())["mtu-valid"]; got != [2]string{model.Pending, "Missing MTU report information"} {
		t.Error(got)
	}
}
