package cli

import (
	"context"

	"github.com/oaictl/oaictl/pkg/install"
	"github.com/oaictl/oaictl/pkg/install/hub"
	"github.com/oaictl/oaictl/pkg/install/rest"
)

// connectHub reaches a hub through its API server. Nothing is sent yet.
func connectHub(_ context.Context, to line) (install.Backend, error) {
	config, err := to.kube.config()
	if err != nil {
		return nil, err
	}
	client, err := rest.HTTPClient(to.CAFile, to.Insecure)
	if err != nil {
		return nil, err
	}
	return hub.New(hub.Config{Kube: config, Namespace: to.kube.scope(), Clock: to.clock, HTTPClient: client, Log: callsAs(to.trace)})
}

// callsAs tells calls of an API server as requests of a service are told. Nil for
// nobody who listens.
func callsAs(trace func(rest.Exchange)) func(hub.Call) {
	if trace == nil {
		return nil
	}
	return func(c hub.Call) {
		trace(rest.Exchange{Method: c.Method, URL: c.Path, Status: c.Status, Duration: c.Duration, Error: c.Error})
	}
}
