// Command serve runs an API server with the kinds of a hub, and without their controllers, until it is stopped: to try
// things out on. With --management it has the core of Cluster API, too. The first time it builds the programs.
package main

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"strconv"
	"strings"
	"syscall"

	"github.com/oaictl/oaictl/internal/kubetest"
)

// options are the command's flags.
type options struct {
	kubeconfig, assets string
	management, report bool
	attached           bool
	gates              map[string]bool
	install            []string
}

func main() {
	// The flags of all packages have one of that name already, from envtest.
	flags := flag.NewFlagSet("serve", flag.ExitOnError)
	o := options{gates: map[string]bool{}}
	flags.StringVar(&o.kubeconfig, "kubeconfig", "", "`FILE` to write the administrator's kubeconfig to; it is removed at the end")
	flags.StringVar(&o.assets, "assets", "", "`DIR` with the programs, which are built else")
	flags.BoolVar(&o.management, "management", false, "run the core of Cluster API")
	flags.BoolVar(&o.report, "json", false, "print one line of JSON once it is ready")
	flags.BoolVar(&o.attached, "attached", false, "end with standard input, too, as when the process ends that started this one")
	flags.Func("feature-gate", "`NAME=BOOL` of the core of Cluster API, repeatable", o.gate)
	flags.Func("install", "`PATH` of manifests of a provider, repeatable; their webhooks are called at a port that is printed with --json",
		func(path string) error {
			o.install = append(o.install, path)
			return nil
		})
	_ = flags.Parse(os.Args[1:]) // it exits where it cannot
	if o.kubeconfig == "" || flags.NArg() > 0 {
		flags.Usage()
		os.Exit(2)
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	if o.attached {
		ctx = untilClosed(ctx, os.Stdin)
	}
	err := serve(ctx, o, os.Stdout)
	stop()
	if err != nil {
		fmt.Fprintln(os.Stderr, "serve:", err)
		os.Exit(1)
	}
}

func (o *options) gate(text string) error {
	name, value, _ := strings.Cut(text, "=")
	on, err := strconv.ParseBool(cmp.Or(value, "true"))
	o.gates[name] = on
	return err
}

// untilClosed is a context that ends when the stream does; nothing is read from the stream.
func untilClosed(ctx context.Context, stream io.Reader) context.Context {
	ctx, stop := context.WithCancel(ctx)
	go func() {
		defer stop()
		_, _ = io.Copy(io.Discard, stream) // its end is what is waited for
	}()
	return ctx
}

// server is what is run.
type server interface {
	WriteKubeconfig(name string) error
	NewWebhooks(ctx context.Context) (*kubetest.Webhooks, error)
	Install(ctx context.Context, w *kubetest.Webhooks, paths ...string) error
	Close() error
}

// report is what is printed as JSON.
type report struct {
	Host       string `json:"host"`
	Kubeconfig string `json:"kubeconfig"`
	Kubectl    string `json:"kubectl"`
	Clusterctl string `json:"clusterctl,omitempty"`
	// WebhookPort and WebhookCertDir are for the process whose manifests were installed.
	WebhookPort    int    `json:"webhookPort,omitempty"`
	WebhookCertDir string `json:"webhookCertDir,omitempty"`
}

func serve(ctx context.Context, o options, out io.Writer) error {
	running, said, err := start(ctx, o)
	if err != nil {
		if ctx.Err() != nil {
			return errors.New("stopped; the same command continues from here")
		}
		return err
	}
	if len(o.install) > 0 {
		w, err := running.NewWebhooks(ctx)
		if err == nil {
			said.WebhookPort, said.WebhookCertDir = w.Port, w.CertDir
			err = running.Install(ctx, w, o.install...)
		}
		if err != nil {
			return errors.Join(err, running.Close())
		}
	}
	// A file that is not ours is not removed.
	if err := running.WriteKubeconfig(o.kubeconfig); err != nil {
		return errors.Join(err, running.Close())
	}
	switch {
	case o.report:
		err = json.NewEncoder(out).Encode(said)
	case o.management:
		_, err = fmt.Fprintf(out, "%s is a management cluster of Cluster API until it is stopped (Ctrl-C). Its kubeconfig: %s\n", said.Host,
			o.kubeconfig)
	default:
		_, err = fmt.Fprintf(out, "%s serves the kinds of a hub until it is stopped (Ctrl-C). Its kubeconfig: %s\n", said.Host, o.kubeconfig)
	}
	if err == nil {
		<-ctx.Done()
	}
	return errors.Join(err, os.Remove(o.kubeconfig), running.Close())
}

// start starts what the flags ask for.
func start(ctx context.Context, o options) (server, report, error) {
	said := report{Kubeconfig: o.kubeconfig}
	if o.management {
		m, err := kubetest.OpenManagement(ctx, os.Stderr, kubetest.ManagementConfig{FeatureGates: o.gates, Assets: o.assets})
		if err != nil {
			return nil, said, err
		}
		said.Host, said.Kubectl, said.Clusterctl = m.Config.Host, m.Kubectl(), m.Clusterctl()
		return m, said, nil
	}
	open := func() (*kubetest.Cluster, error) { return kubetest.Open(ctx, os.Stderr) }
	if o.assets != "" {
		open = func() (*kubetest.Cluster, error) { return kubetest.OpenFrom(ctx, o.assets) }
	}
	c, err := open()
	if err != nil {
		return nil, said, err
	}
	said.Host, said.Kubectl = c.Config.Host, c.Kubectl()
	return c, said, nil
}
