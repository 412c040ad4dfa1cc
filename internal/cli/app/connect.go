package app

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/url"
	"os"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/oaictl/oaictl/internal/shared/clock"
	"github.com/oaictl/oaictl/internal/shared/escape"
	"github.com/oaictl/oaictl/internal/simulator"
	"github.com/oaictl/oaictl/internal/simulator/scenario"
	"github.com/oaictl/oaictl/pkg/install"
	"github.com/oaictl/oaictl/pkg/install/hub"
	"github.com/oaictl/oaictl/pkg/install/model"
	"github.com/oaictl/oaictl/pkg/install/rest"
	"github.com/oaictl/oaictl/pkg/install/spec"
)

// ClientConfig is how one command speaks to its service.
type ClientConfig struct {
	Connection
	Clock clock.Clock
	Trace func(install.Call)

	silence *silence // notices that the service does not answer; nil: nothing does
}

// Dial reaches the service or the hub that flags, environment and configuration name.
func (a *App) Dial(ctx context.Context) (*install.Client, error) {
	return a.DialWith(ctx, ClientConfig{Connection: a.Globals.Connection, Clock: a.Clock, Trace: a.Tracer(nil)})
}

// DialWith refuses flags that do not suit the backend, warns, and connects.
func (a *App) DialWith(ctx context.Context, to ClientConfig) (*install.Client, error) {
	if err := a.Globals.CheckFlags(to.Backend); err != nil {
		return nil, err
	}
	switch {
	case to.Backend == BackendHub && to.Insecure:
		a.Warn("--insecure: oaictl does not verify the certificates of the URLs that the hub gives (images, events, logs). The " +
			"kubeconfig still decides about the certificate of the hub's API server")
	case to.Backend == BackendHub:
	case to.ServiceURL == "":
		return nil, &model.Fault{
			Code: model.CodeUsage, Permanent: true,
			Err: noService{}, Next: "{help environment} explains how to set one permanently",
		}
	case to.Insecure:
		a.WarnInsecure(to.ServiceURL)
	}
	if to.Backend == BackendREST {
		a.WarnPlain(to.Connection)
	}
	to.silence = a.silenceOf(to.server())
	service, err := a.Reach(ctx, to)
	if err != nil {
		return nil, err
	}
	return install.New(service, install.Config{Clock: to.Clock}), nil
}

// server is what a person knows a service or a hub by.
func (to ClientConfig) server() string {
	if to.Backend == BackendHub {
		return "the API server of the hub"
	}
	return "the service " + HostOf(to.ServiceURL)
}

// hosted is the service that Red Hat runs, and tokenPage where a person gets a token for it.
const (
	hosted    = "https://api.openshift.com"
	tokenPage = "https://console.redhat.com/openshift/token"
)

// noService is that no service is given, with the ways to have one.
type noService struct{}

// MultiLine says that its lines are meant.
func (noService) MultiLine() {}

func (noService) Error() string {
	return "no service is given. There are three ways:\n" +
		"  the hosted service: --service-url " + hosted + " --offline-token-file FILE\n" +
		"    with a token from " + tokenPage + "\n" +
		"  your own service: --service-url URL (or OAICTL_SERVICE_URL, AI_URL), or a hub: --backend hub\n" +
		"  a simulated one, to try it without machines: create cluster -f FILE --simulate"
}

// WarnPlain says, once, that a token is sent where everybody in between can read it.
func (a *App) WarnPlain(to Connection) {
	if to.Token+to.TokenFile+to.OfflineToken+to.OfflineTokenFile+to.ClientSecretFile == "" {
		return
	}
	for _, address := range []string{to.ServiceURL, to.SSOURL} {
		if isPlain(address) && !a.warnedPlain {
			a.warnedPlain = true
			a.Warn("the token is sent to %s without encryption, so others on the network can read it: use https", HostOf(address))
		}
	}
}

func isPlain(address string) bool {
	u, err := url.Parse(address)
	if err != nil || u.Scheme != "http" {
		return false
	}
	ip := net.ParseIP(u.Hostname())
	return u.Hostname() != "localhost" && (ip == nil || !ip.IsLoopback())
}

// WarnInsecure says what --insecure gives away.
func (a *App) WarnInsecure(serviceURL string) {
	a.Warn("--insecure: the certificate of %s is not verified, so an attacker on the network can read the pull secret and every token",
		HostOf(serviceURL))
}

// Reach connects, until the command is done.
func (a *App) Reach(ctx context.Context, to ClientConfig) (install.Backend, error) {
	service, err := a.Connect(ctx, to)
	if err != nil {
		return nil, err
	}
	a.closers = append(a.closers, service.Close)
	return service, nil
}

// Close ends what connections have left running.
func (a *App) Close() {
	for _, end := range a.closers {
		end()
	}
	a.closers = nil
}

// connect sends nothing yet.
func connect(ctx context.Context, to ClientConfig) (install.Backend, error) {
	if to.Backend == BackendHub {
		return connectHub(ctx, to)
	}
	return to.Service(ctx, func(rest.Credentials) rest.TokenSource { return nil })
}

// HostOf is the part of a URL that a person knows the service by.
func HostOf(url string) string {
	_, rest, found := strings.Cut(url, "://")
	if !found {
		rest = url
	}
	host, _, _ := strings.Cut(rest, "/")
	if at := strings.LastIndex(host, "@"); at >= 0 {
		host = host[at+1:]
	}
	return host
}

// Tracer reports every request with -vv, and to also where that is given.
func (a *App) Tracer(also func(install.Call)) func(install.Call) {
	if a.Globals.Verbose < 2 {
		return also
	}
	return func(e install.Call) {
		escape.Fprintf(a.IO.Err, "%s\n", describeExchange(e))
		if also != nil {
			also(e)
		}
	}
}

func describeExchange(e install.Call) string {
	text := fmt.Sprintf("%s %s", e.Method, e.URL)
	if e.Status > 0 {
		text += fmt.Sprintf(" → %d", e.Status)
	}
	text += fmt.Sprintf(" (%d ms", e.Duration.Milliseconds())
	if e.Attempt > 1 {
		text += fmt.Sprintf(", attempt %d", e.Attempt)
	}
	text += ")"
	if e.Error != "" {
		text += ": " + e.Error
	}
	return text
}

// Service is the REST service. other may give a token source in place of the usual one.
func (to ClientConfig) Service(ctx context.Context, other func(given rest.Credentials) rest.TokenSource) (*rest.Plane, error) {
	client, err := rest.HTTPClient(to.CAFile, to.Insecure)
	if err != nil {
		return nil, err
	}
	if to.silence != nil {
		client.Transport = to.silence.over(client.Transport)
	}
	// --insecure is about the service. What exchanges tokens is always verified.
	exchange, err := rest.HTTPClient(to.CAFile, false)
	if err != nil {
		return nil, err
	}
	credentials, err := Interruptible(ctx, to.Credentials)
	if err != nil {
		return nil, err
	}
	auth, err := credentials.Authorise(exchange, to.CAFile, to.Clock)
	if err != nil {
		return nil, err
	}
	if source := other(credentials); source != nil {
		auth = source
	}
	return rest.New(rest.Config{
		URL: to.ServiceURL, HTTPClient: client, CAFile: to.CAFile, Auth: auth, Clock: to.Clock, Trace: to.Trace,
		UserAgent: "oaictl/" + ReadBuildInfo().Version,
	})
}

// Credentials reads what the flags name, which beats variables.
func (c Connection) Credentials() (rest.Credentials, error) {
	out := rest.Credentials{ClientID: c.ClientID, SSOURL: c.SSOURL}
	files := []struct {
		flag, path string
		to         *spec.Secret
	}{
		{"--token-file", c.TokenFile, &out.Token}, {"--offline-token-file", c.OfflineTokenFile, &out.OfflineToken},
		{"--client-secret-file", c.ClientSecretFile, &out.ClientSecret},
	}
	given := false
	for _, f := range files {
		if f.path == "" {
			continue
		}
		secret, err := ReadSecret(f.flag, f.path)
		if err != nil {
			return rest.Credentials{}, err
		}
		*f.to, given = secret, true
	}
	switch {
	case given:
	case c.Token != "":
		out.Token = spec.NewSecret(c.Token)
	case c.OfflineToken != "":
		out.OfflineToken = spec.NewSecret(c.OfflineToken)
	}
	return out, nil
}

// ReadSecret reads the file of a flag, which holds one token or other secret in
// one line. What it says of another file never holds a part of it.
func ReadSecret(flag, path string) (spec.Secret, error) {
	data, err := ReadBounded(path, largestSecret)
	text := strings.TrimSpace(string(data))
	switch {
	case err != nil:
	case text == "":
		err = errors.New("it is empty")
	case strings.ContainsAny(text, "\r\n"):
		err = errors.New("it is not a token: it has more than one line")
	case len(data) > largestSecret:
		err = errors.New("it is not a token: it is too large")
	case !utf8.ValidString(text) || strings.ContainsFunc(text, unicode.IsControl):
		err = errors.New("it is not a token: it is binary")
	default:
		return spec.NewSecret(text), nil
	}
	return spec.Secret{}, &model.Fault{
		Code: model.CodeUsage, Op: "use " + strings.TrimPrefix(flag, "--"), On: path, Permanent: true, Err: WithoutPath(err),
		Next: model.Advice("give " + flag + " a file with one line, the secret"),
	}
}

// largestSecret bounds a file with a token, in bytes: tokens go into a header,
// and servers take few larger ones.
const largestSecret = 64 << 10

// ReadFile is ReadBounded until ctx ends: no program may write to a pipe.
func ReadFile(ctx context.Context, path string, limit int64) ([]byte, error) {
	return Interruptible(ctx, func() ([]byte, error) { return ReadBounded(path, limit) })
}

// ReadBounded reads a file, and one byte more than limit at most.
func ReadBounded(path string, limit int64) ([]byte, error) {
	file, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer file.Close()
	return io.ReadAll(io.LimitReader(file, limit+1))
}

func connectHub(_ context.Context, to ClientConfig) (install.Backend, error) {
	config, err := to.Kube.Config()
	if err != nil {
		return nil, err
	}
	if to.silence != nil {
		config.Wrap(to.silence.over)
	}
	client, err := rest.HTTPClient(to.CAFile, to.Insecure)
	if err != nil {
		return nil, err
	}
	return hub.New(hub.Config{Kube: config, Namespace: to.Kube.Scope(), Clock: to.Clock, HTTPClient: client, Log: to.Trace})
}

// SimulateSpeed is how much faster than in life a simulated install goes.
const SimulateSpeed = 300

// SimulatedMedia is where simulated BMCs read images: they are in this process.
const SimulatedMedia = "127.0.0.1:0"

// Simulated is a service with machines. Stop returns what went wrong in it.
type Simulated struct {
	URL      string
	BMCProxy string // through which the machines' BMCs are reached
	Stop     func() error
}

func startSimulator(ctx context.Context, config simulator.Config) (Simulated, error) {
	// It is stopped by Stop alone: what ends ctx ends the watching first.
	running, err := simulator.Start(context.WithoutCancel(ctx), config)
	if err != nil {
		return Simulated{}, err
	}
	return Simulated{running.URL(), running.BMCProxy(), running.Close}, nil
}

// LoadScenario reads the file of --scenario, nil where there is none.
func LoadScenario(path string) (*scenario.Scenario, error) {
	if path == "" {
		return nil, nil
	}
	trouble, err := scenario.Load(path)
	if err != nil {
		return nil, &model.Fault{Code: model.CodeInput, Op: "read scenario", On: path, Err: scenarioError{WithoutPath(err)}}
	}
	return trouble, nil
}

type scenarioError struct{ error }

func (scenarioError) MultiLine() {}

func (e scenarioError) Unwrap() error { return e.error }
