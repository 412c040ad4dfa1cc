package machines_test

import (
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"

	agentv1 "github.com/oaictl/oaictl/pkg/capi/api/agent/v1beta2"
	"github.com/oaictl/oaictl/pkg/capi/internal/machines"
)

// TestReservedHost reads reservations of objects with and without types alike.
func TestReservedHost(t *testing.T) {
	noted := map[string]string{machines.AnnotationReservedHost: "pool/host-1"}
	for name, test := range map[string]struct {
		machine         agentv1.AgentMachine
		namespace, host string
	}{
		"none":                               {agentv1.AgentMachine{}, "", ""},
		"a note of what is not decided":      {agentv1.AgentMachine{ObjectMeta: metav1.ObjectMeta{Annotations: noted}}, "", ""},
		"a note":                             {machineOf("agent://host-1", noted, nil), "pool", "host-1"},
		"a note of another host":             {machineOf("agent://host-2", noted, nil), "clusters", "host-2"},
		"a note without a namespace":         {machineOf("agent://host-1", map[string]string{machines.AnnotationReservedHost: "host-1"}, nil), "clusters", "host-1"},
		"a status":                           {machineOf("agent://host-1", nil, &agentv1.AgentReference{Namespace: "old", Name: "host-1"}), "old", "host-1"},
		"a status of another host":           {machineOf("agent://host-1", nil, &agentv1.AgentReference{Namespace: "old", Name: "host-2"}), "clusters", "host-1"},
		"a note and a status":                {machineOf("agent://host-1", noted, &agentv1.AgentReference{Namespace: "old", Name: "host-1"}), "pool", "host-1"},
		"a provider id of another provider":  {machineOf("metal3://a/b/c", noted, nil), "", ""},
		"a provider id that names no host":   {machineOf("agent://", noted, nil), "", ""},
		"a host that was given back":         {machineOf("agent://host-1", map[string]string{machines.AnnotationReservedHost: ""}, &agentv1.AgentReference{Namespace: "old", Name: "host-1"}), "", ""},
		"a provider id of before the status": {machineOf("agent://host-1", nil, nil), "clusters", "host-1"},
	} {
		fields, err := runtime.DefaultUnstructuredConverter.ToUnstructured(&test.machine)
		if err != nil {
			t.Fatal(err)
		}
		for _, read := range []func() (string, string){
			func() (string, string) { return machines.ReservedHost(&unstructured.Unstructured{Object: fields}) },
			func() (string, string) { return machines.ReservedHostOf(&test.machine) },
		} {
			if namespace, host := read(); namespace != test.namespace || host != test.host {
				t.Errorf("%s: %s/%s, want %s/%s", name, namespace, host, test.namespace, test.host)
			}
		}
	}
}

func machineOf(providerID string, annotations map[string]string, ref *agentv1.AgentReference) agentv1.AgentMachine {
	return agentv1.AgentMachine{
		ObjectMeta: metav1.ObjectMeta{Namespace: "clusters", Name: "worker-1", Annotations: annotations},
		Spec:       agentv1.AgentMachineSpec{ProviderID: providerID}, Status: agentv1.AgentMachineStatus{AgentRef: ref},
	}
}
