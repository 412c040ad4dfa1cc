package objects

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/oaictl/oaictl/internal/shared/must"
)

// BenchmarkHosts is what it costs to read 500 hosts without their inventories,
// each with as many validations as a real one has.
func BenchmarkHosts(b *testing.B) {
	var checks []string
	for i := range 45 {
		checks = append(checks, fmt.Sprintf(`{"id":"validation-number-%d","status":"success","message":"Everything about number %d of host is as it should be"}`, i, i))
	}
	const infraEnvID, clusterID = "22222222-2222-2222-2222-222222222222", "11111111-1111-1111-1111-111111111111"
	validations := `{"network":[` + strings.Join(checks[:25], ",") + `],"hardware":[` + strings.Join(checks[25:], ",") + `]}`
	var hosts []map[string]any
	for n := range 500 {
		hosts = append(hosts, map[string]any{
			"id": fmt.Sprintf("aaaaaaaa-0000-0000-0000-%012d", n), "infra_env_id": infraEnvID, "cluster_id": clusterID, "status": "known", "status_info": "",
			"kind": "Host", "href": "/x", "role": "auto-assign", "requested_hostname": fmt.Sprintf("host-%d", n), "something_new": true,
			"validations_info": validations, "images_status": strings.Repeat("x", 2000), "domain_name_resolutions": strings.Repeat("x", 1500),
			"progress": map[string]any{"current_stage": "Installing"}, "progress_stages": []string{"Starting installation", "Installing", "Done"},
		})
	}
	data := must.Get(json.Marshal(hosts))(b)
	tables := NewTables()
	b.SetBytes(int64(len(data)))
	b.ReportAllocs()
	for b.Loop() {
		var wires []Host
		must.Do(b, json.Unmarshal(data, &wires))
		for i := range wires {
			tables.HostOf(&wires[i])
		}
	}
}
