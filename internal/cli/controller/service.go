package controller

import (
	"context"
	"crypto/sha256"
	"crypto/tls"
	"errors"
	"io/fs"
	"log/slog"
	"net/http"
	"os"
	"path/filepath"
	"sync"
	"time"

	"github.com/go-logr/logr"

	"github.com/oaictl/oaictl/internal/cli/app"
	"github.com/oaictl/oaictl/internal/shared/clock"
	"github.com/oaictl/oaictl/pkg/install"
	"github.com/oaictl/oaictl/pkg/install/rest"
)

// Files of --credentials-dir.
const (
	fileToken        = "token"
	fileOffline      = "offline-token"
	fileClientID     = "client-id"
	fileClientSecret = "client-secret"
	fileCA           = "ca.crt"
)

// service is the REST service, whose credentials are read again when their files change.
func (o *options) service() (install.Backend, error) {
	live := &live{connection: o.connection, clock: o.Clock}
	if err := live.read(); err != nil {
		return nil, err
	}
	connection, err := o.connection()
	if err != nil {
		return nil, err
	}
	if connection.Insecure {
		o.WarnInsecure(connection.ServiceURL)
	}
	o.WarnPlain(connection)
	return rest.New(rest.Config{
		URL: connection.ServiceURL, HTTPClient: &http.Client{Transport: live}, CAFile: connection.CAFile, Auth: live, Clock: o.Clock,
		Trace:     o.Tracer(nil),
		UserAgent: "oaictl/" + app.ReadBuildInfo().Version,
	})
}

// connection is how the service is reached, with the files that are there now.
func (o *options) connection() (app.Connection, error) {
	c := o.Globals.Connection
	c.Backend = app.BackendREST
	if o.CredentialsDir == "" {
		return c, nil
	}
	for _, file := range []struct {
		name string
		to   *string
	}{
		{fileToken, &c.TokenFile}, {fileOffline, &c.OfflineTokenFile}, {fileClientSecret, &c.ClientSecretFile}, {fileCA, &c.CAFile},
	} {
		path := filepath.Join(o.CredentialsDir, file.name)
		switch _, err := os.Stat(path); {
		case err == nil && *file.to == "":
			*file.to = path
		case err != nil && !errors.Is(err, fs.ErrNotExist):
			return c, app.Unreadable("read", path, err, "let this process read the files of --credentials-dir")
		}
	}
	path := filepath.Join(o.CredentialsDir, fileClientID)
	if _, err := os.Stat(path); err == nil && c.ClientID == "" {
		id, err := app.ReadSecret("--client-id", path)
		if err != nil {
			return c, err
		}
		c.ClientID = id.Reveal()
	}
	return c, nil
}

// live is the authorisation and the trust of the present files. It is safe for concurrent use.
type live struct {
	connection func() (app.Connection, error)
	clock      clock.Clock

	mu     sync.Mutex
	looked time.Time
	mark   [sha256.Size]byte // of what the files hold
	source rest.TokenSource
	client *http.Client
}

// readAgain is how often the files are read: the kubelet takes a minute or so to write a changed Secret.
const readAgain = 10 * time.Second

// now is the authorisation and the client as the files are now. Where they cannot be read, what was read
// last is gone on with.
func (l *live) now() (rest.TokenSource, *http.Client) {
	l.mu.Lock()
	stale := l.clock.Now().Sub(l.looked) >= readAgain
	l.mu.Unlock()
	if stale {
		_ = l.read() // what is wrong with the new ones shows when the old ones are refused
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.source, l.client
}

func (l *live) read() error {
	connection, err := l.connection()
	if err != nil {
		return err
	}
	mark, err := markOf(connection)
	if err != nil {
		return err
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	l.looked = l.clock.Now()
	if l.source != nil && mark == l.mark {
		return nil
	}
	client, err := rest.HTTPClient(connection.CAFile, connection.Insecure)
	if err != nil {
		return err
	}
	exchange, err := rest.HTTPClient(connection.CAFile, false)
	if err != nil {
		return err
	}
	credentials, err := connection.Credentials()
	if err != nil {
		return err
	}
	source, err := credentials.Authorise(exchange, connection.CAFile, l.clock)
	if err != nil {
		return err
	}
	if l.client != nil {
		l.client.CloseIdleConnections()
	}
	l.mark, l.source, l.client = mark, source, client
	return nil
}

// largestFile bounds a file of certificates, in bytes.
const largestFile = 4 << 20

// markOf is a digest of what the files of a connection hold.
func markOf(c app.Connection) ([sha256.Size]byte, error) {
	sum := sha256.New()
	for _, path := range []string{c.TokenFile, c.OfflineTokenFile, c.ClientSecretFile, c.CAFile} {
		if path == "" {
			continue
		}
		data, err := app.ReadBounded(path, largestFile)
		if err != nil {
			return [sha256.Size]byte{}, app.Unreadable("read", path, err, "give a file that can be read")
		}
		sum.Write([]byte(path + "\x00"))
		sum.Write(data)
	}
	sum.Write([]byte(c.ClientID))
	return [sha256.Size]byte(sum.Sum(nil)), nil
}

// Header is the header that authorises a request.
func (l *live) Header(ctx context.Context) (name, value string, err error) {
	source, _ := l.now()
	return source.Header(ctx)
}

// Refused is called when the service refuses a header: it may be worth reading the files again.
func (l *live) Refused(value string) bool {
	l.mu.Lock()
	source := l.source
	l.mu.Unlock()
	again := source.Refused(value)
	if err := l.read(); err != nil {
		return again
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	return again || l.source != source
}

// Next is what a person can do about a refusal.
func (l *live) Next() string {
	source, _ := l.now()
	return source.Next()
}

// RoundTrip sends a request to a server that the present certificates trust.
func (l *live) RoundTrip(r *http.Request) (*http.Response, error) {
	_, client := l.now()
	return client.Transport.RoundTrip(r)
}

// The values of --log-format.
const (
	formatJSON = "json"
	formatText = "text"
)

// log writes a line of what happens for each event. Secrets do not get there: the library has taken them
// out of what it says.
func (o *options) log() (logr.Logger, error) {
	if err := app.OneOf("--log-format", o.LogFormat, formatJSON, formatText); err != nil {
		return logr.Logger{}, err
	}
	level := &slog.HandlerOptions{Level: slog.Level(-o.Globals.Verbose)} // logr's V(1) is one below Info
	if o.Globals.Quiet {
		level.Level = slog.LevelError
	}
	if o.LogFormat == formatText {
		return logr.FromSlogHandler(slog.NewTextHandler(o.IO.Err, level)), nil
	}
	return logr.FromSlogHandler(slog.NewJSONHandler(o.IO.Err, level)), nil
}

// tls says how TLS is served.
func (o *options) tls() (func(*tls.Config), error) {
	versions := map[string]uint16{"VersionTLS12": tls.VersionTLS12, "VersionTLS13": tls.VersionTLS13}
	if err := app.OneOf("--tls-min-version", o.TLSMinVersion, "VersionTLS12", "VersionTLS13"); err != nil {
		return nil, err
	}
	known := map[string]uint16{}
	for _, suite := range tls.CipherSuites() {
		known[suite.Name] = suite.ID
	}
	var suites []uint16
	for _, name := range o.TLSCipherSuites {
		id, is := known[name]
		if !is {
			return nil, app.Usagef("--tls-cipher-suites %q is no cipher suite that is safe to serve, such as "+
				"TLS_ECDHE_ECDSA_WITH_AES_128_GCM_SHA256", name)
		}
		suites = append(suites, id)
	}
	return func(c *tls.Config) {
		c.MinVersion = versions[o.TLSMinVersion]
		if len(suites) > 0 {
			c.CipherSuites = suites
		}
	}, nil
}
