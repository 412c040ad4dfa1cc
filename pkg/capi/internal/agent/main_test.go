//go:build e2e

package agent_test

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/netip"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/go-logr/logr"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/rest"
	"k8s.io/utils/ptr"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/config"
	"sigs.k8s.io/controller-runtime/pkg/controller"
	"sigs.k8s.io/controller-runtime/pkg/event"
	"sigs.k8s.io/controller-runtime/pkg/handler"
	metrics "sigs.k8s.io/controller-runtime/pkg/metrics/server"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"
	"sigs.k8s.io/controller-runtime/pkg/source"
	ctrlwebhook "sigs.k8s.io/controller-runtime/pkg/webhook"
	"sigs.k8s.io/yaml"

	"github.com/oaictl/oaictl/internal/kubetest"
	"github.com/oaictl/oaictl/internal/shared/clock"
	"github.com/oaictl/oaictl/internal/shared/workloadclient"
	"github.com/oaictl/oaictl/pkg/capi/api"
	agentv1 "github.com/oaictl/oaictl/pkg/capi/api/agent/v1beta2"
	"github.com/oaictl/oaictl/pkg/capi/internal/agent"
	"github.com/oaictl/oaictl/pkg/capi/internal/clusterloop"
	"github.com/oaictl/oaictl/pkg/capi/internal/clusterspec"
	"github.com/oaictl/oaictl/pkg/capi/internal/hubcache"
	"github.com/oaictl/oaictl/pkg/capi/internal/machines"
	"github.com/oaictl/oaictl/pkg/capi/internal/webhook"
	"github.com/oaictl/oaictl/pkg/install"
	"github.com/oaictl/oaictl/pkg/install/model"
)

// management is the management cluster of all tests of this package. Each test has namespaces of its own there.
var management kubetest.SharedManagement

func TestMain(m *testing.M) {
	ctrl.SetLogger(logr.Discard())
	os.Exit(management.Run(m))
}

// role is what controller-gen makes of the markers of the package: what the provider may do.
type role struct {
	rules []rbacv1.PolicyRule
	err   error
}

var markedRole = sync.OnceValue(func() (r role) {
	tool, err := exec.Command(filepath.Join(root(), "test", "tools", "tool"), "controller-gen").Output()
	if err != nil {
		r.err = err
		return r
	}
	command := exec.Command(strings.TrimSpace(string(tool)), "rbac:roleName=agent", "paths=./pkg/capi/internal/agent", "output:stdout")
	command.Dir = root()
	out, err := command.Output()
	made := &rbacv1.ClusterRole{}
	r.err = errors.Join(err, yaml.Unmarshal(out, made))
	r.rules = made.Rules
	return r
})

// setup is what a site has that is not the same everywhere.
type setup struct {
	agents      string // namespace of the Agents; "" for the Machines' own
	namespaces  int    // how many namespaces Machines are in; 1 where it is 0
	managers    int    // how many managers run at once; 1 where it is 0
	rest        bool   // hosts are a service's, and not a hub's
	service     *service
	desire      func(context.Context, clusterloop.Key, *model.Observed) (*model.Desired, error)
	watchFilter string
	// Of a whole installation:
	connect func(namespace string) (install.Backend, error) // nil: service
	clock   clock.Clock                                     // nil: the machine's own
}

// site is a provider that runs on namespaces of its own.
type site struct {
	*kubetest.Management
	client     client.Client // an administrator's, without a cache
	namespace  string
	namespaces []string
	agents     string
	service    *service
	sets       []*clusterloop.Set
	user       *rest.Config // the provider's
	written    *writes      // by it
	setup      setup
	running    *sync.WaitGroup
}

// writes are the requests of the provider that change something, except events.
type writes struct {
	mu  sync.Mutex
	all []string
}

func (w *writes) wrap(next http.RoundTripper) http.RoundTripper {
	return roundTripper(func(r *http.Request) (*http.Response, error) {
		if r.Method != http.MethodGet && !strings.Contains(r.URL.Path, "/events") {
			w.mu.Lock()
			w.all = append(w.all, r.Method+" "+path.Base(path.Dir(r.URL.Path))+"/"+path.Base(r.URL.Path))
			w.mu.Unlock()
		}
		return next.RoundTrip(r)
	})
}

// take are those since the last time.
func (w *writes) take() []string {
	w.mu.Lock()
	defer w.mu.Unlock()
	all := w.all
	w.all = nil
	return all
}

// open runs the provider until the test's end, with the rights that its markers ask for.
func open(t *testing.T, s setup) *site {
	t.Helper()
	may := markedRole()
	if may.err != nil {
		t.Skipf("controller-gen: %v", may.err)
	}
	x := &site{Management: management.Start(t), service: s.service}
	if err := x.Apply(t.Context(), kinds(t)...); err != nil {
		t.Fatal(err)
	}
	var err error
	if x.client, err = client.New(x.Config, client.Options{Scheme: newScheme(t)}); err != nil {
		t.Fatal(err)
	}
	for range max(1, s.namespaces) {
		x.namespaces = append(x.namespaces, x.Namespace(t))
	}
	x.admit(t)
	x.namespace, x.agents = x.namespaces[0], x.namespaces[0]
	if s.agents != "" {
		x.agents = x.Namespace(t)
	}
	if x.service == nil {
		x.service = &service{}
	}
	if s.clock == nil {
		s.clock = clock.Real()
	}
	if s.connect == nil {
		s.connect = func(string) (install.Backend, error) { return x.service, nil }
	}
	if s.desire == nil {
		s.desire = func(context.Context, clusterloop.Key, *model.Observed) (*model.Desired, error) {
			return nil, clusterloop.ErrNotYet
		}
	}
	x.user, x.written, x.setup, x.running = x.User(t, "provider-"+x.namespace, may.rules...), &writes{}, s, &sync.WaitGroup{}
	x.user.Wrap(x.written.wrap)
	ctx, stop := context.WithCancel(t.Context())
	t.Cleanup(func() { stop(); x.running.Wait() })
	for range max(1, s.managers) {
		x.manage(ctx, t)
	}
	return x
}

// admit has the API server ask the provider's webhook about AgentMachines that are written in the namespaces of Machines,
// until the test's end.
func (x *site) admit(t *testing.T) {
	t.Helper()
	hooks, err := x.NewWebhooks(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	scheme := runtime.NewScheme()
	if err := api.AddToScheme(scheme); err != nil {
		t.Fatal(err)
	}
	server := ctrlwebhook.NewServer(ctrlwebhook.Options{Host: "127.0.0.1", Port: hooks.Port, CertDir: hooks.CertDir})
	mgr, err := ctrl.NewManager(x.Config, ctrl.Options{Scheme: scheme, WebhookServer: server, Metrics: metrics.Options{BindAddress: "0"}})
	if err != nil {
		t.Fatal(err)
	}
	if err := webhook.RegisterInfrastructure(mgr); err != nil {
		t.Fatal(err)
	}
	ctx, stop := context.WithCancel(context.WithoutCancel(t.Context()))
	ended := make(chan error, 1)
	go func() { ended <- mgr.Start(ctx) }()
	objects, err := kubetest.ReadManifests(filepath.Join(root(), "pkg", "capi", "manifests", "webhook", "infrastructure-agent.yaml"))
	if err == nil {
		err = hooks.Point(objects...)
	}
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		for _, o := range objects {
			if err := client.IgnoreNotFound(x.client.Delete(context.WithoutCancel(t.Context()), o)); err != nil {
				t.Error(err)
			}
		}
		stop()
		if err := <-ended; err != nil {
			t.Errorf("the webhooks: %v", err)
		}
	})
	values := make([]any, len(x.namespaces))
	for i, namespace := range x.namespaces {
		values[i] = namespace
	}
	for _, o := range objects {
		o.SetName(o.GetName() + "-" + x.namespaces[0])
		list, _, _ := unstructured.NestedSlice(o.Object, "webhooks")
		list = slices.DeleteFunc(list, func(hook any) bool {
			return hook.(map[string]any)["name"] != "validation.agentmachine.capi-provider.agent-install.openshift.io"
		})
		for _, hook := range list {
			hook.(map[string]any)["namespaceSelector"] = map[string]any{"matchExpressions": []any{map[string]any{
				"key": corev1.LabelMetadataName, "operator": "In", "values": values,
			}}}
		}
		if err := unstructured.SetNestedSlice(o.Object, list, "webhooks"); err != nil {
			t.Fatal(err)
		}
	}
	if err := x.Apply(t.Context(), objects...); err != nil {
		t.Fatal(err)
	}
	eventually(t, "the webhook to be asked", func() (bool, string) {
		wrong := &agentv1.AgentMachine{ObjectMeta: metav1.ObjectMeta{Namespace: x.namespaces[0], Name: "wrong"}, Spec: agentv1.AgentMachineSpec{CPUArchitecture: "none"}}
		err := x.client.Create(t.Context(), wrong, client.DryRunAll)
		return apierrors.IsInvalid(err), fmt.Sprint(err)
	})
}

// manage starts one manager.
func (x *site) manage(ctx context.Context, t *testing.T) {
	t.Helper()
	s := x.setup
	within := map[string]cache.Config{}
	for _, namespace := range x.namespaces {
		within[namespace] = cache.Config{}
	}
	caches := cache.Options{DefaultNamespaces: within}
	if _, err := hubcache.New(&caches, hubcache.Scope{Agents: s.agentsNamespace(x), Planes: true}); err != nil {
		t.Fatal(err)
	}
	mgr, err := ctrl.NewManager(x.user, ctrl.Options{
		Scheme: newScheme(t), Metrics: metrics.Options{BindAddress: "0"}, HealthProbeBindAddress: "0", Cache: caches,
		Client:     client.Options{Cache: &client.CacheOptions{Unstructured: true, DisableFor: []client.Object{&corev1.Secret{}}}},
		Controller: config.Controller{SkipNameValidation: ptr.To(true)},
	})
	if err != nil {
		t.Fatal(err)
	}
	woken := make(chan event.TypedGenericEvent[wake], 1024)
	set := clusterloop.New(clusterloop.Config{
		Connect: s.connect, Desire: s.desire, Clock: s.clock,
		Wake: func(cluster clusterloop.Key, scopes []model.Scope) {
			woken <- event.TypedGenericEvent[wake]{Object: wake{cluster, scopes}}
		},
	})
	x.sets = append(x.sets, set)
	var of agent.Pool = &agent.HubPool{Client: mgr.GetClient(), Live: mgr.GetAPIReader(), Clock: s.clock, Namespace: s.agentsNamespace(x)}
	if s.rest {
		of = &agent.ServicePool{Service: set.Service, Pools: s.pools(x)}
	}
	objects := &clusterspec.Source{Client: mgr.GetClient(), Live: mgr.GetAPIReader(), Hub: !s.rest, Agents: s.agentsNamespace(x)}
	listen := func(requests func(context.Context, clusterloop.Key, []model.Scope) []reconcile.Request) source.Source {
		return source.Channel(woken, handler.TypedEnqueueRequestsFromMapFunc(func(ctx context.Context, w wake) []reconcile.Request { return requests(ctx, w.cluster, w.scopes) }))
	}
	wiring := agent.Wiring{Woken: listen, Options: controller.Options{MaxConcurrentReconciles: 10, SkipNameValidation: ptr.To(true)}, WatchFilter: s.watchFilter}
	for _, r := range []interface {
		SetupWithManager(context.Context, ctrl.Manager, agent.Wiring) error
	}{
		&agent.MachineReconciler{Client: mgr.GetClient(), Live: mgr.GetAPIReader(), Pool: of, Installations: set, Source: objects, Recorder: mgr.GetEventRecorder("agentmachine"), Namespace: s.watched(x), Connector: loopback()},
		&agent.ClusterReconciler{Client: mgr.GetClient(), Live: mgr.GetAPIReader(), Pool: of, Recorder: mgr.GetEventRecorder("agentcluster"), Installations: set},
		&agent.TemplateReconciler{Client: mgr.GetClient(), Pool: of},
	} {
		if err := r.SetupWithManager(ctx, mgr, wiring); err != nil {
			t.Fatal(err)
		}
	}
	x.running.Go(func() { _ = set.Start(ctx) })
	x.running.Go(func() {
		if err := mgr.Start(ctx); err != nil && ctx.Err() == nil {
			t.Errorf("the manager: %v", err)
		}
	})
}

// wake is a change of an installation.
type wake struct {
	cluster clusterloop.Key
	scopes  []model.Scope
}

func (s setup) agentsNamespace(x *site) string {
	if s.agents == "" {
		return ""
	}
	return x.agents
}

// pools opens the InfraEnv rack to the first namespace.
func (s setup) pools(x *site) machines.Pools { return machines.Pools{x.namespace: {"id-of-rack"}} }

// watched is the one namespace that is watched for machines, "" where they are several.
func (s setup) watched(x *site) string {
	if len(x.namespaces) > 1 {
		return ""
	}
	return x.namespace
}

// loopback allows API servers of this machine.
func loopback() workloadclient.Connector {
	return workloadclient.Connector{Allow: []netip.Prefix{netip.MustParsePrefix("127.0.0.0/8"), netip.MustParsePrefix("::1/128")}}
}

// kinds are those of the providers, without the versions that need a conversion webhook.
func kinds(t *testing.T) []*unstructured.Unstructured {
	t.Helper()
	objects, err := kubetest.ReadManifests(filepath.Join(root(), "pkg", "capi", "manifests", "crd"), filepath.Join("testdata", "kinds.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	for _, o := range objects {
		unstructured.RemoveNestedField(o.Object, "spec", "conversion")
		versions, _, _ := unstructured.NestedSlice(o.Object, "spec", "versions")
		versions = slices.DeleteFunc(versions, func(v any) bool { return v.(map[string]any)["storage"] != true })
		if err := unstructured.SetNestedSlice(o.Object, versions, "spec", "versions"); err != nil {
			t.Fatal(err)
		}
	}
	return objects
}
