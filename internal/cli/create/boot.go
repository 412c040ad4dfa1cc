package create

import (
	"context"
	"errors"
	"net"
	"net/netip"
	"net/url"
	"os"
	"strings"

	"github.com/spf13/pflag"

	"github.com/oaictl/oaictl/internal/cli/app"
	"github.com/oaictl/oaictl/internal/cli/runlog"
	"github.com/oaictl/oaictl/internal/shared/listtext"
	"github.com/oaictl/oaictl/pkg/install"
	"github.com/oaictl/oaictl/pkg/install/boot"
	"github.com/oaictl/oaictl/pkg/install/model"
	"github.com/oaictl/oaictl/pkg/install/rest"
	"github.com/oaictl/oaictl/pkg/install/spec"
	"github.com/oaictl/oaictl/pkg/iso/fetch"
	"github.com/oaictl/oaictl/pkg/iso/serve"
)

type bootedMachines struct {
	*boot.Machines
	report func(model.Event)
	forget func() error
	// carried is called once with what the live image carries; may be nil.
	carried func(names []string)
}

// Observe looks at machines.
func (h *bootedMachines) Observe(ctx context.Context, desired *model.Desired, observed *model.Observed,
	ask []string) (map[string]model.MachineState, error) {
	states, err := h.Machines.Observe(ctx, desired, observed, ask)
	if err != nil {
		return nil, err
	}
	if h.carried != nil {
		if names, known := h.Carried(); known {
			h.carried(names)
			h.carried = nil
		}
	}
	return states, nil
}

// bootMachines is nil where no machine of the file has a BMC.
func (o *runOptions) bootMachines(ctx context.Context, service *install.Client, desired *model.Desired,
	log *runlog.Log) (*bootedMachines, error) {
	if len(desired.ToBoot().BootedByBMC()) == 0 {
		return nil, nil
	}
	proxy, err := app.ProxyURL(o.boot.BMCProxy)
	if err != nil {
		return nil, err
	}
	client, err := rest.HTTPClient(o.Globals.CAFile, o.Globals.Insecure)
	if err != nil {
		return nil, err
	}
	h := &bootedMachines{forget: func() error { return nil }}
	config := boot.Config{
		Service: service.Backend, Desired: desired, URL: o.boot.MediaURL, KeyFile: app.MediaKeyFile(o.clusterDir(desired.Spec)),
		Elsewhere: "oaictl iso serve", Proxy: proxy, Base: o.boot.Base, Advice: o.adviseBase, Client: client, Clock: o.clusterClock,
		Network: o.Clock,
		Access:  func(a serve.Access) { log.Printf("%s", app.AccessText(a)) },
		Events: func(e model.Event) {
			if h.report != nil {
				h.report(e)
			}
		},
		Stopped: func(err error) { o.Warn("the server of the machines' images has stopped: %v", err) },
	}
	if !o.Detach {
		if config.Listener, err = net.Listen("tcp", o.boot.MediaListen); err != nil {
			return nil, &model.Fault{
				Code: model.CodeFailure, Op: "serve images at", On: o.boot.MediaListen, Err: err,
				Next: app.ListenAdvice(err, "--media-listen",
					"stop the program that listens there (if it is oaictl iso serve, you do not need it: this command serves the images itself), or "),
			}
		}
		if config.Cache, h.forget, err = o.imageDir(); err != nil {
			return nil, errors.Join(err, config.Listener.Close())
		}
	}
	if app.IsURL(o.boot.Base) { // for a file it was reported before
		h.carried = func(names []string) { o.WarnCarried(names, o.boot.Base) }
	}
	if h.Machines, err = boot.Start(ctx, config); err != nil {
		return nil, errors.Join(adviseRoute(app.SeveralArchs(err)), h.forget())
	}
	return h, nil
}

// imageDir is where base images are kept; those of a simulation are removed with it.
func (o *runOptions) imageDir() (dir string, forget func() error, err error) {
	if !o.Globals.Simulated {
		dir, err = o.ImageCacheDir()
		return dir, func() error { return nil }, err
	}
	dir, err = os.MkdirTemp("", "oaictl-images-")
	return dir, func() error { return os.RemoveAll(dir) }, err
}

func (o *bootOptions) mediaURL(ctx context.Context, listen netip.AddrPort, hosts []*spec.Host,
	route func(context.Context, *spec.BMC) (netip.Addr, error)) (string, error) {
	if o.MediaURL != "" {
		return o.MediaURL, nil
	}
	at, err := boot.MediaURL(ctx, listen, hosts, o.BMCProxy != "", route)
	return at, adviseRoute(err)
}

// adviseRoute says which flag names the address that BMCs reach.
func adviseRoute(err error) error {
	unclear, is := errors.AsType[*boot.RouteError](err)
	switch {
	case !is:
		return err
	case unclear.Proxied:
		return app.Usagef("--media-url is needed with --bmc-proxy: %w", unclear)
	case len(unclear.Ways) == 0:
		return app.Usagef("%w: give the address at which BMCs reach this machine with --media-url", unclear)
	}
	return app.Usagef("%w: give the correct address with --media-url", unclear)
}

type bootOptions struct {
	Base          string
	MediaListen   string
	MediaURL      string
	BMCProxy      string
	RebootRunning bool

	flags *pflag.FlagSet
}

func (o *bootOptions) declare(flags *pflag.FlagSet) {
	o.flags = flags
	flags.StringVar(&o.Base, "base", "", "`FILE` or URL of the live image that machines with a bmc boot (default: the service's)")
	flags.StringVar(&o.MediaListen, "media-listen", app.MediaListen, "`ADDRESS` at which BMCs read their machines' images")
	flags.StringVar(&o.MediaURL, "media-url", "", "`URL` of the server for BMCs (default: derived from the route to them)")
	flags.BoolVar(&o.RebootRunning, "reboot-running", false, "permit to reboot machines that are on and have not registered")
	app.DeclareBMCProxy(flags, &o.BMCProxy)
}

func (o *bootOptions) check(detach bool) error {
	if _, err := app.ProxyURL(o.BMCProxy); err != nil {
		return err
	}
	if o.given("media-listen") {
		if err := app.CheckListen("--media-listen", o.MediaListen); err != nil {
			return err
		}
	}
	if o.Base != "" {
		if err := app.CheckSource(o.Base, ""); err != nil {
			return err
		}
	}
	if o.MediaURL != "" {
		if u, err := url.Parse(o.MediaURL); err != nil || u.Host == "" || u.User != nil || u.RawQuery != "" || u.Scheme != "http" &&
			u.Scheme != "https" {
			return app.Usagef("--media-url is not the beginning of an http or https URL, without user, password and query")
		}
	}
	if detach && o.given("media-listen") {
		return app.Usagef("--detach and --media-listen cannot be used together: the images are not served after the end of this command; use " +
			"oaictl iso serve, and --media-url")
	}
	return nil
}

func (o *bootOptions) given(flag string) bool { return o.flags != nil && o.flags.Changed(flag) }

func (o *bootOptions) checkHosts(file string, hosts []*spec.Host, detach bool) error {
	if len(hosts) == 0 {
		for _, flag := range []string{"base", "media-listen", "media-url", "bmc-proxy", "reboot-running"} {
			if o.given(flag) {
				return app.Usagef("--%s: no host of %s boots through a BMC: this needs bmc.address, bmc.credentials and boot.method redfish", flag,
					file)
			}
		}
		return nil
	}
	if detach && o.MediaURL == "" {
		return app.Usagef("--detach needs --media-url if machines boot through their BMCs: after the end of this command, they read " +
			"their images from oaictl iso serve")
	}
	return nil
}

// checkBase opens a local base before anything is registered: no service can cure it.
func (o *runOptions) checkBase(ctx context.Context, cluster *spec.Cluster) error {
	if o.boot.Base == "" || app.IsURL(o.boot.Base) {
		return nil
	}
	carried, err := boot.CheckBase(ctx, cluster, o.boot.Base, o.adviseBase)
	o.WarnCarried(carried, o.boot.Base)
	return err
}

// adviseBase says what to do about a base that machines cannot boot.
func (o *runOptions) adviseBase(problem *boot.BaseError) model.Advice {
	if problem.Unreached {
		return model.Advicef("make sure that %s can be downloaded from here, or give another --base", fetch.Redact(o.boot.Base))
	}
	return app.ImageAdvice(problem)
}

func (o *runOptions) warnReading(result install.Result, desired *model.Desired, machines *bootedMachines, failed error) {
	if machines == nil || failed == nil || result.Observed == nil || o.Globals.Simulated || o.Detach {
		return
	}
	names := (&install.Look{Desired: desired, Observed: result.Observed}).Reading()
	if len(names) == 0 {
		return
	}
	which := "These machines still read"
	if len(names) == 1 {
		which = "This machine still reads"
	}
	o.Warn("%s from this command, which ends: %s. To continue to serve them:\n  %s", which, strings.Join(names, ", "), o.serveLine(machines))
}

// serveLine is the command that serves the images at the addresses that BMCs were given.
func (o *runOptions) serveLine(machines *bootedMachines) string {
	words := []string{"iso", "serve", "-f", o.File}
	if o.Dir != "." {
		words = append(words, "--dir", o.Dir)
	}
	if base := machines.BasePath(); base != "" {
		words = append(words, "--base", base)
	}
	words = append(words, "--listen", o.listenFor(machines), "--url", machines.URL())
	if o.Detach && strings.HasPrefix(machines.URL(), "https:") {
		words = append(words, "--tls-cert", "tls.crt", "--tls-key", "tls.key")
	}
	for i, word := range words {
		words[i] = listtext.Quoted(word)
	}
	return o.Hint(model.Command(words...))
}

// listenFor is this run's own address, or the port that --media-url names.
func (o *runOptions) listenFor(machines *bootedMachines) string {
	if !o.Detach {
		return o.boot.MediaListen
	}
	served, err := url.Parse(machines.URL())
	if err != nil {
		return app.MediaListen
	}
	port := served.Port()
	switch {
	case port != "":
	case served.Scheme == "https":
		port = "443"
	default:
		port = "80"
	}
	return ":" + port
}

// nextDetached has the images served first, and the same command given once more beside.
func (o *runOptions) nextDetached(result install.Result, desired *model.Desired, machines *bootedMachines) string {
	switch {
	case machines == nil:
		return o.CommandLineWithout("--detach")
	case !machines.Needed(result.Observed): // without --detach it would serve, too
		return o.CommandLine()
	}
	return o.serveLine(machines) +
		"\n  It serves the machines' images until they have rebooted from their disks. While it runs, run this command again:\n  " +
		o.CommandLine()
}
