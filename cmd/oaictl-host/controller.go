//go:build linux

package main

import (
	"context"
	"io"
	"log/slog"
	"os"

	"github.com/oaictl/oaictl/internal/host/controller"
	"github.com/oaictl/oaictl/internal/host/hostfile"
	"github.com/oaictl/oaictl/internal/host/kube"
	"github.com/oaictl/oaictl/internal/host/service"
)

func runController(ctx context.Context, c call) int {
	if c.helped("it has no flags: its Job sets environment variables, of which CLUSTER_ID, INVENTORY_URL and OPENSHIFT_VERSION are required") {
		return 0
	}
	tail := &controller.Tail{}
	log := slog.New(slog.NewTextHandler(io.MultiWriter(c.errors, tail), nil))
	return controller.Program{
		Getenv: c.env, Files: hostfile.Files{}, Temporary: os.TempDir(), Runner: c.host(), Clock: realClock(), Log: log, Recent: tail.Bytes,
		Connect: kube.Connect,
		Service: func(a controller.Access) (controller.Service, error) {
			return service.New(service.Config{
				URL: a.URL, CACertFile: a.CAPath, Insecure: a.SkipVerification, Token: a.Token, Proxy: proxyOf(a.Proxy), Log: log, Clock: realClock(),
			})
		},
	}.Run(ctx)
}
