package hub

import (
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/oaictl/oaictl/internal/shared/check"
	"github.com/oaictl/oaictl/pkg/install/spec"
)

// A release is newer than every candidate, the tenth candidate newer than the
// ninth, and what is no version is the last to be taken.
func TestCompareVersions(t *testing.T) {
	want := []string{"", "nightly", "4.9.0-rc.1", "4.21.0-ec.3", "4.21.0-rc.9", "4.21.0-rc.10", "4.9.50", "4.20.3", "4.20.11"}
	got := slices.Clone(want)
	rand.Shuffle(len(got), func(i, j int) { got[i], got[j] = got[j], got[i] })
	slices.SortFunc(got, compareVersions)
	check.Slice(t, got, want)
}

// The version of a release is read from its tag, or from its name if the image has a digest, and a release is used only
// for the architecture that the file asks for. If the file asks for no release, an image set for another release is
// better than none.
func TestArchitectureOfReleases(t *testing.T) {
	const digest = "quay.io/ocp/release@sha256:1111"
	sets := map[string]imageSetRecord{}
	for name, release := range map[string]string{
		"x86": "quay.io/ocp/release:4.20.33-x86_64", "arm": "quay.io/ocp/release:4.20.33-aarch64", "multi": "quay.io/ocp/release:4.20.33-multi",
		"img4.20.33-ppc64le-appsub": digest, "openshift-4.20.33": digest,
	} {
		sets[name] = recordOf(&unstructured.Unstructured{Object: map[string]any{"metadata": map[string]any{"name": name}, "spec": map[string]any{"releaseImage": release}}})
		if sets[name].version != "4.20.33" {
			t.Errorf("%s is %+v", name, sets[name])
		}
	}
	for name, test := range map[string]struct {
		asks spec.OpenShift
		want []string // the best first; what is left out does not suit
	}{
		"nothing": {spec.OpenShift{Version: "4.20"}, []string{"x86", "multi openshift-4.20.33", "arm img4.20.33-ppc64le-appsub"}},
		"x86_64":  {spec.OpenShift{Version: "4.20", Arch: spec.X86}, []string{"x86", "multi openshift-4.20.33"}},
		"arm64":   {spec.OpenShift{Version: "4.20", Arch: spec.ARM}, []string{"arm", "multi openshift-4.20.33"}},
		"multi":   {spec.OpenShift{Version: "4.20", Arch: spec.Multi}, []string{"multi", "openshift-4.20.33"}},
		"by name": {spec.OpenShift{Version: "4.20-multi"}, []string{"multi", "openshift-4.20.33"}},
	} {
		want := map[string]int{}
		for i, names := range test.want {
			for _, set := range strings.Fields(names) {
				want[set] = 3 - i
			}
		}
		for set, record := range sets {
			if got := record.suits(test.asks); got != want[set] {
				t.Errorf("%s suits who asks for %s by %d, not %d", set, name, got, want[set])
			}
		}
	}
}

// A release of OKD is one of its own, and none of OpenShift's.
func TestVersionsOfReleases(t *testing.T) {
	for release, want := range map[string]string{
		"quay.io/ocp/release:4.20.33-x86_64":                        "4.20.33",
		"quay.io/ocp/release:4.22.0-rc.4-x86_64":                    "4.22.0-rc.4",
		"quay.io/okd/scos-release:4.20.0-okd-scos.1":                "4.20.0-okd-scos.1",
		"quay.io/okd/scos-release:4.19.0-okd-scos.ec.6":             "4.19.0-okd-scos.ec.6",
		"quay.io/okd/scos:4.17.0-0.okd-scos-2024-09-30-101739":      "4.17.0-0.okd-scos-2024-09-30-101739",
		"registry/ocp/release:4.21.0-0.nightly-2026-01-02-030405":   "4.21.0-0.nightly-2026-01-02-030405",
		"registry.example.com/ocp/release@sha256:4.20.33-is-no-tag": "",
	} {
		if got := recordOf(&unstructured.Unstructured{Object: map[string]any{"metadata": map[string]any{"name": "set"}, "spec": map[string]any{"releaseImage": release}}}); got.version != want {
			t.Errorf("%s is of version %q, not %q", release, got.version, want)
		}
	}
}

// Where there is none at all, the error can name none.
func TestNoImageSet(t *testing.T) {
	for there, want := range map[string]bool{"": false, "img4.19.1": true} {
		f := noImageSet(spec.OpenShift{Version: "4.20", Arch: spec.ARM}, strings.Fields(there))
		if strings.Contains(f.Next.String(), "one of them") != want || !strings.Contains(f.Next.String(), "spec.openshift.releaseImage") {
			t.Errorf("%q: %s", there, f.Next)
		}
		if !strings.Contains(f.Err.Error(), "of version 4.20 for arm64: ") {
			t.Errorf("%v", f.Err)
		}
	}
}
