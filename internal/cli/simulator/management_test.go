//go:build e2e

package simulator

import (
	"context"
	"errors"
	"io"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/spf13/cobra"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/tools/clientcmd"

	"github.com/oaictl/oaictl/internal/cli/app"
	"github.com/oaictl/oaictl/internal/cli/streams"
	"github.com/oaictl/oaictl/internal/kubetest"
	"github.com/oaictl/oaictl/pkg/install"
	"github.com/oaictl/oaictl/pkg/install/model"
)

// said takes what a command prints, while it runs.
type said struct {
	mu   sync.Mutex
	text strings.Builder
}

func (s *said) Write(p []byte) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.text.Write(p)
}

func (s *said) String() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.text.String()
}

// manage runs `simulator management` with flags.
func manage(ctx context.Context, out, problems io.Writer, flags ...string) error {
	return runs(ctx, newManagement, out, problems, flags...)
}

func runs(ctx context.Context, with func(*app.App) *cobra.Command, out, problems io.Writer, flags ...string) error {
	a := app.New(app.Identify([]string{"oaictl"}), streams.Streams{In: strings.NewReader(""), Out: out, Err: problems}, streams.Env{})
	command := with(a)
	command.SetArgs(flags)
	command.SilenceErrors, command.SilenceUsage = true, true
	return command.ExecuteContext(ctx)
}

// assets makes a folder of assets whose program is a script that is given where it writes its
// kubeconfig as $2.
func assets(t *testing.T, script string) string {
	t.Helper()
	folder := t.TempDir()
	if err := os.WriteFile(filepath.Join(folder, serveProgram), []byte("#!/bin/sh\n"+script), 0o755); err != nil {
		t.Fatal(err)
	}
	return folder
}

const ready = `printf 'apiVersion: v1\nkind: Config\ncurrent-context: c\ncontexts: [{name: c, context: {cluster: c}}]\nclusters: [{name: c, cluster: {server: "https://127.0.0.1:1"}}]\n' >"$2"
echo '{"host":"https://127.0.0.1:1/","kubeconfig":"'"$2"'"}'
`

func TestManagementRefuses(t *testing.T) {
	for name, test := range map[string]struct {
		flags []string
		code  model.Code // of a fault
		says  string
	}{
		"a third server":            {[]string{"--workload-servers", "3"}, 0, "2 are the most"},
		"fewer than none":           {[]string{"--hosts", "-1"}, 0, "below zero"},
		"time that stands":          {[]string{"--speed", "0"}, 0, "--speed"},
		"a cluster of no template":  {[]string{"--cluster", "large"}, 0, "compact, ha, metal3 and sno"},
		"a cluster of too many":     {[]string{"--cluster", "ha", "--hosts", "5"}, 0, "needs 6 machines"},
		"a cluster without anybody": {[]string{"--cluster", "compact", "--without-providers"}, 0, "and the providers"},
		"no sources":                {nil, model.CodeInput, "this folder is not in them"},
		"a server that is none":     {[]string{"--assets", assets(t, "echo no flags of this kind >&2; exit 2")}, model.CodeFailure, "start an API server"},
		"a server that ends":        {[]string{"--assets", assets(t, ready)}, model.CodeFailure, "ended by itself"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Chdir(t.TempDir())
			err := manage(t.Context(), io.Discard, t.Output(), test.flags...)
			fault, is := errors.AsType[*model.Fault](err)
			if err == nil || is != (test.code != 0) || is && fault.Code != test.code || !strings.Contains(err.Error(), test.says) {
				t.Errorf("got %v", err)
			}
			if name == "no sources" && is && !strings.Contains(string(fault.Next), "--assets DIR") {
				t.Errorf("next is %q", fault.Next)
			}
		})
	}
}

// TestWhatTakesLongIsSaid before the API servers are started.
func TestWhatTakesLongIsSaid(t *testing.T) {
	file, err := filepath.Abs("../../../examples/compact/cluster.yaml")
	if err != nil {
		t.Fatal(err)
	}
	for name, run := range map[string]func(io.Writer, ...string) error{
		"management": func(w io.Writer, flags ...string) error { return manage(t.Context(), io.Discard, w, flags...) },
		"lab": func(w io.Writer, flags ...string) error {
			return runs(t.Context(), newLab, io.Discard, w, append(flags, "-f", file)...)
		},
	} {
		problems := &said{}
		err := run(problems, "--assets", assets(t, "echo the server begins >&2; exit 2"), "--dir", t.TempDir())
		if model.FaultOf(err).Code != model.CodeFailure || !strings.HasPrefix(problems.String(), startsServers+"\nthe server begins\n") {
			t.Errorf("%s: %v\n%s", name, err, problems)
		}
	}
}

// TestServersAreInterrupted makes a server end by itself when it is asked to, so that nothing is left.
func TestServersAreInterrupted(t *testing.T) {
	gone := filepath.Join(t.TempDir(), "gone")
	s, err := newStarter(t.Context(), "run a management cluster", assets(t, "trap 'touch "+gone+"; exit' INT\n"+ready+"while read line; do :; done"), t.Output())
	if err != nil {
		t.Fatal(err)
	}
	defer s.close()
	ctx, stop := context.WithCancelCause(t.Context())
	s.fail = stop
	said, config, err := s.start(ctx, filepath.Join(t.TempDir(), "kubeconfig"))
	if err != nil {
		t.Fatal(err)
	}
	if said.Host != "https://127.0.0.1:1" || config.Host != said.Host {
		t.Errorf("it is at %s, and found at %s", said.Host, config.Host)
	}
	if _, err := os.Stat(gone); err == nil {
		t.Error("it has ended already")
	}
	stop(nil)
	s.running.Wait()
	if _, err := os.Stat(gone); err != nil {
		t.Error(err)
	}
}

func TestSourceTreeIsFoundFromWithin(t *testing.T) {
	tree, err := filepath.Abs("../../..")
	if err != nil {
		t.Fatal(err)
	}
	if got, err := sourceTree(); got != tree || err != nil {
		t.Errorf("%q, %v; it is %s", got, err, tree)
	}
	t.Chdir(t.TempDir())
	if got, err := sourceTree(); got != "" || err != nil {
		t.Errorf("%q, %v outside", got, err)
	}
}

// TestFoldersAreOfOneRun: a second run in the folder of one that goes on touches nothing there, and a user's own
// kubeconfig is not taken for one that an earlier run has left.
func TestFoldersAreOfOneRun(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "management")
	leave, err := occupy(dir)
	if err != nil {
		t.Fatal(err)
	}
	mine := filepath.Join(dir, "management.kubeconfig")
	if err := os.WriteFile(mine, []byte("of the first run"), 0o600); err != nil {
		t.Fatal(err)
	}
	flags := []string{"--assets", assets(t, ready), "--dir", dir, "--cluster", "compact"}
	refused := func(says string) {
		t.Helper()
		err := manage(t.Context(), io.Discard, t.Output(), flags...)
		if model.FaultOf(err).Code != model.CodeInput || !strings.Contains(err.Error(), says) || !strings.Contains(string(model.FaultOf(err).Next), "--dir") {
			t.Errorf("got %v", err)
		}
		if content, err := os.ReadFile(mine); err != nil || string(content) != "of the first run" {
			t.Errorf("the first run's kubeconfig is %q, %v", content, err)
		}
	}
	refused("another simulator keeps its kubeconfigs there")
	leave()

	own := filepath.Join(dir, "lab.kubeconfig")
	kubeconfig := func(server string) {
		t.Helper()
		if err := os.WriteFile(own, []byte("{apiVersion: v1, kind: Config, clusters: [{name: lab, cluster: {server: '"+server+"'}}]}"), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	kubeconfig("https://api.lab.example.com:6443")
	refused("not of a simulated cluster")
	if err := os.WriteFile(own, []byte("no kubeconfig"), 0o600); err != nil {
		t.Fatal(err)
	}
	refused("not of a simulated cluster")
	kubeconfig("https://127.0.0.1:40001")
	if err := replaceable(own); err != nil {
		t.Errorf("what an earlier run has left is not replaced: %v", err)
	}
}

// TestManagementRuns starts all of it, finds its machines inspected and its providers' webhooks
// answering, and stops it.
func TestManagementRuns(t *testing.T) {
	if testing.Short() {
		t.Skip("it runs a management cluster")
	}
	if _, err := kubetest.Build(t.Context(), t.Output()); errors.Is(err, kubetest.ErrUnavailable) {
		t.Skip(err)
	} else if err != nil {
		t.Fatal(err)
	}
	ctx, stop := context.WithCancelCause(t.Context())
	defer stop(nil)
	dir := filepath.Join(t.TempDir(), "management")
	out, problems := &said{}, &said{}
	ended := make(chan error, 1)
	go func() {
		ended <- manage(ctx, out, problems, "--dir", dir, "--hosts", "5", "--cluster", "compact", "--speed", "100", "--feature-gate", "ClusterTopology=true")
	}()
	until(t, ended, "it says what to do", func() bool { return strings.Contains(problems.String(), "Stop it with Ctrl-C") })
	kubeconfig := filepath.Join(dir, "management.kubeconfig")
	if out.String() != kubeconfig+"\n" || !strings.Contains(problems.String(), "clusterctl --kubeconfig "+kubeconfig) {
		t.Errorf("it printed %q, and says:\n%s", out, problems)
	}
	config, err := clientcmd.BuildConfigFromFlags("", kubeconfig)
	if err != nil {
		t.Fatal(err)
	}
	objects, err := dynamic.NewForConfig(config)
	if err != nil {
		t.Fatal(err)
	}
	machines := objects.Resource(schema.GroupVersionResource{Group: "capi-provider.agent-install.openshift.io", Version: "v1beta2", Resource: "agentmachines"}).Namespace("default")
	refused := &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": "capi-provider.agent-install.openshift.io/v1beta2", "kind": "AgentMachine", "metadata": map[string]any{"name": "lab"},
		"spec": map[string]any{"agentLabelSelector": map[string]any{"matchExpressions": []any{map[string]any{"key": "rack", "operator": "Near"}}}},
	}}
	if _, err := machines.Create(ctx, refused, metav1.CreateOptions{}); err == nil || !strings.Contains(err.Error(), "denied the request") {
		t.Errorf("it says what to do before the providers' admission answers: %v", err)
	}
	hosts := objects.Resource(schema.GroupVersionResource{Group: "metal3.io", Version: "v1alpha1", Resource: "baremetalhosts"}).Namespace("default")
	until(t, ended, "two hosts are left", func() bool {
		list, err := hosts.List(ctx, metav1.ListOptions{})
		if err != nil {
			t.Fatal(err)
		}
		available := 0
		for _, o := range list.Items {
			if state, _, _ := unstructured.NestedString(o.Object, "status", "provisioning", "state"); state == "available" {
				available++
			}
		}
		return available == 2
	})
	until(t, ended, "the cluster is installed", func() bool { return strings.Contains(problems.String(), "Cluster lab is Available") })
	if config, err = clientcmd.BuildConfigFromFlags("", filepath.Join(dir, "lab.kubeconfig")); err != nil {
		t.Fatal(err)
	}
	if objects, err = dynamic.NewForConfig(config); err != nil {
		t.Fatal(err)
	}
	if err := replaceable(filepath.Join(dir, "lab.kubeconfig")); err != nil {
		t.Errorf("a later run would not replace it if this one were killed: %v", err)
	}
	nodes, err := objects.Resource(schema.GroupVersionResource{Version: "v1", Resource: "nodes"}).List(ctx, metav1.ListOptions{})
	if err != nil || len(nodes.Items) != 3 {
		t.Errorf("by its kubeconfig there are %d nodes: %v", len(nodes.Items), err)
	}
	stop(&install.Interrupt{Signal: "interrupt", Code: model.CodeInterrupted})
	if err := <-ended; err == nil || !strings.Contains(err.Error(), "simulator management") {
		t.Errorf("it ended with %v", err)
	}
	if left, err := os.ReadDir(dir); err != nil || len(left) > 0 {
		t.Errorf("left are %v, %v", left, err)
	}
}

func until(t *testing.T, ended <-chan error, what string, holds func() bool) {
	t.Helper()
	late := time.NewTimer(5 * time.Minute)
	defer late.Stop()
	tick := time.NewTicker(200 * time.Millisecond)
	defer tick.Stop()
	for !holds() {
		select {
		case err := <-ended:
			t.Fatalf("before %s it ended with %v", what, err)
		case <-late.C:
			t.Fatalf("not so: %s", what)
		case <-tick.C:
		}
	}
}
