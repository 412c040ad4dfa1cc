//go:build e2e

// Package clusterctl installs the Cluster API providers as people do, on a real management cluster: by
// the real clusterctl from a local repository, and by kubectl where there is no cert-manager. No
// container runs here: their managers run in this process, as their ServiceAccounts.
package clusterctl

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"net/http"
	"net/netip"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/go-logr/logr/funcr"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/client-go/rest"

	"github.com/oaictl/oaictl/internal/kubetest"
	"github.com/oaictl/oaictl/internal/shared/clock"
	"github.com/oaictl/oaictl/internal/shared/must"
	"github.com/oaictl/oaictl/pkg/capi"
	"github.com/oaictl/oaictl/pkg/capi/manifests/components"
)

var management = kubetest.SharedManagement{Config: kubetest.ManagementConfig{FeatureGates: map[string]bool{"ClusterTopology": true}}}

func TestMain(m *testing.M) { os.Exit(management.Run(m)) }

// speed is how much faster than life the managers wait.
const speed = 20

// objectsOf reads the objects of YAML.
func objectsOf(t *testing.T, text []byte) []*unstructured.Unstructured {
	t.Helper()
	objects, err := kubetest.Objects(text)
	if err != nil {
		t.Fatalf("%v in\n%s", err, text)
	}
	return objects
}

// componentsOf are the objects of a provider, with the defaults of all variables.
func componentsOf(t *testing.T, p components.Provider, o components.Options) []*unstructured.Unstructured {
	t.Helper()
	o.Providers = []string{p.Name}
	files := must.Get(components.Files(o))(t)
	for _, f := range files {
		if f.Name == p.ComponentsFile() {
			return objectsOf(t, components.Expand(f.Content, func(string) (string, bool) { return "", false }))
		}
	}
	t.Fatalf("there is no %s", p.ComponentsFile())
	return nil
}

// process is the manager of a provider that is installed.
type process struct {
	components.Provider
	webhooks, health, metrics int
	objects                   []*unstructured.Unstructured // as they were applied
	config                    *rest.Config                 // of its ServiceAccount
	log                       *record
	denied                    kubetest.Denials

	stop  context.CancelFunc
	ended chan error
}

// record keeps what a manager logs.
type record struct {
	mu    sync.Mutex
	lines []string
}

func (r *record) add(prefix, args string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.lines = append(r.lines, prefix+" "+args)
}

// find are the lines that contain a text.
func (r *record) find(text string) []string {
	r.mu.Lock()
	defer r.mu.Unlock()
	var found []string
	for _, line := range r.lines {
		if strings.Contains(line, text) {
			found = append(found, line)
		}
	}
	return found
}

// install installs a provider without cert-manager, and leads its Service to a port of loopback, where
// process.start serves it.
func install(t *testing.T, m *kubetest.Management, name string) *process {
	t.Helper()
	p, err := components.Of(name)
	if err != nil {
		t.Fatal(err)
	}
	x := &process{Provider: p, log: &record{}}
	for _, port := range []*int{&x.webhooks, &x.health, &x.metrics} {
		if *port, err = m.Port(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
	objects := componentsOf(t, p, components.Options{SelfManaged: true})
	for _, o := range objects {
		if o.GetKind() == "Service" {
			o.Object["spec"] = map[string]any{"type": "ExternalName", "externalName": "localhost"}
		}
		for _, service := range called(o) {
			service["port"] = int64(x.webhooks)
		}
	}
	must.Do(t, m.Apply(t.Context(), objects...))
	x.objects = objects
	m.AwaitRights(t, objects...)
	x.config = m.Account(t, p.Namespace(), fmt.Sprintf("oaictl-%s-manager", name))
	x.config.Wrap(x.denied.Wrap)
	return x
}

// called are the Services that an object makes the API server call.
func called(o *unstructured.Unstructured) []map[string]any {
	var services []map[string]any
	add := func(from any) {
		client, _ := from.(map[string]any)
		if service, is := client["service"].(map[string]any); is {
			services = append(services, service)
		}
	}
	client, _, _ := unstructured.NestedFieldNoCopy(o.Object, "spec", "conversion", "webhook", "clientConfig")
	add(client)
	hooks, _ := o.Object["webhooks"].([]any)
	for _, hook := range hooks {
		fields, _ := hook.(map[string]any)
		add(fields["clientConfig"])
	}
	return services
}

// start runs the manager, until the test's end at the latest.
func (x *process) start(t *testing.T) {
	t.Helper()
	ctx, stop := context.WithCancel(t.Context())
	x.stop, x.ended = stop, make(chan error, 1)
	address := func(port int) string { return fmt.Sprintf("127.0.0.1:%d", port) }
	go func() {
		x.ended <- capi.Serve(ctx, x.config, capi.Options{
			Providers: []capi.Provider{capi.Provider(x.Name)}, Clock: clock.Scaled(speed), Log: funcr.New(x.log.add, funcr.Options{}),
			AllowEndpoints: []netip.Prefix{netip.MustParsePrefix("127.0.0.0/8")}, // where installed clusters are played
		}, capi.Serving{
			Namespace: x.Namespace(), LeaderElect: true, HealthAddress: address(x.health), MetricsAddress: address(x.metrics), WebhookPort: x.webhooks, WebhookSelfManaged: true,
		})
	}()
	t.Cleanup(func() { x.end(t) })
}

// end stops the manager.
func (x *process) end(t *testing.T) {
	t.Helper()
	if x.stop == nil {
		return
	}
	x.stop()
	x.stop = nil
	if err := <-x.ended; err != nil {
		t.Errorf("%s ends with %v", x.Name, err)
	}
	if denied := x.denied.Take(); len(denied) > 0 {
		t.Errorf("%s may not do what it does: %q", x.Name, denied)
	}
}

// ready is what /readyz answers.
func (x *process) ready(t *testing.T) (int, string) {
	t.Helper()
	request := must.Get(http.NewRequestWithContext(t.Context(), http.MethodGet, fmt.Sprintf("http://127.0.0.1:%d/readyz", x.health), http.NoBody))(t)
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		return 0, err.Error()
	}
	defer response.Body.Close()
	text, _ := io.ReadAll(response.Body)
	return response.StatusCode, string(text)
}

// awaitReady waits until the manager is ready.
func (x *process) awaitReady(t *testing.T) {
	t.Helper()
	eventually(t, x.Name+" is ready", func() (bool, string) {
		select {
		case err := <-x.ended:
			x.stop = nil
			t.Fatalf("%s ends with %v", x.Name, err)
		default:
		}
		code, text := x.ready(t)
		return code == http.StatusOK, text
	})
}

// patience is how long something may take on a machine with much to do.
const patience = 2 * time.Minute

func eventually(t *testing.T, what string, is func() (bool, string)) {
	t.Helper()
	last := ""
	for deadline := time.Now().Add(patience); time.Now().Before(deadline); time.Sleep(100 * time.Millisecond) {
		done, now := is()
		if done {
			return
		}
		last = now
	}
	t.Fatalf("not so within %s: %s; last: %s", patience, what, last)
}

// writeRepository writes the files of a release as a local repository, and gives its clusterctl.yaml.
func writeRepository(t *testing.T, more string) string {
	t.Helper()
	return addRelease(t, t.TempDir(), "", more)
}

// addRelease adds the files of a release to a local repository, and gives its clusterctl.yaml.
func addRelease(t *testing.T, folder, version, more string) string {
	t.Helper()
	files := must.Get(components.Repository(filepath.ToSlash(folder), components.Options{Version: version}))(t)
	for _, f := range files {
		path := filepath.Join(folder, filepath.FromSlash(f.Name))
		if f.Name == components.ClusterctlFile {
			f.Content = append(f.Content, more...)
		}
		must.Do(t, os.MkdirAll(filepath.Dir(path), 0o755))
		must.Do(t, os.WriteFile(path, f.Content, 0o600))
	}
	return filepath.Join(folder, components.ClusterctlFile)
}

// clusterctl runs the real one.
func clusterctl(t *testing.T, m *kubetest.Management, config string, env []string, args ...string) (string, error) {
	t.Helper()
	var out, problems bytes.Buffer
	command := exec.CommandContext(t.Context(), m.Clusterctl(), append(args, "--config", config)...)
	command.Env = append(append(os.Environ(), "CLUSTERCTL_DISABLE_VERSIONCHECK=true", "XDG_CONFIG_HOME="+t.TempDir(), "GOPROXY=off"), env...)
	command.Stdout, command.Stderr = &out, &problems
	if err := command.Run(); err != nil {
		return out.String(), fmt.Errorf("clusterctl %s: %w\n%s", strings.Join(args, " "), err, problems.String())
	}
	return out.String(), nil
}
