package decide

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/oaictl/oaictl/internal/shared/clustersettings"
	"github.com/oaictl/oaictl/pkg/install/model"
	"github.com/oaictl/oaictl/pkg/install/spec"
)

// start makes the install call.
type start struct {
	*collector
	options     *model.Options
	spec        *spec.Cluster
	name        string
	hostWritten time.Time
	now         time.Time
	cluster     *model.Cluster
	roster      *roster
	attendance  *attendance
	images      *images
	preparation *preparation
}

// call makes the install call once everything is as described in the file, and not
// before.
func (s *start) call() {
	if s.cluster.State != model.ClusterReady || !s.idle() || !s.unhindered() {
		return
	}
	if s.cluster.Released && s.preparation.failed() {
		return // it starts again by itself, as soon as the hosts are ready: that is no moment to be waited for
	}
	if len(s.roster.leftOut) > 0 {
		return // it would be installed, too
	}
	for _, host := range s.roster.Part {
		if host.State != model.HostReady || s.images.runsOldImage(host) {
			return
		}
	}
	missing, ok := s.attendance.enoughHosts()
	if !ok || !s.cluster.Released && s.preparation.failed() {
		return
	}
	s.plan.Missing = missing
	counts := s.attendance.presentCounts()
	if s.onHold() || s.released(counts) || s.passingOn() {
		return
	}
	if s.options.ReadOnly {
		s.wait(model.Wait{
			Key: "cluster/install", Scope: model.ScopeCluster, For: "the installation to be started; everything is ready",
			Since: s.cluster.StatusSince, Who: model.WhoService, Next: "{create cluster -f FILE}",
		})
		return
	}
	present := len(s.roster.Part)
	reason := fmt.Sprintf("all %d hosts are ready", present)
	switch {
	case present == 1:
		reason = "the host is ready"
	case len(missing) > 0:
		reason = fmt.Sprintf("%d hosts are ready; missing, but not required: %s", present, strings.Join(missing, ", "))
	}
	s.act(model.Action{
		Key: "cluster/install", Scope: model.ScopeCluster, Kind: model.StartInstall, Target: s.cluster.ID, Name: s.name, Reason: reason,
		Destructive: true,
		Settings:    counts,
	})
}

// onHold reports whether the start is held, by the file or by another client, and waits for the holder.
func (s *start) onHold() bool {
	if s.spec.Spec.Hold {
		s.wait(model.Wait{
			Key: model.KeyHold, Scope: model.ScopeCluster, Who: model.WhoUser,
			For:  "the removal of spec.hold from the file; everything else is ready",
			Next: "{create cluster -f FILE}, with spec.hold removed or false",
		})
	}
	held, is := s.cluster.Held()
	if is {
		held.For += "; everything else is ready"
		s.wait(held)
	}
	return s.spec.Spec.Hold || is
}

// released reports whether the service has the order to start with just these hosts, and waits for it to do so. If the
// service does not notice that it can start, the cluster is touched to wake it.
func (s *start) released(counts model.Settings) bool {
	stalled := !s.cluster.Stalled.IsZero()
	if !s.cluster.Released && !stalled {
		return false
	}
	if slices.ContainsFunc(clustersettings.Differences(counts, s.cluster.Settings),
		func(d clustersettings.Difference) bool { return d.Known }) {
		return false
	}
	if stalled && !s.now.Before(s.cluster.Stalled.Add(noticeWithin)) {
		s.act(model.Action{
			Key: "cluster/nudge", Scope: model.ScopeCluster, Kind: model.NudgeCluster, Target: s.cluster.ID, Name: s.name,
			Reason: "every host is in sync, but the service has not detected this since " + s.cluster.Stalled.UTC().Format(time.TimeOnly),
		})
		return true
	}
	wait := model.Wait{Key: "cluster/start", Scope: model.ScopeCluster, For: "the service to start the installation",
		Since: s.cluster.StatusSince, Who: model.WhoService}
	if stalled {
		wait.For, wait.Since = "the service to detect that every host is in sync", s.cluster.Stalled
	}
	s.wait(wait)
	return true
}

// noticeWithin is how long a service may take to notice that nothing is missing
// any more, before the cluster is touched, and touchAgain how long it has to
// react to that.
const (
	noticeWithin = 30 * time.Second
	touchAgain   = time.Minute
)

// passingOn reports whether the service may not know yet what was written of the hosts, and waits for that: what is
// sent after the start comes too late.
func (s *start) passingOn() bool {
	differed := s.hostWritten
	if !s.cluster.PassesOn || differed.IsZero() || !s.now.Before(differed.Add(passedOn)) {
		return false
	}
	s.wait(model.Wait{
		Key: "cluster/passing-on", Scope: model.ScopeCluster, Who: model.WhoService, Since: differed,
		For: "the service to accept the settings of the hosts",
	})
	return true
}

// passedOn is how long a controller has to pass on what was written of hosts.
const passedOn = 5 * time.Second
