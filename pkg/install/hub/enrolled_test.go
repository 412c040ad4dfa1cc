package hub

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/oaictl/oaictl/internal/shared/check"
	"github.com/oaictl/oaictl/internal/shared/hubapi"
	"github.com/oaictl/oaictl/internal/shared/must"
	"github.com/oaictl/oaictl/pkg/install/hub/internal/kube"
	"github.com/oaictl/oaictl/pkg/install/model"
)

// TestEnrolledMachines: BareMetalHosts are read once after each change, for all clusters, and are each one's own where
// they were made for it.
func TestEnrolledMachines(t *testing.T) {
	at := kube.NewNamespace(&hubapi.Texts{}, "lab", kube.BareMetalHosts)
	store, plane := at.Store(kube.BareMetalHosts), &Plane{}
	put := func(name, version, cluster, state string) {
		t.Helper()
		u := &unstructured.Unstructured{Object: map[string]any{
			"apiVersion": "metal3.io/v1alpha1", "kind": "BareMetalHost",
			"metadata": map[string]any{"namespace": "lab", "name": name, "uid": name, "resourceVersion": version, "labels": map[string]any{hubapi.LabelCluster: cluster}},
			"spec":     map[string]any{"bootMACAddress": "52:54:00:00:00:0" + name},
			"status":   map[string]any{"provisioning": map[string]any{"state": state}},
		}}
		must.Do(t, store.Update(u))
	}
	is := func(cluster string, want ...model.Enrolled) []model.Enrolled {
		t.Helper()
		got := plane.enrolledMachines(at, cluster)
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("for %s: %s", cluster, diff)
		}
		return got
	}
	one := model.Enrolled{Name: "1", MAC: "52:54:00:00:00:01", State: "available"}
	two := model.Enrolled{Name: "2", MAC: "52:54:00:00:00:02", State: "available"}
	put("1", "1", "", "available")
	put("2", "2", "own", "available")
	shared := is("other", one, two)
	if again := is("third", one, two); &again[0] != &shared[0] {
		t.Error("they were read again, though nothing has changed")
	}
	own := two
	own.Owned = true
	is("own", one, own)
	is("other", one, two)
	put("1", "3", "", "provisioned")
	one.State = "provisioned"
	is("other", one, two)
	must.Do(t, store.Replace(nil, "4"))
	if left := plane.enrolledMachines(at, "own"); left == nil || len(left) > 0 {
		t.Errorf("of those that are gone there are %#v", left)
	}
}

// TestPreprovisioningImages: what is wrong with the image of a machine that has still to boot
// is the machine's trouble, in the words of its PreprovisioningImage and without terminal codes.
func TestPreprovisioningImages(t *testing.T) {
	image := func(name, failed string) *unstructured.Unstructured {
		return object("metal3.io/v1alpha1", "PreprovisioningImage", "lab", name, map[string]any{"status": map[string]any{"conditions": []any{
			map[string]any{"type": "Ready", "status": "False", "reason": "x", "message": "waiting"},
			map[string]any{"type": "Error", "status": failed, "reason": "ArchMismatch", "message": "PreprovisioningImage CPU architecture (arm64) does not match InfraEnv CPU architecture (x86_64)"},
		}}})
	}
	p, _ := filledPlane(t, "lab", image("broken", "True"), image("fine", "False"), image("done", "True"), image("other", "True"))
	machine := func(name, state, env string) model.Enrolled {
		return model.Enrolled{Name: name, State: state, InfraEnv: env}
	}
	given := []model.Enrolled{
		machine("broken", "preparing", "lab"), machine("fine", "preparing", "lab"), machine("done", "provisioned", "lab"),
		machine("other", "preparing", "another"), machine("none", "preparing", "lab"),
	}
	l := &observation{Plane: p}
	got := l.withImageTrouble(t.Context(), "lab", given, []model.InfraEnv{{Name: "lab"}})
	const text = "its PreprovisioningImage cannot be made: PreprovisioningImage CPU architecture (arm64) does not match InfraEnv CPU architecture (x86_64)"
	for i, m := range got {
		want := ""
		if m.Name == "broken" {
			want = text
		}
		check.Equal(t, m.Trouble, want, m.Name)
		if given[i].Trouble != "" {
			t.Errorf("%s: the list that clusters share was changed", m.Name)
		}
	}
}
