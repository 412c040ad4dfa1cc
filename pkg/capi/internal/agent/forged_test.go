package agent_test

import (
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"

	agentv1 "github.com/oaictl/oaictl/pkg/capi/api/agent/v1beta2"
	"github.com/oaictl/oaictl/pkg/capi/internal/agent"
	"github.com/oaictl/oaictl/pkg/capi/internal/agent/pool"
	"github.com/oaictl/oaictl/pkg/capi/internal/machines"
	"github.com/oaictl/oaictl/pkg/install"
	"github.com/oaictl/oaictl/pkg/install/model"
)

// TestForgedAgentMachinesAreNotBelieved: over REST, a user who writes the ids of a host into an AgentMachine does not get that
// host, unless it belongs to the cluster of the Machine or to a pool that is opened to the namespace. What else the user
// writes, into the Machine or the status, does not help. Nothing is done to the host, and it is not given back.
func TestForgedAgentMachinesAreNotBelieved(t *testing.T) {
	for name, test := range map[string]struct {
		env, cluster string // of the host
		wrote        bool   // the user wrote the provider id into the Machine, too
		status       bool   // and that the machine is provisioned, and which cluster it is of
		says         string
	}{
		"another cluster's host":             {env: "foreign", cluster: "foreign-cluster", says: "there is no pool"},
		"another cluster's, of a Machine":    {env: "foreign", cluster: "foreign-cluster", wrote: true, says: "it belongs neither to the cluster"},
		"another cluster's, by the status":   {env: "foreign", cluster: "foreign-cluster", wrote: true, status: true, says: "it belongs neither to the cluster"},
		"a free host of a foreign pool":      {env: "foreign", wrote: true, says: "it belongs neither to the cluster"},
		"another cluster's, of its own pool": {env: "rack", cluster: "foreign-cluster", wrote: true, says: "is bound to the cluster foreign-cluster"},
	} {
		t.Run(name, func(t *testing.T) {
			m := newMoved(t, test.env)
			m.Pool = &agent.ServicePool{Service: m.Installations.Service, Pools: racks()}
			host := hostOfPool("moved", "x86_64")
			host.InfraEnvID, host.ClusterID = test.env, test.cluster
			if test.cluster != "" {
				host.State, host.Status = model.HostAdded, "added-to-existing-cluster"
			}
			m.service.hosts = map[string][]model.Host{test.env: {host}}
			if !test.wrote {
				m.machine.Spec.ProviderID = ""
				if err := m.client.Update(t.Context(), m.machine); err != nil {
					t.Fatal(err)
				}
			}
			if test.status {
				m.infra.Status.AgentRef = &agentv1.AgentReference{Namespace: test.env, Name: "moved"}
				if err := m.client.Status().Update(t.Context(), m.infra); err != nil {
					t.Fatal(err)
				}
			}
			m.reconcile()
			ready, reserved := conditionOf(m.infra, clusterv1.ReadyCondition), conditionOf(m.infra, agentv1.AgentReservedCondition)
			if ready.Status == metav1.ConditionTrue || ptr.Deref(m.infra.Status.Initialization.Provisioned, false) {
				t.Errorf("it is %s", describe(m.infra))
			}
			if reserved.Status != metav1.ConditionFalse || !strings.Contains(reserved.Message, test.says) {
				t.Errorf("it says %+v", reserved)
			}
			if len(m.infra.Status.Addresses) > 0 {
				t.Errorf("it shows %v", m.infra.Status.Addresses)
			}
			m.delete()
			m.reconcile()
			if len(m.service.acted) > 0 {
				t.Errorf("the service was asked for %v", m.service.acted)
			}
		})
	}
}

// TestOthersTakeNoHost: what an AgentMachine of another namespace says of a host does not count, unless the pool is
// opened to that namespace, too. Then the host belongs to the AgentMachine with a status that says that its reservation
// has held before, even if the other is older. Without such a status the older one has it.
func TestOthersTakeNoHost(t *testing.T) {
	for name, test := range map[string]struct {
		opened bool
		held   bool // as its status says
		theirs bool // as the status of the other says
		keeps  bool
	}{
		"the pool is opened to it alone":        {keeps: true},
		"the pool is opened to both":            {opened: true},
		"its reservation has held":              {opened: true, held: true, keeps: true},
		"the reservation of the other has held": {opened: true, theirs: true},
		"the reservations of both have held":    {opened: true, held: true, theirs: true},
	} {
		t.Run(name, func(t *testing.T) {
			older := &agentv1.AgentMachine{
				ObjectMeta: metav1.ObjectMeta{
					Namespace: "tenant", Name: "m", UID: "0", CreationTimestamp: metav1.Unix(1, 0),
					Annotations: map[string]string{machines.AnnotationReservedHost: "rack/moved"},
				},
				Spec: agentv1.AgentMachineSpec{ProviderID: "agent://moved"},
			}
			held := &agentv1.AgentReference{Namespace: "rack", Name: "moved"}
			if test.theirs {
				older.Status.AgentRef = held
			}
			m := newMoved(t, "rack", older)
			pools := racks()
			if test.opened {
				pools["tenant"] = pools["ns"]
			}
			m.Pool = &agent.ServicePool{Service: m.Installations.Service, Pools: pools}
			m.machine.Spec.ProviderID = ""
			if err := m.client.Update(t.Context(), m.machine); err != nil {
				t.Fatal(err)
			}
			m.get(m.infra)
			m.infra.CreationTimestamp = metav1.Unix(2, 0)
			if err := m.client.Update(t.Context(), m.infra); err != nil {
				t.Fatal(err)
			}
			if test.held {
				m.infra.Status.AgentRef = held
				if err := m.client.Status().Update(t.Context(), m.infra); err != nil {
					t.Fatal(err)
				}
			}
			m.service.hosts = map[string][]model.Host{"rack": {func() model.Host {
				host := hostOfPool("moved", "x86_64")
				host.InfraEnvID = "rack"
				return host
			}()}}
			m.reconcile()
			if keeps := m.infra.Spec.ProviderID == "agent://moved"; keeps != test.keeps {
				t.Errorf("it keeps its host: %t, %s", keeps, describe(m.infra))
			}
		})
	}
}

// TestPoolsAreOpened: an AgentCluster gets hosts only from InfraEnvs that are opened to its namespace. Another InfraEnv
// of the same name does not block it.
func TestPoolsAreOpened(t *testing.T) {
	for name, test := range map[string]struct {
		pools machines.Pools
		ref   string
		hosts int
		says  string
	}{
		"by its id":              {pools: machines.Pools{"ns": {"id-of-rack"}}, ref: "id-of-rack", hosts: 1},
		"by its name":            {pools: machines.Pools{"ns": {"id-of-rack"}}, ref: "rack", hosts: 1},
		"to another namespace":   {pools: machines.Pools{"other": {"id-of-rack"}}, ref: "id-of-rack", says: "--pool ns=ID"},
		"another one by its id":  {pools: machines.Pools{"ns": {"id-of-rack"}}, ref: "id-of-other", says: "--pool ns=ID"},
		"nothing is opened":      {ref: "rack", says: "is not a pool that is open for namespace ns"},
		"no InfraEnv of a name":  {pools: machines.Pools{"ns": {"id-of-rack"}}, ref: "shelf", says: "--pool ns=ID"},
		"whose id is written up": {pools: machines.Pools{"ns": {"ID-OF-RACK"}}, ref: "id-of-rack", hosts: 1},
	} {
		t.Run(name, func(t *testing.T) {
			service := &service{hosts: map[string][]model.Host{"id-of-rack": {hostOfPool("a", "x86_64")}, "id-of-other": {hostOfPool("b", "x86_64")}}}
			p := &agent.ServicePool{Service: func(string) (install.Backend, error) { return service, nil }, Pools: test.pools}
			infra := &agentv1.AgentCluster{Spec: agentv1.AgentClusterSpec{InfraEnvRefs: []agentv1.InfraEnvReference{{Name: test.ref}}}}
			var hosts []pool.Host
			hosts, err := p.Hosts(t.Context(), "ns", infra)
			if len(hosts) != test.hosts || (err == nil) != (test.says == "") || err != nil && !strings.Contains(err.Error(), test.says) {
				t.Errorf("%+v, %v", hosts, err)
			}
		})
	}
}
