//go:build e2e

package node_test

import (
	"context"
	"net/netip"
	"slices"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/oaictl/oaictl/internal/shared/must"
	"github.com/oaictl/oaictl/internal/simulator/spoke"
	"github.com/oaictl/oaictl/pkg/install"
	"github.com/oaictl/oaictl/pkg/install/model"
	"github.com/oaictl/oaictl/pkg/install/spec"
)

// dead switches a node of the control plane off, and waits until etcd has missed it.
func (l *leaving) dead(name string) {
	l.t.Helper()
	l.off(name)
	l.until("etcd misses "+name, func() bool { return strings.Contains(l.etcdSays(), name+" is unhealthy") })
}

// off switches a node off, and waits until it is not Ready.
func (l *leaving) off(name string) {
	l.t.Helper()
	l.spoke.PowerOff(name)
	l.until(name+" is not Ready", func() bool {
		n := must.Get(l.kube.Client.CoreV1().Nodes().Get(l.t.Context(), name, metav1.GetOptions{}))(l.t)
		return slices.ContainsFunc(n.Status.Conditions, func(c corev1.NodeCondition) bool {
			return c.Type == corev1.NodeReady && c.Status != corev1.ConditionTrue
		})
	})
}

// until waits on the test's clock.
func (l *leaving) until(what string, is func() bool) {
	l.t.Helper()
	for range 600 {
		if is() {
			return
		}
		must.Do(l.t, l.clock.Sleep(l.t.Context(), 5*time.Second))
	}
	l.t.Fatalf("not within 50 minutes: %s", what)
}

// etcdSays is what the etcd operator says of the members.
func (l *leaving) etcdSays() string {
	l.t.Helper()
	u := must.Get(l.objects.Resource(resource("operator.openshift.io", "v1", "etcds")).Get(l.t.Context(), "cluster", metav1.GetOptions{}))(l.t)
	status, _ := u.Object["status"].(map[string]any)
	list, _ := status["conditions"].([]any)
	for _, entry := range list {
		if c, is := entry.(map[string]any); is && c["type"] == "EtcdMembersAvailable" {
			text, _ := c["message"].(string)
			return text
		}
	}
	return ""
}

// replacing is the run in which a dead node leaves, to be replaced.
func (l *leaving) replacing(name, by string) *model.Desired {
	return l.removing(func(r *model.Removal) { r.ReplacedBy, r.Backup = by, true }, name)
}

// join adds a host of the control plane, until its member of etcd is well.
func (l *leaving) join(name, address string) (install.Result, error) {
	return l.stage.run(l.booting(name, address), 2*time.Minute)
}

// booting is the run that adds a host of the control plane, which boots its disk.
func (l *leaving) booting(name, address string) *model.Desired {
	l.host(name, address)
	host := &l.stage.hosts[len(l.stage.hosts)-1]
	host.Role = spec.ControlPlane
	host.Inventory.Interfaces[0].Name, host.Inventory.Interfaces[0].MAC = "eno1", "52:54:00:00:00:33"
	m := spoke.Machine{Hostname: name, UUID: "uuid-" + name, Role: spoke.RoleControlPlane, Addresses: []netip.Addr{netip.MustParseAddr(address)}}
	l.beside(func(ctx context.Context) { _ = l.spoke.Join(ctx, m) })
	return l.desired(func(d *model.Desired) {
		d.Spec.Spec.Hosts[0].Role, d.Options.AcceptControlPlane = spec.ControlPlane, true
	})
}

// TestReplaces: a dead node leaves a control plane of three, and another machine takes its place,
// with the Machine that etcd's operator asks for. Under another name and under the same.
func TestReplaces(t *testing.T) {
	for name, by := range map[string]string{"of another name": "cp-3", "of the same name": "cp-1"} {
		t.Run(name, func(t *testing.T) {
			l := newLeaving(t, true, nil)
			l.dead("cp-1")
			before := l.secrets("cp-1")
			result, err := l.remove(l.replacing("cp-1", by), func(e model.Event) {
				if e.Reason == "Waiting" {
					t.Errorf("a person is asked for: %s", e.Message)
				}
			})
			if err != nil {
				t.Fatalf("%v; %+v %+v", err, result.Plan.Waits, result.Plan.Blockers)
			}
			if l.members() != 2 || l.hasNode("cp-1") || slices.Contains(l.metal(), "cp-1") || !slices.Equal(l.forgotten, []string{"id-cp-1"}) {
				t.Errorf("%d members, hosts %v, forgotten %v", l.members(), l.metal(), l.forgotten)
			}
			if before != 3 || l.secrets("cp-1") != 0 {
				t.Errorf("%d certificates before, %d now", before, l.secrets("cp-1"))
			}
			result, err = l.join(by, "192.168.127.13")
			if err != nil || l.members() != 3 || l.etcdSays() != "3 members are available" {
				t.Fatalf("%v; %d members, %s; %+v %+v", err, l.members(), l.etcdSays(), result.Plan.Waits, result.Plan.Blockers)
			}
			if !slices.Contains(l.metal(), by) || len(l.machines()) != 6 {
				t.Errorf("hosts %v, %d Machines", l.metal(), len(l.machines()))
			}
			l.untouched("cp-0", "cp-2", by)
			// A second run finds nothing of the old one, and does nothing to the new one.
			d := l.replacing("cp-1", by)
			d.Spec = l.desired(nil).Spec
			l.records = append(l.records, l.stage.hosts...)
			result, err = l.remove(d, nil)
			if err != nil || len(result.Plan.Removals) != 1 || len(result.Plan.Removals[0].Left) > 0 || !l.hasNode(by) {
				if by == "cp-1" || model.FaultOf(err).Code != model.CodeNotFound {
					t.Errorf("again: %v, %+v", err, result.Plan.Removals)
				}
			}
			l.untouched("cp-0", "cp-2", by)
		})
	}
}

// TestKilledReplacement stops both halves after each write: the next run goes on, and in the end there is one member,
// one Machine and one BareMetalHost for each node.
func TestKilledReplacement(t *testing.T) {
	for name, by := range map[string]string{"of another name": "cp-3", "of the same name": "cp-1"} {
		t.Run(name, func(t *testing.T) {
			l := newLeaving(t, true, nil)
			l.dead("cp-1")
			if runs := l.killed(l, l.replacing("cp-1", by)); runs < 5 {
				t.Errorf("the dead one left in %d runs", runs)
			}
			if l.members() != 2 || l.hasNode("cp-1") || slices.Contains(l.metal(), "cp-1") || !slices.Equal(l.forgotten, []string{"id-cp-1"}) || l.secrets("cp-1") != 0 {
				t.Errorf("%d members, hosts %v, forgotten %v", l.members(), l.metal(), l.forgotten)
			}
			if runs := l.killed(l.stage, l.booting(by, "192.168.127.13")); runs < 5 {
				t.Errorf("the new one joined in %d runs", runs)
			}
			if l.members() != 3 || l.etcdSays() != "3 members are available" || !slices.Contains(l.metal(), by) || len(l.metal()) != 6 || len(l.machines()) != 6 {
				t.Errorf("%d members, %s; hosts %v, %d Machines", l.members(), l.etcdSays(), l.metal(), len(l.machines()))
			}
			l.untouched("cp-0", "cp-2", by)
		})
	}
}

// secrets is how many certificates of a member there are.
func (l *leaving) secrets(node string) (count int) {
	l.t.Helper()
	list := must.Get(l.kube.Client.CoreV1().Secrets("openshift-etcd").List(l.t.Context(), metav1.ListOptions{}))(l.t)
	for i := range list.Items {
		if strings.HasSuffix(list.Items[i].Name, "-"+node) {
			count++
		}
	}
	return count
}

// TestReplacesWithoutMachines: a person takes the dead member out, by the command that is printed.
func TestReplacesWithoutMachines(t *testing.T) {
	l := newLeaving(t, false, nil)
	l.dead("cp-1")
	asked := ""
	result, err := l.remove(l.replacing("cp-1", "cp-3"), func(e model.Event) {
		if e.Reason != "Waiting" || asked != "" {
			return
		}
		asked = e.Next.String()
		if gone, err := l.spoke.RemoveMember(t.Context(), "cp-1"); !gone || err != nil {
			t.Errorf("the member is removed: %v, %v", gone, err)
		}
	})
	if err != nil || !strings.Contains(asked, "etcdctl member remove ") || strings.Contains(asked, "etcd-cp-1 ") || l.members() != 2 || l.secrets("cp-1") != 0 {
		t.Fatalf("%v; asked %q, %d members; %+v %+v", err, asked, l.members(), result.Plan.Waits, result.Plan.Blockers)
	}
	result, err = l.join("cp-3", "192.168.127.13")
	if err != nil || l.members() != 3 {
		t.Fatalf("%v; %d members; %+v %+v", err, l.members(), result.Plan.Waits, result.Plan.Blockers)
	}
}

// TestReplacementIsRefused if the node is well, another one is not, or no backup is confirmed.
func TestReplacementIsRefused(t *testing.T) {
	l := newLeaving(t, true, nil)
	result, err := l.remove(l.replacing("cp-1", "cp-3"), nil)
	if model.FaultOf(err).Code != model.CodeInput || !strings.Contains(err.Error(), "etcd would have 2 members, but it needs 3") {
		t.Errorf("one that is well: %v", err)
	}
	byItself := false // once the new one has joined
	for _, s := range result.Plan.Removals[0].Left {
		byItself = byItself || s.Message == "wait for the etcd operator to remove the member of cp-1"
		if s.Kind == model.DeleteSecret {
			t.Errorf("one that is well: %s", s.Message)
		}
	}
	if !byItself {
		t.Errorf("one that is well: %+v", result.Plan.Removals[0].Left)
	}
	l.dead("cp-1")
	d := l.replacing("cp-1", "cp-3")
	d.Options.Remove.Backup = false
	_, err = l.remove(d, nil)
	if model.FaultOf(err).Code != model.CodeInput || !strings.Contains(model.FaultOf(err).Next.String(), "cluster-backup.sh") || strings.Contains(model.FaultOf(err).Next.String(), "node/cp-1") {
		t.Errorf("no backup: %v; next %s", err, model.FaultOf(err).Next)
	}
	l.dead("cp-2")
	_, err = l.remove(l.replacing("cp-1", "cp-3"), nil)
	if model.FaultOf(err).Code != model.CodeInput || !strings.Contains(err.Error(), "etcd would have") && !strings.Contains(err.Error(), "cp-2 is not") {
		t.Errorf("two that are dead: %v", err)
	}
	if len(l.forgotten) > 0 || l.members() != 3 || l.secrets("cp-1") != 3 {
		t.Errorf("forgotten %v, %d members", l.forgotten, l.members())
	}
}
