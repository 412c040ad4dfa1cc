package objects

import (
	"bufio"
	"encoding/json"
	"os"
	"testing"

	"github.com/oaictl/oaictl/internal/shared/clustersettings"
	"github.com/oaictl/oaictl/internal/shared/hubobjects"
	"github.com/oaictl/oaictl/internal/shared/must"
	"github.com/oaictl/oaictl/pkg/install/model"
)

// TestRecordedObjects: the settings of a hub's object are those of the service's record
// that its controllers have made of it. Each line of the file is the spec of an object, and
// what the REST API of the service behind the hub showed then (hub-hyperthreading and
// hub-settings in internal/simulator/EVIDENCE.md).
func TestRecordedObjects(t *testing.T) {
	file := must.Get(os.Open("../../../../../internal/shared/hubobjects/testdata/recorded.jsonl"))(t)
	defer file.Close()
	compared := 0
	for lines := bufio.NewScanner(file); lines.Scan(); {
		var recorded struct {
			Kind          string
			Spec, Service json.RawMessage
		}
		var object, said hubobjects.Fields
		must.Do(t, json.Unmarshal(lines.Bytes(), &recorded))
		must.Do(t, json.Unmarshal([]byte(`{"spec":`+string(recorded.Spec)+`}`), &object))
		must.Do(t, json.Unmarshal(recorded.Service, &said))
		var have, shown model.Settings
		var sets func([]string) []model.Setting
		if recorded.Kind == "InfraEnv" {
			var wire InfraEnv
			must.Do(t, json.Unmarshal(recorded.Service, &wire))
			have, shown, sets = hubobjects.InfraEnvTable().Settings(object), NewTables().InfraEnv.Settings(&wire), NewTables().InfraEnv.SetBy
		} else {
			var wire Cluster
			must.Do(t, json.Unmarshal(recorded.Service, &wire))
			have, shown, sets = hubobjects.InstallTable().Settings(object), NewTables().Cluster.Settings(&wire), NewTables().Cluster.SetBy
		}
		var fields []string
		for field := range said {
			fields = append(fields, field)
		}
		for _, name := range sets(fields) {
			compared++
			if shown[name] != "" && !clustersettings.Same(name, have[name], shown[name]) {
				t.Errorf("%s %s: %s is %s, and the service has %s", recorded.Kind, recorded.Spec, name, have[name], shown[name])
			}
		}
	}
	if compared < 70 {
		t.Errorf("only %d settings were compared", compared)
	}
}
