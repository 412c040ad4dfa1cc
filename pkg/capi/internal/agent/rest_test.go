//go:build e2e

package agent_test

import (
	"fmt"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"

	"github.com/oaictl/oaictl/internal/shared/hubapi"
	agentv1 "github.com/oaictl/oaictl/pkg/capi/api/agent/v1beta2"
	"github.com/oaictl/oaictl/pkg/capi/internal/machines"
	"github.com/oaictl/oaictl/pkg/install/model"
)

// rack is a Cluster whose machines are taken from the InfraEnv rack of a service.
func rack(_ *clusterv1.Cluster, infra *agentv1.AgentCluster) {
	infra.Spec.InfraEnvRefs = []agentv1.InfraEnvReference{{Name: "rack"}}
}

// TestHostsOfAServiceAreTaken reserves hosts of the InfraEnvs that the AgentCluster names, by the labels that
// a hub would give them, each once, and gives them back.
func TestHostsOfAServiceAreTaken(t *testing.T) {
	t.Parallel()
	service, desire := installed("")
	service.observed.Cluster.ID = "cluster-1"
	service.hosts = map[string][]model.Host{"id-of-rack": {hostOfPool("host-1", "x86_64"), hostOfPool("host-2", "x86_64"), hostOfPool("host-arm", "arm64")}, "id-of-other": {hostOfPool("host-9", "x86_64")}}
	x := open(t, setup{rest: true, service: service, desire: desire})
	x.addCluster(t, x.namespace, "c", rack)
	of := map[string]string{}
	for i := range 2 {
		x.addMachine(t, x.namespace, "c", fmt.Sprintf("m-%d", i), func(_ *clusterv1.Machine, m *agentv1.AgentMachine) {
			m.Spec.AgentLabelSelector = &metav1.LabelSelector{MatchLabels: map[string]string{hubapi.InventoryCPUArchitecture: "x86_64", hubapi.InventoryHostManufacturer: "ExampleInc"}}
		})
	}
	for i := range 2 {
		name := fmt.Sprintf("m-%d", i)
		host := x.reserved(t, x.namespace, name)
		if other := of[host]; other != "" {
			t.Errorf("%s and %s have the host %s", name, other, host)
		}
		of[host] = name
		if got, want := x.machine(t, x.namespace, name).Annotations[machines.AnnotationReservedHost], "id-of-rack/"+host; got != want {
			t.Errorf("%s has noted %q, want %q", name, got, want)
		}
	}
	if of["host-1"] == "" || of["host-2"] == "" {
		t.Errorf("%v", of)
	}
	x.addMachine(t, x.namespace, "c", "m-2", func(_ *clusterv1.Machine, m *agentv1.AgentMachine) { m.Spec.CPUArchitecture = "x86_64" })
	eventually(t, "a machine to wait", func() (bool, string) {
		c := conditionOf(x.machine(t, x.namespace, "m-2"), agentv1.AgentReservedCondition)
		return c.Message == "none of 3 hosts of InfraEnv rack fits: 2 reserved for another machine (host-of-host-1, host-of-host-2), 1 of another architecture (host-of-host-arm)", c.Message
	})
	name := of["host-1"]
	service.change("host-1", func(h *model.Host) {
		h.ClusterID, h.State, h.Status = "cluster-1", model.HostAdded, "added-to-existing-cluster"
	})
	x.patch(t, x.machine(t, x.namespace, name), `{"metadata": {"annotations": {"test": "look again"}}}`)
	machine := &clusterv1.Machine{}
	eventually(t, "the machine to be handed over", func() (bool, string) {
		x.get(t, machine, x.namespace, name)
		return machine.Spec.ProviderID == "agent://host-1" && len(machine.Status.Addresses) == 3, describe(x.machine(t, x.namespace, name))
	})
	service.mu.Lock()
	service.act = func(a model.Action) error {
		for i := range service.hosts["id-of-rack"] {
			if h := &service.hosts["id-of-rack"][i]; a.Kind == model.ReturnHost && h.ID == a.Target {
				h.ClusterID, h.State, h.Status = "", model.HostReleasing, "unbinding-pending-user-action"
			}
		}
		return nil
	}
	service.mu.Unlock()
	x.deleteMachine(t, name)
	x.gone(t, name)
	if acted := service.actions(model.ReturnHost); len(acted) != 1 || acted[0].Target != "host-1" || acted[0].InfraEnv != "id-of-rack" {
		t.Errorf("the service was asked for %+v", acted)
	}
}

// TestBoundHostsOfAServiceAreExchanged takes another host if another client has bound the one that was reserved:
// nothing on the host recorded the reservation.
func TestBoundHostsOfAServiceAreExchanged(t *testing.T) {
	t.Parallel()
	service, desire := installed("")
	service.observed.Cluster.ID = "cluster-1"
	service.hosts = map[string][]model.Host{"id-of-rack": {hostOfPool("host-1", "x86_64"), hostOfPool("host-2", "x86_64")}}
	x := open(t, setup{rest: true, service: service, desire: desire})
	x.addCluster(t, x.namespace, "c", rack)
	x.addMachine(t, x.namespace, "c", "m")
	first := x.reserved(t, x.namespace, "m")
	service.change(first, func(h *model.Host) { h.ClusterID, h.State, h.Status = "cluster-2", model.HostReady, "known" })
	x.patch(t, x.machine(t, x.namespace, "m"), `{"metadata": {"annotations": {"test": "look again"}}}`)
	eventually(t, "another host", func() (bool, string) {
		host := x.reserved(t, x.namespace, "m")
		return host != first, host
	})
}
