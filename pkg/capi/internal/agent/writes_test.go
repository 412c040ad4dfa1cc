//go:build e2e

package agent_test

import (
	"context"
	"strings"
	"testing"
)

// TestFewWrites counts what a machine costs the API server from its Machine to its hand-over, and that
// neither a restart nor the end of its installation with nothing new costs anything.
func TestFewWrites(t *testing.T) {
	t.Parallel()
	x := openInstalled(t, "agent")
	x.written.take()
	x.addMachine(t, x.namespace, "c", "m")
	x.handOver(t, "m")
	settle(t, x)
	all := x.written.take()
	const most = 9 // the hook, the reservation in both objects, that it may be moved, and the status as the host goes on, which the test has it do in steps
	if len(all) > most {
		t.Errorf("%d writes:\n%s", len(all), strings.Join(all, "\n"))
	}
	ctx, stop := context.WithCancel(t.Context())
	defer stop()
	x.manage(ctx, t) // as after a restart
	settle(t, x)
	if all := x.written.take(); len(all) > 0 {
		t.Errorf("after a restart:\n%s", strings.Join(all, "\n"))
	}
}

// settle waits until nothing is written any more.
func settle(t *testing.T, x *site) {
	t.Helper()
	count := func() int {
		x.written.mu.Lock()
		defer x.written.mu.Unlock()
		return len(x.written.all)
	}
	last := -1
	never(t, "it goes on", func() (bool, string) { return false, "" })
	eventually(t, "nothing to be written any more", func() (bool, string) {
		now := count()
		quiet := now == last
		last = now
		never(t, "it goes on", func() (bool, string) { return false, "" })
		return quiet, ""
	})
}
