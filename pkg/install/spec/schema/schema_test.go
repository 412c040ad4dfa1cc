package schema

import (
	"strings"
	"testing"

	"github.com/oaictl/oaictl/internal/shared/check"
	"github.com/oaictl/oaictl/internal/shared/must"
	"github.com/oaictl/oaictl/pkg/install/spec"
)

func TestExplain(t *testing.T) {
	doc, err := Explain("", "spec.hosts[3].disk.hints")
	if err != nil || doc.Path != "spec.hosts.disk.hints" || doc.Type != "object" || len(doc.Fields) != 10 || doc.Fields[0].Path != "spec.hosts.disk.hints.deviceName" {
		t.Errorf("got %+v, %v", doc, err)
	}
	doc, err = Explain("", "spec.hosts.role")
	if err != nil || strings.Join(doc.Enum, " ") != "control-plane worker arbiter auto" {
		t.Errorf("got %+v, %v", doc, err)
	}
	doc, err = Explain("", "spec.hosts.net.bond.mode")
	if err != nil || doc.Default != "active-backup" {
		t.Errorf("got %+v, %v", doc, err)
	}
	if _, err = Explain("", "spec.host"); err == nil || !strings.Contains(err.Error(), `did you mean "hosts"?`) {
		t.Errorf("got %v", err)
	}
	if _, err = Explain("", "metadata.name.x"); err == nil || !strings.Contains(err.Error(), "it has no fields") {
		t.Errorf("got %v", err)
	}
}

// A field that documents of one kind have is found without the kind; what both have
// is a Cluster's.
func TestExplainKinds(t *testing.T) {
	for _, c := range []struct{ kind, path, want string }{
		{"", "spec.cluster", "NAMESPACE/NAME"},
		{"Nodes", "spec.pullSecret", "Needed where the service has no discovery image"},
		{"", "spec.pullSecret", "console.redhat.com."},
		{"Cluster", "spec.hosts.taints", "Taints of the node."},
	} {
		if doc, err := Explain(c.kind, c.path); err != nil || !strings.Contains(doc.Description, c.want) {
			t.Errorf("%s of %q: %+v, %v", c.path, c.kind, doc, err)
		}
	}
	for kind, want := range map[string]string{"Cluster": "explaining spec.cluster: spec has no field", "Nodes": `explaining metadata: nodes.yaml has no field "metadata"`} {
		path := map[string]string{"Cluster": "spec.cluster", "Nodes": "metadata"}[kind]
		check.Says(t, check.Err(Explain(kind, path)), want, kind)
	}
	if JSON("Pod") != nil {
		t.Error("there is a schema of kind Pod")
	}
}

// Every field that the reader knows can be explained.
func TestEverythingIsExplained(t *testing.T) {
	var walk func(kind, path string, depth int)
	walk = func(kind, path string, depth int) {
		doc := must.Get(Explain(kind, path))(t)
		for _, field := range doc.Fields {
			if field.Description == "" || field.Type == "" {
				t.Errorf("%s has no description or no type", field.Path)
			}
			if depth < 7 {
				walk(kind, field.Path, depth+1)
			}
		}
	}
	for _, kind := range []string{spec.Kind, spec.KindNodes} {
		walk(kind, "", 0)
	}
}
