package upgrade

import (
	"cmp"
	"fmt"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/util/version"

	"github.com/oaictl/oaictl/pkg/install/model"
)

const (
	// failureStands is for how long an update has to fail until that is said: the operator goes on by
	// itself, and much of what it reports passes.
	failureStands = 10 * time.Minute
	// refusalStands is for how long a refusal that does not say what it refuses is taken for one of
	// the update before.
	refusalStands = time.Minute
)

// question is a State with what is wanted of it.
type question struct {
	*State

	want            *Want
	cv              *clusterVersion
	current, wanted *version.Version
	// target is where the cluster is on its way to, nil where it is on no way.
	target *historyEntry
}

// Decide says what follows from how a cluster stands, and from what it is to run. It is pure.
func (s *State) Decide(w *Want) Decision {
	q := question{State: s, want: w, cv: s.version}
	d := q.decide()
	if d.Verdict == "" {
		return d
	}
	if d.request != nil && d.request.Update != nil {
		to := d.request.Update
		d.Asks = &Update{Version: to.Version, Image: cmp.Or(to.Image, s.imageOf(to.Version)), Recommended: imagesOf(q.cv.Available,
			to.Version) != nil}
	}
	d.lagging = s.lagging()
	d.Notes = append(q.notes(&d), d.Notes...)
	return d
}

func (q *question) decide() Decision {
	if q.want.Version == "" {
		return Decision{Verdict: "", Reason: reasonNotWanted, Message: "No version is wanted"}
	}
	if !q.installed() {
		return Decision{Verdict: "", Reason: reasonNotInstalled, Message: "The cluster is not installed. Only installed clusters can be " +
			"upgraded"}
	}
	var err error
	if q.wanted, err = parse(q.want.Version); err != nil || strings.HasPrefix(q.want.Version, "v") {
		return blocked(reasonInvalidVersion, "%s is not a complete version: write all three numbers, such as 4.20.5",
			strings.TrimPrefix(fmt.Sprintf("%s %q", q.want.Fields.Version, q.want.Version), " "))
	}
	last := &q.cv.History[0]
	if q.want.names(last.Version, last.Image) && last.Completed {
		return q.done()
	}
	if q.current, err = parse(q.Current()); err != nil {
		return blocked(reasonInvalidVersion, "The cluster runs %q, which is not a valid version, so oaictl cannot compare versions",
			q.Current())
	}
	if !last.Completed {
		q.target = last
		if q.want.names(last.Version, last.Image) {
			return q.underWay()
		}
		if d := q.otherWay(); d != nil {
			return *d
		}
	}
	return q.ask()
}

func blocked(reason, format string, arguments ...any) Decision {
	return Decision{Verdict: model.VerdictBlocked, Reason: reason, Message: fmt.Sprintf(format, arguments...)}
}

// write says which version to write in its place, where there is a field for it.
func (q *question) write(version string) string {
	if q.want.Fields.Version == "" {
		return ""
	}
	return ": write " + q.want.Fields.Version + ": " + version
}

func (q *question) done() Decision {
	d := Decision{Verdict: model.VerdictInstalled, Reason: reasonDone, Message: "The cluster runs " + q.want.Version, request: q.channel()}
	if a := q.cv.Asked; a != nil && !q.want.names(a.Version, a.Image) {
		d.Notes = append(d.Notes, fmt.Sprintf("ClusterVersion requests %s, which is not the wanted version: oc adm upgrade --clear "+
			"withdraws the request",
			cmp.Or(a.Version, a.Image)))
	}
	return d
}

// underWay: the cluster is on its way to the wanted version.
func (q *question) underWay() Decision {
	percent, text := q.progress()
	d := Decision{Verdict: model.VerdictWaiting, Reason: reasonInProgress, Message: text, Percent: percent}
	failing := q.cv.Conditions[conditionFailing]
	if failing.Status != isTrue {
		return d
	}
	since := failing.Since
	if since.Before(q.target.Started) {
		since = q.target.Started // before, it was of another update
	}
	told := failing.says()
	if q.At.Sub(since) < failureStands {
		d.Message += "; it reports: " + told
		return d
	}
	d.Verdict, d.Reason = model.VerdictFailed, reasonFailed
	d.Message = fmt.Sprintf("The update to %s fails: %s. The cluster tries again: look at oc adm upgrade and kubectl get clusteroperators",
		q.want.Version, told)
	return d
}

// otherWay: the cluster is on its way to another version. Nil says that it may be asked to change it.
func (q *question) otherWay() *Decision {
	to := q.target.name()
	at, err := parse(q.target.Version)
	var d Decision
	switch failing := q.cv.Conditions[conditionFailing]; {
	case err == nil && compare(q.wanted, at) < 0:
		d = blocked(reasonDowngradeRefused, "The cluster is being updated from %s to %s, and cannot go back to %s%s",
			q.Current(), to, q.want.Version, q.write(to))
	case failing.Status != isTrue:
		_, text := q.progress()
		d = blocked(reasonOtherUpdate, "The cluster is being updated to another version (%s). oaictl requests %s when this update is complete",
			text, q.want.Version)
	case q.want.Force:
		return nil
	default:
		d = blocked(reasonFailing, "The update to %s, which is in progress, fails: %s. To change to %s anyway: oc adm upgrade --to=%s "+
			"--allow-upgrade-with-warnings",
			to, failing.says(), q.want.Version, q.want.Version)
	}
	return &d
}

// ask: the wanted version has to be asked for, or has been.
func (q *question) ask() Decision {
	if compare(q.wanted, q.current) < 0 {
		return blocked(reasonDowngradeRefused, "The cluster runs %s, which is newer than %s. OpenShift cannot be downgraded%s",
			q.Current(), q.want.Version, q.write(q.Current()))
	}
	a := q.cv.Asked
	asked := a != nil && a.Mode == "" && q.want.names(a.Version, a.Image)
	request, obstacle := q.choose()
	switch {
	case asked && (request == nil || !weaker(a, request)):
		return q.asked(obstacle)
	case q.cv.Generation > q.cv.Observed:
		d := blocked(reasonOperatorBehind, "The cluster version operator has not processed the current ClusterVersion yet")
		d.Passes = true
		return d
	case q.evaluates(a):
		return blocked(reasonOtherUpdate, "The cluster is checking a requested update to %s: %s",
			cmp.Or(a.Version, a.Image), q.cv.Conditions[conditionReleaseAccepted].says())
	case q.isPending(a):
		return blocked(reasonOtherUpdate, "An update to %s is requested and has not started: %s can only be requested after it. oc adm "+
			"upgrade --clear withdraws the request", cmp.Or(a.Version, a.Image), q.want.Version)
	}
	if channel := q.channel(); channel != nil {
		return Decision{Verdict: model.VerdictWorking, Reason: reasonRequesting, Message: fmt.Sprintf("The cluster's channel becomes %s",
			channel.Channel), request: channel}
	}
	if obstacle != nil {
		return *obstacle
	}
	return Decision{
		Verdict: model.VerdictWorking, Reason: reasonRequesting, Message: fmt.Sprintf("oaictl requests the update from %s to %s",
			q.Current(), q.want.Version),
		request: &writeRequest{Update: request, resourceVersion: q.cv.ResourceVersion},
	}
}

// weaker reports whether what was asked for lacks what is to be asked for.
func weaker(a *desiredUpdate, r *updateRequest) bool {
	return r.Force && !a.Force || r.Image != "" && !sameImage(a.Image, r.Image)
}

// evaluates reports whether the cluster has not decided yet on an update to something else.
func (q *question) evaluates(a *desiredUpdate) bool {
	return a != nil && !q.want.names(a.Version, a.Image) && q.cv.is(conditionReleaseAccepted, isUnknown)
}

// isPending reports whether the cluster was asked for something else, which it has neither begun nor refused.
func (q *question) isPending(a *desiredUpdate) bool {
	if a == nil || a.Mode != "" || a.Version == "" && a.Image == "" || q.target != nil || q.want.names(a.Version, a.Image) {
		return false
	}
	other := Want{Version: a.Version, Image: a.Image}
	if last := &q.cv.History[0]; other.names(last.Version, last.Image) || a.Version == "" && sameImage(a.Image, last.Image) {
		return false // it was done
	}
	accepted := q.cv.Conditions[conditionReleaseAccepted]
	return !q.cv.is(conditionInvalid, isTrue) && (accepted.Status != isFalse || !q.isAbout(&accepted, a.Version))
}

// asked: the cluster was asked for the wanted version, and has not begun.
func (q *question) asked(obstacle *Decision) Decision {
	d := Decision{Verdict: model.VerdictWaiting, Reason: reasonRequested, Message: fmt.Sprintf("The update to %s is requested, "+
		"but has not started", q.want.Version)}
	if q.cv.Generation > q.cv.Observed {
		return d
	}
	refusal := ""
	invalid, accepted := q.cv.Conditions[conditionInvalid], q.cv.Conditions[conditionReleaseAccepted]
	switch {
	case invalid.Status == isTrue:
		refusal = invalid.says()
	case accepted.Status == isFalse && q.isAbout(&accepted, q.want.Version):
		refusal = accepted.says()
	case accepted.Status == isUnknown && accepted.Message != "":
		d.Message += ": " + oneLine(accepted.Message)
	}
	if refusal == "" {
		return d
	}
	if obstacle != nil {
		return *obstacle // which says what to do about it
	}
	return blocked(reasonRefused, "The cluster refuses the update to %s: %s. It checks again automatically; oc adm upgrade --clear "+
		"withdraws the request", q.want.Version, refusal)
}

// isAbout reports whether a refusal is of the version that was asked for last, and not of what was asked for before.
func (q *question) isAbout(refusal *condition, version string) bool {
	image := q.cv.Asked.Image
	switch {
	case image != "" && strings.Contains(refusal.Message, image):
		return true
	case version != "" && strings.Contains(refusal.Message, `version="`):
		return strings.Contains(refusal.Message, `version="`+version+`"`)
	}
	return version != "" && strings.Contains(refusal.Message, version) || q.At.Sub(refusal.Since) >= refusalStands
}

// channel is the request for the wanted channel, nil where the cluster has it.
func (q *question) channel() *writeRequest {
	if q.want.Channel == "" || q.want.Channel == q.cv.Channel {
		return nil
	}
	return &writeRequest{Channel: q.want.Channel, resourceVersion: q.cv.ResourceVersion}
}
