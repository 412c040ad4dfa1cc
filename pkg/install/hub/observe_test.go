package hub

import (
	"bufio"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/oaictl/oaictl/internal/shared/hubapi"
	"github.com/oaictl/oaictl/internal/shared/must"
	"github.com/oaictl/oaictl/pkg/install/model"
	"github.com/oaictl/oaictl/pkg/install/spec"
)

// bound is a reference to a cluster of a namespace.
func bound(namespace, cluster string) map[string]any {
	return map[string]any{"name": cluster, "namespace": namespace}
}

// deployed are the objects of a cluster.
func deployed(namespace, name string) []*unstructured.Unstructured {
	cd := object("hive.openshift.io/v1", hubapi.KindClusterDeployment, namespace, name, map[string]any{"spec": map[string]any{
		"clusterName": name, "baseDomain": "example.com",
		"clusterInstallRef": map[string]any{"group": hubapi.GroupHiveExtension, "kind": hubapi.KindAgentClusterInstall, "name": name, "version": "v1beta1"},
	}})
	cd.SetLabels(map[string]string{hubapi.LabelCluster: name})
	aci := object("extensions.hive.openshift.io/v1beta1", hubapi.KindAgentClusterInstall, namespace, name, map[string]any{"spec": map[string]any{
		"clusterDeploymentRef": map[string]any{"name": name},
	}})
	env := object("agent-install.openshift.io/v1beta1", hubapi.KindInfraEnv, namespace, name, map[string]any{"spec": map[string]any{"clusterRef": bound(namespace, name)}})
	all := []*unstructured.Unstructured{cd, aci, env}
	for _, u := range all {
		u.SetResourceVersion("1")
		u.SetUID("1")
	}
	return all
}

// A change is reported when an object of the cluster differs from what was observed, and when an object that belongs to
// no cluster does. Objects of other clusters, and what was seen already, are not reported.
func TestChangedIsTold(t *testing.T) {
	version := 10
	newer := func(u *unstructured.Unstructured) *unstructured.Unstructured {
		version++
		u.SetResourceVersion(strconv.Itoa(version))
		return u
	}
	agent := func(spec map[string]any) *unstructured.Unstructured {
		u := object("agent-install.openshift.io/v1beta1", hubapi.KindAgent, "ns", "a-1", map[string]any{"spec": spec})
		u.SetLabels(map[string]string{hubapi.LabelAgentInfraEnv: "lab"})
		return u
	}
	manifests := func(cluster string) *unstructured.Unstructured {
		u := object("v1", hubapi.KindConfigMap, "ns", cluster+"-manifests", map[string]any{})
		u.SetLabels(map[string]string{hubapi.LabelCluster: cluster})
		return u
	}
	for name, test := range map[string]struct {
		object *unstructured.Unstructured
		tells  bool
	}{
		"its Agent":                          {agent(map[string]any{"clusterDeploymentName": bound("ns", "lab")}), true},
		"an Agent of nobody":                 {agent(map[string]any{}), true},
		"an Agent of another cluster":        {agent(map[string]any{"clusterDeploymentName": bound("ns", "other")}), false},
		"an Agent of one of another place":   {agent(map[string]any{"clusterDeploymentName": bound("else", "lab")}), false},
		"its AgentClusterInstall":            {deployed("ns", "lab")[1], true},
		"another's AgentClusterInstall":      {deployed("ns", "other")[1], false},
		"its InfraEnv":                       {deployed("ns", "lab")[2], true},
		"another's InfraEnv":                 {deployed("ns", "other")[2], false},
		"a ClusterDeployment, of which name": {deployed("ns", "other")[0], true},
		"its manifests":                      {manifests("lab"), true},
		"another's manifests":                {manifests("other"), false},
	} {
		p, at := filledPlane(t, "ns")
		put(t, at, deployed("ns", "lab")...)
		query := model.Query{Name: "lab", ID: "ns/lab"}
		told := func() bool {
			select {
			case <-p.Changed(query):
				return true
			default:
				return false
			}
		}
		look := func() {
			t.Helper()
			must.Get(p.Observe(t.Context(), query, nil))(t)
		}
		if !told() {
			t.Errorf("%s: nothing was observed, and all of it is known", name)
		}
		look()
		put(t, at, deployed("ns", "lab")...) // as they are
		if told() {
			t.Errorf("%s: nothing is other than it was observed", name)
		}
		changed := p.Changed(query)
		put(t, at, newer(test.object))
		if got := told(); got != test.tells {
			t.Errorf("%s: told %v", name, got)
		}
		select {
		case <-changed:
			if !test.tells {
				t.Errorf("%s: who waits already is told", name)
			}
		default:
			if test.tells {
				t.Errorf("%s: who waits already is not told", name)
			}
		}
		if look(); told() {
			t.Errorf("%s: told again, though it was observed", name)
		}
	}
}

func TestFailureWaitsForItsHosts(t *testing.T) {
	failed := time.Date(2026, 11, 21, 3, 0, 0, 0, time.UTC)
	for name, test := range map[string]struct {
		host model.HostState
		of   string
		age  time.Duration
		want model.ClusterState
	}{
		"a host that is still to say it": {model.HostInstalling, "lab/lab", hostReportDelay - time.Second, model.ClusterInstalling},
		"hosts that have said it":        {model.HostFailed, "lab/lab", 0, model.ClusterFailed},
		"a host of another cluster":      {model.HostInstalling, "lab/other", 0, model.ClusterFailed},
		"a host that never says it":      {model.HostInstalling, "lab/lab", hostReportDelay, model.ClusterFailed},
	} {
		observed := &model.Observed{
			At:      failed.Add(test.age),
			Cluster: &model.Cluster{ClusterRef: model.ClusterRef{ID: "lab/lab"}, State: model.ClusterFailed, InstallCompleted: failed},
			Hosts:   []model.Host{{ClusterID: test.of, State: test.host}},
		}
		if delayFailure(observed); observed.Cluster.State != test.want {
			t.Errorf("%s: got %s, want %s", name, observed.Cluster.State, test.want)
		}
	}
}

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
		must.Do(t, json.Unmarshal(lines.Bytes(), &line))
		u := &unstructured.Unstructured{}
		must.Do(t, u.UnmarshalJSON(line.Object))
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
