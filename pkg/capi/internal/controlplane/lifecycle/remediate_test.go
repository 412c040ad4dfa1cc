package lifecycle

import (
	"cmp"
	"maps"
	"strings"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	"sigs.k8s.io/cluster-api/util/conditions"

	controlplanev1 "github.com/oaictl/oaictl/pkg/capi/api/controlplane/v1beta1"
	"github.com/oaictl/oaictl/pkg/install/model"
)

// TestRemediates: an unhealthy Machine is replaced only while a majority of etcd is well, and one at a time.
func TestRemediates(t *testing.T) {
	for _, of := range []struct {
		name    string
		have    int
		change  func(*plane)
		of      string // the Machine that the verdict is about, m-0 if empty
		act     string
		cause   Cause // Remediate if empty
		reason  string
		because string
	}{
		{name: "dead", have: 3, change: func(p *plane) { p.dies(0) }, act: "Delete m-0", reason: ReasonDeleting},
		{name: "unhealthy though its member is well", have: 3, act: "Delete m-0", reason: ReasonDeleting},
		{name: "the only one", have: 1, reason: ReasonCannotBeRemediated, because: "the only Machine"},
		{name: "no majority", have: 3, change: func(p *plane) { p.dies(0); p.dies(1) }, reason: ReasonCannotBeRemediated, because: "not a majority"},
		{name: "no majority without it", have: 3, change: func(p *plane) { p.dies(1) }, reason: ReasonCannotBeRemediated, because: "without m-0 etcd would have 2 members of which 1 are healthy"},
		{name: "nobody else serves", have: 3, change: func(p *plane) { p.node(1).Ready, p.node(2).Ready = false, false }, reason: ReasonCannotBeRemediated, because: "no node of the control plane would be Ready"},
		{name: "another one is deleted", have: 4, change: func(p *plane) { p.isDeleting(1, true) }, reason: ReasonDeferred, because: "waiting for m-1 to be deleted"},
		{
			name: "another one was let go of, without which etcd would be since", have: 4, reason: ReasonDeferred, because: "waiting for m-1 to be deleted",
			change: func(p *plane) {
				p.byMachines()
				p.OnHub = true
				delete(p.isDeleting(1, true).Annotations, HookAnnotation)
				p.dies(0)
			},
		},
		{name: "another one is made", have: 3, change: func(p *plane) { p.addMachine(3) }, reason: ReasonDeferred, because: "m-3 is being created"},
		{name: "dead, and another one is made that cannot join before", have: 4, change: func(p *plane) { p.dies(0); p.addMachine(4) }, act: "Delete m-0", reason: ReasonDeleting},
		{name: "the last one has no successor yet", have: 3, change: func(p *plane) { p.wants(5) }, act: "Make", cause: Scale, reason: ReasonDeferred, because: "replaces the last one"},
		{name: "two of five are dead, and the first is gone", have: 4, change: func(p *plane) { p.wants(5); p.dies(0) }, act: "Delete m-0", reason: ReasonDeleting},
		{name: "the cluster does not answer", have: 3, change: func(p *plane) { p.Spoke.Trouble = "timeout" }, reason: ReasonDeferred, because: "timeout"},
		{name: "etcd is not known", have: 3, change: func(p *plane) { p.Spoke.Etcd.Trouble = "it cannot tell" }, reason: ReasonDeferred, because: "it cannot tell"},
		{name: "it runs", have: 3, change: func(p *plane) { p.Phase = Installing }, reason: ReasonDeferred, because: "the installation is running, and does not accept"},
		{name: "it failed", have: 3, change: func(p *plane) { p.Phase = Stopped }, reason: ReasonCannotBeRemediated, because: "the installation has failed"},
		{name: "two with fencing", have: 2, change: func(p *plane) { p.withFencing(); p.dies(0) }, reason: ReasonCannotBeRemediated, because: "not a majority"},
		{name: "two with an arbiter", have: 2, change: func(p *plane) { p.withArbiter(); p.dies(0) }, act: "Delete m-0", reason: ReasonDeleting},
		{name: "the dead one of two", have: 5, change: func(p *plane) { p.isUnhealthy(1); p.dies(1) }, of: "m-1", act: "Delete m-1", reason: ReasonDeleting},
		{name: "the one that a person has marked", have: 5, change: func(p *plane) {
			p.isUnhealthy(1).Annotations[clusterv1.RemediateMachineAnnotation] = ""
		}, of: "m-1", act: "Delete m-1", reason: ReasonDeleting},
		{name: "the one that never joined", have: 5, change: func(p *plane) { p.addMachine(5); p.isUnhealthy(5) }, of: "m-5", act: "Delete m-5", reason: ReasonDeleting},
	} {
		t.Run(of.name, func(t *testing.T) {
			p := installed(of.have)
			p.isUnhealthy(0)
			if of.change != nil {
				of.change(p)
			}
			whose := "m-0"
			if of.of != "" {
				whose = of.of
			}
			d := p.decides(t, of.act, cmp.Or(of.cause, Remediate))
			v := d.Remediated[whose]
			if v.Reason != of.reason || !strings.Contains(v.Message, of.because) {
				t.Errorf("of %s is said %+v", whose, d.Remediated)
			}
			if (d.Act == Delete) != (d.Remediation != nil) {
				t.Errorf("noted %+v", d.Remediation)
			}
		})
	}
}

// TestUnhealthyKeepsOthersFromBeingMade: a Machine that another one would wait for to be well before it is made does not
// wait for that one.
func TestUnhealthyKeepsOthersFromBeingMade(t *testing.T) {
	for _, of := range []struct {
		name   string
		have   int
		change func(*plane)
		whose  int
		act    string
		cause  Cause
	}{
		{name: "it never booted", have: 3, change: func(p *plane) { p.addMachine(3) }, whose: 3, act: "Delete m-3", cause: Remediate},
		{name: "its node is no member", have: 4, change: func(p *plane) { p.loseMember(3) }, whose: 3, act: "Delete m-3", cause: Remediate},
		{name: "its node is not Ready", have: 4, change: func(p *plane) { p.node(3).Ready = false }, whose: 3, act: "Delete m-3", cause: Remediate},
		{name: "its node is not Ready while one that is made waits for it", have: 5, whose: 3, act: "Delete m-3", cause: Remediate, change: func(p *plane) {
			p.node(3).Ready = false
			p.loseMember(4)
		}},
		{name: "it never booted, and another one cannot leave before", have: 2, whose: 3, act: "Delete m-3", cause: Remediate, change: func(p *plane) {
			p.isDeleting(0, true)
			p.addMachine(3)
		}},
		{name: "its node is not Ready, and etcd needs it until another one has joined", have: 2, whose: 1, act: "Make", cause: Scale, change: func(p *plane) { p.node(1).Ready = false }},
		{name: "its node is well", have: 4, whose: 3, act: "Make", cause: Scale},
	} {
		t.Run(of.name, func(t *testing.T) {
			p := installed(of.have)
			p.wants(5)
			if of.change != nil {
				of.change(p)
			}
			p.isUnhealthy(of.whose)
			p.decides(t, of.act, of.cause)
		})
	}
}

// TestOneThatStaysKeepsNoOthers: of several unhealthy Machines the first that may be deleted is, one at a time, and for
// each the verdict is reported.
func TestOneThatStaysKeepsNoOthers(t *testing.T) {
	tried := Note(Remediation{Machine: "m-9", Timestamp: metav1.Time{Time: present().Add(-time.Minute)}})
	for _, of := range []struct {
		name    string
		change  func(*plane)
		act     string
		reasons map[string]string
	}{
		{
			name: "the first was tried too often", act: "Delete m-1",
			change:  func(p *plane) { p.dies(0); p.dies(1); p.isUnhealthy(1); p.isUnhealthy(2) },
			reasons: map[string]string{"m-0": ReasonCannotBeRemediated, "m-1": ReasonDeleting, "m-2": ReasonDeferred},
		},
		{
			name:    "a member that is well, in whose place none could join",
			change:  func(p *plane) { p.dies(0); p.isUnhealthy(1) },
			reasons: map[string]string{"m-0": ReasonCannotBeRemediated, "m-1": ReasonDeferred},
		},
		{
			name:    "one that is deleted already",
			change:  func(p *plane) { p.dies(0); p.isUnhealthy(1); p.isDeleting(2, false) },
			reasons: map[string]string{"m-0": ReasonDeferred, "m-1": ReasonDeferred},
		},
	} {
		t.Run(of.name, func(t *testing.T) {
			p := installed(5)
			p.Spec.Remediation.MaxRetry = ptr.To[int32](0)
			p.isUnhealthy(0).Annotations[RemediationForAnnotation] = tried
			of.change(p)
			d := p.decides(t, of.act, Remediate)
			said := map[string]string{}
			for name, v := range d.Remediated {
				said[name] = v.Reason
			}
			if !maps.Equal(said, of.reasons) {
				t.Errorf("is said %v", d.Remediated)
			}
		})
	}
}

// TestHealthyAreNotRemediated, nor Machines without an OwnerRemediated condition.
func TestHealthyAreNotRemediated(t *testing.T) {
	p := installed(3)
	p.dies(0)
	p.decides(t, "", "")
	conditions.Set(p.machine(0).Machine, metav1.Condition{Type: clusterv1.MachineHealthCheckSucceededCondition, Status: metav1.ConditionFalse, Reason: "X"})
	p.decides(t, "", "")
}

// TestRemediatesBeforeTheInstallation: a Machine whose host has failed is replaced, and no other.
func TestRemediatesBeforeTheInstallation(t *testing.T) {
	for name, of := range map[string]struct {
		host   *model.Host
		act    string
		reason string
	}{
		"never seen":   {nil, "Delete m-0", ReasonDeleting},
		"disconnected": {&model.Host{State: model.HostDisconnected}, "Delete m-0", ReasonDeleting},
		"failed":       {&model.Host{State: model.HostFailed}, "Delete m-0", ReasonDeleting},
		"ready":        {&model.Host{State: model.HostReady}, "", ReasonCannotBeRemediated},
		"blocked":      {&model.Host{State: model.HostBlocked}, "", ReasonCannotBeRemediated},
	} {
		t.Run(name, func(t *testing.T) {
			p := before(3)
			p.isUnhealthy(0).Host = of.host
			if d := p.decides(t, of.act, Remediate); d.Remediated["m-0"].Reason != of.reason {
				t.Errorf("is said %+v", d.Remediated)
			}
		})
	}
	single := before(1)
	single.isUnhealthy(0)
	single.decides(t, "Delete m-0", Remediate)
}

// TestRetries holds the limits of spec.remediation.
func TestRetries(t *testing.T) {
	for _, of := range []struct {
		name   string
		ago    time.Duration
		tried  int32
		limits controlplanev1.RemediationSpec
		act    string
		count  int32
		reason string
		again  time.Duration
	}{
		{name: "without limits", ago: time.Minute, tried: 7, act: "Delete m-0", count: 8, reason: ReasonDeleting},
		{name: "too often", ago: time.Minute, tried: 2, limits: controlplanev1.RemediationSpec{MaxRetry: ptr.To[int32](2)}, reason: ReasonCannotBeRemediated},
		{name: "not too often", ago: time.Minute, tried: 1, limits: controlplanev1.RemediationSpec{MaxRetry: ptr.To[int32](2)}, act: "Delete m-0", count: 2, reason: ReasonDeleting},
		{name: "never again", ago: time.Minute, limits: controlplanev1.RemediationSpec{MaxRetry: ptr.To[int32](0)}, reason: ReasonCannotBeRemediated},
		{name: "too soon", ago: time.Minute, limits: controlplanev1.RemediationSpec{RetryPeriodSeconds: ptr.To[int32](300)}, reason: ReasonDeferred, again: 4 * time.Minute},
		{name: "a new failure", ago: 2 * time.Hour, tried: 2, limits: controlplanev1.RemediationSpec{MaxRetry: ptr.To[int32](2)}, act: "Delete m-0", reason: ReasonDeleting},
		{name: "the same failure for longer", ago: 2 * time.Hour, tried: 2, limits: controlplanev1.RemediationSpec{MaxRetry: ptr.To[int32](2), MinHealthyPeriodSeconds: ptr.To[int32](10800)}, reason: ReasonCannotBeRemediated},
	} {
		t.Run(of.name, func(t *testing.T) {
			p := installed(3)
			p.Spec.Remediation = of.limits
			m := p.isUnhealthy(0)
			p.dies(0)
			m.Annotations[RemediationForAnnotation] = Note(Remediation{Machine: "m-9", Timestamp: metav1.Time{Time: present().Add(-of.ago)}, RetryCount: of.tried})
			d := p.decides(t, of.act, Remediate)
			if v := d.Remediated["m-0"]; v.Reason != of.reason {
				t.Errorf("is said %+v", v)
			}
			if d.Remediation != nil && (d.Remediation.RetryCount != of.count || !d.Remediation.Timestamp.Time.Equal(present())) {
				t.Errorf("noted %+v", d.Remediation)
			}
			if of.again > 0 && !d.Again.Equal(present().Add(of.again)) {
				t.Errorf("again at %s", d.Again)
			}
		})
	}
}

// TestReplaces: the Machine that takes the place of an unhealthy one is made once that is gone.
func TestReplaces(t *testing.T) {
	p := installed(2)
	p.wants(3)
	p.Spoke.Etcd.Desired = 3
	p.Question.Replacing = Replacing(Note([]Remediation{{Machine: "m-9"}}))
	p.decides(t, "Make", Remediate)
}

// TestDiesWhileAnotherOneLeaves: a Machine leaves, another one dies, and now etcd cannot do without the first. The
// first stays, the dead one is replaced first, and does not wait for the first to leave.
func TestDiesWhileAnotherOneLeaves(t *testing.T) {
	p := installed(3)
	p.isDeleting(0, true)
	p.isUnhealthy(1)
	p.dies(1)
	if h := CheckDeletion(&p.Question, p.machine(0)); h.Reason != ReasonEtcdQuorum || h.DeleteNode {
		t.Errorf("the one that leaves is %+v", h)
	}
	p.decides(t, "Delete m-1", Remediate)
	p.isDeleting(1, true)
	if h := CheckDeletion(&p.Question, p.machine(1)); h.Reason != ReasonRemovalRequired {
		t.Errorf("the dead one is %+v", h)
	}
	p.decides(t, "", "")
	p.loseMember(1)
	p.loseNode(1)
	p.loseMachine(1)
	if h := CheckDeletion(&p.Question, p.machine(0)); h.Reason != ReasonEtcdQuorum {
		t.Errorf("the one that leaves would leave one alone: %+v", h)
	}
	p.Question.Replacing = []Remediation{{Machine: "m-1"}}
	p.decides(t, "Make", Remediate)
	p.addMachine(3)
	p.addNode(3)
	p.addMember(3)
	if h := CheckDeletion(&p.Question, p.machine(0)); h.Reason != ReasonWaitingForNode || !h.DeleteNode {
		t.Errorf("the one that leaves is still held: %+v", h)
	}
}
