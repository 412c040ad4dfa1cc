package schema

import (
	"strings"
	"testing"
)

func TestExplain(t *testing.T) {
	doc, err := Explain("spec.hosts[3].disk.hints")
	if err != nil || doc.Path != "spec.hosts.disk.hints" || doc.Type != "object" || len(doc.Fields) != 10 || doc.Fields[0].Path != "spec.hosts.disk.hints.deviceName" {
		t.Errorf("got %+v, %v", doc, err)
	}
	doc, err = Explain("spec.hosts.role")
	if err != nil || strings.Join(doc.Enum, " ") != "control-plane worker arbiter auto" {
		t.Errorf("got %+v, %v", doc, err)
	}
	doc, err = Explain("spec.hosts.net.bond.mode")
	if err != nil || doc.Default != "active-backup" {
		t.Errorf("got %+v, %v", doc, err)
	}
	if _, err = Explain("spec.host"); err == nil || !strings.Contains(err.Error(), `did you mean "hosts"?`) {
		t.Errorf("got %v", err)
	}
	if _, err = Explain("metadata.name.x"); err == nil || !strings.Contains(err.Error(), "it has no fields") {
		t.Errorf("got %v", err)
	}
}

// Every field that the reader knows can be explained.
func TestEverythingIsExplained(t *testing.T) {
	var walk func(path string, depth int)
	walk = func(path string, depth int) {
		doc, err := Explain(path)
		if err != nil {
			t.Fatal(err)
		}
		for _, field := range doc.Fields {
			if field.Description == "" || field.Type == "" {
				t.Errorf("%s has no description or no type", field.Path)
			}
			if depth < 7 {
				walk(field.Path, depth+1)
			}
		}
	}
	walk("", 0)
}
