package objects

import (
	"encoding/json"
	"maps"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/oaictl/oaictl/internal/shared/must"
	"github.com/oaictl/oaictl/pkg/install/model"
)

// keepingOf is what the service does with the networks of a cluster that has them
// so: machine networks, API VIPs, ingress VIPs.
func keepingOf(t *testing.T, wire string) [3]model.Keeping {
	t.Helper()
	var c Cluster
	must.Do(t, json.Unmarshal([]byte(wire), &c))
	tables := NewTables()
	now := tables.ClusterOf(&c, "").Keeping
	return [3]model.Keeping{now[model.SettingMachineNetworks], now[model.SettingAPIVIPs], now[model.SettingIngressVIPs]}
}

// The kinds of cluster, by phase: without machine networks, with them, ready, and
// once the install was asked for.
func TestKeepingByKindAndPhase(t *testing.T) {
	const (
		kept, derived, cleared = model.KeptAsWritten, model.KeptDerived, model.KeptCleared
		frozen, notYet         = model.KeptFrozen, model.KeptNotYet
	)
	phases := []string{
		`"status":"insufficient"`,
		`"status":"pending-for-input","machine_networks":[{"cidr":"10.0.0.0/24"}]`,
		`"status":"ready","machine_networks":[{"cidr":"10.0.0.0/24"}]`,
		`"status":"preparing-for-installation","machine_networks":[{"cidr":"10.0.0.0/24"}]`,
		`"status":"installed","machine_networks":[{"cidr":"10.0.0.0/24"}]`,
	}
	calculated := [][3]model.Keeping{{cleared, notYet, notYet}, {derived, notYet, notYet}, {derived, notYet, notYet}, {frozen, frozen, frozen}, {frozen, frozen, frozen}}
	own := [][3]model.Keeping{{kept, kept, kept}, {kept, kept, kept}, {kept, kept, kept}, {frozen, frozen, frozen}, {frozen, frozen, frozen}}
	for name, test := range map[string]struct {
		kind string
		want [][3]model.Keeping
	}{
		"three":                      {`"control_plane_count":3,"load_balancer":{"type":"cluster-managed"},"user_managed_networking":false`, calculated},
		"three of an old service":    {`"high_availability_mode":"Full"`, calculated},
		"single node":                {`"control_plane_count":1`, own},
		"single node of an old one":  {`"high_availability_mode":"None"`, own},
		"user-managed networking":    {`"control_plane_count":3,"user_managed_networking":true`, own},
		"user-managed load balancer": {`"control_plane_count":3,"load_balancer":{"type":"user-managed"}`, own},
		"VIPs from DHCP":             {`"control_plane_count":3,"vip_dhcp_allocation":true`, own},
		"dual stack":                 {`"control_plane_count":3,"service_networks":[{"cidr":"172.30.0.0/16"},{"cidr":"fd02::/112"}]`, own},
		"one stack of IPv6":          {`"control_plane_count":3,"service_networks":[{"cidr":"fd02::/112"}],"cluster_networks":[{"cidr":"fd01::/48"}]`, calculated},
	} {
		for i, phase := range phases {
			if diff := cmp.Diff(test.want[i], keepingOf(t, "{"+test.kind+","+phase+"}")); diff != "" {
				t.Errorf("%s, %s: %s", name, phase, diff)
			}
		}
	}
}

// TestKeepingAsRecorded compares the column with recorded requests: nothing that it calls derived or cleared was ever
// taken, what it calls kept was, and lists that were emptied are called cleared.
func TestKeepingAsRecorded(t *testing.T) {
	folder := os.Getenv("OAICTL_RECORDINGS")
	if folder == "" {
		t.Skip("OAICTL_RECORDINGS names no folder")
	}
	file := filepath.Join(folder, "real2", "monitor-10s-no-hosts.jsonl")
	if _, err := os.Stat(file); err != nil {
		t.Skipf("no such recording: %v", err)
	}
	last := map[string]json.RawMessage{}
	told := map[model.Keeping]int{}
	for _, e := range readRecording(t, file) {
		var shown struct {
			ID string `json:"id"`
		}
		path := strings.Split(e.Path, "/")
		if len(path) >= 4 && path[2] == "clusters" && e.Method == "PATCH" {
			told[asTaken(t, e, last[path[3]])]++
		}
		if strings.HasPrefix(e.Path, "/v2/clusters") && e.Status < 300 && json.Unmarshal(e.Response, &shown) == nil && shown.ID != "" {
			last[shown.ID] = e.Response
		}
	}
	t.Logf("requests by what the service was to do: %v", maps.Clone(told))
	for _, keeping := range []model.Keeping{model.KeptAsWritten, model.KeptDerived, model.KeptCleared, model.KeptNotYet} {
		if told[keeping] == 0 {
			t.Errorf("no request shows %q", keeping)
		}
	}
}

// asTaken compares the answer to a change with what was to be expected of the
// cluster as it was shown last.
func asTaken(t *testing.T, e recorded, cluster json.RawMessage) model.Keeping {
	t.Helper()
	var asked struct {
		Networks []json.RawMessage `json:"machine_networks"`
		VIPs     []json.RawMessage `json:"api_vips"`
	}
	var answer struct{ Reason string }
	must.Do(t, errorsOf(json.Unmarshal(e.Request, &asked), json.Unmarshal(e.Response, &answer)))
	now := keepingOf(t, string(cluster))
	switch {
	case len(asked.Networks) > 0:
		outside := strings.Contains(answer.Reason, "does not belong to machine-network-cidr")
		if taken := e.Status < 300; taken != (now[0] == model.KeptAsWritten) && !outside {
			t.Errorf("machine networks that are %q: %d %s", now[0], e.Status, answer.Reason)
		}
		return now[0]
	case len(asked.VIPs) > 0:
		if e.Status >= 400 && (now[1] != model.KeptNotYet || !strings.Contains(answer.Reason, "No suitable matching CIDR found")) {
			t.Errorf("VIPs that are %q: %d %s", now[1], e.Status, answer.Reason)
		}
		return now[1]
	}
	return "other"
}
