package convert_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/oaictl/oaictl/internal/shared/check"
	"github.com/oaictl/oaictl/internal/shared/must"
	"github.com/oaictl/oaictl/pkg/install/convert"
	"github.com/oaictl/oaictl/pkg/install/spec"
)

// TestGivenPullSecret takes the path beside the input from the current folder, as a shell has it, and
// not from the folder of the input.
func TestGivenPullSecret(t *testing.T) {
	const installConfig = "apiVersion: v1\nbaseDomain: example.com\nmetadata: {name: one}\ncontrolPlane: {name: master, replicas: 1}\ncompute: [{name: worker, replicas: 0}]\n" +
		"networking: {machineNetwork: [{cidr: 192.168.1.0/24}]}\nplatform: {none: {}}\n"
	const agentConfig = "apiVersion: v1beta1\nkind: AgentConfig\nmetadata: {name: one}\nrendezvousIP: 192.168.1.10\nhosts: [{hostname: m, interfaces: [{name: eno1, macAddress: \"52:54:00:00:00:01\"}]}]\n"
	const secret = `{"auths":{"quay.io":{"auth":"dXNlcjpwYXNz"}}}`
	t.Chdir(t.TempDir())
	must.Do(t, os.Mkdir("in", 0o700))
	for name, text := range map[string]string{"in/install-config.yaml": installConfig, "in/agent-config.yaml": agentConfig, "mine.json": secret} {
		must.Do(t, os.WriteFile(name, []byte(text), 0o600))
	}
	c, err := convert.Read(t.Context(), "in", convert.Options{Version: "4.20", PullSecret: "mine.json"})
	if err != nil {
		t.Fatal(err)
	}
	if got := string(c.Files["pull-secret.json"]); got != secret || !strings.Contains(string(c.Document), "file: pull-secret.json") {
		t.Errorf("it has the pull secret %q\n%s", got, c.Document)
	}
	must.Do(t, convert.WriteFiles(filepath.Join("deep", "out"), []convert.File{{Path: "cluster.yaml", Content: c.Document}, {Path: "pull-secret.json", Content: c.Files["pull-secret.json"], Secret: true}}))
	check.Do(t, check.Err(spec.Load(t.Context(), filepath.Join("deep", "out", "cluster.yaml"), spec.OSEnv())))
	_, err = convert.Read(t.Context(), "in", convert.Options{Version: "4.20", PullSecret: "none.json"})
	check.Says(t, err, "spec.pullSecret: cannot be read: open none.json: no such file or directory; give --pull-secret a path that begins in the current folder")
}
