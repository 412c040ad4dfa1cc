package convert_test

import (
	"bytes"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/oaictl/oaictl/pkg/install/convert"
	"github.com/oaictl/oaictl/pkg/install/render"
	"github.com/oaictl/oaictl/pkg/install/spec"
	"github.com/oaictl/oaictl/test/sample"
)

// readBack reads objects.
func readBack(t *testing.T, objects []*unstructured.Unstructured) (*convert.Converted, *spec.Cluster) {
	t.Helper()
	var out bytes.Buffer
	if err := (&render.Objects{Cluster: objects}).WriteYAML(&out); err != nil {
		t.Fatal(err)
	}
	return readText(t, out.Bytes())
}

// readText reads objects that were written.
func readText(t *testing.T, text []byte) (*convert.Converted, *spec.Cluster) {
	t.Helper()
	c, err := convert.Read(t.Context(), "objects.yaml", convert.Options{Data: text, AcceptUnknownHosts: true})
	if err != nil {
		t.Fatal(err)
	}
	return c, load(t, c)
}

// metal3Of is how metal3 treats the machines of a cluster.
func metal3Of(c *spec.Cluster) map[string]spec.Metal3 {
	out := map[string]spec.Metal3{}
	for i := range c.Spec.Hosts {
		if bmc := c.Spec.Hosts[i].BMC; bmc != nil && bmc.Metal3 != nil {
			out[c.Spec.Hosts[i].Match.MAC] = *bmc.Metal3
		}
	}
	return out
}

// sortedHub is what only a hub knows, in one order.
func sortedHub(c *spec.Cluster) spec.Hub {
	h := c.Spec.Hub
	h.Ironic.IPFamilies = slices.Sorted(slices.Values(h.Ironic.IPFamilies))
	h.Classifications = slices.Clone(h.Classifications)
	slices.SortFunc(h.Classifications, func(a, b spec.Classification) int { return strings.Compare(a.Label, b.Label) })
	return h
}

// TestRoundTripHubOnly: what only a hub knows, and how metal3 treats machines, is
// read as it was said, from a hub's objects and from a ClusterInstance as far as
// that has a place for it.
func TestRoundTripHubOnly(t *testing.T) {
	before := sample.Parse(t, sample.EveryField())
	objects, err := render.Hub(before, render.Options{Secrets: true})
	if err != nil {
		t.Fatal(err)
	}
	_, after := readBack(t, objects.All())
	if diff := cmp.Diff(sortedHub(before), sortedHub(after)); diff != "" {
		t.Errorf("hub (-said +read):\n%s", diff)
	}
	if diff := cmp.Diff(metal3Of(before), metal3Of(after)); diff != "" {
		t.Errorf("metal3 (-said +read):\n%s", diff)
	}
	if after.Spec.Discovery.OSVersion != before.Spec.Discovery.OSVersion {
		t.Errorf("the live system is of %q", after.Spec.Discovery.OSVersion)
	}

	before.Spec.Hosts = before.Spec.Hosts[:3] // each has a BMC
	instance, _, err := convert.Write(before, convert.FormatClusterInstance, convert.Options{Secrets: true})
	if err != nil {
		t.Fatal(err)
	}
	_, after = readText(t, instance[0].Content)
	want := sortedHub(before)
	want.AgentLabels, want.IPXE = nil, "" // told as lost by the writer
	if diff := cmp.Diff(want, sortedHub(after)); diff != "" {
		t.Errorf("ClusterInstance: hub (-said +read):\n%s", diff)
	}
	if diff := cmp.Diff(metal3Of(before), metal3Of(after)); diff != "" {
		t.Errorf("ClusterInstance: metal3 (-said +read):\n%s", diff)
	}
}

// TestRoundTripImport: a cluster that is installed already is read as one, with its
// kubeconfig in a file.
func TestRoundTripImport(t *testing.T) {
	before := sample.Parse(t, sample.Imported)
	objects, err := render.Hub(before, render.Options{Secrets: true})
	if err != nil {
		t.Fatal(err)
	}
	c, after := readBack(t, objects.All())
	for _, loss := range c.Losses {
		t.Errorf("lost: %+v", loss)
	}
	from := after.Spec.Import
	if from == nil || from.ClusterID != before.Spec.Import.ClusterID || strings.TrimSpace(from.Kubeconfig.Secret().Reveal()) != "apiVersion: v1\nkind: Config" {
		t.Fatalf("import %+v of\n%s", from, c.Document)
	}
	if after.Spec.IgnitionEndpoint == nil || strings.Contains(string(c.Document), "kind: Config") {
		t.Errorf("document\n%s", c.Document)
	}
}
