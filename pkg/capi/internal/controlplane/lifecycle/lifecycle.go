// Package lifecycle decides what becomes of the Machines of a control plane after they were made: which one is replaced
// or deleted, when another one is made, and what a Machine that is being deleted still waits for. The members of etcd
// decide. It is pure.
package lifecycle

import (
	"fmt"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"

	controlplanev1 "github.com/oaictl/oaictl/pkg/capi/api/controlplane/v1beta1"
	"github.com/oaictl/oaictl/pkg/install/model"
)

// Phase is how far the installation of the cluster is.
type Phase int

// The phases of a cluster.
const (
	Before     Phase = iota // its installation has not begun
	Installing              // it runs
	Installed
	Stopped // it has failed, or was cancelled
)

// Question is how a control plane stands, and what is wanted of it.
type Question struct {
	Now      time.Time
	Spec     *controlplanev1.OpenshiftAssistedControlPlaneSpec
	Phase    Phase
	Machines []Machine // all that are there, by name
	// Spoke is the installed cluster; nil where it was not read.
	Spoke *model.Spoke
	// Domains are the failure domains that take control planes; empty where the infrastructure has none.
	Domains []clusterv1.FailureDomain
	// Replacing are unhealthy Machines that were deleted and have no successor yet, oldest first.
	Replacing []Remediation
	// Gone says that the cluster is being deleted as a whole.
	Gone bool
	// OnHub says that the service is a hub: it deletes the cluster's own Machine of a host whose record is
	// deleted.
	OnHub bool
}

// Machine is a Machine of the control plane.
type Machine struct {
	*clusterv1.Machine
	// Host is the service's record of its host; nil where there is none.
	Host *model.Host
	// Outdated are the fields in which it is not what the control plane says, with the values.
	Outdated []string
	// Expired says that it was made before spec.rollout.after, and that this moment has passed.
	Expired bool
	// Pooled says that its host goes back to a pool.
	Pooled bool
}

// Remediation is the replacement of an unhealthy Machine.
type Remediation struct {
	Machine    string      `json:"machine"`
	Timestamp  metav1.Time `json:"timestamp"`
	RetryCount int32       `json:"retryCount"`
}

// Act is what is done next.
type Act string

// What may be done next.
const (
	Nothing Act = ""
	Make    Act = "Make"   // another Machine
	Delete  Act = "Delete" // Decision.Machine
)

// Cause is why it is done.
type Cause string

// The causes.
const (
	Scale     Cause = "Scale"
	Rollout   Cause = "Rollout"
	Remediate Cause = "Remediate"
)

// Decision is what follows.
type Decision struct {
	Act     Act
	Cause   Cause  // also of what is to be done and is not
	Machine string // that is deleted
	// Remediation is what is recorded of an unhealthy Machine before it is deleted.
	Remediation *Remediation
	// Rollout are the names of the Machines that are to be replaced because they differ, and CannotRoll says
	// why that is not done on this topology.
	Rollout    []string
	CannotRoll string
	// Remediated says what becomes of unhealthy Machines, by their names.
	Remediated map[string]Verdict
	// Blocked says, a sentence each, why nothing is done though something is to be.
	Blocked []string
	// ByPerson says that it is a person who has to do something about a member of etcd.
	ByPerson bool
	// Again is when to decide anew though nothing has changed; zero: never.
	Again time.Time
}

// Verdict is what becomes of an unhealthy Machine: a reason and a message of its condition OwnerRemediated.
type Verdict struct{ Reason, Message string }

// Reasons of the condition OwnerRemediated, as Cluster API's own control planes and MachineSets have them.
const (
	ReasonDeleting           = "MachineDeleting"
	ReasonDeferred           = "RemediationDeferred"
	ReasonCannotBeRemediated = "CannotBeRemediated"
)

// decider gathers a decision.
type decider struct {
	*Question
	Decision
}

// Decide says what is next.
func Decide(q *Question) Decision {
	d := &decider{Question: q}
	if q.Gone {
		return d.Decision
	}
	d.remediate()
	if d.Act == Nothing {
		d.scale()
	}
	return d.Decision
}

// block says why something is not done.
func (d *decider) block(texts ...string) { d.Blocked = append(d.Blocked, texts...) }

func (d *decider) again(at time.Time) {
	if d.Again.IsZero() || at.Before(d.Again) {
		d.Again = at
	}
}

// living are the Machines that are not being deleted.
func (q *Question) living() []*Machine {
	return q.which(func(m *Machine) bool { return m.DeletionTimestamp.IsZero() })
}

// leaving are the names of Machines that are being deleted, except those that cannot leave: etcd needs their members
// until another Machine has gone or joined, and that one must not wait for them.
func (q *Question) leaving() []string {
	var names []string
	for _, m := range q.which(func(m *Machine) bool { return !m.DeletionTimestamp.IsZero() && !q.isStuck(m) }) {
		names = append(names, m.Name)
	}
	return names
}

// isStuck reports whether a Machine is being deleted that etcd cannot do without.
func (q *Question) isStuck(m *Machine) bool {
	return !m.DeletionTimestamp.IsZero() && isHooked(m) && CheckDeletion(q, m).Reason == ReasonEtcdQuorum
}

func (q *Question) anyStuck() bool { return len(q.which(q.isStuck)) > 0 }

func (q *Question) which(is func(*Machine) bool) []*Machine {
	var some []*Machine
	for i := range q.Machines {
		if is(&q.Machines[i]) {
			some = append(some, &q.Machines[i])
		}
	}
	return some
}

// defaultReplicas is how many Machines there are if the field is not set.
const defaultReplicas = 3

func (q *Question) replicas() int { return int(ptr.Deref(q.Spec.Replicas, defaultReplicas)) }

func (q *Question) hasArbiter() bool { return ptr.Deref(q.Spec.Config.ArbiterReplicas, 0) > 0 }

func (q *Question) isFenced() bool { return q.Spec.Config.Fencing != nil }

// wasSingle reports whether the cluster was installed as a single node.
func (q *Question) wasSingle() bool {
	return q.Spoke != nil && q.Spoke.Etcd != nil && q.Spoke.Etcd.Desired == 1
}

// fewest is how many Machines the topology needs at least: the number of a single node, two with an arbiter
// or fencing, else three.
func (q *Question) fewest() int {
	switch {
	case q.wasSingle():
		return 1
	case q.hasArbiter(), q.isFenced():
		return 2
	}
	return defaultReplicas
}

// impossible says why the number of Machines that is wanted cannot be; "" where it can.
func (q *Question) impossible() string {
	switch wanted := q.replicas(); {
	case q.wasSingle() && wanted != 1:
		return "the cluster was installed as a single node, and stays one: set spec.replicas to 1"
	case wanted < q.fewest():
		return fmt.Sprintf("a control plane of several machines keeps %d of them: set spec.replicas to %[1]d or more", q.fewest())
	}
	return ""
}
