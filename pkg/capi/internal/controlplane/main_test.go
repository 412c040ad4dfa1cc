//go:build e2e

package controlplane_test

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"net/netip"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/go-logr/logr"
	"github.com/go-logr/logr/funcr"
	"github.com/google/uuid"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/rest"
	"k8s.io/utils/ptr"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/config"
	"sigs.k8s.io/controller-runtime/pkg/event"
	"sigs.k8s.io/controller-runtime/pkg/handler"
	metrics "sigs.k8s.io/controller-runtime/pkg/metrics/server"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"
	"sigs.k8s.io/controller-runtime/pkg/source"
	"sigs.k8s.io/yaml"

	"github.com/oaictl/oaictl/internal/kubetest"
	"github.com/oaictl/oaictl/internal/shared/clock"
	"github.com/oaictl/oaictl/internal/shared/workloadclient"
	"github.com/oaictl/oaictl/internal/simulator/spoke"
	bootstrapv1 "github.com/oaictl/oaictl/pkg/capi/api/bootstrap/v1beta1"
	controlplanev1 "github.com/oaictl/oaictl/pkg/capi/api/controlplane/v1beta1"
	"github.com/oaictl/oaictl/pkg/capi/internal/clusterloop"
	"github.com/oaictl/oaictl/pkg/capi/internal/controlplane"
	"github.com/oaictl/oaictl/pkg/capi/internal/recordmark"
	"github.com/oaictl/oaictl/pkg/capi/internal/status"
	"github.com/oaictl/oaictl/pkg/capi/internal/versions"
	"github.com/oaictl/oaictl/pkg/install"
	"github.com/oaictl/oaictl/pkg/install/model"
	"github.com/oaictl/oaictl/pkg/install/node"
	"github.com/oaictl/oaictl/pkg/install/spec"
)

// management is the management cluster of all tests of this package. Its API server plays the installed
// cluster, too, for one test after the other.
var management kubetest.SharedManagement

func TestMain(m *testing.M) {
	ctrl.SetLogger(logr.Discard())
	os.Exit(management.Run(m))
}

const (
	speed   = 100
	version = "4.20.33"
	newer   = "4.20.34" // to which it can be updated
	within  = 100 * time.Second
)

// installedImage is the release image of the installed version, the only image with a known version.
func installedImage() string { return "mirror.example.com/ocp@sha256:" + strings.Repeat("b", 64) }

// root is the folder of the project.
func root() string { return filepath.Join("..", "..", "..", "..") }

// site is an installed cluster with its Cluster API objects, and the reconciler of its control plane. What
// other providers do, the test does.
type site struct {
	*kubetest.Management
	t         *testing.T
	client    client.Client // an administrator's, without a cache
	namespace string
	clock     clock.Clock
	spoke     *spoke.Spoke
	kube      []byte // the kubeconfig of the installed cluster
	written   *writes
	running   *sync.WaitGroup
	life      context.Context
	told      sync.Map // errors of the reconciler

	mu        sync.Mutex
	state     model.ClusterState
	serves    bool              // the service hands out a kubeconfig while it installs
	answers   error             // of the API server of the cluster, when it is asked whether it is ready; nil to ask it
	registers bool              // the cluster is to be registered first
	acted     int               // how often the service was asked to do something for it
	nodes     map[string]string // of Machines, by their names
	off       map[string]func() // switches the machines of nodes off that have joined
}

// writes are the requests of the reconciler that change something, except events.
type writes struct {
	mu  sync.Mutex
	all []string
}

func (w *writes) wrap(next http.RoundTripper) http.RoundTripper {
	return roundTripper(func(r *http.Request) (*http.Response, error) {
		if r.Method != http.MethodGet && !strings.Contains(r.URL.Path, "/events") {
			w.mu.Lock()
			w.all = append(w.all, r.Method+" "+strings.TrimPrefix(path.Dir(r.URL.Path), "/apis/")+"/"+path.Base(r.URL.Path))
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

type roundTripper func(*http.Request) (*http.Response, error)

func (f roundTripper) RoundTrip(r *http.Request) (*http.Response, error) { return f(r) }

func newScheme(t *testing.T) *runtime.Scheme {
	t.Helper()
	scheme := runtime.NewScheme()
	for _, add := range []func(*runtime.Scheme) error{clientgoscheme.AddToScheme, clusterv1.AddToScheme, bootstrapv1.AddToScheme, controlplanev1.AddToScheme} {
		if err := add(scheme); err != nil {
			t.Fatal(err)
		}
	}
	return scheme
}

// kinds are those of the providers, without the versions that would need a conversion webhook.
func kinds(t *testing.T) []*unstructured.Unstructured {
	t.Helper()
	objects, err := kubetest.ReadManifests(filepath.Join(root(), "pkg", "capi", "manifests", "crd"))
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

// open installs a cluster with so many control plane nodes, and runs the reconciler with the rights that it has in a
// release.
func open(t *testing.T, nodes int, state model.ClusterState) *site {
	t.Helper()
	x := &site{
		Management: management.Start(t), t: t, clock: clock.Scaled(speed), written: &writes{}, running: &sync.WaitGroup{}, state: state,
		nodes: map[string]string{}, off: map[string]func(){},
	}
	if err := x.Apply(t.Context(), kinds(t)...); err != nil {
		t.Fatal(err)
	}
	var err error
	if x.client, err = client.New(x.Config, client.Options{Scheme: newScheme(t)}); err != nil {
		t.Fatal(err)
	}
	x.namespace = x.Namespace(t)
	if x.kube, err = os.ReadFile(x.KubeconfigOf(t, x.Config)); err != nil {
		t.Fatal(err)
	}
	life, stop := context.WithCancel(t.Context())
	x.life = life
	t.Cleanup(func() { stop(); x.running.Wait() })
	x.beside(x.letGoOfConfigs)
	x.install(nodes)
	x.manage()
	return x
}

// install has an API server play an installed cluster.
func (x *site) install(nodes int) {
	x.t.Helper()
	ctx := x.t.Context()
	for _, object := range []client.Object{&corev1.Node{}, &corev1.Pod{}} {
		options := []client.DeleteAllOfOption{client.GracePeriodSeconds(0)}
		if _, is := object.(*corev1.Pod); is {
			options = append(options, client.InNamespace("openshift-etcd"))
		}
		if err := x.client.DeleteAllOf(ctx, object, options...); err != nil {
			x.t.Fatal(err)
		}
	}
	c := spoke.Cluster{Name: "lab", BaseDomain: "example.com", ID: x.id(), Version: version, MachineNetworks: []string{"192.168.127.0/24"}, Updates: []spoke.Update{{Version: newer}}}
	for i := range nodes {
		c.ControlPlane = append(c.ControlPlane, spoke.Node{Name: x.nodeName(i), Addresses: []netip.Addr{addressOf(i)}})
	}
	var err error
	if x.spoke, err = spoke.New(spoke.Config{Kube: x.Config, Clock: x.clock, Cluster: c, Approvers: spoke.Approvers{DayOne: true}, Logf: x.t.Logf}); err != nil {
		x.t.Fatal(err)
	}
	// What an earlier test has left is not this cluster's.
	earlier := raw(x.t, "{apiVersion: config.openshift.io/v1, kind: ClusterVersion, metadata: {name: version}}")
	endpoints := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: "openshift-etcd", Name: "etcd-endpoints"}}
	for _, o := range []client.Object{earlier, endpoints} {
		if err := x.client.Delete(ctx, o); client.IgnoreNotFound(err) != nil && !meta.IsNoMatchError(err) {
			x.t.Fatal(err)
		}
	}
	if err := x.spoke.SetUp(ctx); err != nil {
		x.t.Fatal(err)
	}
	x.beside(func(ctx context.Context) { _ = x.spoke.Run(ctx) })
}

func (x *site) beside(do func(context.Context)) { x.running.Go(func() { do(x.life) }) }

// id is what the installed cluster calls itself.
func (x *site) id() string { return uuid.NewSHA1(uuid.NameSpaceDNS, []byte(x.namespace)).String() }

// nodeName is that of a node, which no other test has: Cluster API knows the earlier ones.
func (x *site) nodeName(i int) string { return fmt.Sprintf("%s-cp-%d", x.namespace, i) }

func addressOf(i int) netip.Addr { return netip.MustParseAddr(fmt.Sprintf("192.168.127.%d", 10+i)) }

// user is a user with the rights that the provider has in a release.
func (x *site) user() *rest.Config {
	x.t.Helper()
	data, err := os.ReadFile(filepath.Join(root(), "pkg", "capi", "manifests", "components", "rbac", "control-plane.yaml"))
	role := &rbacv1.ClusterRole{}
	if err == nil {
		err = yaml.Unmarshal(data, role)
	}
	if err != nil {
		x.t.Fatal(err)
	}
	return x.User(x.t, "control-plane-"+x.namespace, role.Rules...)
}

// manage starts the reconciler.
func (x *site) manage() {
	x.t.Helper()
	user := x.user()
	user.Wrap(x.written.wrap)
	mgr, err := ctrl.NewManager(user, ctrl.Options{
		Scheme: newScheme(x.t), Metrics: metrics.Options{BindAddress: "0"}, HealthProbeBindAddress: "0",
		Cache:      cache.Options{DefaultNamespaces: map[string]cache.Config{x.namespace: {}}},
		Client:     client.Options{Cache: &client.CacheOptions{Unstructured: true}},
		Controller: config.Controller{SkipNameValidation: ptr.To(true)}, Logger: funcr.New(func(_, args string) {
			if _, told := x.told.LoadOrStore(args[:min(len(args), 200)], true); !told && strings.Contains(args, `"error"`) {
				x.t.Log(args[:min(len(args), 500)])
			}
		}, funcr.Options{}),
	})
	if err != nil {
		x.t.Fatal(err)
	}
	woken := make(chan event.TypedGenericEvent[clusterloop.Key], 1024)
	set := clusterloop.New(clusterloop.Config{
		Connect: func(string) (install.Backend, error) { return service{site: x}, nil }, Desire: x.desire, Clock: x.clock,
		Nodes: func(clusterloop.Key) install.Nodes {
			return node.New(node.Config{Clock: x.clock, Kubeconfig: func(context.Context, model.ClusterRef) ([]byte, string, error) {
				return x.kubeconfig(), "kubeconfig", nil
			}})
		},
		Wake: func(cluster clusterloop.Key, _ []model.Scope) {
			woken <- event.TypedGenericEvent[clusterloop.Key]{Object: cluster}
		},
	})
	r := &controlplane.Reconciler{
		Client: mgr.GetClient(), Live: mgr.GetAPIReader(), Installations: set, Clock: x.clock, Recorder: mgr.GetEventRecorder("controlplane"),
		Keys:    &recordmark.Keys{Cached: mgr.GetClient(), Live: mgr.GetAPIReader()},
		Answers: x.answer, Workloads: &controlplane.Workloads{Connector: local()}, Status: status.New(x.clock), Versions: &versions.Mapping{Clock: x.clock},
		ReadRelease: func(_ context.Context, _ *controlplanev1.OpenshiftAssistedControlPlane, _ *spec.Cluster, image string) (versions.Payload, error) {
			payload := versions.Payload{Kubernetes: "1.33.5"} // of all of them
			if image == installedImage() {
				payload.Version = version
			}
			return payload, nil
		},
	}
	err = ctrl.NewControllerManagedBy(mgr).Named("controlplane").For(&controlplanev1.OpenshiftAssistedControlPlane{}).Owns(&clusterv1.Machine{}).
		Watches(&clusterv1.Cluster{}, handler.EnqueueRequestsFromMapFunc(func(_ context.Context, o client.Object) []reconcile.Request {
			return []reconcile.Request{{NamespacedName: client.ObjectKeyFromObject(o)}}
		})).
		WatchesRawSource(source.Channel(woken, handler.TypedEnqueueRequestsFromMapFunc(func(_ context.Context, key clusterloop.Key) []reconcile.Request {
			return []reconcile.Request{{NamespacedName: key}}
		}))).Complete(r)
	if err != nil {
		x.t.Fatal(err)
	}
	x.beside(func(ctx context.Context) { _ = set.Start(ctx) })
	x.beside(func(ctx context.Context) {
		if err := mgr.Start(ctx); err != nil && ctx.Err() == nil {
			x.t.Errorf("the manager: %v", err)
		}
	})
}

// local allows API servers of this machine.
func local() workloadclient.Connector {
	return workloadclient.Connector{Allow: []netip.Prefix{netip.MustParsePrefix("127.0.0.0/8"), netip.MustParsePrefix("::1/128")}}
}

// set changes what the service and the cluster show.
func (x *site) set(change func()) {
	x.mu.Lock()
	defer x.mu.Unlock()
	change()
}

func (x *site) kubeconfig() []byte {
	x.mu.Lock()
	defer x.mu.Unlock()
	return x.kube
}

// answer is of the API server of the cluster.
func (x *site) answer(ctx context.Context, kubeconfig []byte) error {
	x.mu.Lock()
	err := x.answers
	x.mu.Unlock()
	if err != nil {
		return err
	}
	return controlplane.NewReadyCheck(local())(ctx, kubeconfig)
}

// desire is the desired state of a cluster: only to observe an installed one, or else to register it, which takes a
// whole file.
func (x *site) desire(ctx context.Context, _ clusterloop.Key, _ *model.Observed) (*model.Desired, error) {
	x.mu.Lock()
	registers := x.registers
	x.mu.Unlock()
	if registers {
		env := spec.Env{LookupEnv: func(string) (string, bool) { return `{"auths":{"quay.io":{"auth":"dTpw"}}}`, true }}
		cluster, err := spec.Parse(ctx, "cluster.yaml", []byte(`
apiVersion: oaictl.io/v1alpha1
kind: Cluster
metadata: {name: lab}
spec: {openshift: {version: `+version+`}, baseDomain: example.com, pullSecret: {env: PULL}, acceptUnknownHosts: true, network: {vips: {api: [192.168.127.100], ingress: [192.168.127.101]}}}
`), env)
		return &model.Desired{Spec: cluster}, err
	}
	three := 3
	cluster := &spec.Cluster{APIVersion: spec.APIVersion, Kind: spec.Kind, Metadata: spec.Metadata{Name: "lab"}}
	cluster.Spec.BaseDomain, cluster.Spec.Topology.ControlPlane = "example.com", &three
	return &model.Desired{Spec: cluster, Options: model.Options{AddNodes: true, WatchEtcd: true, Unattended: true}}, nil
}

// raw is an object of a text.
func raw(t *testing.T, text string) *unstructured.Unstructured {
	t.Helper()
	u := &unstructured.Unstructured{}
	if err := yaml.Unmarshal([]byte(text), &u.Object); err != nil {
		t.Fatal(err)
	}
	return u
}

// eventually waits until something holds.
func (x *site) eventually(what string, holds func() (bool, string)) {
	x.t.Helper()
	last := ""
	for end := clock.Real().Now().Add(within); clock.Real().Now().Before(end); {
		done, now := holds()
		if done {
			return
		}
		if now != last {
			x.t.Logf("%s: %s", what, now[:min(len(now), 300)])
			last = now
		}
		if err := clock.Real().Sleep(x.t.Context(), 50*time.Millisecond); err != nil {
			x.t.Fatal(err)
		}
	}
	x.t.Fatalf("waited in vain for %s: %s", what, last)
}

// never makes sure that something does not happen for a moment in which it would.
func (x *site) never(what string, happens func() (bool, string)) {
	x.t.Helper()
	for range 30 {
		if does, how := happens(); does {
			x.t.Fatalf("%s: %s", what, how)
		}
		if err := clock.Real().Sleep(x.t.Context(), 50*time.Millisecond); err != nil {
			x.t.Fatal(err)
		}
	}
}

func (x *site) create(objects ...client.Object) {
	x.t.Helper()
	for _, o := range objects {
		o.SetNamespace(x.namespace)
		if err := x.client.Create(x.t.Context(), o); err != nil {
			x.t.Fatalf("make %T %s: %v", o, o.GetName(), err)
		}
	}
}

// get is an object as it is now; false where there is none.
func (x *site) get(o client.Object, name string) bool {
	x.t.Helper()
	err := x.client.Get(x.t.Context(), client.ObjectKey{Namespace: x.namespace, Name: name}, o)
	if client.IgnoreNotFound(err) != nil {
		x.t.Fatal(err)
	}
	return err == nil
}

// patch changes the control plane.
func (x *site) patch(change func(*controlplanev1.OpenshiftAssistedControlPlane)) {
	x.t.Helper()
	before := x.plane()
	after := before.DeepCopy()
	change(after)
	if err := x.client.Patch(x.t.Context(), after, client.MergeFrom(before)); err != nil {
		x.t.Fatal(err)
	}
}

func (x *site) plane() *controlplanev1.OpenshiftAssistedControlPlane {
	x.t.Helper()
	plane := &controlplanev1.OpenshiftAssistedControlPlane{}
	if !x.get(plane, "lab") {
		x.t.Fatal("there is no control plane")
	}
	return plane
}

// machines are the Machines of the control plane, the oldest first.
func (x *site) machines() []clusterv1.Machine {
	x.t.Helper()
	list := &clusterv1.MachineList{}
	if err := x.client.List(x.t.Context(), list, client.InNamespace(x.namespace)); err != nil {
		x.t.Fatal(err)
	}
	slices.SortFunc(list.Items, func(a, b clusterv1.Machine) int {
		return strings.Compare(a.Status.NodeRef.Name+a.Name, b.Status.NodeRef.Name+b.Name)
	})
	return list.Items
}

// machineOf is the Machine of a node.
func (x *site) machineOf(nodeName string) *clusterv1.Machine {
	x.t.Helper()
	for _, m := range x.machines() {
		if m.Status.NodeRef.Name == nodeName {
			return &m
		}
	}
	return nil
}

// members are the addresses of etcd's members.
func (x *site) members() []string {
	x.t.Helper()
	m := &corev1.ConfigMap{}
	if err := x.client.Get(x.t.Context(), client.ObjectKey{Namespace: "openshift-etcd", Name: "etcd-endpoints"}, m); err != nil {
		x.t.Fatal(err)
	}
	return slices.Sorted(maps.Values(m.Data))
}

// text is a value for a message.
func text(value any) string {
	data, err := json.Marshal(value)
	if err != nil {
		return err.Error()
	}
	return string(data)
}

func mergeFrom(o client.Object) client.Patch { return client.MergeFrom(o) }
