package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net"
	"net/url"
	"os"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/oaictl/oaictl/internal/clock"
	"github.com/oaictl/oaictl/internal/escape"
	"github.com/oaictl/oaictl/pkg/install"
	"github.com/oaictl/oaictl/pkg/install/rest"
	"github.com/oaictl/oaictl/pkg/install/spec"
)

// line is how one command speaks to its service.
type line struct {
	connection
	clock clock.Clock
	trace func(rest.Exchange)
}

// dial reaches the service that the flags, the environment and the
// configuration name.
func (a *app) dial(ctx context.Context) (*install.Client, error) {
	return a.dialWith(ctx, line{connection: a.globals.connection, clock: a.clock, trace: a.tracer(nil)})
}

func (a *app) dialWith(ctx context.Context, to line) (*install.Client, error) {
	if err := a.globals.suits(to.Backend); err != nil {
		return nil, err
	}
	switch {
	case to.Backend == backendHub && to.Insecure:
		a.warn("--insecure: the certificates of what the hub hands out by URL (images, events, logs) are not verified; that of the hub's API server is, as the kubeconfig says")
	case to.Backend == backendHub:
	case to.ServiceURL == "":
		return nil, &install.Fault{
			Code: install.CodeUsage, Permanent: true,
			Err:  errors.New("no service is named: give --service-url, or set OAICTL_SERVICE_URL or AI_URL; for a hub give --backend hub"),
			Next: "oaictl help environment says how to name one for good; oaictl simulator serve plays one",
		}
	case to.Insecure:
		a.warnInsecure(to.ServiceURL)
	}
	if to.Backend == backendREST {
		a.warnPlain(to.connection)
	}
	service, err := a.reach(ctx, to)
	if err != nil {
		return nil, err
	}
	return install.New(service, install.WithClock(to.clock)), nil
}

// warnPlain says, once, that a token is sent where everybody in between can read it.
func (a *app) warnPlain(to connection) {
	if to.Token+to.TokenFile+to.OfflineToken+to.OfflineTokenFile+to.ClientSecretFile == "" {
		return
	}
	for _, address := range []string{to.ServiceURL, to.SSOURL} {
		if isPlain(address) && !a.toldPlain {
			a.toldPlain = true
			a.warn("the token goes to %s without encryption; whoever stands in between can read it: use https", hostOf(address))
		}
	}
}

// isPlain says whether a URL leads over a network without encryption.
func isPlain(address string) bool {
	u, err := url.Parse(address)
	if err != nil || u.Scheme != "http" {
		return false
	}
	ip := net.ParseIP(u.Hostname())
	return u.Hostname() != "localhost" && (ip == nil || !ip.IsLoopback())
}

// warnInsecure says what --insecure gives away.
func (a *app) warnInsecure(serviceURL string) {
	a.warn("--insecure: the certificate of %s is not verified; whoever stands in between can read the pull secret and every token", hostOf(serviceURL))
}

// reach connects, until the command is done.
func (a *app) reach(ctx context.Context, to line) (install.Backend, error) {
	service, err := a.connect(ctx, to)
	if err != nil {
		return nil, err
	}
	a.atEnd = append(a.atEnd, service.Close)
	return service, nil
}

// hangUp ends what connections have left running.
func (a *app) hangUp() {
	for _, end := range a.atEnd {
		end()
	}
	a.atEnd = nil
}

// connect reaches the backend that the line is for. Nothing is sent yet.
func connect(ctx context.Context, to line) (install.Backend, error) {
	if to.Backend == backendHub {
		return connectHub(ctx, to)
	}
	return connectREST(ctx, to)
}

// hostOf is the part of a URL that a person knows the service by.
func hostOf(url string) string {
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

// tracer tells of every request with -vv, and to also where that is given.
func (a *app) tracer(also func(rest.Exchange)) func(rest.Exchange) {
	if a.globals.Verbose < 2 {
		return also
	}
	return func(e rest.Exchange) {
		escape.Fprintf(a.io.Err, "%s\n", describeExchange(e))
		if also != nil {
			also(e)
		}
	}
}

func describeExchange(e rest.Exchange) string {
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

// connectREST reaches an assisted-service over its REST API. Nothing is sent
// yet.
func connectREST(_ context.Context, to line) (install.Backend, error) {
	return to.service(func(rest.Credentials) rest.TokenSource { return nil })
}

// service is the service that the line is for. It is told who asks by what other
// gives for the credentials that were given, and where that is nil by these.
func (to line) service(other func(given rest.Credentials) rest.TokenSource) (*rest.Plane, error) {
	client, err := rest.HTTPClient(to.CAFile, to.Insecure)
	if err != nil {
		return nil, err
	}
	// --insecure is about the service. What exchanges tokens is always verified.
	exchange, err := rest.HTTPClient(to.CAFile, false)
	if err != nil {
		return nil, err
	}
	credentials, err := to.credentials()
	if err != nil {
		return nil, err
	}
	auth, err := rest.Authorise(credentials, rest.Exchanger{Client: exchange, Clock: to.clock, CAFile: to.CAFile})
	if err != nil {
		return nil, err
	}
	if source := other(credentials); source != nil {
		auth = source
	}
	return rest.New(rest.Config{
		URL: to.ServiceURL, HTTPClient: client, CAFile: to.CAFile, Auth: auth, Clock: to.clock, Trace: to.trace,
		UserAgent: "oaictl/" + readBuildInfo().Version,
	})
}

// credentials reads what the service is to know the user by. Flags name files,
// and beat variables; two kinds at once are refused rather than guessed at.
func (c connection) credentials() (rest.Credentials, error) {
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
		secret, err := readSecret(f.flag, f.path)
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

// readSecret reads the file of a flag, which holds one token or other secret in
// one line. What it says of another file never holds a part of it.
func readSecret(flag, path string) (spec.Secret, error) {
	data, err := readBounded(path, largestSecret)
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
	var cause *fs.PathError
	if errors.As(err, &cause) {
		err = cause.Err
	}
	return spec.Secret{}, &install.Fault{
		Code: install.CodeUsage, Op: "use " + strings.TrimPrefix(flag, "--"), On: path, Permanent: true, Err: err,
		Next: "give " + flag + " a file with one line that is the secret",
	}
}

// largestSecret bounds a file with a token, in bytes: tokens go into a header,
// and servers take few larger ones.
const largestSecret = 64 << 10

// readBounded reads a file, and one byte more than limit at most.
func readBounded(path string, limit int64) ([]byte, error) {
	file, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer file.Close()
	return io.ReadAll(io.LimitReader(file, limit+1))
}
