package capi

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/netip"
	"slices"
	"strings"
	"time"

	"github.com/go-logr/logr"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/selection"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/dynamic"
	kubescheme "k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/rest"
	"k8s.io/utils/ptr"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	"sigs.k8s.io/cluster-api/util/secret"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/config"
	"sigs.k8s.io/controller-runtime/pkg/manager"
	"sigs.k8s.io/controller-runtime/pkg/metrics/server"
	"sigs.k8s.io/controller-runtime/pkg/webhook"

	"github.com/oaictl/oaictl/internal/shared/clock"
	"github.com/oaictl/oaictl/internal/shared/release"
	"github.com/oaictl/oaictl/internal/shared/workloadclient"
	"github.com/oaictl/oaictl/pkg/capi/api"
	"github.com/oaictl/oaictl/pkg/capi/internal/bootstrap"
	"github.com/oaictl/oaictl/pkg/capi/internal/clusterloop"
	"github.com/oaictl/oaictl/pkg/capi/internal/clusterspec"
	"github.com/oaictl/oaictl/pkg/capi/internal/controlplane"
	"github.com/oaictl/oaictl/pkg/capi/internal/hubcache"
	"github.com/oaictl/oaictl/pkg/capi/internal/imageproxy"
	"github.com/oaictl/oaictl/pkg/capi/internal/inplaceupdate"
	"github.com/oaictl/oaictl/pkg/capi/internal/machines"
	"github.com/oaictl/oaictl/pkg/capi/internal/recordmark"
	providerhooks "github.com/oaictl/oaictl/pkg/capi/internal/webhook"
	"github.com/oaictl/oaictl/pkg/install"
	"github.com/oaictl/oaictl/pkg/install/hub"
	"github.com/oaictl/oaictl/pkg/install/model"
	"github.com/oaictl/oaictl/pkg/install/node"
	"github.com/oaictl/oaictl/pkg/install/spec"
)

// Provider is one of the providers of Cluster API.
type Provider string

// The providers.
const (
	Bootstrap      Provider = "bootstrap"
	ControlPlane   Provider = "control-plane"
	Infrastructure Provider = "infrastructure"
)

// Providers are all of them.
func Providers() []Provider { return []Provider{Bootstrap, ControlPlane, Infrastructure} }

// Options say how the providers run.
type Options struct {
	// Providers are those that run; all if empty.
	Providers []Provider
	// Service reaches an assisted-service over REST; nil for the objects of the management cluster
	// itself, which is a hub then.
	Service install.Backend
	// HTTPClient reads what a hub hands out by URL, from addresses that may be called: see AllowEndpoints. Its Transport is
	// an *http.Transport or nil. Nil for a client that trusts the system's certificates.
	HTTPClient *http.Client
	// Release reads a release image from its registry: release.Read if nil.
	Release func(ctx context.Context, image string, o release.Options) (release.Info, error)
	// Namespace is the only one in which objects are reconciled; "" for all.
	Namespace string
	// AgentNamespace is where AgentMachines take their Agents from; "" for each one's own namespace.
	AgentNamespace string
	// Pools are, by namespace, the ids of the InfraEnvs of Service whose hosts AgentMachines of the namespace may take.
	Pools map[string][]string
	// AllowEndpoints are addresses at which API servers of installed clusters, registries of release images, and the servers
	// of images that a hub's objects name are called although they are loopback, link-local or metadata addresses.
	AllowEndpoints []netip.Prefix
	// WatchFilter is the value of the label cluster.x-k8s.io/watch-filter of the objects that are
	// reconciled; "" for all.
	WatchFilter string
	// Concurrency is how many objects of a kind are reconciled at once: 10 if zero.
	Concurrency int
	// SyncPeriod is how often all objects are reconciled though nothing has changed: 10 minutes if zero.
	SyncPeriod time.Duration
	// LeaderElection has only one of several processes reconcile, by the lease of this name in
	// LeaderElectionNamespace; "" for no election.
	LeaderElection, LeaderElectionNamespace string
	// MediaURL is what machines that boot by live ISO read their discovery image by: from the bootstrap provider, which
	// hands on at MediaAddress what the service makes. If it is "", they read the service's own.
	MediaURL, MediaAddress string
	// Metrics and Webhooks are how metrics are served, and admission and conversion; nil for not at all.
	Metrics  *server.Options
	Webhooks webhook.Server
	// HealthAddress is where /healthz and /readyz are served; "" for nowhere.
	HealthAddress string
	// Clock is what waits are measured by.
	Clock clock.Clock
	Log   logr.Logger
}

// Scheme knows the kinds of Cluster API, of the providers in all their versions, and of Kubernetes.
func Scheme() (*runtime.Scheme, error) {
	scheme := runtime.NewScheme()
	return scheme, errors.Join(kubescheme.AddToScheme(scheme), clusterv1.AddToScheme(scheme), api.AddToScheme(scheme))
}

// Run runs the providers in the management cluster of a connection, until ctx ends.
func Run(ctx context.Context, connection *rest.Config, options Options) error {
	m, err := newManager(connection, &options)
	if err != nil {
		return err
	}
	if err := m.setUp(ctx); err != nil {
		return err
	}
	return m.Start(ctx)
}

type controllerManager struct {
	manager.Manager
	options       *Options
	connection    *rest.Config
	planes        *hubcache.Cache
	source        *clusterspec.Source
	installations *clusterloop.Set
	wakes         *wakes
	workloads     *controlplane.Workloads
	media         *imageproxy.Server // nil where machines read the service's own
	releases      *releases
	urls          *http.Client // reads what a hub's objects name by URL
}

const (
	defaultConcurrency = 10
	defaultSyncPeriod  = 10 * time.Minute
	// requestsPerSecond and requestBurst bound what the providers ask of the API server, as other
	// providers of Cluster API do.
	requestsPerSecond = 100
	requestBurst      = 200
)

// complete fills in what is left out.
func (o *Options) complete() {
	if len(o.Providers) == 0 {
		o.Providers = Providers()
	}
	if o.Concurrency == 0 {
		o.Concurrency = defaultConcurrency
	}
	if o.Clock == nil {
		o.Clock = clock.Real()
	}
	if o.Release == nil {
		o.Release = release.Read
	}
	if o.SyncPeriod == 0 {
		o.SyncPeriod = defaultSyncPeriod
	}
}

// reconcileWithin is how long one reconcile may take: none holds a worker for ever. A release that is read takes minutes.
const reconcileWithin = 10 * time.Minute

// boundedClient is a client that does not wait for a kind that the manager may not list.
func boundedClient(connection *rest.Config, options client.Options) (client.Client, error) {
	c, err := client.New(connection, options)
	if err != nil {
		return nil, err
	}
	return machines.BoundReads(c), nil
}

func newManager(connection *rest.Config, options *Options) (*controllerManager, error) {
	options.complete()
	scheme, err := Scheme()
	if err != nil {
		return nil, err
	}
	ours, err := labels.NewRequirement(clusterv1.ClusterNameLabel, selection.Exists, nil)
	if err != nil {
		return nil, err
	}
	own := rest.CopyConfig(connection)
	if own.QPS == 0 {
		own.QPS, own.Burst = requestsPerSecond, requestBurst
	}
	caches := cache.Options{
		SyncPeriod: &options.SyncPeriod,
		// Of Secrets only those of Clusters are kept in memory, as by Cluster API itself.
		ByObject: map[client.Object]cache.ByObject{&corev1.Secret{}: {Label: labels.NewSelector().Add(*ours), Transform: bootstrap.WithoutData}},
	}
	scope := hubcache.Scope{Namespace: options.Namespace, Agents: options.AgentNamespace, Planes: options.Service == nil}
	if options.Service != nil || !slices.Contains(options.Providers, Infrastructure) {
		scope.Agents = "" // no Agents are taken, and the kind may not be there
	}
	if options.Namespace != "" {
		caches.DefaultNamespaces = map[string]cache.Config{options.Namespace: {}}
	}
	planes, err := hubcache.New(&caches, scope)
	if err != nil {
		return nil, err
	}
	metrics := server.Options{BindAddress: "0"}
	if options.Metrics != nil {
		metrics = *options.Metrics
	}
	m, err := ctrl.NewManager(own, ctrl.Options{
		Scheme: scheme, MapperProvider: newMapper, Logger: options.Log, Cache: caches, Metrics: metrics, WebhookServer: options.Webhooks,
		HealthProbeBindAddress: options.HealthAddress,
		NewClient:              boundedClient,
		Client:                 client.Options{Cache: &client.CacheOptions{DisableFor: []client.Object{&corev1.ConfigMap{}}, Unstructured: true}},
		LeaderElection:         options.LeaderElection != "", LeaderElectionID: options.LeaderElection,
		LeaderElectionNamespace:       options.LeaderElectionNamespace,
		LeaderElectionReleaseOnCancel: true,
		Controller: config.Controller{
			// several managers may run in one process
			MaxConcurrentReconciles: options.Concurrency, ReconciliationTimeout: reconcileWithin, UsePriorityQueue: ptr.To(true),
			SkipNameValidation: ptr.To(true),
		},
	})
	if err != nil {
		return nil, fmt.Errorf("make the manager: %w", err)
	}
	connector := workloadclient.Connector{Allow: options.AllowEndpoints}
	c := &controllerManager{Manager: m, options: options, connection: own, planes: planes, wakes: newWakes(),
		workloads: &controlplane.Workloads{Connector: connector}}
	planes.Informers = m.GetCache()
	c.source = &clusterspec.Source{
		Client: m.GetClient(), Live: m.GetAPIReader(), Hub: options.Service == nil, Agents: options.AgentNamespace, Pools: options.Pools,
		Connector: connector, Clock: options.Clock,
	}
	if c.urls, err = connector.Client(options.HTTPClient); err != nil {
		return nil, fmt.Errorf("make the manager: %w", err)
	}
	if options.Service != nil {
		c.source.Keys = &recordmark.Keys{Cached: m.GetClient(), Live: m.GetAPIReader()}
	}
	c.releases = &releases{live: m.GetAPIReader(), clock: options.Clock, read: options.Release, connector: connector}
	c.source.Release = func(ctx context.Context, of *clusterspec.Cluster, wanted *spec.Cluster) (string, error) {
		service, err := c.installations.Service(of.Namespace)
		if err != nil {
			return "", err
		}
		return c.releases.imageOf(ctx, service, of, wanted)
	}
	c.installations = clusterloop.New(clusterloop.Config{
		Connect: c.connect, Desire: c.source.Desire, Mark: c.source.Mark, Nodes: c.nodes, Clock: options.Clock, Wake: c.wakes.wake,
		Forget: c.forget, Log: options.Log.WithName("installation"),
	})
	if options.MediaURL != "" {
		c.media = &imageproxy.Server{
			URL: strings.TrimSuffix(options.MediaURL, "/"), Address: options.MediaAddress, Configs: m.GetClient(), Installations: c.installations,
			Clock: options.Clock, Log: options.Log.WithName("media"),
		}
	}
	return c, nil
}

// forget drops what is known of a Cluster, whichever providers run.
func (c *controllerManager) forget(cluster clusterloop.Key) {
	c.workloads.Forget(cluster)
	if c.source.Keys != nil {
		c.source.Keys.Forget(cluster)
	}
}

// connect is the service for the clusters of a namespace. A hub is the management cluster itself, so that its plane reads the
// manager's cache.
func (c *controllerManager) connect(namespace string) (install.Backend, error) {
	if c.options.Service != nil {
		return c.options.Service, nil
	}
	return hub.New(hub.Config{Kube: c.connection, Namespace: namespace, Clock: c.options.Clock, HTTPClient: c.urls, Informers: c.planes.Fill})
}

// nodes is the plane of an installed cluster, which is reached by the kubeconfig of its Cluster.
func (c *controllerManager) nodes(cluster clusterloop.Key) install.Nodes {
	name := secret.Name(cluster.Name, secret.Kubeconfig)
	return node.New(node.Config{Clock: c.options.Clock, Connection: c.source.Connector.Config,
		Kubeconfig: func(ctx context.Context, _ model.ClusterRef) ([]byte, string, error) {
			data, err := c.source.Kubeconfig(ctx, cluster)
			return data, "Secret " + name, err
		}})
}

// updateInPlace has Cluster API ask before it replaces Machines, where its feature gates have it ask.
func (c *controllerManager) updateInPlace() error {
	if c.options.Webhooks == nil {
		return nil
	}
	extension := &inplaceupdate.Extension{Management: c.GetClient(), Clock: c.options.Clock,
		Workload: func(ctx context.Context, cluster types.NamespacedName) (dynamic.Interface, error) {
			data, err := c.source.Kubeconfig(ctx, cluster)
			if err != nil {
				return nil, err
			}
			reached, err := c.workloads.Client(cluster, data)
			if err != nil {
				return nil, err
			}
			return reached.Dynamic, nil
		}}
	return extension.Register(c.options.Webhooks)
}

// setUp adds the controllers and webhooks of the providers that run.
func (c *controllerManager) setUp(ctx context.Context) error {
	if err := c.Add(manager.RunnableFunc(c.installations.Start)); err != nil {
		return err
	}
	for _, p := range []struct {
		provider    Provider
		controllers func(context.Context) error
		webhooks    func(ctrl.Manager) error
	}{
		{ControlPlane, c.setUpControlPlane, providerhooks.RegisterControlPlane},
		{Bootstrap, c.setUpBootstrap, providerhooks.RegisterBootstrap},
		{Infrastructure, c.setUpInfrastructure, providerhooks.RegisterInfrastructure},
	} {
		if !slices.Contains(c.options.Providers, p.provider) {
			continue
		}
		err := p.controllers(ctx)
		if err == nil && c.options.Webhooks != nil {
			err = p.webhooks(c.Manager)
		}
		if err != nil {
			return fmt.Errorf("set up the %s provider: %w", p.provider, err)
		}
	}
	return nil
}
