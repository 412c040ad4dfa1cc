package hubapi_test

import (
	"bufio"
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/oaictl/oaictl/internal/shared/hubapi"
	"github.com/oaictl/oaictl/internal/shared/hubapi/agentinstall"
	"github.com/oaictl/oaictl/internal/shared/hubapi/hive"
	"github.com/oaictl/oaictl/internal/shared/hubapi/metal3"
	"github.com/oaictl/oaictl/internal/shared/must"
)

// typeOf is a new object of ours for a kind, nil for a kind that has no type.
func typeOf(kind string) any {
	switch kind {
	case hubapi.KindClusterDeployment:
		return &hive.ClusterDeployment{}
	case hubapi.KindClusterImageSet:
		return &hive.ClusterImageSet{}
	case hubapi.KindAgentClusterInstall:
		return &hive.AgentClusterInstall{}
	case hubapi.KindInfraEnv:
		return &agentinstall.InfraEnv{}
	case hubapi.KindNMStateConfig:
		return &agentinstall.NMStateConfig{}
	case hubapi.KindAgent:
		return &agentinstall.Agent{}
	case hubapi.KindAgentClassification:
		return &agentinstall.AgentClassification{}
	case hubapi.KindBareMetalHost:
		return &metal3.BareMetalHost{}
	}
	return nil
}

// recorded are the objects of a hub, in all their versions, of kinds that have a
// type.
func recorded(t *testing.T) []json.RawMessage {
	t.Helper()
	folder := os.Getenv("OAICTL_RECORDINGS")
	if folder == "" {
		t.Skip("OAICTL_RECORDINGS names no folder")
	}
	files, err := filepath.Glob(filepath.Join(folder, "hub", "*.jsonl"))
	if err != nil || len(files) == 0 {
		t.Fatalf("no recordings of a hub in %s: %v", folder, err)
	}
	var objects []json.RawMessage
	for _, name := range files {
		content := must.Get(os.ReadFile(name))(t)
		lines := bufio.NewScanner(bytes.NewReader(content))
		lines.Buffer(nil, 16<<20)
		for lines.Scan() {
			var line struct{ Object json.RawMessage }
			must.Do(t, json.Unmarshal(lines.Bytes(), &line), name)
			objects = append(objects, line.Object)
		}
		must.Do(t, lines.Err())
	}
	return objects
}

// TestRecordedObjectsFit reads each object of a real hub strictly and writes it
// again, by JSON and by the converter that a dynamic client's objects go through.
func TestRecordedObjectsFit(t *testing.T) {
	kinds := map[string]int{}
	for i, raw := range recorded(t) {
		var want map[string]any
		must.Do(t, json.Unmarshal(raw, &want))
		kind, _ := want["kind"].(string)
		object := typeOf(kind)
		if object == nil {
			continue
		}
		kinds[kind]++
		sayNothingTwice(want)
		strict := json.NewDecoder(bytes.NewReader(raw))
		strict.DisallowUnknownFields()
		if err := strict.Decode(object); err != nil {
			t.Errorf("object %d, %s: %v", i, kind, err)
			continue
		}
		if diff := cmp.Diff(want, asJSON(t, object)); diff != "" {
			t.Errorf("object %d, %s, written again (-recorded +ours):\n%s", i, kind, diff)
		}
		fields := must.Get(runtime.DefaultUnstructuredConverter.ToUnstructured(object))(t)
		again := typeOf(kind)
		if err := runtime.DefaultUnstructuredConverter.FromUnstructuredWithValidation(fields, again, true); err != nil {
			t.Errorf("object %d, %s: %v", i, kind, err)
		}
		if diff := cmp.Diff(want, asJSON(t, again)); diff != "" {
			t.Errorf("object %d, %s, converted there and back (-recorded +ours):\n%s", i, kind, diff)
		}
	}
	for _, kind := range []string{hubapi.KindClusterDeployment, hubapi.KindAgentClusterInstall, hubapi.KindInfraEnv, hubapi.KindAgent} {
		if kinds[kind] == 0 {
			t.Errorf("the recordings hold no %s: %v", kind, kinds)
		}
	}
}

// sayNothingTwice drops what a recording says and what means the same unsaid: no
// annotations, no workers.
func sayNothingTwice(object map[string]any) {
	if metadata, ok := object["metadata"].(map[string]any); ok {
		if annotations, ok := metadata["annotations"].(map[string]any); ok && len(annotations) == 0 {
			delete(metadata, "annotations")
		}
	}
	spec, _ := object["spec"].(map[string]any)
	if counts, ok := spec["provisionRequirements"].(map[string]any); ok && counts["workerAgents"] == float64(0) {
		delete(counts, "workerAgents")
	}
}

func asJSON(t *testing.T, object any) map[string]any {
	t.Helper()
	data := must.Get(json.Marshal(object))(t)
	var fields map[string]any
	must.Do(t, json.Unmarshal(data, &fields))
	return fields
}
