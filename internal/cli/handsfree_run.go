package cli

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"os"
	"strings"

	"github.com/oaictl/oaictl/internal/cli/runlog"
	"github.com/oaictl/oaictl/pkg/install"
	"github.com/oaictl/oaictl/pkg/install/boot"
	"github.com/oaictl/oaictl/pkg/install/machine"
	"github.com/oaictl/oaictl/pkg/install/rest"
	"github.com/oaictl/oaictl/pkg/install/spec"
	"github.com/oaictl/oaictl/pkg/iso/serve"
)

// handsFree are the machines that a run boots, with what a person is told of them.
type handsFree struct {
	*boot.Machines
	tell   func(install.Event)
	forget func() error
	// carried is told once what the live image carries; nil where nobody is told.
	carried func(names []string)
}

// Observe looks at machines.
func (h *handsFree) Observe(ctx context.Context, desired *install.Desired, observed *install.Observed, ask []string) (map[string]install.MachineState, error) {
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

func (h *handsFree) close() error { return errors.Join(h.Close(), h.forget()) }

// bootHandsFree starts what boots the machines of the file that have BMCs; it is
// nil where none has.
func (o *runOptions) bootHandsFree(ctx context.Context, service *install.Client, desired *install.Desired, log *runlog.Log) (*handsFree, error) {
	if len(install.BootedByBMC(boot.ToBoot(desired))) == 0 {
		return nil, nil
	}
	proxy, err := proxyURL(o.boot.BMCProxy)
	if err != nil {
		return nil, err
	}
	client, err := rest.HTTPClient(o.globals.CAFile, o.globals.Insecure)
	if err != nil {
		return nil, err
	}
	h := &handsFree{forget: func() error { return nil }}
	config := boot.Config{
		Service: service.Backend, Desired: desired, URL: o.boot.MediaURL, KeyFile: mediaKeyFile(o.clusterDir(desired.Spec)),
		Elsewhere: "oaictl iso serve", Proxy: proxy, Base: o.boot.Base, Advice: o.adviseBase, Client: client, Clock: o.clusterClock, Network: o.clock,
		Access: func(a serve.Access) { log.Printf("%s", accessText(a)) },
		Events: func(e install.Event) {
			if h.tell != nil {
				h.tell(e)
			}
		},
		Stopped: func(err error) { o.warn("the machines' images are not served any more: %v", err) },
	}
	if !o.Detach {
		if config.Listener, err = o.listenForBMCs(); err != nil {
			return nil, err
		}
		if config.Cache, h.forget, err = o.imageDir(); err != nil {
			return nil, errors.Join(err, config.Listener.Close())
		}
	}
	if isURL(o.boot.Base) { // of a file it was told before
		h.carried = func(names []string) { o.tellCarried(names, o.boot.Base) }
	}
	if h.Machines, err = boot.Start(ctx, config); err != nil {
		return nil, errors.Join(adviseRoute(severalArchs(err)), h.forget())
	}
	return h, nil
}

func (o *runOptions) listenForBMCs() (net.Listener, error) {
	listener, err := net.Listen("tcp", o.boot.MediaListen)
	if err != nil {
		return nil, &install.Fault{
			Code: install.CodeFailure, Op: "serve images at", On: o.boot.MediaListen, Err: err,
			Next: nextListen(err, "--media-listen", "end what listens there (if it is oaictl iso serve: this command serves the images itself), or "),
		}
	}
	return listener, nil
}

// imageDir is where base images are kept: for a simulated service, whose images
// are nobody's, only until forget is called.
func (o *runOptions) imageDir() (dir string, forget func() error, err error) {
	if !o.globals.vanishes {
		dir, err = o.imageCacheDir()
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
	var unclear *boot.RouteError
	switch {
	case !errors.As(err, &unclear):
		return err
	case unclear.Proxied:
		return usagef("--media-url is needed with --bmc-proxy: %w", unclear)
	case len(unclear.Ways) == 0:
		return usagef("%w: say with --media-url where BMCs reach this machine", unclear)
	}
	return usagef("%w: say which with --media-url", unclear)
}

// severalArchs says what to do where one base is to be booted by hosts of several CPU
// architectures.
func severalArchs(err error) error {
	var problem *boot.BaseError
	if errors.As(err, &problem) && problem.Archs > 0 {
		return usagef("--base is of one CPU architecture, and the hosts are of %d: leave it out, and the service's images are used", problem.Archs)
	}
	return err
}

// lookingOnly is a plane of machines that serves nothing: which image is a
// cluster's own follows from the key in its folder.
func (a *app) lookingOnly(clusterDir, proxy string) (*machine.Plane, error) {
	through, err := proxyURL(proxy)
	if err != nil {
		return nil, err
	}
	return boot.Watch(mediaKeyFile(clusterDir), through, a.clock)
}

// accessText is a request for an image as the log has it: without the URL, which
// nobody else is to know.
func accessText(a serve.Access) string {
	host := a.Host
	if host == "" {
		host = "nobody's"
	}
	text := fmt.Sprintf("media: %s %s %s for %s → %d, %d bytes (%d ms)", a.Method, host, a.Kind, a.Client, a.Status, a.Bytes, a.Took.Milliseconds())
	if a.Err != nil {
		text += ": " + a.Err.Error()
	}
	return strings.Join(strings.Fields(text), " ")
}
