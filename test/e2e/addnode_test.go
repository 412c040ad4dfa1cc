//go:build e2e

package e2e

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/oaictl/oaictl/internal/shared/must"
)

// TestAddNode installs a cluster without a worker that is not required, and adds it afterwards, by the commands that a
// person is advised to type. Each run of them ends, and a second one writes nothing.
func TestAddNode(t *testing.T) {
	binary := build(t)
	for _, bind := range []string{"early", "late"} {
		t.Run(bind, func(t *testing.T) {
			t.Parallel()
			addWorker(t, binary, bind)
		})
	}
}

// addWorker goes all the way with hosts that are bound to the cluster early or
// late. The late worker boots the image that the others were installed with.
func addWorker(t *testing.T, binary, bind string) {
	dir := t.TempDir()
	file, late := optionalWorker(t, dir, bind), filepath.Join(dir, "late.yaml")
	scenario := "apiVersion: oaictl.io/v1alpha1\nkind: Scenario\nmetadata: {name: late}\nspec:\n  hosts:\n  - {match: {name: worker-1}, do: never-boot}\n"
	must.Do(t, os.WriteFile(late, []byte(scenario), 0o600))
	address := serve(t, binary)
	hosts := []string{"simulator", "hosts", "--service-url", address, "-f", file, "--speed", fmt.Sprint(processSpeed)}
	start(t, binary, append(hosts, "--scenario", late)...)
	w := newWire(t, address)

	said, err := createCluster(t.Context(), binary, w.URL, file, dir).CombinedOutput()
	if err != nil {
		t.Fatalf("create cluster: %v\n%s", err, said)
	}
	next := fmt.Sprintf("Next: oaictl --service-url %s add-node -f %s --dir %s\n", w.URL, file, dir)
	for _, words := range []string{"worker-1 has not registered; it was not required.", next} {
		if !strings.Contains(string(said), words) {
			t.Errorf("create cluster does not say %q:\n%s", words, said)
		}
	}

	start(t, binary, append(hosts, "--boot", "day2")...)
	w.reset()
	said, err = addNode(t.Context(), binary, w.URL, file, dir).CombinedOutput()
	if err != nil {
		t.Fatalf("add-node: %v\n%s", err, said)
	}
	for _, words := range []string{
		"boot the discovery image ha and", "will be installed on", "worker-1: Writing image to disk", "worker-1: Rebooting", "worker-1 is Added",
		"worker-1: installed and rebooted to join ha.example.com.", "get csr",
	} {
		if !strings.Contains(string(said), words) {
			t.Errorf("add-node does not say %q:\n%s", words, said)
		}
	}
	addedOnce(t, address, bind == "late", w.noted())

	for name, command := range map[string]*exec.Cmd{
		"add-node":       addNode(t.Context(), binary, w.URL, file, dir),
		"create cluster": createCluster(t.Context(), binary, w.URL, file, dir),
	} {
		w.reset()
		if said, err := command.CombinedOutput(); err != nil {
			t.Errorf("%s, again: %v\n%s", name, err, said)
		}
		if writes := writesOf(w.noted()); len(writes) > 0 {
			t.Errorf("%s, again, writes: %v", name, writes)
		}
	}
}

// TestAddNodeToSingleNode installs a single node whose file has a worker, for which
// there is no room until then, and adds it.
func TestAddNodeToSingleNode(t *testing.T) {
	t.Parallel()
	binary, dir := build(t), t.TempDir()
	file := exampleWith(t, dir, "sno", strings.NewReplacer(
		"  hosts:", "  topology: {required: {workers: 0}}\n  hosts:", "  - name: cp-0\n", singleWorker+"  - name: cp-0\n"))
	address := serve(t, binary)
	hosts := []string{"simulator", "hosts", "--service-url", address, "-f", file, "--speed", fmt.Sprint(processSpeed)}
	start(t, binary, hosts...)
	said, err := createCluster(t.Context(), binary, address, file, dir).CombinedOutput()
	if err != nil {
		t.Fatalf("create cluster: %v\n%s", err, said)
	}
	next := fmt.Sprintf("Next: oaictl --service-url %s add-node -f %s --dir %s\n", address, file, dir)
	for _, words := range []string{"worker-0 has not registered; it was not required.", next} {
		if !strings.Contains(string(said), words) {
			t.Errorf("create cluster does not say %q:\n%s", words, said)
		}
	}
	if early := list(t, address, "/v2/infra-envs"); len(early) != 1 || strings.Contains(fmt.Sprint(early), "52:54:00:00:01:10") {
		t.Errorf("the image that the node was installed with is for its worker, too: %v", early)
	}
	start(t, binary, append(hosts, "--boot", "day2")...)
	if said, err = addNode(t.Context(), binary, address, file, dir).CombinedOutput(); err != nil || !strings.Contains(string(said), "worker-0: installed and rebooted to join sno.example.com.") {
		t.Fatalf("add-node: %v\n%s", err, said)
	}
	w := newWire(t, address)
	if said, err := createCluster(t.Context(), binary, w.URL, file, dir).CombinedOutput(); err != nil || len(writesOf(w.noted())) > 0 || strings.Contains(string(said), "in the file and") {
		t.Errorf("create cluster, again: %v; writes %v\n%s", err, writesOf(w.noted()), said)
	}
}

// singleWorker is the worker of a single node, with a static network.
const singleWorker = `  - name: worker-0
    role: worker
    net: {mac: "52:54:00:00:01:10", ip: 192.168.127.50/24, gateway: 192.168.127.1, dns: [192.168.127.1]}
`

// optionalWorker is a file for a cluster whose second worker is not required.
func optionalWorker(t *testing.T, dir, bind string) string {
	t.Helper()
	return exampleWith(t, dir, "ha-workers", strings.NewReplacer(
		"    workers: 2\n", "    workers: 2\n    required: {workers: 1, within: 5m}\n", "  hosts:\n", "  infraEnv: {bind: "+bind+"}\n  hosts:\n"))
}

// exampleWith writes an example, changed, into a folder.
func exampleWith(t *testing.T, dir, name string, changes *strings.Replacer) string {
	t.Helper()
	example := must.Get(os.ReadFile(filepath.Join("../../examples", name, "cluster.yaml")))(t)
	shared := must.Get(filepath.Abs("../../examples/shared"))(t)
	text := strings.ReplaceAll(changes.Replace(string(example)), "../shared", shared)
	file := filepath.Join(dir, "cluster.yaml")
	must.Do(t, os.WriteFile(file, []byte(text), 0o600))
	return file
}

func addNode(ctx context.Context, binary, address, file, dir string) *exec.Cmd {
	command := exec.CommandContext(ctx, binary, "add-node", "-f", file, "--service-url", address, "--dir", dir,
		"--until", "added", "--poll-interval", "50ms", "--progress", "plain", "--timeout", "1m", "--user-timeout", "30s")
	command.Env = append(os.Environ(), "XDG_CONFIG_HOME="+dir)
	command.WaitDelay = 10 * time.Second
	return command
}

// addedOnce checks what was written, and what the service has of it.
func addedOnce(t *testing.T, address string, bound bool, calls []call) {
	t.Helper()
	written := map[string]int{}
	for _, c := range writesOf(calls) {
		parts := strings.Split(c.path, "/")
		written[c.method+" "+parts[len(parts)-1]]++
	}
	wanted := []string{"POST allow-add-hosts", "POST install"}
	if bound {
		wanted = append(wanted, "POST bind")
	}
	if written["POST infra-envs"] > 0 {
		t.Errorf("a second InfraEnv was made, and the first serves: %v", calls)
	}
	for _, once := range wanted {
		if written[once] != 1 {
			t.Errorf("%s was sent %d times: %v", once, written[once], calls)
		}
	}
	clusters := list(t, address, "/v2/clusters")
	if len(clusters) != 1 || clusters[0]["status"] != "adding-hosts" {
		t.Fatalf("clusters: %v", clusters)
	}
	statuses := map[any]int{}
	for _, host := range list(t, address, fmt.Sprintf("/v2/clusters/%v/hosts", clusters[0]["id"])) {
		statuses[host["status"]]++
	}
	if statuses["installed"] != 4 || statuses["added-to-existing-cluster"] != 1 {
		t.Errorf("hosts: %v", statuses)
	}
}
