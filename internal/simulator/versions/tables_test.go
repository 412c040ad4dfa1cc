package versions

import "testing"

// TestTables reads the YAML files strictly: a key that no table knows is refused.
func TestTables(t *testing.T) {
	tables, err := readTables()
	if err != nil {
		t.Fatal(err)
	}
	for _, m := range tables.minors {
		if _, err := ParseNumber(m.Version); err != nil || m.OSImage == "" || m.Channel == "" {
			t.Errorf("the entry of OpenShift %q is incomplete: %+v", m.Version, m)
		}
	}
	last := ""
	for _, f := range tables.features {
		if f.ID <= last || f.Name == "" {
			t.Errorf("feature %q has no name, or stands behind %q", f.ID, last)
		}
		last = f.ID
		if _, found := FindOperator(f.Operator); f.Operator != "" && !found {
			t.Errorf("feature %s is of an unknown operator %q", f.ID, f.Operator)
		}
	}
	if end := tables.hardware[len(tables.hardware)-1]; end.Role != "" || end.Before != "" {
		t.Errorf("the last entry of hardware.yaml does not fit every role: %+v", end)
	}
}
