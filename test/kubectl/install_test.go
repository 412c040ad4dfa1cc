//go:build e2e

package kubectl

import (
	"bufio"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/oaictl/oaictl/internal/shared/check"
	"github.com/oaictl/oaictl/internal/shared/must"
)

// TestInstall installs a cluster as a user of kubectl does, looks at it with every
// verb, and deletes it.
func TestInstall(t *testing.T) {
	d := newDesk(t)
	d.must(t, imageSet, "apply", "-f", "-")
	file := d.example(t, "compact", "plugged")
	d.play(t, "-f", file, "--speed", "300", "--hive")

	plan := d.oai(t, 0, "plan", "-f", file)
	if !strings.Contains(plan.out, "RegisterCluster") {
		t.Errorf("the plan registers nothing:\n%s", plan.out)
	}
	made := d.oai(t, 0, "create", "cluster", "-f", file, "-vv", "-o", "json")
	var result struct{ ID, State, Kubeconfig string }
	if err := json.Unmarshal([]byte(made.out), &result); err != nil || result.ID != "plugged/plugged" {
		t.Errorf("%+v (%v):\n%s", result, err, made.out)
	}
	check.Do(t, check.Err(os.Stat(filepath.Join(d.dir, "plugged", "auth", "kubeconfig"))))
	noSecret(t, d, made.errors)
	again := d.oai(t, 0, "create", "cluster", "-f", file, "-vv")
	for line := range strings.Lines(again.errors) {
		for _, verb := range []string{"PATCH ", "POST ", "PUT ", "DELETE "} {
			if strings.HasPrefix(line, verb) {
				t.Errorf("the second run writes: %s", line)
			}
		}
	}
	t.Run("watch", func(t *testing.T) { watches(t, d) })
	t.Run("look", func(t *testing.T) { looks(t, d, file) })
	t.Run("change", func(t *testing.T) { changes(t, d, file) })
}

// watches follows hosts until it is interrupted.
func watches(t *testing.T, d *desk) {
	command := d.program(t.Context(), filepath.Join(d.plugins, "kubectl-oai"), "get", "hosts", "plugged", "-w", "-o", "json")
	out := must.Get(command.StdoutPipe())(t)
	must.Do(t, command.Start())
	lines := bufio.NewScanner(out)
	for range 3 {
		var host struct{ Name, State string }
		if !lines.Scan() || json.Unmarshal(lines.Bytes(), &host) != nil || !strings.HasPrefix(host.Name, "cp-") || host.State != "Installed" {
			t.Errorf("%q is no host", lines.Text())
		}
	}
	must.Do(t, command.Process.Signal(os.Interrupt))
	for lines.Scan() {
		t.Errorf("something has changed: %s", lines.Text())
	}
	if _ = command.Wait(); command.ProcessState.ExitCode() != 130 {
		t.Errorf("it ends with %d", command.ProcessState.ExitCode())
	}
}

// noSecret checks that what was printed has nothing that only the user's files hold.
func noSecret(t *testing.T, d *desk, told string) {
	t.Helper()
	if !strings.Contains(told, "PATCH /api") || !strings.Contains(told, " → 20") {
		t.Errorf("-vv tells of no call:\n%s", told)
	}
	pullSecret := must.Get(os.ReadFile(filepath.Join("..", "..", "examples", "shared", "pull-secret.json")))(t)
	var content struct {
		Auths map[string]struct{ Auth string }
	}
	if err := json.Unmarshal(pullSecret, &content); err != nil || len(content.Auths) == 0 {
		t.Fatalf("%v: %v", content, err)
	}
	for host, entry := range content.Auths {
		if strings.Contains(told, entry.Auth) {
			t.Errorf("the pull secret of %s is told", host)
		}
	}
	for _, word := range []string{"Bearer", "image_token", "api_key", "PRIVATE KEY"} {
		if strings.Contains(told, word) {
			t.Errorf("%q is told", word)
		}
	}
}

func looks(t *testing.T, d *desk, file string) {
	tests := []struct {
		line string
		code int
		want string
	}{
		{"get clusters", 0, "plugged"},
		{"get clusters -n plugged -o name", 0, "cluster/plugged"},
		{"get clusters -n default -o name", 0, ""},
		{"get clusters -n default -A -o name", 0, "cluster/plugged"},
		{"get cluster plugged -o jsonpath={.id}", 0, "plugged/plugged"},
		{"get hosts plugged -o wide", 0, "52:54:00:00:02:01"},
		{"get hosts -f " + file, 0, "cp-2"},
		{"get infraenvs --cluster plugged", 0, "Ready"},
		{"get events plugged", 0, "SEVERITY"},
		{"get events --host cp-0 -o name", 0, "event/"},
		{"get validations plugged --all", 0, "success"},
		{"describe cluster plugged", 0, "plugged/plugged"},
		{"describe host cp-1", 0, "cp-1"},
		{"why plugged", 0, "nothing stands in the way"},
		{"why host cp-0", 0, "nothing stands in the way"},
		{"wait cluster plugged --for installed", 0, "plugged"},
		{"logs plugged", 0, "plugged-logs.tar"},
		{"download kubeconfig plugged --to -", 0, "kind: Config"},
		{"kubeconfig merge plugged --into merged", 0, "context plugged added to merged"},
		{"kubeconfig merge plugged/plugged --into merged --dir elsewhere", 0, "context plugged already there in merged"},
		{"kubeconfig merge -f " + file + " --into merged --dir elsewhere", 0, "context plugged already there in merged"},
		{"kubeconfig refresh plugged --into merged", 0, "plugged/auth/kubeconfig: its client certificate ends on "},
		{"download iso plugged --url", 0, "http://"},
		{"download ignition --discovery plugged", 0, "plugged-discovery.ign"},
		{"download manifests plugged", 0, ""},
		{"add-node -f " + file, 0, ""},
		{"version", 0, "oaictl"},
	}
	for _, tt := range tests {
		t.Run(tt.line, func(t *testing.T) {
			got := d.oai(t, tt.code, strings.Fields(tt.line)...)
			if !strings.Contains(got.out, tt.want) {
				t.Errorf("no %q in:\n%s%s", tt.want, got.out, got.errors)
			}
		})
	}
}

func changes(t *testing.T, d *desk, file string) {
	refused := []struct{ line, want string }{
		{"cancel plugged", "delete cluster"},
		{"reset plugged", "delete cluster"},
		{"download ignition plugged", "hands out no files"},
		{"download manifests plugged --system", "a hub does not show them"},
		{"create cluster --simulate -f " + file, "a hub needs an API server"},
		{"get clusters --service-url http://x", "--service-url needs --backend rest"},
	}
	for _, tt := range refused {
		t.Run(tt.line, func(t *testing.T) {
			if got := d.oai(t, 2, strings.Fields(tt.line)...); !strings.Contains(got.errors, tt.want) || !strings.Contains(got.errors, "kubectl oai: ") {
				t.Errorf("no %q in:\n%s", tt.want, got.errors)
			}
		})
	}
	t.Run("hints are for kubectl", func(t *testing.T) {
		got := d.oai(t, 5, "describe", "cluster", "nobody", "-n", "plugged")
		check.Contains(t, got.errors, "Next: kubectl oai --namespace plugged get clusters\n")
	})
	t.Run("completion", func(t *testing.T) {
		for line, want := range map[string]string{
			"oai get clusters ": "plugged\t", "oai get hosts -n ": "plugged", "oai describe cluster -n plugged ": "plugged\t", "oai get --context ": "",
		} {
			words := append([]string{"__complete"}, strings.Split(line, " ")...)
			if got := d.must(t, "", words...); !strings.Contains(got, want) {
				t.Errorf("%q offers no %q: %s", line, want, got)
			}
		}
	})
	t.Run("delete", func(t *testing.T) {
		got := d.oai(t, 0, "delete", "cluster", "-f", file, "--yes", "-o", "name")
		if got.out != "cluster/plugged\ninfraenv/plugged\n" {
			t.Errorf("%s%s", got.out, got.errors)
		}
		check.Equal(t, d.must(t, "", "get", "clusterdeployments,agentclusterinstalls,infraenvs,agents", "-n", "plugged", "-o", "name"), "", "left")
		d.oai(t, 5, "describe", "cluster", "-f", file)
	})
}
