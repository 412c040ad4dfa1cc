package cli

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"net"
	"net/netip"
	"os"
	"strings"
	"sync"
	"time"

	"github.com/oaictl/oaictl/internal/cli/runlog"
	"github.com/oaictl/oaictl/pkg/install"
	"github.com/oaictl/oaictl/pkg/install/machine"
	"github.com/oaictl/oaictl/pkg/install/spec"
	"github.com/oaictl/oaictl/pkg/iso/fetch"
	"github.com/oaictl/oaictl/pkg/iso/serve"
)

// handsFree boots the machines of a run: it makes and serves their images, and
// speaks to their BMCs. It is the plane of machines of an Installer.
type handsFree struct {
	*machine.Plane
	discovery *discovery
	bases     []*baseImage
	baseOf    map[string]*baseImage // by host
	url       string                // of the media server
	unserved  string                // why nobody serves the images yet, "" where somebody may
	tell      func(install.Event)
	close     func() error
}

// Observe looks at machines, and keeps what the service has of them.
func (h *handsFree) Observe(ctx context.Context, desired *install.Desired, observed *install.Observed, ask []string) (map[string]install.MachineState, error) {
	h.discovery.see(observed)
	states, err := h.Plane.Observe(ctx, desired, observed, ask)
	if err != nil {
		return nil, err
	}
	soon, stop := context.WithTimeout(ctx, aMoment)
	defer stop()
	for name, state := range states {
		base := h.baseOf[name]
		wants := state.Trouble == "" && state.Power == install.PowerIsOff && !state.OurMedia && !state.Inserting && install.ToBoot(desired, observed, name)
		missing := h.unserved
		if wants && base != nil {
			missing = base.missing(soon)
		}
		if wants && missing != "" {
			state.Trouble, state.TroubleKind = missing, install.TroubleNoImage
			states[name] = state
		}
	}
	return states, nil
}

// aMoment is how long a look waits for a base that may be here already.
const aMoment = 500 * time.Millisecond

// Act acts on a machine, which boots what the service has now.
func (h *handsFree) Act(ctx context.Context, desired *install.Desired, observed *install.Observed, action install.Action) error {
	h.discovery.see(observed)
	return h.Plane.Act(ctx, desired, observed, action)
}

// bootHandsFree starts what boots the machines of the file that have BMCs; it is
// nil where none has.
func (o *runOptions) bootHandsFree(ctx context.Context, service remote, desired *install.Desired, log *runlog.Log) (*handsFree, error) {
	hosts := install.BootedByBMC(toBoot(desired))
	if len(hosts) == 0 {
		return nil, nil
	}
	key, made, err := o.mediaKey(ctx, service, desired)
	if err != nil {
		return nil, &install.Fault{Code: install.CodeFailure, Op: "serve", On: "the machines' images", Err: err}
	}
	proxy, err := proxyURL(o.boot.BMCProxy)
	if err != nil {
		return nil, err
	}
	h := &handsFree{discovery: &discovery{service: service, desired: desired}}
	var media machine.Media
	if o.Detach {
		media, err = o.servedElsewhere(h, key, made)
	} else {
		media, err = o.serveMedia(ctx, h, key, hosts, log)
	}
	if err != nil {
		return nil, err
	}
	h.Plane = machine.New(machine.Config{Media: media, Proxy: proxy, Clock: o.clusterClock})
	stopServing := h.close
	h.close = func() error {
		h.Plane.Close()
		return stopServing()
	}
	return h, nil
}

// mediaKey is the key of the images' URLs: a new one, made now, where there is no cluster
// yet. What a drive still holds of one that was deleted is another cluster's image,
// although it had the same name, and must not be taken for this one's.
func (o *runOptions) mediaKey(ctx context.Context, service install.Service, desired *install.Desired) (key []byte, made bool, err error) {
	c, path := desired.Spec, mediaKeyFile(o.clusterDir(desired.Spec))
	query := install.Query{Name: c.Metadata.Name, BaseDomain: c.Spec.BaseDomain, Adopt: desired.Options.Adopt}
	observed, err := service.Observe(ctx, query, nil)
	// A service that does not answer is told of by the run. Somebody else's cluster of
	// that name ends it before anything is inserted.
	if err == nil && observed.Stale == "" && observed.Cluster == nil && len(observed.Others) == 0 {
		if err := os.Remove(path); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return nil, false, fmt.Errorf("forget the key of a cluster that is gone: %w", err)
		}
	}
	_, missing := os.Stat(path)
	key, err = serve.LoadKey(path)
	return key, errors.Is(missing, fs.ErrNotExist), err
}

// elsewhere is the media of a run that leaves: another process serves them.
type elsewhere struct{ server *serve.Server }

func (e elsewhere) URL(host string) (string, error)       { return e.server.URL(host, serve.ISO), nil }
func (e elsewhere) Fetched(string) install.Fetched        { return install.Fetched{Unknown: true} }
func (e elsewhere) Prepare(context.Context, string) error { return nil }

// servedElsewhere are the images as another process serves them with the same key. One
// that was made just now none can have: a BMC would find nothing.
func (o *runOptions) servedElsewhere(h *handsFree, key []byte, made bool) (machine.Media, error) {
	server, err := serve.New(serve.Config{Key: key, URL: o.boot.MediaURL, Clock: o.clusterClock})
	if err != nil {
		return nil, err
	}
	h.url, h.close = o.boot.MediaURL, func() error { return nil }
	if made {
		h.unserved = "oaictl iso serve does not serve its image yet"
	}
	return elsewhere{server}, nil
}

// serveMedia serves the machines' images for as long as the run lasts.
func (o *runOptions) serveMedia(ctx context.Context, h *handsFree, key []byte, hosts []*spec.Host, log *runlog.Log) (machine.Media, error) {
	listener, err := net.Listen("tcp", o.boot.MediaListen)
	if err != nil {
		return nil, &install.Fault{
			Code: install.CodeFailure, Op: "serve images at", On: o.boot.MediaListen, Err: err,
			Next: nextListen(err, "--media-listen", "end what listens there (if it is oaictl iso serve: this command serves the images itself), or "),
		}
	}
	fail := func(err error) (machine.Media, error) { return nil, errors.Join(err, listener.Close()) }
	at, err := netip.ParseAddrPort(listener.Addr().String())
	if err != nil {
		return fail(err)
	}
	if h.url, err = o.boot.mediaURL(ctx, at, hosts, machine.Route); err != nil {
		return fail(err)
	}
	server, err := serve.New(serve.Config{
		Key: key, URL: h.url, Clock: o.clusterClock, Expire: mediaExpire, HostMetrics: true,
		Access: func(a serve.Access) { log.Printf("%s", accessText(a)) },
	})
	if err != nil {
		return fail(err)
	}
	dir, forget, err := o.imageDir()
	if err != nil {
		return fail(err)
	}
	// It ends with the run and not before: what ends ctx ends the watching first.
	serving, stop := context.WithCancel(context.WithoutCancel(ctx))
	var ended sync.WaitGroup
	ended.Go(func() {
		var cut *serve.CutOffError
		if err := server.Serve(serving, listener); err != nil && !errors.As(err, &cut) {
			o.warn("the machines' images are not served any more: %v", err)
		}
	})
	h.close = func() error {
		stop()
		ended.Wait()
		var errs []error
		for _, base := range h.bases {
			errs = append(errs, base.close())
		}
		return errors.Join(append(errs, forget())...)
	}
	media, err := o.imagesOf(serving, h, server, dir)
	if err != nil {
		return nil, errors.Join(err, h.close())
	}
	return media, nil
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

// imagesOf makes the hosts' images: those of one architecture of one base.
func (o *runOptions) imagesOf(ctx context.Context, h *handsFree, server *serve.Server, dir string) (machine.Media, error) {
	whole := toBoot(h.discovery.desired)
	media := mediaOf{}
	h.baseOf = map[string]*baseImage{}
	for arch, hosts := range hostsByArch(whole, install.BootedByBMC) {
		part := *whole
		part.Spec.Hosts = hosts
		shown := &downloading{runOptions: o, boot: h}
		base := &baseImage{ctx: ctx, dir: dir, arch: arch, progress: shown.show, again: shown.again, caFile: o.globals.CAFile, insecure: o.globals.Insecure, where: func(ctx context.Context) (fetch.Source, error) {
			if o.boot.Base != "" {
				return fetch.Source{Location: o.boot.Base}, nil
			}
			return h.discovery.image(ctx, hosts[0].Name)
		}}
		images, err := machine.NewImages(machine.ImagesConfig{Spec: &part, Base: base.open, Ignition: h.discovery.ignition, Networks: h.discovery.networks, Server: server})
		if err != nil {
			return nil, fmt.Errorf("serve the images of the %s hosts: %w", arch, err)
		}
		h.bases = append(h.bases, base)
		for _, host := range hosts {
			media[host.Name], h.baseOf[host.Name] = images, base
		}
	}
	if o.boot.Base != "" && len(h.bases) > 1 {
		return nil, usagef("--base is of one CPU architecture, and the hosts are of %d: leave it out, and the service's images are used", len(h.bases))
	}
	return media, nil
}

// mediaOf are the media of hosts by their names.
type mediaOf map[string]*machine.Images

var errNoMedia = errors.New("the file has no such host that boots through a BMC")

func (m mediaOf) URL(host string) (string, error) {
	if m[host] == nil {
		return "", errNoMedia
	}
	return m[host].URL(host)
}

func (m mediaOf) Fetched(host string) install.Fetched {
	if m[host] == nil {
		return install.Fetched{}
	}
	return m[host].Fetched(host)
}

func (m mediaOf) Prepare(ctx context.Context, host string) error {
	if m[host] == nil {
		return errNoMedia
	}
	return m[host].Prepare(ctx, host)
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
