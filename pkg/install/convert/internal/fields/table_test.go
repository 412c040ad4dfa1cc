package fields

import (
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/oaictl/oaictl/internal/shared/fieldpath"
	"github.com/oaictl/oaictl/pkg/install/spec"
)

// TestTableNamesFields holds the table to the fields that cluster.yaml has, and to one row for
// a place in a document.
func TestTableNamesFields(t *testing.T) {
	documents := []Document{
		InstallConfig, InstallOverrides, InstallPlatform, InstallHost, AgentConfig, AgentHost, NodesConfig, ClusterDeployment, MetalHost,
		ClusterInstance, ClusterInstanceNode, CAPIControlPlane, CAPIBootstrap, Parameters, ParametersHost,
	}
	c := &spec.Cluster{Spec: spec.ClusterSpec{Hosts: make([]spec.Host, 1)}}
	places := map[Document]map[string]bool{}
	for _, row := range table() {
		field := row.field
		if name, isHost := strings.CutPrefix(field, "."); isHost {
			field = HostField(0, name)
		}
		if !fieldpath.Reach(reflect.ValueOf(c), field, "yaml").IsValid() {
			t.Errorf("cluster.yaml has no field %s", field)
		}
		for document, place := range row.at {
			if !slices.Contains(documents, document) {
				t.Errorf("%s: no reader reads the document %s", field, document)
			}
			if places[document] == nil {
				places[document] = map[string]bool{}
			}
			if place != "." && places[document][place] {
				t.Errorf("two rows read %s", place)
			}
			places[document][place] = true
		}
	}
}
