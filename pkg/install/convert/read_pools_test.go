package convert_test

import (
	"bufio"
	"bytes"
	"encoding/json"
	"maps"
	"os"
	"testing"

	"github.com/oaictl/oaictl/internal/setting"
	"github.com/oaictl/oaictl/pkg/install/convert"
	"github.com/oaictl/oaictl/pkg/install/render"
	"github.com/oaictl/oaictl/pkg/install/spec"
	"github.com/oaictl/oaictl/test/sample"
)

// TestRecordedPools: hyperthreading in an AgentClusterInstall is carried over as the
// service of a real hub reads it, for clusters with an arbiter, where every role counts.
func TestRecordedPools(t *testing.T) {
	recorded, err := os.Open("../../../internal/hubobjects/testdata/recorded.jsonl")
	if err != nil {
		t.Fatal(err)
	}
	defer recorded.Close()
	read := 0
	for lines := bufio.NewScanner(recorded); lines.Scan(); {
		var row struct {
			Kind    string
			Spec    map[string]any
			Service struct{ Hyperthreading string }
		}
		if err := json.Unmarshal(lines.Bytes(), &row); err != nil {
			t.Fatal(err)
		}
		if row.Service.Hyperthreading == "" {
			continue
		}
		objects, err := render.Hub(sample.Example(t, "arbiter"), render.Options{Secrets: true})
		if err != nil {
			t.Fatal(err)
		}
		for _, u := range objects.All() {
			if s, is := u.Object["spec"].(map[string]any); is && u.GetKind() == row.Kind {
				maps.DeleteFunc(s, func(name string, _ any) bool { return name == "controlPlane" || name == "compute" || name == "arbiter" })
				maps.Copy(s, row.Spec)
			}
		}
		var text bytes.Buffer
		if err := render.WriteYAML(&text, objects.All()); err != nil {
			t.Fatal(err)
		}
		result, err := convert.Read(t.Context(), "in", convert.Options{Env: memory{"in/a.yaml": text.Bytes()}.env(), AcceptUnknownHosts: true})
		if err != nil {
			t.Fatal(err)
		}
		carried := result.Cluster.Spec.Hyperthreading
		if carried == nil { // which leaves it to the service's default
			carried = spec.RoleSet{spec.AllRoles}
		}
		want, have := setting.Roles(setting.RolesOf(row.Service.Hyperthreading)), setting.Roles(carried)
		if !maps.Equal(want, have) {
			t.Errorf("%v: %v, and the service reads %s", row.Spec, result.Cluster.Spec.Hyperthreading, row.Service.Hyperthreading)
		}
		read++
	}
	if read < 45 {
		t.Errorf("only %d rows were read", read)
	}
}
