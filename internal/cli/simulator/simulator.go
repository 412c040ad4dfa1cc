// Package simulator has the commands that play a service, machines, a hub or an installed cluster.
package simulator

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/oaictl/oaictl/internal/cli/app"
	"github.com/oaictl/oaictl/internal/shared/clock"
	"github.com/oaictl/oaictl/internal/shared/escape"
	"github.com/oaictl/oaictl/internal/shared/listtext"
	"github.com/oaictl/oaictl/internal/simulator"
	"github.com/oaictl/oaictl/internal/simulator/auth"
	"github.com/oaictl/oaictl/internal/simulator/scenario"
	"github.com/oaictl/oaictl/internal/simulator/versions"
	"github.com/oaictl/oaictl/pkg/install/model"
)

// NewCommand is `simulator`.
func NewCommand(a *app.App) *cobra.Command {
	return app.Group("simulator",
		"Play an assisted-service, machines for one, a hub, an installed cluster, or all around a management cluster", newLab(a), newServe(a),
		newHosts(a), newHub(a), newSpoke(a), newManagement(a))
}

// simulatorOptions are what both halves have in common.
type simulatorOptions struct {
	*app.App
	Speed    float64
	Seed     int64
	Scenario string
}

func (o *simulatorOptions) declare(command *cobra.Command) {
	flags := command.Flags()
	flags.Float64Var(&o.Speed, "speed", 1, "`N` times as fast as in life")
	flags.Int64Var(&o.Seed, "seed", 1, "`N` that decides chance")
	flags.StringVar(&o.Scenario, "scenario", "", "`FILE` with trouble to make")
}

func (o *simulatorOptions) trouble() (*scenario.Scenario, error) {
	if o.Speed <= 0 {
		return nil, app.Usagef("--speed must be greater than zero")
	}
	return app.LoadScenario(o.Scenario)
}

// note reports what happens, if the user asked for that with -v.
func (o *simulatorOptions) note(format string, args ...any) {
	if o.Globals.Verbose > 0 {
		escape.Fprintf(o.IO.Err, format+"\n", args...)
	}
}

// ended is an error of a command that does something, or that the user has stopped it.
func ended(ctx context.Context, command, op string, err error) error {
	if app.InterruptOf(ctx) != nil {
		return app.Stopped(ctx, command, err)
	}
	if _, is := errors.AsType[*model.Fault](err); is || err == nil {
		return err
	}
	return &model.Fault{Code: model.CodeFailure, Op: op, Err: err}
}

type serveOptions struct {
	simulatorOptions
	Listen   string
	Cert     string
	Key      string
	Auth     string
	TokenDir string
	Release  string
}

func newServe(a *app.App) *cobra.Command {
	o := &serveOptions{simulatorOptions: simulatorOptions{App: a}}
	command := &cobra.Command{
		Use:   "serve",
		Short: "Play an assisted-service, until stopped",
		Args:  app.NoArguments,
		RunE:  app.Run(o.run),
	}
	o.declare(command)
	flags := command.Flags()
	flags.StringVar(&o.Listen, "listen", "127.0.0.1:8090", "`ADDRESS` to listen on")
	flags.StringVar(&o.Cert, "tls-cert", "", "`FILE` with the certificate (PEM) to serve TLS with")
	flags.StringVar(&o.Key, "tls-key", "", "`FILE` with the certificate's key (PEM)")
	flags.StringVar(&o.Auth, "auth", string(auth.None), "how callers are known: `"+strings.Join(auth.Modes(), "|")+"`")
	flags.StringVar(&o.Release, "release", versions.Latest, "play this release of the service: `"+
		strings.Join(versions.ServiceReleases(), "|")+"`")
	flags.StringVar(&o.TokenDir, "token-dir", "", "`DIR` in which to write tokens that are good for it, with --auth")
	return command
}

func (o *serveOptions) run(ctx context.Context) error {
	if (o.Cert == "") != (o.Key == "") {
		return app.Usagef("--tls-cert and --tls-key go together")
	}
	mode, err := auth.ParseMode(o.Auth)
	if err != nil {
		return app.Usagef("--auth %q is not one of %s", o.Auth, strings.Join(auth.Modes(), ", "))
	}
	if (mode != auth.None) != (o.TokenDir != "") {
		return app.Usagef("--auth other than none and --token-dir must be used together: without a token no client could connect")
	}
	release, err := versions.ParseServiceRelease(o.Release)
	if err != nil {
		return app.Usagef("--release %q is not one of %s", o.Release, strings.Join(versions.ServiceReleases(), ", "))
	}
	trouble, err := o.trouble()
	if err != nil {
		return err
	}
	if _, err := app.LoadCertificate(o.Cert, o.Key); err != nil {
		return err
	}
	listener, err := net.Listen("tcp", o.Listen)
	if err != nil {
		return &model.Fault{Code: model.CodeFailure, Op: "listen on", On: o.Listen, Err: err, Next: "choose another address with --listen"}
	}
	scheme := "http://"
	if o.Cert != "" {
		scheme = "https://"
	}
	address := scheme + listener.Addr().String()
	service, err := simulator.NewService(simulator.ServiceConfig{
		Clock: clock.Scaled(o.Speed), Seed: o.Seed, Scenario: trouble, Release: release, PublicURL: func() string { return address },
	}, mode)
	if err != nil {
		return errors.Join(err, listener.Close())
	}
	if err := o.writeTokens(mode, service.Callers(), address); err != nil {
		return errors.Join(err, listener.Close())
	}
	fmt.Fprintln(o.IO.Out, address)
	return o.serve(ctx, listener, service)
}

// serve answers until ctx ends, which is how it is meant to end.
func (o *serveOptions) serve(ctx context.Context, listener net.Listener, service *simulator.Service) error {
	ctx, stop := context.WithCancelCause(ctx)
	server := &http.Server{Handler: service, ReadHeaderTimeout: time.Minute, BaseContext: func(net.Listener) context.Context { return ctx }}
	go func() {
		if o.Cert != "" {
			stop(server.ServeTLS(listener, o.Cert, o.Key))
		} else {
			stop(server.Serve(listener))
		}
	}()
	go func() {
		stop(service.Run(ctx)) // which always ends with a cause
	}()
	<-ctx.Done()
	cause := context.Cause(ctx)
	_ = server.Close()
	if app.InterruptOf(ctx) != nil || errors.Is(cause, context.Canceled) {
		return app.Stopped(ctx, "simulator serve", cause)
	}
	return &model.Fault{Code: model.CodeFailure, Op: "serve on", On: o.Listen, Err: cause}
}

type tokenFile struct{ name, text, what string }

// writeTokens writes what a caller needs to be let in: a token for each kind of
// caller that the mode has, and what is exchanged for tokens. It says which
// files those are, and how one is used.
func (o *serveOptions) writeTokens(mode auth.Mode, callers *auth.Service, address string) error {
	if mode == auth.None {
		return nil
	}
	dir, err := app.Folder(o.TokenDir)
	if err != nil {
		return err
	}
	files, err := tokenFiles(mode, callers)
	if err != nil {
		return err
	}
	for _, file := range files {
		path := filepath.Join(dir, file.name)
		if err := os.WriteFile(path, []byte(file.text+"\n"), 0o600); err != nil {
			return app.FileFault("write", path, err)
		}
		o.Say("%s: %s", path, file.what)
	}
	o.Say("Next: %s", o.letIn(mode, dir, address))
	return nil
}

// tokenFiles are what is written for a mode. Only the access token of RHSSO
// ends, as there.
func tokenFiles(mode auth.Mode, callers *auth.Service) ([]tokenFile, error) {
	var files []tokenFile
	mint := func(name string, scheme auth.Scheme, what string) error {
		token, err := callers.Mint(auth.Grant{Scheme: scheme})
		files = append(files, tokenFile{name, token, what})
		return err
	}
	if mode == auth.AgentInstallerLocal {
		for _, kind := range []struct {
			name   string
			scheme auth.Scheme
			what   string
		}{
			{"token", auth.UserAuth, "a user's token (--token-file), without end"},
			{"agent-token", auth.AgentAuth, "what machines send (simulator hosts --host-token-file), without end"},
			{"watcher-token", auth.WatcherAuth, "a token that may only look (--token-file), without end"},
		} {
			if err := mint(kind.name, kind.scheme, kind.what); err != nil {
				return nil, err
			}
		}
		return files, nil
	}
	id, secret := callers.ServiceAccount()
	files = append(files,
		tokenFile{"offline-token", callers.OfflineToken(), "the offline token (--offline-token-file), without end"},
		tokenFile{"client-id", id, "the service account's id (--client-id)"},
		tokenFile{"client-secret", secret, "the service account's secret (--client-secret-file)"})
	err := mint("token", auth.UserAuth, "an access token (--token-file), which ends after "+auth.AccessTokenLifetime.String()+
		" of the service's time")
	return files, err
}

func (o *serveOptions) letIn(mode auth.Mode, dir, address string) string {
	words := []string{o.Identity.Name, "get", "clusters", "--service-url", address}
	if mode == auth.RHSSO {
		words = append(words, "--offline-token-file", filepath.Join(dir, "offline-token"), "--sso-url", address)
	} else {
		words = append(words, "--token-file", filepath.Join(dir, "token"))
	}
	if o.Cert != "" {
		words = append(words, "--ca-file", o.Cert)
	}
	for i, word := range words[1:] {
		words[i+1] = listtext.Quoted(word)
	}
	return strings.Join(words, " ")
}
