package desired

import (
	"context"
	"errors"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/oaictl/oaictl/internal/model"
	bootstrapv1 "github.com/oaictl/oaictl/pkg/capi/api/bootstrap/v1beta1"
	controlplanev1 "github.com/oaictl/oaictl/pkg/capi/api/controlplane/v1beta1"
	"github.com/oaictl/oaictl/pkg/capi/internal/installation"
	"github.com/oaictl/oaictl/pkg/install"
)

const openShiftID = "11111111-2222-3333-4444-555555555555"

// moved are the objects of a cluster that was installed elsewhere.
func moved(t *testing.T) []client.Object {
	t.Helper()
	list := objects(t)
	for _, o := range list {
		if plane, is := o.(*controlplanev1.OpenshiftAssistedControlPlane); is {
			plane.Annotations = map[string]string{AnnotationClusterID: "ns/edge", AnnotationOpenShiftID: openShiftID}
		}
	}
	return append(list, &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Name: "lab-kubeconfig", Namespace: "ns"}, Data: map[string][]byte{"value": []byte("{kind: Config}")}})
}

// TestTakesInWhatProvesItself: a cluster that is noted to be installed, and that the service has no record of, is
// taken in if it answers as the one that is noted, and nothing of it is ever installed.
func TestTakesInWhatProvesItself(t *testing.T) {
	for name, test := range map[string]struct {
		is  string
		err error
		ask func(error) bool // what is wrong; nil for nothing
	}{
		"it answers": {is: openShiftID},
		"it does not": {err: errors.New("no route to host"), ask: func(err error) bool {
			return errors.Is(err, installation.ErrNotYet) && strings.Contains(err.Error(), "no route")
		}},
		"another one":    {is: "66666666-2222-3333-4444-555555555555", ask: func(err error) bool { _, is := errors.AsType[*installation.Refusal](err); return is }},
		"it has no name": {ask: func(err error) bool { _, is := errors.AsType[*installation.Refusal](err); return is }},
	} {
		t.Run(name, func(t *testing.T) {
			source := sourceOf(t, moved(t))
			source.Identify = func(context.Context, []byte) (string, error) { return test.is, test.err }
			d, err := source.Desire(t.Context(), lab, &install.Observed{})
			if test.ask != nil {
				if err == nil || !test.ask(err) {
					t.Errorf("got %v", err)
				}
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			if !d.Spec.Imported() || d.Spec.Spec.Import.ClusterID != openShiftID || d.Options.Adopt != "" || !d.Options.AddNodes {
				t.Errorf("desired is %+v with %+v", d.Spec.Spec.Import, d.Options)
			}
		})
	}
}

// TestInstalledIsAsItIs: however many Machines an installed cluster has left, it is no matter of how it was
// installed.
func TestInstalledIsAsItIs(t *testing.T) {
	var two []client.Object
	for _, o := range moved(t) {
		if o.GetName() != "cp-2" && o.GetName() != "cp-2-config" {
			two = append(two, o)
		}
	}
	source := sourceOf(t, two)
	observed := &install.Observed{Cluster: &install.Cluster{ClusterRef: install.ClusterRef{ID: "ns/edge"}, State: model.ClusterAddingHosts}}
	for name, seen := range map[string]*install.Observed{"seen": observed, "not seen yet": nil} {
		d, err := source.Desire(t.Context(), lab, seen)
		if err != nil || !d.Spec.Imported() || d.Options.Adopt != "ns/edge" {
			t.Errorf("%s: %+v, %v", name, d, err)
		}
	}
}

// TestNetworkIsSelected: the NMStateConfig that a config selects is the network of its machine.
func TestNetworkIsSelected(t *testing.T) {
	config := func(name, rack string) client.Object {
		return &unstructured.Unstructured{Object: map[string]any{
			"apiVersion": "agent-install.openshift.io/v1beta1", "kind": "NMStateConfig",
			"metadata": map[string]any{"name": name, "namespace": "ns", "labels": map[string]any{"rack": rack}},
			"spec": map[string]any{
				"interfaces": []any{map[string]any{"name": "eth0", "macAddress": "52:54:00:00:00:01"}},
				"config":     map[string]any{"interfaces": []any{map[string]any{"name": "eth0", "type": "ethernet", "state": "up"}}},
			},
		}}
	}
	list := objects(t)
	for _, o := range list {
		if c, is := o.(*bootstrapv1.OpenshiftAssistedConfig); is && c.Name == "w-0-config" {
			c.Spec.NMStateConfigLabelSelector = metav1.LabelSelector{MatchLabels: map[string]string{"rack": "a"}}
		}
	}
	ours := config("ours", "a")
	ours.SetLabels(map[string]string{"rack": "a", "oaictl.io/cluster": "edge"})
	for name, test := range map[string]struct {
		there []client.Object
		says  string
	}{
		"one":       {[]client.Object{config("own", "a"), config("other", "b"), ours}, ""},
		"none":      {[]client.Object{config("other", "b")}, "selects 0 NMStateConfigs"},
		"ambiguous": {[]client.Object{config("own", "a"), config("too", "a")}, "selects 2 NMStateConfigs (own, too)"},
	} {
		t.Run(name, func(t *testing.T) {
			d, err := sourceOf(t, append(append([]client.Object{}, list...), test.there...)).Desire(t.Context(), lab, nil)
			if test.says != "" {
				if _, is := errors.AsType[*installation.Refusal](err); !is || !strings.Contains(err.Error(), test.says) {
					t.Errorf("got %v", err)
				}
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			net := d.Spec.Spec.Hosts[3].Net
			if net == nil || len(net.Interfaces) != 1 || net.Interfaces[0].MAC != "52:54:00:00:00:01" || !strings.Contains(net.NMState.Text(), "ethernet") {
				t.Errorf("its network is %+v", net)
			}
			if d.Spec.Spec.Hosts[0].Net != nil {
				t.Error("another machine has it, too")
			}
		})
	}
}
