//go:build linux

package controller

import (
	"errors"
	"fmt"
	"net/netip"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/go-openapi/strfmt"
	"github.com/openshift/assisted-service/models"

	"github.com/oaictl/oaictl/internal/host/hostfile"
	"github.com/oaictl/oaictl/internal/host/kube"
	"github.com/oaictl/oaictl/internal/shared/check"
	"github.com/oaictl/oaictl/internal/shared/must"
)

func nodeOf(name, address string, ready bool) kube.Node {
	var n kube.Node
	n.Name = name
	if ready {
		n.Status.Conditions = []kube.Condition{{Type: "Ready", Status: "True"}}
	}
	n.Status.Addresses = append(n.Status.Addresses, struct {
		Type    string `json:"type"`
		Address string `json:"address"`
	}{"InternalIP", address})
	return n
}

func hostAt(name, address string, stage models.HostStage, status string) host {
	id := strfmt.UUID("5a0e0c6e-4a8a-4c2f-9d6d-000000000001")
	return host{
		Host: &models.Host{ID: &id, Status: &status, Progress: &models.HostProgressInfo{CurrentStage: stage}}, name: name,
		addresses: []netip.Addr{netip.MustParseAddr(address)},
	}
}

// TestPlanNodes: what is done about a Node in each stage of its host.
func TestPlanNodes(t *testing.T) {
	const progressing = models.HostStatusInstallingInProgress
	for _, c := range []struct {
		stage  models.HostStage
		status string
		ready  bool
		want   string
	}{
		{models.HostStageRebooting, progressing, false, "joined"},
		{models.HostStageConfiguring, progressing, false, "joined"},
		{models.HostStageConfiguring, progressing, true, "joined done"},
		{models.HostStageRebooting, progressing, true, "joined done"},
		{models.HostStageJoined, progressing, false, ""},
		{models.HostStageJoined, progressing, true, "done"},
		{models.HostStageWritingImageToDisk, progressing, false, ""},
		{models.HostStageWaitingForIgnition, progressing, true, "done"},
		{models.HostStageDone, progressing, true, ""},
		{models.HostStageConfiguring, models.HostStatusInstalled, true, ""},
		{"", progressing, false, ""},
	} {
		steps, unknown := planNodes([]host{hostAt("a", "10.0.0.1", c.stage, c.status)}, []kube.Node{nodeOf("a", "10.0.0.1", c.ready)}, true)
		var got []string
		for _, s := range steps {
			for what, is := range map[string]bool{"joined": s.joined, "done": s.done, "initialize": s.initialize} {
				if is {
					got = append(got, what)
				}
			}
		}
		slices.SortFunc(got, func(a, b string) int { return strings.Compare(b, a) })
		check.Equal(t, strings.Join(got, " "), c.want, c.stage, " ", c.ready)
		check.Equal(t, len(unknown), 0)
	}
}

// TestHostOf: the name counts first, in any case, and then an internal address.
func TestHostOf(t *testing.T) {
	hosts := []host{hostAt("a", "10.0.0.1", "", ""), hostAt("b", "2001:db8::2", "", "")}
	for _, c := range [][3]string{
		{"a", "10.9.9.9", "a"}, {"A", "", "a"}, {"b", "10.0.0.1", "b"}, {"b.example.com", "2001:DB8::2", "b"}, {"x", "::ffff:10.0.0.1", "a"},
		{"x", "10.0.0.3", ""}, {"x", "junk", ""}, {"", "", ""},
	} {
		n := nodeOf(c[0], c[1], true)
		got := ""
		if h := hostOf(&n, hosts); h != nil {
			got = h.name
		}
		check.Equal(t, got, c[2], c)
	}
}

// TestReadHosts: what is read of the hosts of the service, and what is left out.
func TestReadHosts(t *testing.T) {
	id, infraEnv := strfmt.UUID("5a0e0c6e-4a8a-4c2f-9d6d-000000000001"), infraEnvID
	cluster := &models.Cluster{Hosts: []*models.Host{
		{ID: &id, InfraEnvID: infraEnv, Status: ptr("known"), RequestedHostname: "B", Inventory: `{"hostname":"other"}`},
		{ID: &id, InfraEnvID: infraEnv, Status: ptr("known"), Inventory: `{"hostname":"A","interfaces":[{"ipv4_addresses":["10.0.0.1/24","junk"],"ipv6_addresses":["2001:db8::1/64"]}]}`},
		{ID: &id, InfraEnvID: infraEnv, Status: ptr("disabled"), RequestedHostname: "c", Inventory: `{}`}, nil, {ID: &id},
	}}
	hosts, err := hostsOf(cluster, models.HostStatusDisabled)
	var got []string
	for _, h := range hosts {
		got = append(got, fmt.Sprint(h.name, h.addresses, h.networks))
	}
	check.Slice(t, got, []string{"a[10.0.0.1 2001:db8::1] [10.0.0.0/24 2001:db8::/64]", "b[] []"})
	check.Says(t, err, "junk")
	check.Says(t, err, "without id, infra_env_id or status")
}

func TestEnded(t *testing.T) {
	all := func(statuses ...string) (hosts []host) {
		for _, s := range statuses {
			hosts = append(hosts, hostAt("a", "10.0.0.1", "", s))
		}
		return hosts
	}
	for _, c := range []struct {
		hosts []host
		want  bool
	}{
		{all("installed", "installed"), true}, {all("installed", "error"), true}, {all("error"), true},
		{all("error", "installing"), false}, {all("installing-in-progress"), false}, {all(), true},
	} {
		_, ended := ended(c.hosts)
		check.Equal(t, ended, c.want, c.hosts)
	}
}

func TestPlanConfiguring(t *testing.T) {
	fetched := map[netip.Addr]bool{netip.MustParseAddr("10.0.0.1"): true}
	for stage, want := range map[models.HostStage]int{
		models.HostStageRebooting: 1, models.HostStageWaitingForIgnition: 1, models.HostStageConfiguring: 0, models.HostStageJoined: 0, models.HostStageDone: 0,
	} {
		got := planConfiguring([]host{hostAt("a", "10.0.0.1", stage, ""), hostAt("b", "10.0.0.2", stage, "")}, fetched)
		check.Equal(t, len(got), want, stage)
	}
}

// TestStateOf: the first condition that says something decides.
func TestStateOf(t *testing.T) {
	for text, want := range map[string]models.OperatorStatus{
		"": "progressing", "Available=True": "available", "Available=False": "failed", "Degraded=True": "failed", "Progressing=True": "progressing",
		"Degraded=False Available=True": "available", "Progressing=True Available=True": "progressing", "Available=True Degraded=True": "available",
		"Available=Unknown": "progressing", "Upgradeable=True": "progressing",
	} {
		var conditions []kube.Condition
		for one := range strings.FieldsSeq(text) {
			kind, status, _ := strings.Cut(one, "=")
			conditions = append(conditions, kube.Condition{Type: kind, Status: status})
		}
		got, _ := stateOf(conditions)
		check.Equal(t, got, want, text)
	}
}

func TestGatherImages(t *testing.T) {
	const several = `{"ocp":"quay.io/ocp:1","odf":"quay.io/odf@sha256:0","lso":"quay.io/ocp:1"}`
	for _, c := range []struct {
		configured string
		whole      bool
		operators  []string
		want       string
	}{
		{"", true, nil, ""}, {"quay.io/ocp:1", true, nil, "quay.io/ocp:1"}, {several, true, nil, "quay.io/ocp:1"}, {several, false, []string{"odf"}, "quay.io/odf@sha256:0"},
		{several, true, []string{"odf", "lso", "cnv"}, "quay.io/ocp:1 quay.io/odf@sha256:0"}, {several, false, nil, ""},
		{"--image=evil", true, nil, "error"}, {"a b", true, nil, "error"}, {"a;reboot", true, nil, "error"}, {`{"ocp":"-x"}`, true, nil, "error"}, {`{"ocp":5}`, true, nil, "error"},
	} {
		images, err := gatherImages(c.configured, c.whole, c.operators)
		got := strings.Join(images, " ")
		if err != nil {
			got = "error"
		}
		check.Equal(t, got, c.want, c)
	}
}

func TestVersions(t *testing.T) {
	for version, want := range map[string]bool{"4.8": true, "4.8.12": true, "4.9.0": false, "4.80.1": false} {
		check.Equal(t, isVersion48(version), want, version)
	}
	check.Equal(t, serviceName("ocs")+serviceName("lso"), "odflso")
}

// TestRemovesTaint: for which platforms, with which credentials.
func TestRemovesTaint(t *testing.T) {
	real := `{"platform":{"vsphere":{"vcenters":[{"server":"v","user":"u","password":"p"}]}}}`
	for _, c := range []struct {
		platform   models.PlatformType
		version    string
		overrides  string
		agentBased bool
		want       bool
	}{
		{models.PlatformTypeNone, "4.19.0", "", false, false}, {models.PlatformTypeBaremetal, "4.19.0", "", true, false},
		{models.PlatformTypeNutanix, "4.19.0", "", true, true}, {models.PlatformTypeVsphere, "4.19.0", real, false, true},
		{models.PlatformTypeVsphere, "4.19.0", real, true, false}, {models.PlatformTypeVsphere, "4.14.0", real, true, true},
		{models.PlatformTypeVsphere, "4.19.0", strings.Replace(real, `"u"`, `"usernameplaceholder"`, 1), true, true},
		{models.PlatformTypeVsphere, "4.19.0", "", true, true},
	} {
		controller := &Controller{Config: Config{Version: c.version}}
		got := controller.removesTaint(t.Context(), c.platform, &models.Cluster{InstallConfigOverrides: c.overrides}, c.agentBased)
		check.Equal(t, got, c.want, c)
	}
}

// TestPlanLabels: only what a Node lacks is written, and only to a ready one.
func TestPlanLabels(t *testing.T) {
	h := hostAt("a", "10.0.0.1", "", "")
	h.NodeLabels = `{"zone":"1","rack":"2"}`
	n := nodeOf("a", "10.0.0.1", true)
	n.Labels = map[string]string{"zone": "1", "rack": "other", "mine": "3"}
	steps := must.Get(planLabels([]host{h}, []kube.Node{n, nodeOf("b", "10.0.0.2", true)}))(t)
	check.Equal(t, len(steps), 1)
	check.Same(t, steps[0].labels, map[string]string{"rack": "2"})
	check.Equal(t, len(must.Get(planLabels([]host{h}, []kube.Node{nodeOf("a", "10.0.0.1", false)}))(t)), 0)
	h.NodeLabels = "["
	check.Says(t, check.Err(planLabels([]host{h}, []kube.Node{n})), "read node_labels of the host a")
}

func TestCountBoots(t *testing.T) {
	check.Equal(t, must.Get(countBoots([]byte(wtmp(2, 7, 2)+"cut")))(t), 2)
	check.Equal(t, must.Get(countBoots([]byte(wtmp(1))))(t), 0)
	check.Says(t, check.Err(countBoots(nil)), "no record")
}

// TestExpectedOf: what certificate requests are compared with.
func TestExpectedOf(t *testing.T) {
	since := time.Unix(1_000_000, 0)
	cluster := &models.Cluster{
		APIVips: []*models.APIVip{{IP: "10.0.0.100"}, nil}, IngressVips: []*models.IngressVip{{IP: "10.0.0.101"}, {IP: "junk"}},
		ClusterNetworks: []*models.ClusterNetwork{{Cidr: "10.128.0.0/14"}, nil}, ServiceNetworks: []*models.ServiceNetwork{{Cidr: "172.30.0.0/16"}, {Cidr: "x"}},
	}
	for _, c := range []struct {
		stage             models.HostStage
		status            string
		lost              bool
		installed, joined bool
	}{
		{models.HostStageWritingImageToDisk, "installing-in-progress", false, false, false},
		{models.HostStageWaitingForController, "installing-in-progress", true, true, false},
		{models.HostStageRebooting, "installing-in-progress", false, true, false},
		{models.HostStageWaitingForIgnition, "installing-in-progress", false, true, false},
		{models.HostStageConfiguring, "installing-in-progress", false, true, false},
		{models.HostStageJoined, "installing-in-progress", false, true, true},
		{models.HostStageDone, "installed", false, true, true},
	} {
		got := expectedOf(known{cluster: cluster, hosts: []host{hostAt("a", "10.0.0.1", c.stage, c.status), hostAt("b", "10.0.0.2", "", "")}, lost: c.lost}, since)
		check.Equal(t, got.Hosts[0].Installed, c.installed, c.stage)
		check.Equal(t, got.Hosts[0].Joined, c.joined, c.stage)
		check.Equal(t, got.Hosts[0].Rebooted, since)
		check.Equal(t, fmt.Sprint(got.VIPs, got.Networks), "[10.0.0.100 10.0.0.101] [10.128.0.0/14 172.30.0.0/16]")
	}
	single := expectedOf(known{cluster: cluster, hosts: []host{hostAt("a", "10.0.0.1", "", "")}}, since)
	check.Equal(t, len(single.VIPs), 0)
}

// TestReadConfig: the variables of the original, and the token.
func TestReadConfig(t *testing.T) {
	env := map[string]string{"CLUSTER_ID": string(clusterID), "INVENTORY_URL": "https://a", "OPENSHIFT_VERSION": "4.19.3", "PULL_SECRET_TOKEN": " by-variable "}
	files := hostfile.Files{Root: t.TempDir()}
	read := func() Config {
		return must.Get(ReadConfig(func(name string) string { return env[name] }, files))(t)
	}
	check.Equal(t, read(), Config{
		Cluster: clusterID, URL: "https://a", Token: "by-variable", Namespace: "assisted-installer", Version: "4.19.3", ControlPlanes: 3,
	})
	must.Do(t, files.Write(tokenFile, []byte("by-file\n"), 0o600))
	for name, value := range map[string]string{
		"SKIP_CERT_VERIFICATION": "true", "CA_CERT_PATH": "/ca", "NAMESPACE": "other", "CONTROL_PLANE_COUNT": "1", "CHECK_CLUSTER_VERSION": "True",
		"MUST_GATHER_IMAGE": "quay.io/a", "NOTIFY_NUM_REBOOTS": "1",
	} {
		env[name] = value
	}
	c := read()
	check.Equal(t, c, Config{
		Cluster: clusterID, URL: "https://a", Token: "by-file", SkipVerification: true, CAPath: "/ca", Namespace: "other", Version: "4.19.3",
		ControlPlanes: 1, WaitsForClusterVersion: true, MustGatherImage: "quay.io/a", CountsReboots: true,
	})
	if text := c.String(); strings.Contains(text, "by-file") {
		t.Errorf("a secret: %s", text)
	}
}

// TestReadOperators reads the ConfigMap of the agent-based installer.
func TestReadOperators(t *testing.T) {
	operators, manifests, err := readOperators(map[string]string{
		"b.metadata.yaml": "namespace: n\nsubscriptionName: s\nmanifests: [x.yaml]", "x.yaml": "eA==", "a.metadata.yaml": "namespace: m", "other": "1",
	})
	must.Do(t, err)
	check.Equal(t, fmt.Sprint(len(operators), operators[0].Name, operators[1].SubscriptionName, manifests), "2as[{b eA==}]")
	_, _, err = readOperators(map[string]string{"a.metadata.yaml": "manifests: [gone.yaml]"})
	check.Says(t, err, `names the manifest "gone.yaml", which is not there`)
	_, _, err = readOperators(map[string]string{"a.metadata.yaml": "["})
	var last *lastError
	if !errors.As(err, &last) {
		t.Errorf("it may be tried again: %v", err)
	}
}

// TestReadObjects: what manifests may have in them.
func TestReadObjects(t *testing.T) {
	for text, want := range map[string]string{
		storageManifests: "from-list main", "": "", "---\n---\n# nothing\n": "", `{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"a"}}`: "a",
		"a: b": "error", "[1]": "error", "a: [": "error", "{apiVersion: v1, kind: List, items: [{apiVersion: v1, kind: List, items: []}]}": "error",
		"{apiVersion: v1, kind: List, items: [5]}": "error", "{apiVersion: v1, kind: A, metadata: {name: a/b}}": "error",
		"{apiVersion: a/b/c, kind: A, metadata: {name: a}}": "error", "{apiVersion: v1, kind: A, metadata: {generateName: a-}}": "error",
		"{apiVersion: v1, kind: A, metadata: {name: '..%2f'}}":                       "error",
		strings.Repeat("--- {apiVersion: v1, kind: A, metadata: {name: a}}\n", 1001): "error",
	} {
		objects, err := kube.ReadObjects([]byte(text))
		var names []string
		for _, o := range objects {
			names = append(names, o.GetName())
		}
		got := strings.Join(names, " ")
		if err != nil {
			got = "error"
		}
		check.Equal(t, got, want, text[:min(len(text), 100)])
	}
}

func TestTail(t *testing.T) {
	var tail Tail
	for range 100 {
		must.Get(tail.Write(make([]byte, TailSize/10)))(t)
	}
	must.Get(tail.Write([]byte("last")))(t)
	if n := len(tail.Bytes()); n < TailSize || n > 2*TailSize || !strings.HasSuffix(string(tail.Bytes()), "last") {
		t.Errorf("%d bytes", n)
	}
}
