package cli

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/oaictl/oaictl/internal/cli/app"
	"github.com/oaictl/oaictl/internal/cli/streams"
	"github.com/oaictl/oaictl/internal/shared/must"
	"github.com/oaictl/oaictl/pkg/install"
	"github.com/oaictl/oaictl/pkg/install/model"
)

// TestWithoutService: a person without a service learns of every way to have one.
func TestWithoutService(t *testing.T) {
	here(t)
	for _, line := range []string{"create cluster -f cluster.yaml", "plan -f cluster.yaml", "get clusters", "why lab"} {
		var out, problems strings.Builder
		a := app.New(app.Identify(append([]string{"oaictl"}, strings.Fields(line)...)), streams.Streams{Out: &out, Err: &problems}, streams.Env{})
		code := execute(t.Context(), a)
		for _, word := range []string{
			"https://api.openshift.com", "https://console.redhat.com/openshift/token", "--offline-token-file", "--service-url URL", "--backend hub",
			"create cluster -f FILE --simulate", "oaictl help environment",
		} {
			if !strings.Contains(problems.String(), word) {
				t.Errorf("%s does not say %q:\n%s", line, word, problems.String())
			}
		}
		if code != 2 {
			t.Errorf("%s ends with %d", line, code)
		}
	}
}

// began is a folder in which a person begins.
func began(t *testing.T) {
	t.Helper()
	t.Chdir(t.TempDir())
	for name, text := range map[string]string{
		"pull-secret.json":     `{"auths":{"quay.io":{"auth":"dTpw"},"cloud.openshift.com":{"auth":"dTpw"}}}`,
		"other/secret.json":    `{"auths":{"quay.io":{"auth":"dTpw"},"cloud.openshift.com":{"auth":"dTpw"}}}`,
		"id_ed25519.pub":       "ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIHxyCLEjmFrCbLtqFhyRmQPeYPpVyiqEOTvEwUtFGzhi user@example.com\n",
		"bmc-password":         "admin:secret\n",
		"other/keep/cluster.x": "kept",
	} {
		must.Do(t, os.MkdirAll(filepath.Dir(name), 0o700))
		must.Do(t, os.WriteFile(name, []byte(text), 0o600))
	}
}

// TestInitIsValid: what init writes is valid with each combination of its flags.
func TestInitIsValid(t *testing.T) {
	began(t)
	count := 0
	for _, controlPlane := range []int{1, 3, 5} {
		for _, workers := range []int{0, 1, 3} {
			for _, version := range []string{"4.18", "4.20", "4.20.32"} {
				for optional := range 16 {
					ssh, bmc, static, elsewhere := optional&1 > 0, optional&2 > 0, optional&4 > 0, optional&8 > 0
					count++
					file := fmt.Sprintf("%d/cluster.yaml", count)
					must.Do(t, os.Mkdir(filepath.Dir(file), 0o700))
					arguments := []string{"init", "-o", file, "--name", "lab-1", "--base-domain", "example.com", "--openshift-version", version, "--machine-network", "192.168.127.0/24"}
					add := func(words ...string) { arguments = append(arguments, words...) }
					for i := range controlPlane {
						add("--control-plane-mac", fmt.Sprintf("52:54:00:00:01:%02x", i))
					}
					for i := range workers {
						add("--worker-mac", fmt.Sprintf("52:54:00:00:02:%02x", i))
					}
					if controlPlane > 1 {
						add("--api-vip", "192.168.127.100", "--ingress-vip", "192.168.127.101")
					}
					if ssh {
						add("--ssh-key", "id_ed25519.pub")
					}
					if bmc {
						for i := range controlPlane + workers {
							add("--bmc", fmt.Sprintf("192.0.2.%d", 10+i))
						}
						add("--bmc-credentials", "bmc-password")
					}
					if static {
						add("--first-address", "192.168.127.10", "--gateway", "192.168.127.1", "--dns", "192.168.127.1")
					}
					if elsewhere {
						add("--pull-secret", "other/secret.json")
					}
					refused := controlPlane == 1 && workers > 0 // see below
					got := run(t, lab(), "", arguments...)
					if got.code != 0 && !refused {
						t.Fatalf("%q: %+v", arguments, got)
					}
					if got.code != 0 {
						if _, err := os.Stat(file); err == nil {
							t.Fatalf("%q: it wrote what it refuses", arguments)
						}
						continue
					}
					if got := run(t, lab(), "", "validate", "-f", file); got.code != 0 || !strings.Contains(got.out, fmt.Sprintf("%d host", controlPlane+workers)) {
						text, _ := os.ReadFile(file)
						t.Fatalf("%q: %+v\n%s", arguments, got, text)
					}
				}
			}
		}
	}
}

// TestInit: it asks at a terminal, names what is missing elsewhere, and overwrites nothing.
func TestInit(t *testing.T) {
	began(t)
	flags := []string{"init", "--name", "lab", "--base-domain", "example.com", "--openshift-version", "4.20", "--machine-network", "192.168.127.0/24", "--control-plane-mac", "52:54:00:00:00:01"}
	if got := run(t, lab(), "", "init"); got.code != 2 || !strings.Contains(got.errors, "--name") || !strings.Contains(got.errors, "--control-plane-mac") {
		t.Errorf("without a terminal: %+v", got)
	}
	if got := run(t, lab(), "", flags[:3]...); got.code != 2 || strings.Contains(got.errors, "--name") || !strings.Contains(got.errors, "--base-domain") {
		t.Errorf("with one flag: %+v", got)
	}
	got := run(t, lab(), "", append([]string{flags[0], "-o", "-"}, flags[1:]...)...)
	if got.code != 0 || !strings.Contains(got.out, "# ") || !strings.Contains(got.out, `mac: "52:54:00:00:00:01"`) {
		t.Errorf("on standard output: %+v", got)
	}
	answers := "mine\n\n\n\n\n52:54:00:00:00:01 52:54:00:00:00:02, 52:54:00:00:00:03\n\n\n192.168.127.5\n192.168.127.6\n"
	got = runIn(t.Context(), t, lab(), answers, true, "init")
	text, err := os.ReadFile("cluster.yaml")
	if got.code != 0 || err != nil || !strings.Contains(string(text), `name: "mine"`) || strings.Count(string(text), "role: control-plane") != 3 {
		t.Fatalf("%+v %v\n%s", got, err, text)
	}
	if !strings.Contains(got.errors, "oaictl create cluster --simulate -f cluster.yaml") {
		t.Errorf("it does not say what to type next:\n%s", got.errors)
	}
	if got := run(t, lab(), "", flags...); got.code != 1 || !strings.Contains(got.errors, "cluster.yaml") || !strings.Contains(got.errors, "does not overwrite it") {
		t.Errorf("the file is there: %+v", got)
	}
	if after, _ := os.ReadFile("cluster.yaml"); string(after) != string(text) {
		t.Error("the file was overwritten")
	}
	for line, word := range map[string]string{
		"--pull-secret nowhere.json":            "https://console.redhat.com/openshift/install/pull-secret",
		"--bmc 192.0.2.1":                       "--bmc-credentials",
		"--gateway 192.168.127.1":               "--first-address",
		"--api-vip 192.168.127.5":               "single node",
		"--machine-network nothing":             "--machine-network",
		"--control-plane-mac 52:54:00:00:00:02": "--api-vip", // two machines are no single node
	} {
		got := run(t, lab(), "", append(append([]string{}, flags...), append([]string{"-o", "new.yaml"}, strings.Fields(line)...)...)...)
		if got.code == 0 || !strings.Contains(got.errors, word) {
			t.Errorf("%s: %+v", line, got)
		}
		if _, err := os.Stat("new.yaml"); err == nil {
			t.Errorf("%s: it wrote a file", line)
		}
	}
}

// TestWordsThatPeopleType: a user who types the words of other programs is led to ours.
func TestWordsThatPeopleType(t *testing.T) {
	here(t)
	for line, words := range map[string][]string{
		"list clusters":                      {"did you mean `oaictl get clusters`?"},
		"ls hosts":                           {"did you mean `oaictl get hosts`?"},
		"get host node-1":                    {"a host has the name", "Next: oaictl describe host node-1"},
		"validate -f cluster.yaml -f b.yaml": {"-f, --file is given twice", `"cluster.yaml"`, `"b.yaml"`},
		"plan --file cluster.yaml -f b.yaml": {"is given twice"},
		"get hosts lab --cluster lab":        {"needs one name"},
		"get hosts --cluster nowhere":        {"nowhere"},
		"explain Blockd":                     {"explain spec"},
		"explain state Blockd":               {"did you mean Blocked"},
	} {
		got := run(t, lab(), "", strings.Fields(line)...)
		for _, word := range words {
			if got.code == 0 || !strings.Contains(got.errors, word) {
				t.Errorf("%s does not say %q: %+v", line, word, got)
			}
		}
	}
	for line, want := range map[string]string{
		"get hosts --cluster lab -o name":                         "host/node-1\nhost/node-10\n",
		"get validations --cluster lab -o name":                   "validation/all-hosts-are-ready-to-install\n",
		"get nodes --cluster lab -o name":                         "node/node-1\n",
		"get events --cluster lab -o name":                        "event/cluster_status_updated\n",
		"explain Blocked":                                         "cluster state Blocked: ",
		"explain state NeedsUser":                                 "host state NeedsUser: ",
		"explain Added":                                           "added-to-existing-cluster",
		"explain state Absent":                                    "has never seen it",
		"explain state Installed -o jsonpath={.items[*].subject}": "host cluster",
		"explain state installed -o jsonpath={.items[*].name}":    "installed installed",
		"explain ntp-synced":                                      "host validation ntp-synced",
	} {
		if got := run(t, lab(), "", strings.Fields(line)...); got.code != 0 || !strings.Contains(got.out, want) {
			t.Errorf("%s does not say %q: %+v", line, want, got)
		}
	}
}

// TestWhyNamesTheFile: by its name alone less is known of a cluster, and `why` says so.
func TestWhyNamesTheFile(t *testing.T) {
	here(t)
	const more = "With the cluster's file (why -f), oaictl can show more"
	for _, line := range []string{"why lab", "why host node-1"} {
		if got := run(t, lab(), "", strings.Fields(line)...); !strings.Contains(got.out, more) {
			t.Errorf("%s: %+v", line, got)
		}
	}
	if got := run(t, lab(), "", "why", "-f", "cluster.yaml"); got.code != 0 || strings.Contains(got.out, more) {
		t.Errorf("%+v", got)
	}
}

// TestDeleteOfRunningInstall: with --yes it is not printed that anything has ended before the service has agreed.
func TestDeleteOfRunningInstall(t *testing.T) {
	service := lab()
	service.clusters[0].Status, service.clusters[0].State = "installing", model.ClusterInstalling
	kept := &keeping{fake: service}
	if got := run(t, kept, "", "delete", "cluster", "lab", "--yes"); got.code == 0 || strings.Contains(got.errors, "This ends the install") {
		t.Errorf("%+v", got)
	}
	if got := run(t, service, "", "delete", "cluster", "lab", "--yes"); got.code != 0 || !strings.Contains(got.errors, "This ends the install") {
		t.Errorf("%+v", got)
	}
}

// keeping is a service that keeps its clusters.
type keeping struct{ *fake }

func (k *keeping) DeleteCluster(context.Context, string, install.DeleteOptions) error {
	return &model.Fault{Code: model.CodeFailure, Status: 409, Op: "delete cluster", On: "lab", Permanent: true, Err: fmt.Errorf("it is being installed")}
}
