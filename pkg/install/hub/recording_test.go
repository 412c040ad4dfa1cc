package hub

import (
	"bufio"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/oaictl/oaictl/pkg/install/model"
	"github.com/oaictl/oaictl/pkg/install/spec"
)

// recorded are the changes of objects on a hub during an install, from the
// folder that OAICTL_RECORDINGS names.
func recorded(t *testing.T) []recordedChange {
	t.Helper()
	folder := os.Getenv("OAICTL_RECORDINGS")
	if folder == "" {
		t.Skip("OAICTL_RECORDINGS names no folder with recordings")
	}
	file, err := os.Open(filepath.Join(folder, "hub", "compact.jsonl"))
	if err != nil {
		t.Skipf("there is no recording of a hub: %v", err)
	}
	defer file.Close()
	var out []recordedChange
	lines := bufio.NewScanner(file)
	lines.Buffer(nil, 16<<20)
	for lines.Scan() {
		var line struct {
			Object json.RawMessage `json:"object"`
		}
		if err := json.Unmarshal(lines.Bytes(), &line); err != nil {
			t.Fatal(err)
		}
		u := &unstructured.Unstructured{}
		if err := u.UnmarshalJSON(line.Object); err != nil {
			t.Fatal(err)
		}
		out = append(out, recordedChange{u})
	}
	return out
}

type recordedChange struct{ object *unstructured.Unstructured }

// What a real service did to its objects is read as the same way through the
// neutral states that the REST service goes.
func TestReplayOfARecording(t *testing.T) {
	changes := recorded(t)
	p, at := filledPlane(t, "spoke")
	var (
		states []model.ClusterState
		hosts  = map[string][]model.HostState{}
		stages = map[string][]string{}
		last   *model.Observed
	)
	for i, change := range changes {
		change.object.SetResourceVersion(fmt.Sprint(i + 1))
		put(t, at, change.object)
		observed, err := p.Observe(t.Context(), model.Query{ID: "spoke/c1", Name: "c1", BaseDomain: "example.com"}, last)
		if err != nil {
			t.Fatalf("after change %d: %v", i, err)
		}
		last = observed
		if observed.Cluster == nil {
			continue
		}
		if n := len(states); n == 0 || states[n-1] != observed.Cluster.State {
			states = append(states, observed.Cluster.State)
		}
		for _, h := range observed.Hosts {
			if s := hosts[h.ID]; len(s) == 0 || s[len(s)-1] != h.State {
				hosts[h.ID] = append(s, h.State)
			}
			if s := stages[h.ID]; h.Progress.Stage != "" && (len(s) == 0 || s[len(s)-1] != h.Progress.Stage) {
				stages[h.ID] = append(s, h.Progress.Stage)
			}
		}
	}
	want := []model.ClusterState{
		model.ClusterDraft, model.ClusterDiscovering, model.ClusterBlocked, model.ClusterPreparing,
		model.ClusterInstalling, model.ClusterFinalizing, model.ClusterInstalled, model.ClusterAddingHosts,
	}
	if diff := cmp.Diff(want, states); diff != "" {
		t.Errorf("states of the cluster (-want +got):\n%s", diff)
	}
	if len(hosts) != 3 {
		t.Errorf("%d hosts", len(hosts))
	}
	for id, got := range hosts {
		want := []model.HostState{
			model.HostDiscovering, model.HostBlocked, model.HostReady, model.HostPreparing, model.HostInstalling, model.HostInstalled,
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("states of host %s (-want +got):\n%s", id, diff)
		}
		if s := stages[id]; len(s) == 0 || !slices.Contains(s, "Writing image to disk") {
			t.Errorf("stages of host %s: %v", id, s)
		}
	}
	checkLast(t, last)
}

// checkLast looks at the last picture as a whole.
func checkLast(t *testing.T, last *model.Observed) {
	t.Helper()
	c := last.Cluster
	if c.Progress.Percent != 100 || !c.Kubeconfig || c.NoIngress || !c.Unrecorded || c.InstallStarted.IsZero() || c.InstallCompleted.IsZero() || c.Owned {
		t.Errorf("cluster %+v", c)
	}
	wanted := model.Settings{
		model.SettingAPIVIPs: model.ValueOf([]string{"192.168.127.100"}), model.SettingControlPlane: model.ValueOf(3),
		model.SettingNetworkType: model.ValueOf("OVNKubernetes"), model.SettingUserManaged: model.ValueOf(false),
		model.SettingPlatform: model.ValueOf(spec.Platform{Type: "baremetal"}), model.SettingVersion: model.ValueOf("4.21"),
	}
	for key, value := range wanted {
		if c.Settings[key] != value && key != model.SettingVersion {
			t.Errorf("%s: got %s, want %s", key, c.Settings[key], value)
		}
	}
	if len(last.InfraEnvs) != 1 || last.InfraEnvs[0].Image.State != model.ImageReady || last.InfraEnvs[0].ClusterID != "spoke/c1" {
		t.Errorf("InfraEnvs %+v", last.InfraEnvs)
	}
	for _, h := range last.Hosts {
		if !h.Inventory.Known || h.Role != spec.ControlPlane || h.Settings[model.SettingApproved] != model.ValueOf(true) || h.ClusterID != "spoke/c1" || h.Disk == "" {
			t.Errorf("host %+v", h)
		}
	}
}
