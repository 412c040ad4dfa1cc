//go:build e2e

package hub_test

import (
	"context"
	"slices"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/dynamic"

	"github.com/oaictl/oaictl/internal/shared/hubapi"
	"github.com/oaictl/oaictl/internal/simulator/hub"
)

// TestImageSets makes those of the releases that the service knows, once.
func TestImageSets(t *testing.T) {
	kube := server.Start(t)
	made, err := hub.AddImageSets(t.Context(), kube.Config)
	if err != nil || !slices.Contains(made, "img4.20.33-x86-64-appsub") || !slices.Contains(made, "img4.20.33-multi-appsub") {
		t.Fatalf("made %q, %v", made, err)
	}
	client, err := dynamic.NewForConfig(kube.Config)
	if err != nil {
		t.Fatal(err)
	}
	sets := client.Resource(hubapi.Resource(hubapi.KindClusterImageSet))
	t.Cleanup(func() {
		for _, name := range made {
			_ = sets.Delete(context.WithoutCancel(t.Context()), name, metav1.DeleteOptions{})
		}
	})
	set, err := sets.Get(t.Context(), "img4.20.33-x86-64-appsub", metav1.GetOptions{})
	if err != nil || text(set, "spec", "releaseImage") != "quay.io/openshift-release-dev/ocp-release:4.20.33-x86_64" {
		t.Errorf("%v (%v)", set, err)
	}
	if again, err := hub.AddImageSets(t.Context(), kube.Config); err != nil || len(again) != 0 {
		t.Errorf("made once more: %q, %v", again, err)
	}
	if missing, err := hub.Missing(t.Context(), kube.Config); err != nil || len(missing) > 0 {
		t.Errorf("missing %q, %v", missing, err)
	}
}
