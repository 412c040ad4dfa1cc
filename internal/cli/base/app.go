// Package base is what the groups of commands share: the flags of every command,
// connections to a service or hub, reading the file, finding what a command is about,
// and how results, errors and advice are written.
package base

import (
	"context"

	"github.com/oaictl/oaictl/internal/cli/streams"
	"github.com/oaictl/oaictl/internal/clock"
	"github.com/oaictl/oaictl/internal/simulator"
	"github.com/oaictl/oaictl/pkg/install"
	"github.com/oaictl/oaictl/pkg/install/spec"
)

// App is what the commands of one run share. Its functions are the seams to
// the rest of the program; a test replaces them.
type App struct {
	IO       streams.Streams
	Env      streams.Env
	Identity identity
	Globals  Globals
	Clock    clock.Clock

	// connect reaches the service or the hub that the flags name.
	Connect func(ctx context.Context, to ClientConfig) (install.Backend, error)
	// warnedPlain says that a token without encryption was told of.
	warnedPlain bool
	// toldLosses are files in other formats of whose losses was told.
	toldLosses []string
	// closers is what ends connections, once the command is done.
	closers []func()
	// simulate starts a service and hosts inside this process.
	StartSimulator func(context.Context, simulator.Config) (Simulated, error)
}

// New makes what the commands of a run share.
func New(id identity, io streams.Streams, env streams.Env) *App {
	io.Err = streams.Locked(io.Err) // servers and hosts tell from goroutines of their own
	return &App{IO: io, Env: env, Identity: id, Clock: clock.Real(), Connect: connect, StartSimulator: startSimulator}
}

// specEnv is how cluster.yaml reaches the files and variables that it refers
// to.
func (a *App) specEnv() spec.Env {
	env := spec.OSEnv()
	env.LookupEnv = a.Env.Lookup
	env.Stdin = a.IO.In
	return env
}
