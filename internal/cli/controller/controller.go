// Package controller has `controller`: oaictl as providers of Cluster API, the checks to make before, and the manifests
// to install them by.
package controller

import (
	"context"
	"errors"
	"net/netip"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/google/uuid"
	"github.com/spf13/cobra"
	"k8s.io/client-go/rest"

	"github.com/oaictl/oaictl/internal/cli/app"
	"github.com/oaictl/oaictl/pkg/capi"
	"github.com/oaictl/oaictl/pkg/install/model"
)

// options are those of the providers as a process.
type options struct {
	*app.App
	shared
	CredentialsDir  string
	Namespace       string
	AgentNamespace  string
	Pools           []string
	AllowEndpoints  []string
	WatchFilter     string
	Concurrency     int
	SyncPeriod      time.Duration
	QPS             float32
	Burst           int
	LeaderElect     bool
	OwnNamespace    string
	MediaURL        string
	MediaAddress    string
	MetricsAddress  string
	HealthAddress   string
	WebhookPort     int
	WebhookCertDir  string
	WebhookSelf     bool
	TLSMinVersion   string
	TLSCipherSuites []string
	LogFormat       string
	serve           func(ctx context.Context, connection *rest.Config, options capi.Options, serving capi.Serving) error
	namespaceFile   string
}

// shared are the flags of both `controller` and `controller check`.
type shared struct {
	Providers []string
	Backend   string
}

// NewCommand is `controller`, which runs by itself, and has commands below it.
func NewCommand(a *app.App) *cobra.Command {
	command := newController(&options{App: a, serve: serve, namespaceFile: podNamespace})
	command.AddCommand(newCheck(&checkOptions{App: a, check: capi.Check}), newManifests(a))
	return command
}

// serve runs the providers in a process that does nothing else.
func serve(ctx context.Context, connection *rest.Config, options capi.Options, serving capi.Serving) error {
	capi.SetLogger(options.Log)
	return capi.Serve(ctx, connection, options, serving)
}

func newController(o *options) *cobra.Command {
	command := &cobra.Command{
		Use:         "controller",
		Short:       "Run the Cluster API providers, until stopped",
		Args:        cobra.ArbitraryArgs, // they are searched for among the commands below
		RunE:        app.Run(o.run),
		Annotations: map[string]string{app.RunsItself: "true"},
	}
	o.shared.declare(command)
	flags := command.Flags()
	flags.StringVarP(&o.Namespace, "namespace", "n", "",
		"`NAMESPACE` whose objects are reconciled, and no others (default: WATCH_NAMESPACE, else all)")
	flags.StringVar(&o.AgentNamespace, "agent-namespace", "",
		"`NAMESPACE` of the Agents that AgentMachines take (default: AGENTS_NAMESPACE, else that of each AgentMachine)")
	flags.StringSliceVar(&o.Pools, "pool", nil,
		"with --backend rest, `NAMESPACE=INFRAENV`: AgentMachines of the namespace may take hosts of the InfraEnv of this id; may be repeated "+
			"(default: none)")
	flags.StringSliceVar(&o.AllowEndpoints, "allow-endpoint", nil,
		"`CIDR` of API servers of installed clusters, of registries of release images, and of the servers of images that a hub's objects name, "+
			"that are called although their address is loopback, link-local or one of a cloud's metadata; may be repeated (default: none)")
	flags.StringVar(&o.CredentialsDir, "credentials-dir", "",
		"`DIR` with the files token, offline-token, client-id, client-secret and ca.crt for --backend rest, as a mounted Secret has them; what "+
			"is not there is not used")
	flags.StringVar(&o.WatchFilter, "watch-filter", "", "reconcile objects with this `VALUE` of the label cluster.x-k8s.io/watch-filter only")
	flags.IntVar(&o.Concurrency, "concurrency", 10, "`N` objects of a kind that are reconciled at once")
	flags.DurationVar(&o.SyncPeriod, "sync-period", 10*time.Minute, "how often all objects are read although nothing has changed")
	flags.Float32Var(&o.QPS, "qps", 100, "`N` requests a second to the API server, on average")
	flags.IntVar(&o.Burst, "burst", 200, "`N` requests to the API server at once")
	flags.BoolVar(&o.LeaderElect, "leader-elect", false, "let one of several processes work, by a Lease")
	flags.StringVar(&o.OwnNamespace, "own-namespace", "",
		"`NAMESPACE` of the Lease, and of the Secret of --webhook-self-managed (default: POD_NAMESPACE, else the pod's)")
	flags.StringVar(&o.MediaURL, "media-url", "",
		"have machines that boot by live ISO read their discovery image from this process, by this `URL`, where they cannot reach the service "+
			"or do not trust its certificate")
	flags.StringVar(&o.MediaAddress, "media-bind-address", ":8880", "`ADDRESS` of --media-url in this process, by HTTP")
	flags.StringVar(&o.MetricsAddress, "metrics-bind-address", ":8443",
		"`ADDRESS` of the metrics, over HTTPS and only for clients that the API server allows; 0 for none")
	flags.StringVar(&o.HealthAddress, "health-address", ":9440", "`ADDRESS` of /healthz and /readyz; 0 for none")
	flags.IntVar(&o.WebhookPort, "webhook-port", 9443, "`PORT` of admission and conversion; 0 for none")
	flags.StringVar(&o.WebhookCertDir, "webhook-cert-dir", "",
		"`DIR` with tls.crt and tls.key of the webhooks, which are read again when they change")
	flags.BoolVar(&o.WebhookSelf, "webhook-self-managed", false,
		"make and renew the certificate of the webhooks, and have the API server trust it: for a cluster without cert-manager")
	flags.StringVar(&o.TLSMinVersion, "tls-min-version", "VersionTLS12", "oldest version of TLS that is served: `VersionTLS12|VersionTLS13`")
	flags.StringSliceVar(&o.TLSCipherSuites, "tls-cipher-suites", nil,
		"`LIST` of cipher suites of TLS 1.2 that are served, by their IANA names (default: Go's)")
	flags.StringVar(&o.LogFormat, "log-format", formatJSON, "how the log is written: `json|text`")
	return command
}

// declare declares the flags; --backend has another default here.
func (s *shared) declare(command *cobra.Command) {
	flags := command.Flags()
	flags.StringSliceVar(&s.Providers, "providers", providerNames(), "`LIST` of providers")
	flags.StringVar(&s.Backend, "backend", app.BackendHub,
		"what installs clusters: `hub|rest`, this management cluster or a service by its REST API")
}

func providerNames() []string {
	var names []string
	for _, p := range capi.Providers() {
		names = append(names, string(p))
	}
	return names
}

// providers are those that are asked for, each once and in the order in which all are listed.
func (s *shared) providers() ([]capi.Provider, error) {
	for _, name := range s.Providers {
		if err := app.OneOf("--providers", name, providerNames()...); err != nil {
			return nil, err
		}
	}
	if len(s.Providers) == 0 {
		return nil, app.Usagef("--providers names none: there are %s", strings.Join(providerNames(), ", "))
	}
	return slices.DeleteFunc(capi.Providers(), func(p capi.Provider) bool { return !slices.Contains(s.Providers, string(p)) }), nil
}

func (o *options) run(ctx context.Context) error {
	providers, err := o.providers()
	if err != nil {
		return err
	}
	log, err := o.log()
	if err != nil {
		return err
	}
	tls, err := o.tls()
	if err != nil {
		return err
	}
	if err := o.check(); err != nil {
		return err
	}
	connection, err := o.Globals.Kube.Config()
	if err != nil {
		return err
	}
	connection.QPS, connection.Burst = o.QPS, o.Burst
	of := capi.Options{
		Providers: providers, Namespace: o.namespace(), AgentNamespace: o.agentNamespace(), WatchFilter: o.WatchFilter,
		Concurrency: o.Concurrency, SyncPeriod: o.SyncPeriod, MediaURL: o.MediaURL, MediaAddress: o.MediaAddress, Clock: o.Clock, Log: log,
	}
	if err := errors.Join(o.reach(&of), o.pools(&of), o.endpoints(&of)); err != nil {
		return err
	}
	err = o.serve(ctx, connection, of, capi.Serving{
		Namespace: o.ownNamespace(), LeaderElect: o.LeaderElect, MetricsAddress: o.MetricsAddress, HealthAddress: o.HealthAddress,
		WebhookPort: o.WebhookPort, WebhookCertDir: o.WebhookCertDir, WebhookSelfManaged: o.WebhookSelf, TLS: tls,
	})
	if app.InterruptOf(ctx) != nil && (err == nil || errors.Is(err, context.Canceled)) {
		log.Info("stopped")
		return nil // which is how it is meant to end
	}
	return err
}

// check refuses what does not go together.
func (o *options) check() error {
	switch {
	case o.Concurrency < 1:
		return app.Usagef("--concurrency has to be above zero")
	case o.SyncPeriod <= 0:
		return app.Usagef("--sync-period has to be above zero")
	case o.QPS <= 0 || o.Burst < 1:
		return app.Usagef("--qps and --burst have to be above zero")
	case o.WebhookPort < 0 || o.WebhookPort > 65535:
		return app.Usagef("--webhook-port %d is no port", o.WebhookPort)
	case o.WebhookCertDir != "" && o.WebhookSelf:
		return app.Usagef("--webhook-cert-dir and --webhook-self-managed cannot be used together")
	case o.WebhookPort > 0 && o.WebhookCertDir == "" && !o.WebhookSelf:
		return app.Usagef("webhooks need a certificate: give --webhook-cert-dir DIR, --webhook-self-managed or, where another process serves " +
			"them, --webhook-port 0")
	case o.WebhookCertDir != "":
		if info, err := os.Stat(o.WebhookCertDir); err != nil || !info.IsDir() {
			return app.Usagef("--webhook-cert-dir %s is no folder that can be read", o.WebhookCertDir)
		}
	}
	if _, err := app.WebURL("--media-url", o.MediaURL); err != nil {
		return err
	}
	if (o.LeaderElect || o.WebhookPort > 0 && o.WebhookSelf) && o.ownNamespace() == "" {
		return app.Usagef("--leader-elect and --webhook-self-managed need to know the namespace of this process: give --own-namespace")
	}
	return nil
}

// reach says what installs clusters.
func (o *options) reach(of *capi.Options) error {
	if err := app.OneOf("--backend", o.Backend, app.BackendHub, app.BackendREST); err != nil {
		return err
	}
	if o.Backend == app.BackendHub {
		if o.Globals.ServiceURL != "" {
			return app.Usagef("--service-url needs --backend %s", app.BackendREST)
		}
		return nil // the HTTP client that trusts the system is right
	}
	if o.Globals.ServiceURL == "" {
		return &model.Fault{
			Code: model.CodeUsage, Permanent: true, Err: errors.New("no service is given"),
			Next: "give --service-url URL, or --backend hub for a management cluster with the infrastructure operator",
		}
	}
	service, err := o.service()
	if err != nil {
		return err
	}
	of.Service = service
	return nil
}

// pools says which InfraEnvs of a service are opened to which namespaces.
func (o *options) pools(of *capi.Options) error {
	for _, text := range o.Pools {
		namespace, id, both := strings.Cut(text, "=")
		if _, err := uuid.Parse(id); !both || namespace == "" || err != nil {
			return app.Usagef("--pool %q is not NAMESPACE=INFRAENV: INFRAENV is the id of an InfraEnv, since names are not unique in a service; "+
				"oaictl get infraenvs shows the ids", text)
		}
		if of.Pools == nil {
			of.Pools = map[string][]string{}
		}
		of.Pools[namespace] = append(of.Pools[namespace], id)
	}
	if len(o.Pools) > 0 && o.Backend != app.BackendREST {
		return app.Usagef("--pool needs --backend %s: on a hub, infraEnvRefs of AgentClusters and --agent-namespace say "+
			"where hosts come from", app.BackendREST)
	}
	return nil
}

// endpoints says at which special addresses installed clusters are called.
func (o *options) endpoints(of *capi.Options) error {
	for _, text := range o.AllowEndpoints {
		prefix, err := netip.ParsePrefix(text)
		if err != nil {
			return app.Usagef("--allow-endpoint %q is no CIDR, such as 127.0.0.0/8", text)
		}
		of.AllowEndpoints = append(of.AllowEndpoints, prefix.Masked())
	}
	return nil
}

func (o *options) namespace() string {
	if o.Globals.AllNamespaces {
		return ""
	}
	return given(o.Namespace, o.Env["WATCH_NAMESPACE"])
}

func (o *options) agentNamespace() string { return given(o.AgentNamespace, o.Env["AGENTS_NAMESPACE"]) }

// podNamespace is the file in which a pod finds its namespace.
const podNamespace = "/var/run/secrets/kubernetes.io/serviceaccount/namespace"

func (o *options) ownNamespace() string {
	if known := given(o.OwnNamespace, o.Env["POD_NAMESPACE"]); known != "" {
		return known
	}
	data, err := os.ReadFile(o.namespaceFile)
	if err != nil {
		return ""
	}
	return strings.TrimSpace(string(data))
}

// given is what a flag says, else what a variable does.
func given(flag, variable string) string {
	if flag != "" {
		return flag
	}
	return strings.TrimSpace(variable)
}
