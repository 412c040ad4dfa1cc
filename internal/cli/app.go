package cli

import (
	"context"

	"github.com/oaictl/oaictl/internal/cli/streams"
	"github.com/oaictl/oaictl/internal/clock"
	"github.com/oaictl/oaictl/pkg/install"
	"github.com/oaictl/oaictl/pkg/install/spec"
)

// app is what the commands of one run share. Its functions are the seams to
// the rest of the program; a test replaces them.
type app struct {
	io       streams.Streams
	env      streams.Env
	identity identity
	globals  globals
	clock    clock.Clock

	// connect reaches the service or the hub that the flags name.
	connect func(ctx context.Context, to line) (install.Backend, error)
	// toldPlain says that a token without encryption was told of.
	toldPlain bool
	// toldOf are files in other formats of whose losses was told.
	toldOf []string
	// atEnd is what ends connections, once the command is done.
	atEnd []func()
	// simulate starts a service and hosts inside this process.
	simulate simulatorFunc
}

func newApp(id identity, io streams.Streams, env streams.Env) *app {
	io.Err = streams.Locked(io.Err) // servers and hosts tell from goroutines of their own
	return &app{io: io, env: env, identity: id, clock: clock.Real(), connect: connect, simulate: startSimulator}
}

// specEnv is how cluster.yaml reaches the files and variables that it refers
// to.
func (a *app) specEnv() spec.Env {
	env := spec.OSEnv()
	env.LookupEnv = a.env.Lookup
	env.Stdin = a.io.In
	return env
}
