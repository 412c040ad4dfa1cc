package cli

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/oaictl/oaictl/internal/cli/app"
	"github.com/oaictl/oaictl/internal/cli/streams"
	"github.com/oaictl/oaictl/internal/shared/check"
	"github.com/oaictl/oaictl/internal/shared/must"
	"github.com/oaictl/oaictl/pkg/install"
	"github.com/oaictl/oaictl/pkg/install/model"
)

// labKubeconfig is that of lab.example.com, of a client certificate that ends at some time.
func labKubeconfig(t *testing.T, ends time.Time) []byte {
	t.Helper()
	return must.Get(aged([]byte(`
clusters: [{name: lab, cluster: {server: "https://api.lab.example.com:6443", certificate-authority-data: bGFi}}]
users: [{name: admin, user: {}}]
contexts: [{name: admin, context: {cluster: lab, user: admin}}]
current-context: admin
`), ends))(t)
}

// put writes a file, and the folder that it is in.
func put(t *testing.T, path string, text []byte) {
	t.Helper()
	must.Do(t, os.MkdirAll(filepath.Dir(path), 0o700))
	must.Do(t, os.WriteFile(path, text, 0o600))
}

// runAs runs a command line by the name that the program is called by.
func runAs(t *testing.T, service install.Backend, env streams.Env, words ...string) outcome {
	t.Helper()
	var out, problems strings.Builder
	a := app.New(app.Identify(words), streams.Streams{In: strings.NewReader(""), Out: &out, Err: &problems}, env)
	a.Clock = &frozen{now: noon()}
	a.Connect = func(context.Context, app.ClientConfig) (install.Backend, error) { return service, nil }
	code := execute(t.Context(), a)
	return outcome{code, out.String(), problems.String()}
}

// TestKubeconfigOfAHub: a hub is spoken to, and its own context is not lost sight of.
func TestKubeconfigOfAHub(t *testing.T) {
	t.Chdir(t.TempDir())
	service := lab()
	service.kubeconfigs = map[string][]byte{"c1": labKubeconfig(t, noon().AddDate(10, 0, 0))}
	put(t, "home/.kube/config", []byte("current-context: hub\ncontexts: [{name: hub, context: {cluster: hub, user: me}}]\n"))
	env := streams.Env{"HOME": "home"}
	if got := runAs(t, service, env, "kubectl-oai", "kubeconfig", "merge", "lab"); got.code != 0 || got.out != "context lab added to home/.kube/config\n" || got.errors != "Next: kubectl --context lab get nodes\n" {
		t.Errorf("got %+v", got)
	}
	got := runAs(t, service, env, "kubectl-oai", "kubeconfig", "merge", "lab", "--use")
	if got.code != 0 || got.errors != "The current context was hub.\nTo reach the hub from now on, give --context hub.\nNext: kubectl get nodes\n" {
		t.Errorf("got %+v", got)
	}
	if got := runAs(t, service, env, "kubectl-oai", "kubeconfig", "merge", "lab", "--context", "hub", "--use"); strings.Contains(got.errors, "from now on") || got.out != "context lab already there in home/.kube/config\n" {
		t.Errorf("got %+v", got)
	}
}

// TestKubeconfigOfWhichCluster finds the one that is meant, and says where there are several.
func TestKubeconfigOfWhichCluster(t *testing.T) {
	here(t)
	service := lab()
	service.kubeconfigs = map[string][]byte{"c1": labKubeconfig(t, noon().AddDate(10, 0, 0)), "c2": []byte("junk: [")}
	for line, want := range map[string]outcome{
		"kubeconfig merge c1 --into a":              {0, "context lab added to a\n", ""},
		"kubeconfig merge cluster lab --into b":     {0, "context lab added to b\n", ""},
		"kubeconfig merge -f cluster.yaml --into c": {0, "context lab added to c\n", ""},
		"kubeconfig merge --into d":                 {5, "", "oaictl: find the cluster: the service has several: lab, other\nNext: give the name of one; oaictl get clusters lists them\n"},
		"kubeconfig merge other --into e":           {1, "", "oaictl: use the service's kubeconfig of other.example.org: it is not valid YAML: line 1\nNext: oaictl describe other\n"},
	} {
		got := run(t, service, "", strings.Fields(line)...)
		if got.code != want.code || got.out != want.out || want.code != 0 && got.errors != want.errors {
			t.Errorf("%s: %+v", line, got)
		}
	}
	service.clusters = service.clusters[:1]
	if got := run(t, service, "", "kubeconfig", "merge", "--into", "d"); got.code != 0 || got.out != "context lab added to d\n" {
		t.Errorf("got %+v", got)
	}
	service.clusters = nil
	if got := run(t, service, "", "kubeconfig", "merge", "--into", "f"); got.code != 5 || !strings.Contains(got.errors, "the service has none\n") {
		t.Errorf("got %+v", got)
	}
}

// TestKubeconfigOfAHostileService: no program is run for it later, and no file read.
func TestKubeconfigOfAHostileService(t *testing.T) {
	t.Chdir(t.TempDir())
	service := lab()
	service.kubeconfigs = map[string][]byte{"c1": []byte(`
clusters: [{name: lab, cluster: {server: "https://api.lab.example.com:6443"}}]
users: [{name: admin, user: {exec: {command: ./steal, apiVersion: client.authentication.k8s.io/v1beta1}}}]
contexts: [{name: admin, context: {cluster: lab, user: admin}}]
`)}
	got := run(t, service, "", "kubeconfig", "merge", "lab", "--into", "config")
	if got.code != 1 || got.errors != "oaictl: use the service's kubeconfig of lab.example.com: it has a program run for its credentials\nNext: oaictl describe lab\n" {
		t.Errorf("got %+v", got)
	}
	if _, err := os.Stat("config"); err == nil {
		t.Error("something was written")
	}
}

// TestKubeconfigThatIsNotThere passes on why, and what to wait for.
func TestKubeconfigThatIsNotThere(t *testing.T) {
	t.Chdir(t.TempDir())
	service := lab()
	service.refuses = map[string]error{"kubeconfig of c1": &model.Fault{Code: model.CodeFailure, Op: "download", Err: errors.New("not there"), Status: 409, Permanent: true}}
	service.looks = looksOf(model.ClusterDiscovering)
	got := run(t, service, "", "kubeconfig", "merge", "lab", "--into", "config")
	if got.code == 0 || !strings.Contains(got.errors, "Next: ") {
		t.Errorf("got %+v", got)
	}
	if _, err := os.Stat("config"); err == nil {
		t.Error("something was written")
	}
}

// TestRefreshByID finds the results of a cluster by its name, and keeps what was there.
func TestRefreshByID(t *testing.T) {
	t.Chdir(t.TempDir())
	service := lab()
	soon, newer := labKubeconfig(t, noon().AddDate(0, 0, 30).Add(-time.Second)), labKubeconfig(t, noon().AddDate(10, 0, 0))
	service.kubeconfigs = map[string][]byte{"c1": newer}
	put(t, "lab/auth/kubeconfig", soon)
	put(t, "lab/auth/.cluster", []byte("c1\n"))
	got := run(t, service, "", "kubeconfig", "refresh", "c1", "--into", "config")
	want := "lab/auth/kubeconfig is refreshed: its client certificate ends on 2026-08-31, in 29 days; the new one ends on 2036-08-01, in 3653 days\n"
	if got.code != 0 || got.out != want || got.errors != "The previous file is kept as lab/auth/kubeconfig.1.\n" {
		t.Errorf("got %+v", got)
	}
	for path, want := range map[string][]byte{"lab/auth/kubeconfig": newer, "lab/auth/kubeconfig.1": soon} {
		check.Equal(t, string(must.Get(os.ReadFile(path))(t)), string(want), path)
	}
	put(t, "lab/auth/kubeconfig", labKubeconfig(t, noon().AddDate(0, 0, 30)))
	if got := run(t, service, "", "kubeconfig", "refresh", "lab", "--into", "config"); got.out != "lab/auth/kubeconfig: its client certificate ends on 2026-08-31, in 30 days\n" {
		t.Errorf("30 days are no reason: %+v", got)
	}
	if got := run(t, service, "", "kubeconfig", "refresh", "c9", "--into", "config"); got.code != 5 || !strings.Contains(got.errors, "find cluster c9") {
		t.Errorf("got %+v", got)
	}
}

// TestMergeWaitsForALock that kubectl holds, and says what to do if it is not released.
func TestMergeWaitsForALock(t *testing.T) {
	t.Chdir(t.TempDir())
	put(t, "lab.kubeconfig", labKubeconfig(t, noon().AddDate(10, 0, 0)))
	put(t, "the config", []byte("kind: Config\n"))
	put(t, "the config.lock", nil)
	got := run(t, lab(), "", "kubeconfig", "merge", "--from", "lab.kubeconfig", "--into", "the config")
	want := "oaictl: change kubeconfig the config: it is locked by the config.lock: kubectl or something like it changes it just now, or left that behind\nNext: try again; if no other program uses the file: rm 'the config.lock'\n"
	if got.code != 1 || got.errors != want {
		t.Errorf("got %+v", got)
	}
}
