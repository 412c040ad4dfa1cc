package install

import (
	"context"
	"errors"
	"slices"
	"time"
)

// possession is what a run knows of the cluster that it has: of one that it made and
// has not seen yet, only since when it is missing.
type possession struct {
	id      string    // of the cluster as it was last seen, "" before
	missing time.Time // since when the service has not shown it, on our clock; zero: it does
	looks   int       // that did not show it, in a row
}

// How long a cluster may be missing from what the service answers before it counts
// as deleted: a list may be a moment old, above all right after the registration.
const (
	goneBear  = 5 * time.Second
	shownBear = 30 * time.Second // one that was just made
	goneLooks = 3
)

// lost says whether the cluster that the run had is missing: then nothing is
// decided, since whoever deleted it does not want it made anew. Once it is certain
// that it is gone, the run ends.
func (r *run) lost(observed *Observed) (missing bool, err error) {
	had, now := &r.had, r.clock.Now()
	switch {
	case observed.Cluster != nil:
		*had = possession{id: observed.Cluster.ID}
		return false, nil
	case had.id == "" && !r.memory.registered():
		return false, nil // there was none
	case slices.ContainsFunc(observed.Others, func(o ClusterRef) bool { return had.id != "" && o.ID == had.id }):
		return false, nil // it is there, and not ours any more
	}
	if had.missing.IsZero() {
		had.missing = now
	}
	had.looks++
	bear := goneBear
	if had.id == "" {
		bear = shownBear
	}
	if had.looks < goneLooks || now.Sub(had.missing) < bear {
		return true, nil
	}
	return true, r.deletedFault()
}

// deletedFault is the end of a run whose cluster somebody else deleted.
func (r *run) deletedFault() error {
	fault := &Fault{
		Code: CodeNotFound, Op: r.op(), On: r.name(), Err: errors.New("somebody deleted the cluster meanwhile; nothing was written since"),
		Next: "run the same command again to make it anew; its machines then have to boot the new discovery image",
	}
	if r.desired.Options.AddNodes && !r.desired.Spec.Imported() || r.desired.Options.Adopt != "" {
		fault.Next = "oaictl get clusters"
	}
	return fault
}

// awaitReturn passes a moment before the service is asked anew, for everything,
// for a cluster that it has not shown.
func (r *run) awaitReturn(ctx context.Context) error {
	r.detailed = time.Time{}
	if err := r.timedOut(); err != nil {
		return err
	}
	if err := r.clock.Sleep(ctx, soonest); err != nil {
		return r.left(ctx, err)
	}
	return nil
}
