package create

import (
	"context"
	"errors"
	"net"
	"net/netip"
	"os"

	"github.com/oaictl/oaictl/internal/cli/base"
	"github.com/oaictl/oaictl/internal/cli/runlog"
	"github.com/oaictl/oaictl/internal/model"
	"github.com/oaictl/oaictl/pkg/install"
	"github.com/oaictl/oaictl/pkg/install/boot"
	"github.com/oaictl/oaictl/pkg/install/rest"
	"github.com/oaictl/oaictl/pkg/install/spec"
	"github.com/oaictl/oaictl/pkg/iso/serve"
)

// bootedMachines are the machines that a run boots, with what a person is told of them.
type bootedMachines struct {
	*boot.Machines
	tell   func(install.Event)
	forget func() error
	// carried is told once what the live image carries; nil where nobody is told.
	carried func(names []string)
}

// Observe looks at machines.
func (h *bootedMachines) Observe(ctx context.Context, desired *install.Desired, observed *install.Observed, ask []string) (map[string]install.MachineState, error) {
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

func (h *bootedMachines) close() error { return errors.Join(h.Close(), h.forget()) }

// bootMachines starts what boots the machines of the file that have BMCs; it is
// nil where none has.
func (o *runOptions) bootMachines(ctx context.Context, service *install.Client, desired *install.Desired, log *runlog.Log) (*bootedMachines, error) {
	if len(model.BootedByBMC(boot.ToBoot(desired))) == 0 {
		return nil, nil
	}
	proxy, err := base.ProxyURL(o.boot.BMCProxy)
	if err != nil {
		return nil, err
	}
	client, err := rest.HTTPClient(o.Globals.CAFile, o.Globals.Insecure)
	if err != nil {
		return nil, err
	}
	h := &bootedMachines{forget: func() error { return nil }}
	config := boot.Config{
		Service: service.Backend, Desired: desired, URL: o.boot.MediaURL, KeyFile: base.MediaKeyFile(o.clusterDir(desired.Spec)),
		Elsewhere: "oaictl iso serve", Proxy: proxy, Base: o.boot.Base, Advice: o.adviseBase, Client: client, Clock: o.clusterClock, Network: o.Clock,
		Access: func(a serve.Access) { log.Printf("%s", base.AccessText(a)) },
		Events: func(e install.Event) {
			if h.tell != nil {
				h.tell(e)
			}
		},
		Stopped: func(err error) { o.Warn("the machines' images are not served any more: %v", err) },
	}
	if !o.Detach {
		if config.Listener, err = o.listenForBMCs(); err != nil {
			return nil, err
		}
		if config.Cache, h.forget, err = o.imageDir(); err != nil {
			return nil, errors.Join(err, config.Listener.Close())
		}
	}
	if base.IsURL(o.boot.Base) { // of a file it was told before
		h.carried = func(names []string) { o.WarnCarried(names, o.boot.Base) }
	}
	if h.Machines, err = boot.Start(ctx, config); err != nil {
		return nil, errors.Join(adviseRoute(base.SeveralArchs(err)), h.forget())
	}
	return h, nil
}

func (o *runOptions) listenForBMCs() (net.Listener, error) {
	listener, err := net.Listen("tcp", o.boot.MediaListen)
	if err != nil {
		return nil, &install.Fault{
			Code: install.CodeFailure, Op: "serve images at", On: o.boot.MediaListen, Err: err,
			Next: base.ListenAdvice(err, "--media-listen", "end what listens there (if it is oaictl iso serve: this command serves the images itself), or "),
		}
	}
	return listener, nil
}

// imageDir is where base images are kept: for a simulated service, whose images
// are nobody's, only until forget is called.
func (o *runOptions) imageDir() (dir string, forget func() error, err error) {
	if !o.Globals.Simulated {
		dir, err = o.ImageCacheDir()
		return dir, func() error { return nil }, err
	}
	dir, err = os.MkdirTemp("", "oaictl-images-")
	return dir, func() error { return os.RemoveAll(dir) }, err
}

// mediaURL is where BMCs find a server that listens at an address: as the user
// says; else as the way to them says.
func (o *bootOptions) mediaURL(ctx context.Context, listen netip.AddrPort, hosts []*spec.Host, route func(context.Context, *spec.BMC) (netip.Addr, error)) (string, error) {
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
		return base.Usagef("--media-url is needed with --bmc-proxy: %w", unclear)
	case len(unclear.Ways) == 0:
		return base.Usagef("%w: say with --media-url where BMCs reach this machine", unclear)
	}
	return base.Usagef("%w: say which with --media-url", unclear)
}
