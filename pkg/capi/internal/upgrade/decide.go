package upgrade

import (
	"cmp"
	"fmt"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/util/version"
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
	cv              *ClusterVersion
	current, wanted *version.Version
	// target is where the cluster is on its way to, nil where it is on no way.
	target *Update
}

// Decide says what follows from how a cluster stands, and from what it is to run. It is pure.
func Decide(s *State, w *Want) Decision {
	q := question{State: s, want: w, cv: s.Version}
	d := q.decide()
	if d.Phase == Idle || w.Version == "" {
		return d
	}
	d.Lagging = s.lagging()
	d.Notes = append(q.notes(&d), d.Notes...)
	return d
}

func (q *question) decide() Decision {
	if q.want.Version == "" {
		return Decision{Phase: Idle, Reason: ReasonNotWanted, Message: "No version is wanted"}
	}
	if !q.installed() {
		return Decision{Phase: Idle, Reason: ReasonNotInstalled, Message: "The cluster is not installed: only installed clusters are upgraded"}
	}
	var err error
	if q.wanted, err = parse(q.want.Version); err != nil || strings.HasPrefix(q.want.Version, "v") {
		return blocked(ReasonInvalidVersion, "distributionVersion %q is no version such as 4.20.5: write all three numbers", q.want.Version)
	}
	last := &q.cv.History[0]
	if q.want.names(last.Version, last.Image) && last.Completed {
		return q.done()
	}
	if q.current, err = parse(q.Current()); err != nil {
		return blocked(ReasonInvalidVersion, "The cluster runs %q, which is no version that another could be compared with", q.Current())
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
	return Decision{Phase: Blocked, Reason: reason, Message: fmt.Sprintf(format, arguments...)}
}

func (q *question) done() Decision {
	d := Decision{Phase: Done, Reason: ReasonDone, Message: "The cluster runs " + q.want.Version, Request: q.channel()}
	if a := q.cv.Asked; a != nil && !q.want.names(a.Version, a.Image) {
		d.Notes = append(d.Notes, fmt.Sprintf("ClusterVersion asks for %s, which is not what is wanted: oc adm upgrade --clear withdraws it", cmp.Or(a.Version, a.Image)))
	}
	return d
}

// underWay: the cluster is on its way to the wanted version.
func (q *question) underWay() Decision {
	percent, text := q.progress()
	d := Decision{Phase: Progressing, Reason: ReasonInProgress, Message: text, Percent: percent}
	failing := q.cv.Conditions[conditionFailing]
	if failing.Status != isTrue {
		return d
	}
	since := failing.Since
	if since.Before(q.target.Started) {
		since = q.target.Started // before, it was of another update
	}
	told := oneLine(cmp.Or(failing.Message, failing.Reason))
	if q.At.Sub(since) < failureStands {
		d.Message += "; it reports: " + told
		return d
	}
	d.Phase, d.Reason = Failed, ReasonFailed
	d.Message = fmt.Sprintf("The update to %s fails: %s. The cluster goes on trying: look at oc adm upgrade and kubectl get clusteroperators", q.want.Version, told)
	return d
}

// otherWay: the cluster is on its way to another version. Nil says that it may be asked to change it.
func (q *question) otherWay() *Decision {
	to := cmp.Or(q.target.Version, q.target.Image)
	at, err := parse(q.target.Version)
	var d Decision
	switch failing := q.cv.Conditions[conditionFailing]; {
	case err == nil && compare(q.wanted, at) < 0:
		d = blocked(ReasonDowngradeRefused, "The cluster is on its way from %s to %s, and cannot go back to %s: write distributionVersion: %s", q.Current(), to, q.want.Version, to)
	case failing.Status != isTrue:
		_, text := q.progress()
		d = blocked(ReasonOtherUpdate, "The cluster is on its way to another version (%s): %s is asked for once that is complete", text, q.want.Version)
	case q.want.forced():
		return nil
	default:
		d = blocked(ReasonFailing, "The update to %s, which is under way, fails: %s. To leave it for %s all the same: oc adm upgrade --to=%s --allow-upgrade-with-warnings",
			to, oneLine(cmp.Or(failing.Message, failing.Reason)), q.want.Version, q.want.Version)
	}
	return &d
}

// ask: the wanted version has to be asked for, or has been.
func (q *question) ask() Decision {
	if compare(q.wanted, q.current) < 0 {
		return blocked(ReasonDowngradeRefused, "The cluster runs %s, which is newer than %s, and OpenShift does not go back: write distributionVersion: %s", q.Current(), q.want.Version, q.Current())
	}
	a := q.cv.Asked
	asked := a != nil && a.Mode == "" && q.want.names(a.Version, a.Image)
	request, obstacle := q.choose()
	switch {
	case asked && (request == nil || !weaker(a, request)):
		return q.asked(obstacle)
	case q.cv.Generation > q.cv.Observed:
		return blocked(ReasonOperatorBehind, "The cluster version operator has not read the newest ClusterVersion yet")
	case q.evaluates(a):
		return blocked(ReasonOtherUpdate, "The cluster looks at an update to %s that somebody has asked for: %s", cmp.Or(a.Version, a.Image), oneLine(q.cv.Conditions[conditionReleaseAccepted].Message))
	}
	if channel := q.channel(); channel != nil {
		return Decision{Phase: Requesting, Reason: ReasonRequesting, Message: fmt.Sprintf("The cluster's channel becomes %s", channel.Channel), Request: channel}
	}
	if obstacle != nil {
		return *obstacle
	}
	return Decision{
		Phase: Requesting, Reason: ReasonRequesting, Message: fmt.Sprintf("The cluster is asked to update from %s to %s", q.Current(), q.want.Version),
		Request: &Request{Update: request, resourceVersion: q.cv.ResourceVersion},
	}
}

// weaker reports whether what was asked for lacks what is to be asked for.
func weaker(a *Asked, r *UpdateRequest) bool {
	return r.Force && !a.Force || r.Image != "" && !sameImage(a.Image, r.Image)
}

// evaluates reports whether the cluster has not decided yet on an update to something else.
func (q *question) evaluates(a *Asked) bool {
	return a != nil && !q.want.names(a.Version, a.Image) && q.cv.is(conditionReleaseAccepted, isUnknown)
}

// asked: the cluster was asked for the wanted version, and has not begun.
func (q *question) asked(obstacle *Decision) Decision {
	d := Decision{Phase: Requested, Reason: ReasonRequested, Message: fmt.Sprintf("The cluster was asked to update to %s, and has not begun", q.want.Version)}
	if q.cv.Generation > q.cv.Observed {
		return d
	}
	refusal := ""
	invalid, accepted := q.cv.Conditions[conditionInvalid], q.cv.Conditions[conditionReleaseAccepted]
	switch {
	case invalid.Status == isTrue:
		refusal = invalid.Message
	case accepted.Status == isFalse && q.isAbout(&accepted):
		refusal = accepted.Message
	case accepted.Status == isUnknown && accepted.Message != "":
		d.Message += ": " + oneLine(accepted.Message)
	}
	if refusal == "" {
		return d
	}
	if obstacle != nil {
		return *obstacle // which says what to do about it
	}
	return blocked(ReasonRefused, "The cluster refuses the update to %s: %s. It looks again by itself; oc adm upgrade --clear withdraws the request", q.want.Version, oneLine(refusal))
}

// isAbout reports whether a refusal is of the wanted version, and not of what was asked for before.
func (q *question) isAbout(refusal *Condition) bool {
	if strings.Contains(refusal.Message, `version="`) {
		return strings.Contains(refusal.Message, `version="`+q.want.Version+`"`) || q.cv.Asked.Image != "" && strings.Contains(refusal.Message, q.cv.Asked.Image)
	}
	return strings.Contains(refusal.Message, q.want.Version) || q.At.Sub(refusal.Since) >= refusalStands
}

// channel is the request for the wanted channel, nil where the cluster has it.
func (q *question) channel() *Request {
	if q.want.Channel == "" || q.want.Channel == q.cv.Channel {
		return nil
	}
	return &Request{Channel: q.want.Channel, resourceVersion: q.cv.ResourceVersion}
}
