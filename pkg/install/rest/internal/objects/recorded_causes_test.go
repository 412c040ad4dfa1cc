package objects

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/oaictl/oaictl/internal/shared/must"
	"github.com/oaictl/oaictl/pkg/install"
	"github.com/oaictl/oaictl/pkg/install/model"
)

// TestCausesOfRecordedClusters: for every cluster that was recorded from a real service, a single look names the same
// causes as a loop that has seen the same for hours, in the same order, with the same remedies.
func TestCausesOfRecordedClusters(t *testing.T) {
	folder := os.Getenv("OAICTL_RECORDINGS")
	if folder == "" {
		t.Skip("OAICTL_RECORDINGS names no folder")
	}
	var files []string
	for _, pattern := range []string{"*.jsonl", "real2/*.jsonl"} {
		found := must.Get(filepath.Glob(filepath.Join(folder, pattern)))(t)
		files = append(files, found...)
	}
	tables, named := NewTables(), map[string]int{}
	for _, file := range files {
		for _, exchange := range readRecording(t, file) {
			if exchange.Status >= 300 || !clusterPath.MatchString(exchange.Path) || len(exchange.Response) == 0 || exchange.Response[0] != '{' {
				continue
			}
			observed := recordedCluster(t, &tables, exchange.Response)
			desired := (&install.Found{Observed: observed}).Desired()
			var memory model.Memory
			earlier := *observed
			earlier.At = observed.At.Add(-2 * time.Hour)
			memory.Seen(&earlier, earlier.At)
			memory.Decided(install.Decide(desired, &earlier, memory, earlier.At))
			memory.Seen(observed, observed.At)
			once, long := install.Decide(desired, observed, model.Memory{}, observed.At), install.Decide(desired, observed, memory, observed.At)
			if diff := cmp.Diff(causes(long), causes(once)); diff != "" {
				t.Fatalf("%s: %s (-loop +one look):\n%s", file, observed.Cluster.Status, diff)
			}
			for _, b := range once.Blockers {
				named[b.Reason]++
			}
		}
	}
	for _, reason := range []string{"ValidationFails", "HostFailed", "ClusterDegraded", "BootedDiscoveryImage"} {
		if named[reason] == 0 {
			t.Errorf("no recorded cluster has %s: %v", reason, named)
		}
	}
}

func causes(plan model.Plan) []string {
	var out []string
	for _, b := range plan.Blockers {
		out = append(out, fmt.Sprint(b.Key, b.Scope, b.Reason, b.Cure, b.Field, b.Remedy, b.Hosts, b.Validations))
	}
	return out
}

// recordedCluster is a cluster with its hosts as it was recorded, a minute after the last
// that is known of it.
func recordedCluster(t *testing.T, tables *Tables, data json.RawMessage) *model.Observed {
	t.Helper()
	var wire Cluster
	var raw struct{ Hosts []Host }
	must.Do(t, errorsOf(json.Unmarshal(data, &wire), json.Unmarshal(data, &raw)))
	cluster := tables.ClusterOf(&wire, "")
	observed := &model.Observed{Cluster: cluster, At: cluster.StatusSince}
	for i := range raw.Hosts {
		observed.Hosts = append(observed.Hosts, tables.HostOf(&raw.Hosts[i]))
	}
	latest := observed.At
	for _, h := range observed.Hosts {
		latest = slices.MaxFunc([]time.Time{latest, h.Since, h.CheckedIn, h.Progress.Updated}, time.Time.Compare)
	}
	observed.At = latest.Add(time.Minute)
	return observed
}
