//go:build e2e

package userdata_test

import (
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/oaictl/oaictl/pkg/capi/internal/userdata"
	"github.com/oaictl/oaictl/pkg/iso/ignition"
)

func mustJSON(t *testing.T, value any) []byte {
	t.Helper()
	text, err := json.Marshal(value)
	if err != nil {
		t.Fatal(err)
	}
	return text
}

func exists(path string) bool {
	_, err := os.Stat(path)
	return err == nil
}

func host() userdata.Metadata {
	return userdata.Metadata{Name: "worker-0", UUID: "6ab1c1d2", Namespace: "metal3"}
}

// installed is a machine that was installed with what Install says.
func installed(t *testing.T, c userdata.Config, m userdata.Metadata, drive string) *machine {
	t.Helper()
	config, err := userdata.Install(c, m)
	if err != nil {
		t.Fatal(err)
	}
	if config == nil {
		t.Fatal("there is nothing to install")
	}
	machine := newMachine(t, drive)
	machine.apply(config)
	return machine
}

func TestInstallNothing(t *testing.T) {
	for _, c := range []userdata.Config{
		{},
		{Name: "cp-0"},
		{Name: "$METADATA_NAME", ProviderID: "metal3://$METADATA_UUID", Labels: map[string]string{"a": "b", "metal3.io/uuid": "${METADATA_UUID}"}},
		{SentinelDir: "/var/lib/x", Kubeconfig: "/etc/kubeconfig"},
	} {
		config, err := userdata.Install(c, host())
		if config != nil || err != nil {
			t.Errorf("%+v: %s, %v", c, config, err)
		}
	}
}

func TestCommands(t *testing.T) {
	m := installed(t, userdata.Config{
		PreCommands: []string{
			`log() { echo "$*" >>"$FAKE/log"; }`,
			`log before the kubelet, as $METADATA_NAME in $METADATA_METAL3_NAMESPACE, at home in $HOME`,
			`cat <<END >>"$FAKE/log"`, `a line`, `END`,
			`log '$METADATA_NAME' "100% \"quoted\""`,
		},
		PostCommands: []string{`echo "after the node by $KUBECONFIG" >>"$FAKE/log"`, "exit 0"},
		SentinelDir:  "/var/lib/other",
		Kubeconfig:   "/etc/kubernetes/admin",
	}, host(), "")
	m.write(filepath.Join(m.fake, "api"), "2", 0o600)
	m.boot()
	m.healthy()
	want := "before the kubelet, as worker-0 in metal3, at home in /root\na line\n$METADATA_NAME 100% \"quoted\"\nafter the node by /etc/kubernetes/admin\n"
	log := filepath.Join(m.fake, "log")
	if diff := cmp.Diff(want, m.read(log)); diff != "" {
		t.Error(diff)
	}
	kubelet := slices.Index(m.ran, "kubelet.service")
	if pre, post := slices.Index(m.ran, "capoa-pre-bootstrap.service"), slices.Index(m.ran, "capoa-post-bootstrap.service"); pre > kubelet || post < kubelet {
		t.Errorf("the order is %v", m.ran)
	}
	asked := m.read(filepath.Join(m.fake, "kubectl"))
	if !strings.Contains(asked, "--kubeconfig="+m.root+"/etc/kubernetes/admin ") || !strings.HasSuffix(asked, "get node localhost\n") {
		t.Errorf("the API was asked\n%s", asked)
	}
	for _, name := range []string{"pre-bootstrap.done", "post-bootstrap.done"} {
		if !exists(filepath.Join(m.root, "var/lib/other", name)) {
			t.Errorf("there is no %s", name)
		}
	}
	m.boot()
	m.healthy()
	if diff := cmp.Diff(want, m.read(log)); diff != "" {
		t.Errorf("the commands ran again: %s", diff)
	}
}

// A command that fails ends the script, and the next boot runs it again.
func TestFailingCommands(t *testing.T) {
	m := installed(t, userdata.Config{
		PreCommands:  []string{`echo pre >>"$FAKE/log"`, `test -e "$FAKE/ready"`, `echo ready >>"$FAKE/log"`},
		PostCommands: []string{`echo post >>"$FAKE/log"`, `echo "$UNSET"`},
	}, userdata.Metadata{}, "")
	m.boot()
	if want := []string{"capoa-pre-bootstrap.service", "capoa-post-bootstrap.service"}; !slices.Equal(m.failed, want) {
		t.Errorf("%v failed", m.failed)
	}
	if exists(filepath.Join(m.root, "var/lib/capoa/pre-bootstrap.done")) {
		t.Error("the sentinel of the failed commands is there")
	}
	m.write(filepath.Join(m.fake, "ready"), "", 0o600)
	m.boot()
	if got, want := m.read(filepath.Join(m.fake, "log")), "pre\npost\npre\nready\npost\n"; got != want {
		t.Errorf("the log is %q, want %q", got, want)
	}
	if !exists(filepath.Join(m.root, "var/lib/capoa/pre-bootstrap.done")) {
		t.Error("the sentinel is not there")
	}
}

// Commands do not run at all where the sentinel could not be written.
func TestSentinelThatCannotBe(t *testing.T) {
	m := installed(t, userdata.Config{PreCommands: []string{`echo pre >>"$FAKE/log"`}, SentinelDir: "/etc/file/dir"}, host(), "")
	m.write(filepath.Join(m.root, "etc/file"), "", 0o600)
	m.boot()
	if len(m.failed) != 1 || exists(filepath.Join(m.fake, "log")) {
		t.Errorf("%v failed", m.failed)
	}
}

func TestPostCommandsWaitNoLongerThanTheirLimit(t *testing.T) {
	m := installed(t, userdata.Config{PostCommands: []string{`echo post >>"$FAKE/log"`}}, host(), "")
	if line := m.units["capoa-post-bootstrap.service"]["ExecStartPre"][1]; !strings.HasSuffix(line, " wait /var/lib/kubelet/kubeconfig 600") {
		t.Errorf("it waits by %s", line)
	}
	m.write(filepath.Join(m.fake, "api"), "1000000", 0o600)
	m.write(filepath.Join(m.bin, "sleep"), "#!/bin/sh\nexec /usr/bin/sleep 0.2\n", 0o700)
	if err := m.run(nil, "/usr/local/bin/oaictl-machine", "wait", "/kubeconfig", "3"); err == nil {
		t.Error("the wait succeeded")
	}
	if !strings.Contains(m.output.String(), "node localhost were not there within 3 seconds. connection refused") {
		t.Errorf("it says %s", m.output.String())
	}
	// A call that never returns does not make it longer.
	m.write(filepath.Join(m.bin, "kubectl"), "#!/bin/sh\nexec /usr/bin/sleep 30\n", 0o700)
	if err := m.run(nil, "/usr/local/bin/oaictl-machine", "wait", "/kubeconfig", "1"); err == nil {
		t.Error("the wait succeeded")
	}
}

func TestHostnameOfInstalledSystem(t *testing.T) {
	c := userdata.Config{Name: "node-$METADATA_RACK", PreCommands: []string{"true"}}
	for _, test := range []struct {
		name, drive, want string
		metadata          userdata.Metadata
	}{
		{"of the config drive", `{"rack":"r4"}`, "node-r4", host()},
		{"unknown", "", "localhost", host()},
		{"answered outside", `{"rack":"r4"}`, "localhost", userdata.Metadata{Values: map[string]string{"rack": "r5"}}},
		{"recorded by the service", `{"rack":"r4"}`, "localhost", userdata.Metadata{Hostname: "node-7"}},
	} {
		t.Run(test.name, func(t *testing.T) {
			m := installed(t, c, test.metadata, test.drive)
			m.boot()
			m.healthy()
			if m.kubelet.hostname != test.want {
				t.Errorf("the kubelet starts on %q, want %q", m.kubelet.hostname, test.want)
			}
		})
	}
}

func TestLabelsOfKubelet(t *testing.T) {
	c := userdata.Config{Labels: map[string]string{
		"topology.kubernetes.io/zone": "$METADATA_ZONE", "example.com/b": "x-${METADATA_NAME}-${METADATA_ZONE}", "example.com/a": "$METADATA_ZONE",
		"static": "s", "metal3.io/uuid": "$METADATA_UUID", "unknown": "$METADATA_OTHER", "invalid": "$METADATA_RACK", "empty": "$METADATA_EMPTY",
	}}
	m := installed(t, c, userdata.Metadata{Name: "outside", UUID: "u1"}, `{"name":"worker-0","zone":"z1","rack":"no label!","empty":""}`)
	m.write(filepath.Join(m.root, "etc/kubernetes/kubelet-env"), "CUSTOM_KUBELET_LABELS=mine=1\n", 0o600)
	for range 2 {
		m.boot()
		m.healthy()
		// The name of the config drive wins.
		want := "mine=1,empty=,example.com/a=z1,example.com/b=x-worker-0-z1,topology.kubernetes.io/zone=z1"
		if got := m.kubelet.env["CUSTOM_KUBELET_LABELS"]; got != want {
			t.Errorf("the kubelet has %q, want %q", got, want)
		}
	}
	if said := m.output.String(); !strings.Contains(said, "labels: invalid unknown\n") {
		t.Errorf("it says %s", said)
	}
	known := userdata.Labels(c, userdata.Metadata{Name: "outside", UUID: "u1"})
	if diff := cmp.Diff(map[string]string{"static": "s", "metal3.io/uuid": "u1"}, known); diff != "" {
		t.Error(diff)
	}
}

func TestLabelsThatNoKubeletSets(t *testing.T) {
	for key, may := range map[string]bool{
		"a": true, "example.com/a": true, "notkubernetes.io/a": true, "node-role.kubernetes.io/infra": true, "node.kubernetes.io/a": true,
		"x.kubelet.kubernetes.io/a": true, "kubernetes.io/hostname": true, "kubernetes.io/a": false, "x.k8s.io/a": false, "node-restriction.kubernetes.io/a": false,
	} {
		_, err := userdata.Install(userdata.Config{Labels: map[string]string{key: "$METADATA_X"}}, host())
		if (err == nil) != may {
			t.Errorf("%s: error %v", key, err)
		}
		if config, err := userdata.Install(userdata.Config{Labels: map[string]string{key: "$METADATA_UUID"}}, host()); config != nil || err != nil {
			t.Errorf("%s: %s, %v", key, config, err)
		}
	}
}

func TestProviderIDOfTheMachine(t *testing.T) {
	c := userdata.Config{ProviderID: "x://${METADATA_ID}"}
	m := installed(t, c, host(), `{"id":"a\"b/$(c)"}`)
	m.write(filepath.Join(m.fake, "api"), "1", 0o600)
	m.boot()
	m.healthy()
	want := `patch node localhost --type=merge --patch={"spec":{"providerID":"x://a\"b/$(c)"}}` + "\n"
	if asked := m.read(filepath.Join(m.fake, "kubectl")); !strings.HasSuffix(asked, want) {
		t.Errorf("the API was asked\n%s", asked)
	}
	m = installed(t, c, host(), "")
	m.boot()
	if len(m.failed) != 1 || exists(filepath.Join(m.fake, "kubectl")) {
		t.Errorf("%v failed", m.failed)
	}
}

// What the config drive said stays known once it is gone, and a new drive replaces it.
func TestConfigDriveThatGoes(t *testing.T) {
	m := installed(t, userdata.Config{PreCommands: []string{"true"}}, host(), `{"name":"of-drive","zone":"z1"}`)
	known := map[string]string{
		"METADATA_NAME": "worker-0", "METADATA_UUID": "6ab1c1d2", "METADATA_LOCAL_HOSTNAME": "worker-0",
		"METADATA_METAL3_NAME": "worker-0", "METADATA_METAL3_NAMESPACE": "metal3",
	}
	with := func(pairs ...string) map[string]string {
		all := map[string]string{}
		for key, value := range known {
			all[key] = value
		}
		for i := 0; i < len(pairs); i += 2 {
			all[pairs[i]] = pairs[i+1]
		}
		return all
	}
	for _, step := range []struct {
		drive string
		want  map[string]string
	}{
		{`{"name":"of-drive","zone":"z1"}`, with("METADATA_NAME", "of-drive", "METADATA_ZONE", "z1")},
		{"", with("METADATA_NAME", "of-drive", "METADATA_ZONE", "z1")},
		{`{"zone":"z2"}`, with("METADATA_ZONE", "z2")},
		{"broken", with("METADATA_ZONE", "z2")},
	} {
		m.drive(step.drive)
		m.boot()
		if diff := cmp.Diff(step.want, m.metadata()); diff != "" {
			t.Errorf("with %q: %s", step.drive, diff)
		}
	}
	if !slices.Equal(m.failed, []string{"configdrive-metadata.service"}) {
		t.Errorf("%v failed", m.failed)
	}
}

func TestInstallOverride(t *testing.T) {
	own := `{"ignition":{"version":"3.0.0"},"storage":{"files":[{"path":"/etc/mine","mode":420,"contents":{"source":"data:,mine"}}]},
		"systemd":{"units":[{"name":"capoa-pre-bootstrap.service","dropins":[{"name":"mine.conf","contents":"[Service]\nEnvironment=MINE=1\n"}]}]}}`
	for _, c := range []userdata.Config{
		{InstallOverride: []byte(own)},
		{InstallOverride: []byte(own), PreCommands: []string{`echo "$MINE" >"$FAKE/log"`}},
	} {
		config, err := userdata.Install(c, host())
		if err != nil {
			t.Fatal(err)
		}
		report, err := ignition.Validate("it", config)
		if err != nil || report.Version != "3.1.0" {
			t.Errorf("specification %s, %v", report.Version, err)
		}
		m := newMachine(t, "")
		m.apply(config)
		m.boot()
		m.healthy()
		if got := m.read(filepath.Join(m.root, "etc/mine")); got != "mine" {
			t.Errorf("the user's file is %q", got)
		}
		if c.PreCommands != nil && m.read(filepath.Join(m.fake, "log")) != "1\n" {
			t.Error("the user's drop-in is gone")
		}
	}
}

func TestInstallErrors(t *testing.T) {
	for _, test := range []struct {
		config userdata.Config
		want   string
	}{
		{userdata.Config{InstallOverride: []byte("{")}, "the Ignition override:1:"},
		{userdata.Config{InstallOverride: []byte(`{"ignition":{"version":"3.1.0"},"systemd":{"units":[{"name":"a"}]}}`)}, "systemd.units[0]"},
		{userdata.Config{InstallOverride: []byte(`{"ignition":{"version":"3.3.0"}}`)}, "the service takes specifications up to 3.2.0, not 3.3.0"},
		{userdata.Config{PreCommands: []string{"true"}, SentinelDir: "/a b"}, `"/a b" is no absolute path`},
		{userdata.Config{PreCommands: []string{"true"}, SentinelDir: "/%n"}, "no absolute path"},
		{userdata.Config{PostCommands: []string{"true"}, Kubeconfig: "x"}, `kubeconfig of the commands: "x"`},
		{userdata.Config{PostCommands: []string{"true"}, Kubeconfig: "/.."}, "kubeconfig of the commands"},
	} {
		config, err := userdata.Install(test.config, host())
		if err == nil || config != nil || !strings.Contains(err.Error(), test.want) {
			t.Errorf("error %v, want %q", err, test.want)
		}
	}
}

// The same values give the same bytes, for any order of maps.
func TestInstallIsDeterministic(t *testing.T) {
	make := func() []byte {
		c := userdata.Config{Labels: map[string]string{}, PreCommands: []string{"true"}, ProviderID: "$METADATA_P"}
		m := userdata.Metadata{Name: "n", Values: map[string]string{}}
		for _, key := range strings.Split("zyxwvutsrqponmlkjihgfedcba", "") {
			c.Labels[key] = "$METADATA_UNKNOWN_" + key
			m.Values[key] = key
			m.Values["x_"+key], m.Values["x-"+key] = "1", "2"
		}
		config, err := userdata.Install(c, m)
		if err != nil {
			t.Fatal(err)
		}
		return config
	}
	first := make()
	for range 20 {
		if !bytes.Equal(first, make()) {
			t.Fatal("another result")
		}
	}
}
