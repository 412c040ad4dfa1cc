package machines_test

import (
	"context"
	"errors"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	"github.com/oaictl/oaictl/internal/shared/clock"
	"github.com/oaictl/oaictl/internal/shared/must"
	agentv1 "github.com/oaictl/oaictl/pkg/capi/api/agent/v1beta2"
	"github.com/oaictl/oaictl/pkg/capi/internal/machines"
)

// reading is a client whose reads do as a function says.
func reading(get func(ctx context.Context) error) client.Client {
	return interceptor.NewClient(fake.NewClientBuilder().Build(), interceptor.Funcs{
		Get: func(ctx context.Context, _ client.WithWatch, _ client.ObjectKey, _ client.Object, _ ...client.GetOption) error {
			return get(ctx)
		},
	})
}

// TestKindsThatAreNoInfrastructure: a Machine or a control plane that names a kind that managers may not list is refused with
// the field and what to name, and nothing is read of that kind. Another group may be allowed by a role of the user.
func TestKindsThatAreNoInfrastructure(t *testing.T) {
	const own = "capi-provider.agent-install.openshift.io"
	for name, test := range map[string]struct {
		group, kind       string
		machine, template bool // it is taken
	}{
		"an infrastructure provider's":    {"infrastructure.cluster.x-k8s.io", "Metal3Machine", true, true},
		"a machine of our own":            {own, "AgentMachine", true, false},
		"a template of our own":           {own, "AgentMachineTemplate", false, true},
		"a cluster of our own":            {own, "AgentCluster", false, false},
		"another group's":                 {"vendor.example.com", "VendorMachine", true, true},
		"a template of bootstrap configs": {"bootstrap.cluster.x-k8s.io", "OpenshiftAssistedConfigTemplate", false, false},
		"a control plane":                 {"controlplane.cluster.x-k8s.io", "OpenshiftAssistedControlPlane", false, false},
		"a Machine":                       {"cluster.x-k8s.io", "Machine", false, false},
		"an add-on":                       {"addons.cluster.x-k8s.io", "ClusterResourceSet", false, false},
	} {
		t.Run(name, func(t *testing.T) {
			ref := clusterv1.ContractVersionedObjectReference{APIGroup: test.group, Kind: test.kind, Name: "x"}
			m := &clusterv1.Machine{}
			m.Namespace, m.Name, m.Spec.InfrastructureRef = "ns", "m", ref
			judge := func(err error, taken bool, path string) {
				t.Helper()
				if (err == nil) != taken || err != nil && !strings.Contains(err.Error(), path+"infrastructureRef: "+test.kind+" of the API group "+test.group) {
					t.Errorf("it is refused with %v", err)
				}
			}
			judge(machines.CheckInfrastructure(m), test.machine, "spec.")
			judge(machines.CheckTemplate(ref), test.template, "spec.machineTemplate.spec.")
			read := false
			object, err := machines.Infrastructure(t.Context(), reading(func(context.Context) error { read = true; return errors.New("no") }), m)
			if read != test.machine || (err != nil) != test.machine || object != nil {
				t.Errorf("it was read: %t; %v, %v", read, object, err)
			}
		})
	}
	if err := machines.CheckInfrastructure(&clusterv1.Machine{}); err != nil {
		t.Errorf("a Machine without infrastructure is refused: %v", err)
	}
}

// TestReadsOfUnlistedKindsEnd: a read of a kind that the cache cannot list ends after seconds, and the next reads of it at
// once. When the kind is listed later, it is read as any other.
func TestReadsOfUnlistedKindsEnd(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var listed bool
		c := machines.BoundReads(reading(func(ctx context.Context) error {
			if listed {
				return nil
			}
			<-ctx.Done()
			return ctx.Err()
		}))
		object := &unstructured.Unstructured{}
		object.SetAPIVersion("vendor.example.com/v1")
		object.SetKind("VendorMachine")
		read := func(ctx context.Context) (time.Duration, error) {
			start := clock.Real().Now()
			err := c.Get(ctx, client.ObjectKey{Namespace: "ns", Name: "x"}, object)
			return clock.Real().Now().Sub(start), err
		}
		expect := func(most time.Duration, says string) {
			t.Helper()
			within, cancel := context.WithTimeout(t.Context(), time.Hour)
			defer cancel()
			took, err := read(within)
			if took > most || (err == nil) != (says == "") || err != nil && !strings.Contains(err.Error(), says) {
				t.Errorf("after %s it ends with %v", took, err)
			}
		}
		brief, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		if took, err := read(brief); took != time.Second || !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("a read that may take a second ends after %s with %v", took, err)
		}
		const advice = "VendorMachine of the API group vendor.example.com: have an administrator label a ClusterRole"
		expect(5*time.Second, advice)
		for range 10 {
			expect(100*time.Millisecond, advice)
		}
		listed = true
		expect(0, "")
	})
}

// TestAgentMachinesAreReadByTheirType: an unstructured one comes from the objects that a reconciler watches.
func TestAgentMachinesAreReadByTheirType(t *testing.T) {
	scheme := runtime.NewScheme()
	must.Do(t, agentv1.AddToScheme(scheme))
	machine := &agentv1.AgentMachine{}
	machine.Namespace, machine.Name, machine.Spec.ProviderID = "ns", "m", "agent://1"
	c := machines.BoundReads(interceptor.NewClient(fake.NewClientBuilder().WithScheme(scheme).WithObjects(machine).Build(), interceptor.Funcs{
		Get: func(ctx context.Context, c client.WithWatch, key client.ObjectKey, into client.Object, options ...client.GetOption) error {
			if _, is := into.(*agentv1.AgentMachine); !is {
				t.Errorf("read is a %T", into)
			}
			return c.Get(ctx, key, into, options...)
		},
	}))
	got := &unstructured.Unstructured{}
	got.SetGroupVersionKind(agentv1.GroupVersion().WithKind(machines.KindAgentMachine))
	must.Do(t, c.Get(t.Context(), client.ObjectKey{Namespace: "ns", Name: "m"}, got))
	provider, _, _ := unstructured.NestedString(got.Object, "spec", "providerID")
	if got.GetName() != "m" || got.GetKind() != machines.KindAgentMachine || got.GetAPIVersion() == "" || provider != "agent://1" {
		t.Errorf("it is %v", got.Object)
	}
	if err := c.Get(t.Context(), client.ObjectKey{Namespace: "ns", Name: "other"}, got); !apierrors.IsNotFound(err) {
		t.Errorf("one that is not there: %v", err)
	}
}
