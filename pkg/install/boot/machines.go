// Package boot makes the discovery image of each host of a cluster.yaml, serves it, and
// boots the host from it through its BMC.
//
// [Start] serves the images of all hosts that have a BMC, and its [Machines] are the plane of machines of an
// install.Client. [NewImages] makes images for machines that are booted by other means. Each image is made of a live
// image, which is the service's unless another is given, and of what the service has for the host at that moment.
package boot

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"net"
	"net/http"
	"net/netip"
	"net/url"
	"slices"
	"sync"
	"time"

	"github.com/oaictl/oaictl/internal/shared/bytesize"
	"github.com/oaictl/oaictl/internal/shared/clock"
	"github.com/oaictl/oaictl/pkg/install"
	"github.com/oaictl/oaictl/pkg/install/bmc"
	"github.com/oaictl/oaictl/pkg/install/model"
	"github.com/oaictl/oaictl/pkg/install/spec"
	"github.com/oaictl/oaictl/pkg/iso/fetch"
	"github.com/oaictl/oaictl/pkg/iso/serve"
)

// mediaExpire is how long images are served after they were last asked for: they hold secrets, and a BMC reads for
// hours at most.
const mediaExpire = 24 * time.Hour

// Config says which machines are booted, and how.
type Config struct {
	Service Service
	// Desired is what the run shall do: with Options.AddNodes, the hosts that can only be
	// added are booted, too.
	Desired *model.Desired
	// Listener is where BMCs read the images. It is closed with the Machines. Nil where
	// another process serves them at URL, with the same key: Elsewhere names it.
	Listener  net.Listener
	Elsewhere string
	// URL is where BMCs find it; empty derives it from the way to them. BMCs go on reading at the URL that they got
	// once: a later run needs the same.
	URL string
	// KeyFile keeps the key that the images' URLs are made with, so that the URLs cannot be guessed. It is made where
	// it is missing.
	KeyFile string
	Proxy   *url.URL                      // the HTTP proxy on the way to the BMCs, nil for none
	Base    string                        // the path or URL of the live image that machines boot; empty is the service's
	Advice  func(*BaseError) model.Advice // asked about a live image that cannot be booted
	Cache   string                        // a folder that keeps live images between runs
	Client  *http.Client                  // downloads them; nil is one that trusts the system's certificates
	// Clock is the time of the service; nil is the machine's own. Network is that of BMCs
	// and downloads.
	Clock, Network install.Clock
	// Access is called for every request for an image, Events for what happens in a download, and Stopped when a server
	// has ended by itself. Each may be nil.
	Access  func(serve.Access)
	Events  func(model.Event)
	Stopped func(error)
}

// Machines boots the machines of a run: it makes and serves their images, and speaks to
// their BMCs. It implements install.Machines.
type Machines struct {
	config    Config
	plane     *bmc.Plane
	discovery *discovery
	bases     []*baseImage
	baseOf    map[string]*baseImage // by host
	unserved  string                // why the images are not served yet, "" where they may be
	stop      func() error
}

var _ install.Machines = (*Machines)(nil)

// Start serves the images of the hosts that boot through their BMCs, until Close. It is nil where no host does. No BMC
// gets a request before a run sends it.
func Start(ctx context.Context, config Config) (*Machines, error) {
	m, err := start(ctx, config)
	if m == nil && config.Listener != nil {
		if left := config.Listener.Close(); !errors.Is(left, net.ErrClosed) { // as by a server that had begun
			err = errors.Join(err, left)
		}
	}
	return m, err
}

func start(ctx context.Context, config Config) (*Machines, error) {
	hosts := config.Desired.ToBoot().BootedByBMC()
	if len(hosts) == 0 {
		return nil, nil
	}
	config.Clock = cmp.Or[install.Clock](config.Clock, clock.Real())
	config.Network = cmp.Or[install.Clock](config.Network, clock.Real())
	if config.Events == nil {
		config.Events = func(model.Event) {}
	}
	key, made, err := mediaKey(ctx, config.Service, config.Desired, config.KeyFile)
	if err != nil {
		return nil, &model.Fault{Code: model.CodeFailure, Op: "serve", On: "the machines' images", Err: err}
	}
	m := &Machines{config: config, discovery: &discovery{service: config.Service, desired: config.Desired}, stop: func() error { return nil }}
	var media bmc.Media
	if config.Listener == nil {
		media, err = m.servedElsewhere(key, made)
	} else {
		media, err = m.serve(ctx, key, hosts)
	}
	if err != nil {
		return nil, err
	}
	m.plane = bmc.New(bmc.Config{Media: media, Proxy: config.Proxy, Clock: config.Clock})
	return m, nil
}

// Close ends what is under way, and the server. Machines that still read their images lose
// them: install.Look.Reading names those.
func (m *Machines) Close() error {
	m.plane.Close()
	return m.stop()
}

// URL is where BMCs find the images.
func (m *Machines) URL() string { return m.config.URL }

// BasePath is the live image as a file of this machine, where it is one by now.
func (m *Machines) BasePath() string {
	if m.config.Base != "" {
		return m.config.Base
	}
	for _, base := range m.bases {
		if path := base.path(); path != "" {
			return path
		}
	}
	return ""
}

// Carried names what the live image of the configuration carries and no host gets, once
// that image is here.
func (m *Machines) Carried() (names []string, known bool) {
	for _, base := range m.bases {
		if image, here, _ := base.image.result(); here {
			return carriedBy(image.Base), true
		}
	}
	return nil, false
}

// aMoment is how long an observation waits for a base that may be here already.
const aMoment = 500 * time.Millisecond

// Observe observes machines, and keeps what the service has of them. It fails if the live image of the configuration is
// one that they can never boot.
func (m *Machines) Observe(ctx context.Context, desired *model.Desired, observed *model.Observed,
	ask []string) (map[string]model.MachineState, error) {
	if err := m.refused(); err != nil {
		return nil, err
	}
	m.discovery.update(observed)
	states, err := m.plane.Observe(ctx, desired, observed, ask)
	if err == nil {
		m.awaitImages(ctx, desired, observed, states)
	}
	if refused := m.refused(); refused != nil {
		return nil, refused
	}
	return states, err
}

// awaitImages marks the machines that could be booted now, if their image was here.
func (m *Machines) awaitImages(ctx context.Context, desired *model.Desired, observed *model.Observed,
	states map[string]model.MachineState) {
	soon, stop := context.WithTimeout(ctx, aMoment)
	defer stop()
	look := &install.Look{Desired: desired, Observed: observed}
	for _, name := range look.HaveToBoot(slices.Collect(maps.Keys(states))...) {
		state := states[name]
		wants := state.Trouble == "" && state.Power == model.PowerIsOff && !state.OurMedia && !state.Inserting
		missing := m.unserved
		if base := m.baseOf[name]; wants && base != nil {
			missing = base.missing(soon)
		}
		if wants && missing != "" {
			state.Trouble, state.TroubleKind = missing, model.TroubleNoImage
			states[name] = state
		}
	}
}

// Act acts on a machine, which boots what the service has now. That its image could not be
// brought here is not the BMC's doing.
func (m *Machines) Act(ctx context.Context, desired *model.Desired, observed *model.Observed, action model.Action) error {
	m.discovery.update(observed)
	err := m.plane.Act(ctx, desired, observed, action)
	base := m.baseOf[action.Name]
	if err == nil || m.config.Base == "" || m.config.Advice == nil || action.Kind != model.InsertMedia || base == nil ||
		base.failed() == nil || model.FaultOf(err).Next != "" {
		return err
	}
	return &model.Fault{Err: err, Next: m.config.Advice(&BaseError{Unreached: true, Err: err})}
}

func (m *Machines) refused() error {
	if m.config.Base == "" {
		return nil
	}
	for _, base := range m.bases {
		var fault *model.Fault
		if errors.As(base.failed(), &fault) && fault.Permanent {
			return fault
		}
	}
	return nil
}

// Needed reports whether a host has still to boot its image, or has it in its drive.
func (m *Machines) Needed(observed *model.Observed) bool {
	if observed == nil {
		return false
	}
	var hosts []string
	for _, host := range m.config.Desired.ToBoot().BootedByBMC() {
		state := observed.Machines[host.Name]
		if state.OurMedia || state.Inserting {
			return true
		}
		hosts = append(hosts, host.Name)
	}
	look := &install.Look{Desired: m.config.Desired, Observed: observed}
	return len(look.HaveToBoot(hosts...)) > 0
}

// servedElsewhere are the images as another process serves them with the same key. If the key was made just now, no
// other process can have it: a BMC would find nothing.
func (m *Machines) servedElsewhere(key []byte, made bool) (bmc.Media, error) {
	server, err := serve.New(serve.Config{Key: key, URL: m.config.URL, Clock: m.config.Clock})
	if err != nil {
		return nil, err
	}
	if made {
		m.unserved = m.config.Elsewhere + " does not serve its image yet"
	}
	return elsewhere{server}, nil
}

func (m *Machines) serve(ctx context.Context, key []byte, hosts []*spec.Host) (bmc.Media, error) {
	if m.config.URL == "" {
		at, err := netip.ParseAddrPort(m.config.Listener.Addr().String())
		if err != nil {
			return nil, err
		}
		if m.config.URL, err = MediaURL(ctx, at, hosts, m.config.Proxy != nil, bmc.Route); err != nil {
			return nil, err
		}
	}
	server, err := serve.New(serve.Config{
		Key: key, URL: m.config.URL, Clock: m.config.Clock, Expire: mediaExpire, HostMetrics: true, Access: m.config.Access,
	})
	if err != nil {
		return nil, err
	}
	// It ends with Close and not before: what ends ctx ends the watching first.
	serving, stop := context.WithCancel(context.WithoutCancel(ctx))
	var ended sync.WaitGroup
	ended.Go(func() {
		var cut *serve.CutOffError
		if err := server.Serve(serving, m.config.Listener); err != nil && !errors.As(err, &cut) && m.config.Stopped != nil {
			m.config.Stopped(err)
		}
	})
	m.stop = func() error {
		stop()
		ended.Wait()
		var errs []error
		for _, base := range m.bases {
			errs = append(errs, base.close())
		}
		return errors.Join(errs...)
	}
	media, err := m.images(serving, server)
	if err != nil {
		return nil, errors.Join(err, m.stop())
	}
	return media, nil
}

func (m *Machines) images(ctx context.Context, server *serve.Server) (bmc.Media, error) {
	whole := m.config.Desired.ToBoot()
	media := mediaOf{}
	m.baseOf = map[string]*baseImage{}
	for arch, hosts := range hostsByArch(whole, (*spec.Cluster).BootedByBMC) {
		part := *whole
		part.Spec.Hosts = hosts
		shown := &downloading{Machines: m}
		base := &baseImage{ctx: ctx, dir: m.config.Cache, arch: arch, client: m.config.Client, advice: m.config.Advice, progress: shown.show,
			again: shown.again, where: func(ctx context.Context) (fetch.Source, error) {
				if m.config.Base != "" {
					return fetch.Source{Location: m.config.Base}, nil
				}
				return m.discovery.image(ctx, hosts[0].Name)
			}}
		images, err := newMaker(makerConfig{Spec: &part, Base: base.open, Ignition: m.discovery.ignition, Networks: m.discovery.networks,
			Server: server})
		if err != nil {
			return nil, fmt.Errorf("serve the images of the %s hosts: %w", arch, err)
		}
		m.bases = append(m.bases, base)
		for _, host := range hosts {
			media[host.Name], m.baseOf[host.Name] = images, base
		}
	}
	if m.config.Base != "" && len(m.bases) > 1 {
		return nil, severalArchs(len(m.bases))
	}
	return media, nil
}

// downloading reports the download of a live image as events of the run that boots it. Its methods are called one at a
// time.
type downloading struct {
	*Machines

	began  time.Time
	last   string // the progress that was reported last
	failed string // why nothing came, as it was reported
}

// reportEvery is how many bytes of a download of unknown size are worth a line.
const reportEvery = 100_000_000

func (d *downloading) show(done, total int64) {
	now := d.config.Network.Now()
	if d.began.IsZero() {
		d.began = now
	}
	text := farText(done, total)
	if total <= 0 {
		text = bytesize.Text(done / reportEvery * reportEvery)
	}
	if now.Sub(d.began) < time.Second || text == d.last {
		return
	}
	d.last, d.failed = text, ""
	d.report(model.Event{Type: model.EventHint, Severity: model.SeverityInfo, Reason: "Downloading",
		Message: "oaictl downloads the live image for the machines: " + text})
}

// again reports why nothing comes, where that is tried again; the same reason once.
func (d *downloading) again(err error, _ time.Duration) {
	if err.Error() == d.failed {
		return
	}
	d.failed = err.Error()
	d.report(model.Event{Type: model.EventWarning, Severity: model.SeverityWarning, Reason: "DownloadRetried",
		Message: fmt.Sprintf("the download of the live image for the machines failed: %v; oaictl tries again", err)})
}

func (d *downloading) report(e model.Event) {
	e.V, e.Time, e.Cluster, e.Key = 1, d.config.Clock.Now(), d.config.Desired.Spec.Metadata.Name, "images/base"
	d.config.Events(e)
}
