package lifecycle

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	"k8s.io/utils/ptr"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	"sigs.k8s.io/cluster-api/util/collections"

	"github.com/oaictl/oaictl/internal/shared/listtext"
	"github.com/oaictl/oaictl/pkg/install/model"
)

// minHealthyPeriod is the time after which a failure counts as a new one, if the field is not set.
const minHealthyPeriod = time.Hour

// IsUnhealthy reports whether a Machine is unhealthy, and its owner is to do something about it.
func IsUnhealthy(m *clusterv1.Machine) bool { return collections.IsUnhealthyAndOwnerRemediated(m) }

// remediate makes an unhealthy Machine be deleted, one at a time: of those that may be deleted, the most urgent one.
func (d *decider) remediate() {
	unhealthy := d.which(func(m *Machine) bool { return m.DeletionTimestamp.IsZero() && IsUnhealthy(m.Machine) })
	slices.SortFunc(unhealthy, d.moreUrgent)
	d.Remediated = map[string]Verdict{}
	for _, m := range unhealthy {
		verdict, noted := d.judge(m)
		d.Remediated[m.Name] = verdict
		if noted != nil {
			d.Act, d.Cause, d.Machine, d.Remediation = Delete, Remediate, m.Name, noted
		}
	}
}

// moreUrgent orders unhealthy Machines: those that a person has marked; those without a node; those with a member of
// etcd that is not well, since nothing can join before they have gone; and the oldest.
func (d *decider) moreUrgent(a, b *Machine) int {
	rank := func(m *Machine) int {
		_, marked := m.Annotations[clusterv1.RemediateMachineAnnotation]
		switch {
		case marked:
			return 0
		case m.Status.NodeRef.Name == "":
			return 1
		case d.Phase == Installed && d.unknown() == "" && d.isIll(m, d.member(m)):
			return 2
		}
		return 3
	}
	return cmp.Or(cmp.Compare(rank(a), rank(b)), a.CreationTimestamp.Compare(b.CreationTimestamp.Time), strings.Compare(a.Name, b.Name))
}

// judge says what becomes of an unhealthy Machine, and what is recorded of it where it is deleted.
func (d *decider) judge(m *Machine) (Verdict, *Remediation) {
	deferred := func(format string, args ...any) (Verdict, *Remediation) {
		return Verdict{ReasonDeferred, fmt.Sprintf(format, args...)}, nil
	}
	cannot := func(text string) (Verdict, *Remediation) { return Verdict{ReasonCannotBeRemediated, text}, nil }
	leaving := d.leaving()
	if d.Act == Delete {
		leaving = append(leaving, d.Machine)
	}
	if len(leaving) > 0 {
		return deferred("waiting for %s to be deleted: Machines of a control plane are replaced one at a time", listtext.ListText(leaving))
	}
	switch d.Phase {
	case Installing:
		return deferred("the installation is running, and does not accept other hosts")
	case Stopped:
		return cannot("the installation has failed, and a replacement of one of its hosts does not repair it")
	case Before:
		if why := isWell(m); why != "" {
			return cannot(why)
		}
	case Installed:
		if wait, never := d.mayLeave(m); never != "" {
			return cannot(never)
		} else if wait != "" {
			return deferred("%s", wait)
		}
	}
	noted, verdict := d.retry(m)
	if noted == nil {
		return verdict, nil
	}
	return Verdict{ReasonDeleting, "Machine is deleting"}, noted
}

// isWell says why a Machine is not replaced before the installation has begun: its host has not failed, and
// the installation waits for something else.
func isWell(m *Machine) string {
	if m.Host == nil {
		return "" // it has never been seen
	}
	switch m.Host.State {
	case model.HostAbsent, model.HostDisconnected, model.HostFailed:
		return ""
	case model.HostBlocked:
		return fmt.Sprintf("its host %s is registered, but some of its validations fail; its config shows them. Another host may "+
			"have the same problem",
			m.Host.DisplayName())
	}
	return fmt.Sprintf("its host %s has no problem: the installation has not started for another reason", m.Host.DisplayName())
}

// mayLeave says why an unhealthy Machine of an installed cluster is not replaced yet, or never by itself.
func (d *decider) mayLeave(m *Machine) (wait, never string) {
	if len(d.Machines) <= 1 {
		return "", "it is the only Machine of the control plane: the cluster cannot run without it"
	}
	if why := d.unknown(); why != "" {
		return why, ""
	}
	// What keeps others from joining, as a member that is not well does, goes first, no matter which Machine waits to
	// join.
	if len(d.unsettled(m)) == len(d.unsettled(nil)) {
		if d.anyStuck() {
			return "waiting for a Machine that is being deleted, but that etcd still needs", ""
		}
		for _, other := range d.living() {
			if other.Name == m.Name || IsUnhealthy(other.Machine) {
				continue
			}
			if why := d.unmade(other); why != "" {
				return why, ""
			}
		}
		if len(d.living()) < d.replicas() {
			return "waiting for the Machine that replaces the last one", ""
		}
	}
	if why := d.loses(m); why != "" {
		return "", why
	}
	if all, well := d.votes(); well < all && d.member(m) != nil && !d.isIll(m, d.member(m)) {
		return fmt.Sprintf("%d of %s of etcd are healthy, and a new member can only join when all are healthy",
				well, listtext.CountText(all, "member")),
			""
	}
	return "", ""
}

// retry holds the limits of spec.remediation. Without a result the Machine is not replaced, which the
// verdict explains.
func (d *decider) retry(m *Machine) (*Remediation, Verdict) {
	noted := &Remediation{Machine: m.Name}
	noted.Timestamp.Time = d.Now
	last := RemediationFor(m.Machine)
	if last == nil {
		return noted, Verdict{}
	}
	limits := &d.Spec.Remediation
	since := last.Timestamp.Time
	if !since.Add(seconds(limits.MinHealthyPeriodSeconds, minHealthyPeriod)).After(d.Now) {
		return noted, Verdict{} // this failure is a new one
	}
	noted.RetryCount = last.RetryCount + 1
	if again := since.Add(seconds(limits.RetryPeriodSeconds, 0)); again.After(d.Now) {
		d.again(again)
		return nil, Verdict{ReasonDeferred,
			fmt.Sprintf("it is the replacement of %s, made within the last spec.remediation.retryPeriodSeconds (%d): it is replaced at "+
				"%s at the earliest",
				last.Machine, ptr.Deref(limits.RetryPeriodSeconds, 0), again.UTC().Format(time.RFC3339))}
	}
	if most := limits.MaxRetry; most != nil && last.RetryCount >= *most {
		return nil, Verdict{ReasonCannotBeRemediated,
			fmt.Sprintf("it is the replacement of %s, and another replacement would exceed spec.remediation.maxRetry (%d)", last.Machine, *most)}
	}
	return noted, Verdict{}
}

func seconds(said *int32, otherwise time.Duration) time.Duration {
	if said == nil {
		return otherwise
	}
	return time.Duration(*said) * time.Second
}
