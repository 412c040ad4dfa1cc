package install_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/oaictl/oaictl/pkg/install/model"
	"github.com/oaictl/oaictl/pkg/install/spec"
)

// nodesOf is a file of kind Nodes, completed with the cluster lab as its service has it.
func nodesOf(t *testing.T, hosts ...spec.Host) *spec.Cluster {
	t.Helper()
	return givenBy(t, nil, hosts...)
}

// givenBy is the same by flags, which words name; nil for a file.
func givenBy(t *testing.T, words map[string]string, hosts ...spec.Host) *spec.Cluster {
	t.Helper()
	for i := range hosts {
		if hosts[i].Match == (spec.Match{}) {
			hosts[i].Match.MAC = fmt.Sprintf("52:54:00:00:05:%02x", i)
		}
	}
	n := &spec.Nodes{Spec: spec.NodesSpec{Cluster: "lab", Hosts: hosts}}
	n.Spec.Network.Defaults = spec.NetworkDefaults{Gateway: "192.168.127.1", DNS: []string{"192.168.127.1"}}
	c, err := n.Resolve(t.Context(), ".", spec.Env{}, words)
	if err != nil {
		t.Fatal(err)
	}
	at, err := c.AddedTo(spec.Target{Name: "lab", BaseDomain: "example.com", Version: "4.20.3"})
	if err != nil {
		t.Fatal(err)
	}
	return at
}

// grown is an installed cluster, lab, whose file is not given any more, but one of kind
// Nodes.
func grown(t *testing.T, hub bool, hosts ...spec.Host) *world {
	t.Helper()
	w := installedWithout(t, sample(3, 1), hub)
	w.absent, w.desired = "", &model.Desired{Spec: nodesOf(t, hosts...), Options: model.Options{AddNodes: true}}
	w.observed.Cluster.Unrecorded = false
	return w
}

// TestAddNodesOfAFile adds the hosts of a file of kind Nodes, of any role, and nothing
// else: the cluster's own hosts are no strangers, and nothing of it is compared.
func TestAddNodesOfAFile(t *testing.T) {
	for _, hub := range []bool{false, true} {
		w := grown(t, hub, spec.Host{
			Name: "w-5", Labels: map[string]string{"rack": "b"},
			Taints: []spec.Taint{{Key: "slow", Effect: "NoSchedule"}}, Addresses: []string{"192.168.127.250"}, ProviderID: "metal3://m/w-5",
		}, spec.Host{Name: "cp-3", Role: spec.ControlPlane}, spec.Host{Name: "vote", Role: spec.Arbiter})
		w.observed.Cluster.Settings[model.SettingInstallConfigOverrides] = model.ValueOf("{}")
		earlier := machine("w-4", "52:54:00:00:04:04", 44)
		earlier.Day2, earlier.State = true, model.HostAdded
		w.observed.Hosts = append(w.observed.Hosts, earlier)
		w.desired.Spec.Spec.Registry.Mirrors = []spec.Mirror{{Source: "quay.io/a", Mirrors: []string{"m.io/a"}}}
		var plan model.Plan
		for range 12 {
			if err := settle(w); err != nil {
				t.Fatal(err)
			}
			w.pass()
			plan = w.decide()
			for _, warning := range plan.Warnings {
				t.Errorf("hub %v: %+v", hub, warning)
			}
		}
		if plan.Verdict != model.VerdictInstalled || len(plan.Actions) > 0 || !slices.Equal(plan.Added, []string{"w-5", "cp-3", "vote"}) {
			t.Errorf("hub %v: %+v", hub, plan)
		}
		if got := count(w, model.InstallHost); got != 3 || count(w, model.RegisterCluster)+count(w, model.UpdateCluster)+count(w, model.RegisterInfraEnv) > 0 {
			t.Errorf("hub %v: writes %v", hub, keys(w.writes))
		}
		for _, a := range w.writes {
			for name := range a.Settings {
				if strings.Contains(string(name), "taint") || strings.Contains(string(name), "address") || strings.Contains(string(name), "provider") {
					t.Errorf("hub %v: %s sends %s", hub, a.Key, name)
				}
			}
		}
	}
}

// TestNodesOfAnImportedCluster: where the service has no kubeconfig, none can be
// downloaded.
func TestNodesOfAnImportedCluster(t *testing.T) {
	w := grown(t, false, spec.Host{Name: "w-5"})
	w.observed.Cluster.Kubeconfig, w.observed.Results.Kubeconfig = false, false
	for range 12 {
		if err := settle(w); err != nil {
			t.Fatal(err)
		}
		w.pass()
	}
	if plan := w.decide(); plan.Verdict != model.VerdictInstalled || !strings.HasPrefix(plan.Next.String(), "kubectl get csr, with the cluster's own kubeconfig") {
		t.Errorf("plan %+v", plan)
	}
}

// TestNodesNeedTheirCluster: no cluster is made of a file of kind Nodes, whatever it is
// given to.
func TestNodesNeedTheirCluster(t *testing.T) {
	for _, adds := range []bool{true, false} {
		w := newWorld(&model.Desired{Spec: nodesOf(t, spec.Host{Name: "w-5"}), Options: model.Options{AddNodes: adds}})
		plan, lines := follow(w)
		if len(plan.Actions)+len(lines) > 0 || !hasReason(plan, "ClusterNotInstalled") || plan.Blockers[0].Field != "spec.cluster" || plan.Blockers[0].Remedy != "{get clusters}" || !strings.Contains(plan.Blockers[0].Message, "lab.example.com") {
			t.Errorf("add-node %v: %+v, then %v", adds, plan, lines)
		}
		w = readyWorld(t, sample(3, 0))
		w.desired = &model.Desired{Spec: nodesOf(t, spec.Host{Name: "w-5"}), Options: model.Options{AddNodes: adds}}
		plan, lines = follow(w)
		if len(plan.Actions) > 0 || !hasReason(plan, "ClusterNotInstalled") || strings.Contains(strings.Join(lines, "\n"), "start the installation") {
			t.Errorf("add-node %v, before the install: %+v, then %v", adds, plan, lines)
		}
	}
}

// TestNodesOfAForeignCluster: to take it over is for a person to say; another name in
// the file would be another cluster.
func TestNodesOfAForeignCluster(t *testing.T) {
	w := grown(t, false, spec.Host{Name: "w-5"})
	w.observed.Cluster.Owned = false
	plan := w.decide()
	if !hasReason(plan, "ForeignCluster") || plan.Blockers[0].Remedy != "{add-node -f FILE --adopt cluster-1}" {
		t.Errorf("plan %+v", plan)
	}
}

// TestNodesBesideLostRecords: whether a machine of the control plane may be one of the
// cluster's own is told by how many the service says were installed.
func TestNodesBesideLostRecords(t *testing.T) {
	for name, test := range map[string]struct {
		role  spec.Role
		lost  string
		known bool // the service says how many machines the control plane has
		alone bool
	}{
		"worker": {spec.Worker, "cp-0", true, false}, "control plane": {spec.ControlPlane, "cp-0", true, true}, "any": {spec.Auto, "cp-0", true, true},
		"nobody knows how many": {spec.ControlPlane, "cp-0", false, false}, "no records at all": {spec.Auto, "cp-0 cp-1 cp-2", true, false},
	} {
		t.Run(name, func(t *testing.T) {
			w := grown(t, false, spec.Host{Name: "w-5", Role: test.role})
			w.lose(strings.Fields(test.lost)...)
			if !test.known {
				delete(w.observed.Cluster.Settings, model.SettingControlPlane)
			}
			if plan := w.decide(); hasReason(plan, "ControlPlaneUnaccounted") != test.alone {
				t.Errorf("plan %+v", plan)
			}
		})
	}
}

// TestNodesKeepNetworks: the networks of machines that another file has added, and that
// may have yet to boot, stay in the image; those of its own hosts are the file's.
func TestNodesKeepNetworks(t *testing.T) {
	static := func(name, mac, ip string) spec.Host {
		return spec.Host{Name: name, Match: spec.Match{MAC: mac}, Net: &spec.HostNet{IP: ip + "/24"}}
	}
	w := grown(t, false, static("w-5", "52:54:00:00:05:05", "192.168.127.55"))
	w.dark = func(string) bool { return true }
	networks := func() string {
		t.Helper()
		if err := settle(w); err != nil {
			t.Fatal(err)
		}
		var all []model.StaticNetwork
		if err := w.observed.InfraEnvs[0].Settings[model.SettingStaticNetworks].Decode(&all); err != nil {
			t.Fatal(err)
		}
		var texts []string
		for _, n := range all {
			for _, ip := range []string{"192.168.127.55", "192.168.127.56", "192.168.127.65"} {
				if strings.Contains(n.YAML, ip) {
					texts = append(texts, ip)
				}
			}
		}
		slices.Sort(texts)
		return fmt.Sprint(len(all), texts)
	}
	if got := networks(); got != "1 [192.168.127.55]" {
		t.Errorf("of w-5: %s", got)
	}
	w.desired.Spec = nodesOf(t, static("w-6", "52:54:00:00:05:06", "192.168.127.56"))
	if got := networks(); got != "2 [192.168.127.55 192.168.127.56]" {
		t.Errorf("of w-6: %s", got)
	}
	w.desired.Spec = nodesOf(t, static("w-5", "52:54:00:00:05:05", "192.168.127.65"))
	if got := networks(); got != "2 [192.168.127.56 192.168.127.65]" {
		t.Errorf("of w-5 with another address: %s", got)
	}
	if plan := w.decide(); len(plan.Actions) > 0 {
		t.Errorf("there is more to do: %v", keys(plan.Actions))
	}
}

// TestNodesNeedAnImage: where the cluster's own is gone, the further one is made for the
// version of the cluster, which is not compared with that of one that is there.
func TestNodesNeedAnImage(t *testing.T) {
	w := grown(t, false, spec.Host{Name: "w-5"})
	w.observed.InfraEnvs[0].Settings[model.SettingVersion] = model.ValueOf("4.20")
	if err := settle(w); err != nil || count(w, model.RegisterInfraEnv) > 0 {
		t.Errorf("%v: writes %v", err, keys(w.writes))
	}
	w = grown(t, false, spec.Host{Name: "w-5"})
	w.observed.InfraEnvs = nil
	if err := settle(w); err != nil || count(w, model.RegisterInfraEnv) != 1 {
		t.Errorf("%v: writes %v", err, keys(w.writes))
	}
}

// TestHostThatIsLeftAlone may be the next that is added: no flags say of it that it is to be deleted, and the advice says
// what adds it.
func TestHostThatIsLeftAlone(t *testing.T) {
	flags := map[string]string{"spec.hosts[0].name": "--name", "spec.hosts[0].match.mac": "--mac"}
	for name, test := range map[string]struct {
		words         map[string]string
		message, next string
	}{
		"beside a file": {nil, "w-6 (MAC 52:54:00:00:04:06, serial SNw-6) registered, but the file does not name it; it is left alone",
			"to add it as well, name it in spec.hosts; only if it is not meant for this cluster, power it off and `oaictl delete host host-w-6 --yes`"},
		"beside flags": {flags, "w-6 (MAC 52:54:00:00:04:06, serial SNw-6) registered, but the command line does not name it; it is left alone",
			"to add it as well: oaictl add-node --cluster lab --name w-6 --mac 52:54:00:00:04:06"},
	} {
		t.Run(name, func(t *testing.T) {
			w := grown(t, false, spec.Host{Name: "w-5"})
			w.desired.Spec = givenBy(t, test.words, spec.Host{Name: "w-5"})
			other := machine("w-6", "52:54:00:00:04:06", 46)
			other.Day2, other.State, other.Hostname = true, model.HostReady, "w-6"
			w.observed.Hosts = append(w.observed.Hosts, other)
			plan := w.decide()
			for range 12 {
				if len(plan.Warnings) > 0 {
					break
				}
				if err := settle(w); err != nil {
					t.Fatal(err)
				}
				w.pass()
				plan = w.decide()
			}
			if len(plan.Warnings) != 1 || plan.Warnings[0].Message != test.message || plan.Warnings[0].Next.String() != test.next {
				t.Errorf("got %+v", plan.Warnings)
			}
		})
	}
}
