package capi

import (
	"context"
	"crypto/tls"
	"fmt"
	"net/http"
	"time"

	"github.com/go-logr/logr"
	"k8s.io/client-go/rest"
	"k8s.io/klog/v2"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/manager"
	"sigs.k8s.io/controller-runtime/pkg/metrics/server"
	"sigs.k8s.io/controller-runtime/pkg/webhook"

	"github.com/oaictl/oaictl/internal/shared/clock"
	"github.com/oaictl/oaictl/pkg/capi/internal/metricsauth"
	"github.com/oaictl/oaictl/pkg/capi/internal/webhookcerts"
	"github.com/oaictl/oaictl/pkg/capi/manifests/components"
	"github.com/oaictl/oaictl/pkg/install/model"
)

// Serving says how a process with the providers is reached, and by which clients.
type Serving struct {
	// Namespace is where the process runs: that of its Lease, and of the certificate that it makes.
	Namespace string
	// LeaderElect has only one of several processes reconcile.
	LeaderElect bool
	// MetricsAddress is where metrics are served by HTTPS, to clients that the API server lets read them; "" and "0"
	// are nowhere.
	MetricsAddress string
	// HealthAddress is where /healthz and /readyz are served; "" and "0" are nowhere.
	HealthAddress string
	// WebhookPort is where admission and conversion are served; 0 is nowhere.
	WebhookPort int
	// WebhookCertDir is a folder with the tls.crt and tls.key of the webhooks, which are read again when
	// they change.
	WebhookCertDir string
	// WebhookSelfManaged makes the process make that certificate, and the API server trust it.
	WebhookSelfManaged bool
	// TLS is completed by what is served; nil leaves everything to Go.
	TLS func(*tls.Config)
	// Ready is called once, when the caches are filled and the webhooks answer. It may be nil.
	Ready func()
}

// aloneAgain is how often a process that must not start looks whether it may.
const aloneAgain = 30 * time.Second

// SetLogger has the libraries below the providers log to log, instead of standard error. That is the whole
// process's, and they guard it by nothing: a program says it before anything in it speaks to an API server.
func SetLogger(log logr.Logger) {
	ctrl.SetLogger(log)
	klog.SetLogger(log)
}

// Serve runs the providers as a process of their own, until ctx ends. While other projects have the same
// kinds, no reconciler and no webhook starts, and /readyz says why.
func Serve(ctx context.Context, connection *rest.Config, options Options, serving Serving) error {
	options.complete()
	probes := newHealth()
	if isAddress(serving.HealthAddress) {
		if err := probes.serve(ctx, serving.HealthAddress); err != nil {
			return err
		}
	}
	if err := awaitAlone(ctx, connection, options, probes); err != nil || ctx.Err() != nil {
		return err
	}
	if serving.LeaderElect {
		options.LeaderElectionNamespace = serving.Namespace
		options.LeaderElection = components.Lease(names(options.Providers))
	}
	keeper, err := serving.complete(ctx, connection, &options)
	if err != nil {
		return err
	}
	m, err := newManager(connection, &options)
	if err != nil {
		return err
	}
	if err := m.setUp(ctx); err != nil {
		return err
	}
	if keeper != nil {
		if err := m.Add(keeper); err != nil {
			return err
		}
	}
	if err := m.Add(started(func(ctx context.Context) {
		probes.when(m.isReady)
		if serving.Ready != nil && m.awaitReady(ctx) {
			serving.Ready()
		}
	})); err != nil {
		return err
	}
	if err := m.Start(ctx); err != nil {
		return fmt.Errorf("run the providers: %w", err)
	}
	return nil
}

func names(providers []Provider) []string {
	var out []string
	for _, p := range providers {
		out = append(out, string(p))
	}
	return out
}

func isAddress(text string) bool { return text != "" && text != "0" }

// awaitAlone returns once nothing runs that must not run beside the providers, or ctx ends.
func awaitAlone(ctx context.Context, connection *rest.Config, options Options, probes *health) error {
	told := ""
	for {
		report, err := Check(ctx, connection, options)
		if ctx.Err() != nil {
			return nil //nolint:nilerr // the process ends
		}
		if err != nil {
			return err
		}
		for _, text := range report.Unknown {
			options.Log.Info("cannot tell whether another project runs", "reason", text)
		}
		if !report.Hinders() {
			return report.missing()
		}
		text := report.String()
		probes.because(text)
		if text != told {
			options.Log.Error(nil, "no provider starts beside another project with the same kinds", "found", text)
			told = text
		}
		if options.Clock.Sleep(ctx, aloneAgain) != nil {
			return nil //nolint:nilerr // the process ends
		}
	}
}

// complete says how metrics and webhooks are served, and makes the certificate of the webhooks where no other component
// does.
func (s Serving) complete(ctx context.Context, connection *rest.Config, options *Options) (*webhookcerts.Keeper, error) {
	var tlsOptions []func(*tls.Config)
	if s.TLS != nil {
		tlsOptions = append(tlsOptions, s.TLS)
	}
	if isAddress(s.MetricsAddress) {
		options.Metrics = &server.Options{BindAddress: s.MetricsAddress, SecureServing: true, FilterProvider: metricsauth.Filter(options.Clock),
			TLSOpts: tlsOptions}
	}
	if s.WebhookPort == 0 {
		return nil, nil
	}
	var keeper *webhookcerts.Keeper
	if s.WebhookSelfManaged {
		var err error
		if keeper, err = s.keeper(connection, options); err != nil {
			return nil, err
		}
		if err := keeper.Ensure(ctx); err != nil {
			return nil, &model.Fault{Code: model.CodeFailure, Op: "make the certificate of the webhooks", On: keeper.Secret, Err: err}
		}
		tlsOptions = append(tlsOptions, func(c *tls.Config) { c.GetCertificate = keeper.GetCertificate })
	}
	options.Webhooks = webhook.NewServer(webhook.Options{Port: s.WebhookPort, CertDir: s.WebhookCertDir, TLSOpts: tlsOptions})
	return keeper, nil
}

// keeper keeps the certificate of the webhooks of the providers, in the Secret of the first of them.
func (s Serving) keeper(connection *rest.Config, options *Options) (*webhookcerts.Keeper, error) {
	scheme, err := Scheme()
	if err != nil {
		return nil, err
	}
	writer, err := client.New(connection, client.Options{Scheme: scheme})
	if err != nil {
		return nil, unreachable(connection, err)
	}
	first, err := components.Of(string(options.Providers[0]))
	if err != nil {
		return nil, err
	}
	keeper := &webhookcerts.Keeper{
		Client: writer, Namespace: s.Namespace, Secret: first.Secret(), Labels: map[string]string{components.LabelKey: first.Label()},
		Clock: clock.Real(), Log: options.Log.WithName("certificates"), // the API server judges them by its own clock
	}
	for _, name := range options.Providers {
		p, err := components.Of(string(name))
		if err != nil {
			return nil, err
		}
		keeper.Services = append(keeper.Services, p.Service())
		kinds, err := p.Kinds()
		if err != nil {
			return nil, err
		}
		for _, kind := range kinds {
			keeper.Callers = append(keeper.Callers, webhookcerts.Caller{Kind: "CustomResourceDefinition", Name: kind.Definition})
		}
		webhooks, err := p.WebhookNames()
		if err != nil {
			return nil, err
		}
		for kind, name := range webhooks {
			keeper.Callers = append(keeper.Callers, webhookcerts.Caller{Kind: kind, Name: name})
		}
	}
	return keeper, nil
}

// started is called once the caches of a manager are filled, whether it is the leader or not.
type started func(context.Context)

// Start calls it.
func (s started) Start(ctx context.Context) error {
	s(ctx)
	return nil
}

// NeedLeaderElection says that it is called without leading.
func (s started) NeedLeaderElection() bool { return false }

var _ manager.LeaderElectionRunnable = started(nil)

// isReady reports whether the webhooks answer, where there are any.
func (c *controllerManager) isReady(r *http.Request) error {
	if c.options.Webhooks == nil {
		return nil
	}
	return c.options.Webhooks.StartedChecker()(r)
}

// readyAgain is how often the webhooks are asked whether they answer, in real time: they begin to within moments.
const readyAgain = 50 * time.Millisecond

// awaitReady waits until the webhooks answer. It reports whether they did before ctx ended.
func (c *controllerManager) awaitReady(ctx context.Context) bool {
	for c.isReady(nil) != nil {
		if clock.Real().Sleep(ctx, readyAgain) != nil {
			return false
		}
	}
	return true
}
