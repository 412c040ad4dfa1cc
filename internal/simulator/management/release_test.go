package management

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/oaictl/oaictl/internal/shared/release"
)

// TestRelease: the simulation knows the releases that its service knows, by tag and by the digest that it gave.
func TestRelease(t *testing.T) {
	const repository = "quay.io/okd/scos-release"
	tagged, err := Release(t.Context(), repository+":4.19.0-okd-scos.19", release.Options{Kubernetes: true})
	if err != nil {
		t.Fatal(err)
	}
	want := release.Info{Version: "4.19.0-okd-scos.19", Arch: []string{"x86_64"}, Digest: tagged.Digest, Kubernetes: "1.32.0"}
	if diff := cmp.Diff(want, tagged); diff != "" || tagged.Digest == "" {
		t.Errorf("by its tag, with the digest %q: %s", tagged.Digest, diff)
	}
	named, err := Release(t.Context(), repository+"@"+tagged.Digest, release.Options{Kubernetes: true})
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(want, named); diff != "" {
		t.Errorf("by its digest: %s", diff)
	}
	if info, err := Release(t.Context(), "quay.io/openshift-release-dev/ocp-release:4.20.32-multi", release.Options{}); err != nil || info.Version != "4.20.32" || len(info.Arch) != 4 || info.Kubernetes != "" {
		t.Errorf("one of all architectures: %+v, %v", info, err)
	}
	if info, err := Release(t.Context(), repository+":4.99.0-okd-scos.1", release.Options{}); err == nil {
		t.Errorf("one that never was: %+v", info)
	}
}
