package controller

import (
	"crypto/tls"
	"log/slog"

	"github.com/go-logr/logr"

	"github.com/oaictl/oaictl/internal/cli/app"
)

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
			return nil, app.Usagef("--tls-cipher-suites %q is no cipher suite that is safe to serve, such as TLS_ECDHE_ECDSA_WITH_AES_128_GCM_SHA256", name)
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
