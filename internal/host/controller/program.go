//go:build linux

package controller

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"

	"github.com/oaictl/oaictl/internal/host/hostfile"
	"github.com/oaictl/oaictl/internal/host/kube"
	"github.com/oaictl/oaictl/internal/host/machine"
	"github.com/oaictl/oaictl/internal/shared/clock"
)

// Exit codes of the program.
const (
	// ExitDone ends the Job: the installation ended, or the service will never say so.
	ExitDone = 0
	// ExitFailed has the Job start the controller again.
	ExitFailed = 1
)

// bootstrapKubeconfig is the kubeconfig of a single node, which has it from the bootstrap phase. It works before that of the
// pod does.
const bootstrapKubeconfig = "/tmp/bootstrap-secrets/kubeconfig"

// Access is how the service is reached.
type Access struct {
	URL              string
	Token            string // secret
	SkipVerification bool
	CAPath           string
	Proxy            kube.Proxy
}

// Program is what the controller gets from the program that it is in.
type Program struct {
	Getenv    func(string) string
	Files     hostfile.Files
	Temporary string // os.TempDir()
	Runner    machine.Runner
	Clock     clock.Clock
	Log       *slog.Logger
	Recent    func() []byte // the end of the log, see Tail
	// Connect makes a client of the cluster of a kubeconfig, or with nil of that of this pod: kube.Connect.
	Connect func(kubeconfig []byte) (*kube.Client, error)
	// Service makes a client of the service.
	Service func(Access) (Service, error)
}

// Run runs the controller and returns the exit code.
func (p Program) Run(ctx context.Context) int {
	err := p.run(ctx)
	switch {
	case err == nil:
		p.Log.Info("finished")
		return ExitDone
	case errors.Is(err, ErrGivenUp):
		p.Log.Error("given up", said(err))
		return ExitDone
	}
	p.Log.Error("failed", said(err))
	return ExitFailed
}

func (p Program) run(ctx context.Context) error {
	config, err := ReadConfig(p.Getenv, p.Files)
	if err != nil {
		return fmt.Errorf("read the configuration: %w", err)
	}
	p.Log.Info("assisted-installer-controller starts", slog.String("configuration", config.String()))
	var bootstrap []byte
	if p.Files.Exists(bootstrapKubeconfig) {
		if bootstrap, err = p.Files.Read(bootstrapKubeconfig); err != nil {
			return fmt.Errorf("read the kubeconfig of the bootstrap phase: %w", err)
		}
	}
	cluster, err := p.Connect(bootstrap)
	if err != nil {
		return err
	}
	proxy, err := cluster.Proxy(ctx)
	if err != nil && !kube.NotFound(err) { // the kind comes with one of the first manifests
		return fmt.Errorf("find out by which proxy the service is reached: %w", err)
	}
	proxy = kube.Proxy{
		HTTP: cmp.Or(proxy.HTTP, p.Getenv("HTTP_PROXY")), HTTPS: cmp.Or(proxy.HTTPS, p.Getenv("HTTPS_PROXY")),
		No: cmp.Or(proxy.No, p.Getenv("NO_PROXY")),
	}
	service, err := p.Service(Access{
		URL: config.URL, Token: config.Token, SkipVerification: config.SkipVerification, CAPath: config.CAPath, Proxy: proxy,
	})
	if err != nil {
		return fmt.Errorf("make a client of the service: %w", err)
	}
	c := &Controller{
		Config: config, Service: service, Cluster: cluster, Runner: p.Runner, Files: p.Files, Temporary: p.Temporary, Clock: p.Clock,
		Log: p.Log, Recent: p.Recent, bootstrap: bootstrap,
		Administrator: func(kubeconfig []byte) (Administrator, error) { return p.Connect(kubeconfig) },
	}
	return c.Run(ctx)
}
