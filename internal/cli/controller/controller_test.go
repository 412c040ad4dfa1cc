package controller

import (
	"context"
	"crypto/tls"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/spf13/cobra"
	"k8s.io/client-go/rest"

	"github.com/oaictl/oaictl/internal/cli/app"
	"github.com/oaictl/oaictl/internal/cli/streams"
	"github.com/oaictl/oaictl/internal/shared/clock"
	"github.com/oaictl/oaictl/pkg/capi"
	"github.com/oaictl/oaictl/pkg/install"
	"github.com/oaictl/oaictl/pkg/install/model"
)

const kubeconfig = `{apiVersion: v1, kind: Config, current-context: x, contexts: [{name: x, context: {cluster: x, user: x}}],
	clusters: [{name: x, cluster: {server: "https://192.0.2.1:6443"}}], users: [{name: x, user: {token: x}}]}`

// started is what `controller` has handed over.
type started struct {
	connection *rest.Config
	options    capi.Options
	serving    capi.Serving
}

// run runs a command line, with a management cluster that is never called.
func run(ctx context.Context, t *testing.T, env map[string]string, end error, args ...string) (*started, string, error) {
	t.Helper()
	var out, problems strings.Builder
	file := filepath.Join(t.TempDir(), "kubeconfig")
	if err := os.WriteFile(file, []byte(strings.ReplaceAll(kubeconfig, "\t", " ")), 0o600); err != nil {
		t.Fatal(err)
	}
	variables := streams.Env{"KUBECONFIG": file}
	for name, value := range env {
		variables[name] = value
	}
	a := app.New(app.Identify([]string{"oaictl"}), streams.Streams{Out: &out, Err: &problems}, variables)
	a.Clock = clock.Real()
	var got *started
	o := &options{App: a, namespaceFile: "none", serve: func(_ context.Context, connection *rest.Config, options capi.Options, serving capi.Serving) error {
		got = &started{connection, options, serving}
		return end
	}}
	root := &cobra.Command{Use: "oaictl", SilenceErrors: true, SilenceUsage: true, PersistentPreRunE: func(command *cobra.Command, _ []string) error { return a.Prepare(command) }}
	a.Globals.Declare(root.PersistentFlags(), app.BackendREST)
	root.AddCommand(newController(o))
	root.SetArgs(append([]string{"controller"}, args...))
	err := root.ExecuteContext(ctx)
	return got, problems.String(), err
}

func TestWhatIsRun(t *testing.T) {
	got, _, err := run(t.Context(), t, map[string]string{"WATCH_NAMESPACE": "lab", "AGENTS_NAMESPACE": "pool", "POD_NAMESPACE": "oaictl-bootstrap-system"}, nil,
		"--providers", "infrastructure,bootstrap", "--leader-elect", "--webhook-self-managed", "--watch-filter", "blue", "--concurrency", "3", "--sync-period", "1m",
		"--qps", "7.5", "--burst", "9", "--media-url", "http://192.0.2.9:8880", "--metrics-bind-address", "0", "--health-address", "127.0.0.1:0", "--tls-min-version", "VersionTLS13",
		"--tls-cipher-suites", "TLS_ECDHE_RSA_WITH_AES_256_GCM_SHA384")
	if err != nil {
		t.Fatal(err)
	}
	o := got.options
	if len(o.Providers) != 2 || o.Providers[0] != capi.Bootstrap || o.Namespace != "lab" || o.AgentNamespace != "pool" || o.WatchFilter != "blue" || o.Concurrency != 3 ||
		o.SyncPeriod != time.Minute || o.Service != nil || o.MediaURL != "http://192.0.2.9:8880" || o.MediaAddress != ":8880" {
		t.Errorf("options are %+v", o)
	}
	if got.connection.QPS != 7.5 || got.connection.Burst != 9 || got.connection.Host != "https://192.0.2.1:6443" {
		t.Errorf("the connection is %+v", got.connection)
	}
	s := got.serving
	if s.Namespace != "oaictl-bootstrap-system" || !s.LeaderElect || s.MetricsAddress != "0" || s.HealthAddress != "127.0.0.1:0" || s.WebhookPort != 9443 || !s.WebhookSelfManaged {
		t.Errorf("served is %+v", s)
	}
	config := &tls.Config{}
	s.TLS(config)
	if config.MinVersion != tls.VersionTLS13 || len(config.CipherSuites) != 1 || config.CipherSuites[0] != tls.TLS_ECDHE_RSA_WITH_AES_256_GCM_SHA384 {
		t.Errorf("TLS is %+v", config)
	}
	t.Run("flags beat variables", func(t *testing.T) {
		got, _, err := run(t.Context(), t, map[string]string{"WATCH_NAMESPACE": "lab", "AGENTS_NAMESPACE": "pool"}, nil, "--webhook-port", "0", "-n", "other", "--agent-namespace", "hosts")
		if err != nil || got.options.Namespace != "other" || got.options.AgentNamespace != "hosts" || len(got.options.Providers) != 3 {
			t.Errorf("got %+v, %v", got, err)
		}
	})
}

// TestStops: a process that was stopped on request has not failed.
func TestStops(t *testing.T) {
	ctx, stop := context.WithCancelCause(t.Context())
	stop(&install.Interrupt{Signal: "terminated", Code: model.CodeTerminated})
	if _, said, err := run(ctx, t, nil, ctx.Err(), "--webhook-port", "0"); err != nil || !strings.Contains(said, `"msg":"stopped"`) {
		t.Errorf("it ends with %v, and says %s", err, said)
	}
	if _, _, err := run(ctx, t, nil, errors.New("broken"), "--webhook-port", "0"); err == nil {
		t.Error("what breaks while it stops is not told")
	}
	if _, said, err := run(ctx, t, nil, nil, "--webhook-port", "0", "--log-format", "text"); err != nil || !strings.Contains(said, "level=INFO msg=stopped") {
		t.Errorf("it ends with %v, and says %s", err, said)
	}
}

// check runs `controller check` on a report.
func check(t *testing.T, report *capi.Report, format string, arguments ...string) (string, error) {
	t.Helper()
	var out strings.Builder
	a := app.New(app.Identify([]string{"oaictl"}), streams.Streams{Out: &out, Err: &strings.Builder{}}, streams.Env{"KUBECONFIG": filepath.Join(t.TempDir(), "kubeconfig")})
	if err := os.WriteFile(a.Env["KUBECONFIG"], []byte(strings.ReplaceAll(kubeconfig, "\t", " ")), 0o600); err != nil {
		t.Fatal(err)
	}
	root := &cobra.Command{Use: "oaictl", SilenceErrors: true, SilenceUsage: true, PersistentPreRunE: func(command *cobra.Command, _ []string) error { return a.Prepare(command) }}
	a.Globals.Declare(root.PersistentFlags(), app.BackendREST)
	root.AddCommand(newCheck(&checkOptions{App: a, check: func(context.Context, *rest.Config, capi.Options) (*capi.Report, error) { return report, nil }}))
	root.SetArgs(append([]string{"check", "-o", format}, arguments...))
	err := root.ExecuteContext(t.Context())
	return out.String(), err
}

func TestCheck(t *testing.T) {
	running := capi.Obstacle{What: "Deployment a in namespace b runs c", Remedy: "kubectl scale deployment -n b a --replicas=0"}
	foreign := capi.Obstacle{What: "CustomResourceDefinition d stores version e, and not f", Remedy: "it is replaced"}
	said, err := check(t, &capi.Report{Running: []capi.Obstacle{running}, Foreign: []capi.Obstacle{foreign}, Unknown: []string{"x"}, Missing: []string{"y"}}, "table")
	if model.FaultOf(err).Code != model.CodeNotFound || !strings.Contains(string(model.FaultOf(err).Next), "docs/capi.md") {
		t.Errorf("it ends with %v: %s", err, model.FaultOf(err).Next)
	}
	for _, want := range []string{"in the way: " + running.What, "do: " + running.Remedy, "replaced: " + foreign.What, "not known: x", "not there yet: y"} {
		if !strings.Contains(said, want) {
			t.Errorf("%q is not said in\n%s", want, said)
		}
	}
	if said, err := check(t, &capi.Report{Foreign: []capi.Obstacle{foreign}}, "table"); err != nil || !strings.Contains(said, "Nothing is in the way") {
		t.Errorf("kinds that are replaced: %v\n%s", err, said)
	}
	noHub := &capi.Report{Missing: []string{"agents.agent-install.openshift.io", "openshiftassistedconfigs.bootstrap.cluster.x-k8s.io"}}
	said, err = check(t, noHub, "table", "--backend", "hub")
	if model.FaultOf(err).Code != model.CodeNotFound || !strings.Contains(err.Error(), "are not there: agents.agent-install.openshift.io") || strings.Contains(said, "Nothing is in the way") {
		t.Errorf("without a hub: %v\n%s", err, said)
	}
	if said, err := check(t, noHub, "table", "--backend", "rest"); err != nil || !strings.Contains(said, "Nothing is in the way") {
		t.Errorf("where none is needed: %v\n%s", err, said)
	}
	if said, err := check(t, &capi.Report{}, "json"); err != nil || strings.Join(strings.Fields(said), "") != `{"running":[],"foreign":[],"missing":[],"unknown":[]}` {
		t.Errorf("nothing: %v\n%s", err, said)
	}
}
