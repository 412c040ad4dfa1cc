package cli

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"

	"github.com/spf13/pflag"

	"github.com/oaictl/oaictl/pkg/install"
	"github.com/oaictl/oaictl/pkg/install/machine"
	"github.com/oaictl/oaictl/pkg/install/spec"
	"github.com/oaictl/oaictl/pkg/iso"
	"github.com/oaictl/oaictl/pkg/iso/fetch"
	"github.com/oaictl/oaictl/pkg/iso/serve"
)

// hostMediaOptions are what it takes to make the discovery media of the hosts of a
// file.
type hostMediaOptions struct {
	imageOptions
	File string
	Base string
}

func (o *hostMediaOptions) declare(flags *pflag.FlagSet) {
	o.imageOptions.declare(flags)
	flags.StringVarP(&o.File, "file", "f", "", "`FILE` with the cluster, - for standard input")
	flags.StringVar(&o.Base, "base", "", "`FILE` or URL of the live image that all are made of (default: the service's)")
}

func (o *hostMediaOptions) check(name string) error {
	switch {
	case o.File == "":
		return usagef("%s needs -f FILE", name)
	case o.SHA256 != "" && o.Base == "":
		return usagef("--sha256 goes with --base")
	case o.Base != "":
		return checkSource(o.Base, o.SHA256)
	}
	return nil
}

// hostMedia are the media of the hosts of a file.
type hostMedia struct {
	cluster   *spec.Cluster
	discovery *discovery
	parts     []mediaPart
	stop      func() // ends what is still on its way
}

// mediaPart are the hosts of one CPU architecture, whose media are of one base.
type mediaPart struct {
	hosts  []spec.Host
	base   *sharedImage
	images *machine.Images
}

// sharedImage is a live image that is read once, when it is first wanted.
type sharedImage struct {
	// ctx ends a download that nobody waits for any more.
	ctx     context.Context
	options *imageOptions
	where   func(context.Context) (fetch.Source, error)
	image   brought[*liveImage]
}

// open is the image. What failed is tried again by the next call.
func (s *sharedImage) open(ctx context.Context) (*iso.Base, error) {
	image, err := s.image.begin(s.bring).wait(ctx)
	if err != nil {
		return nil, err
	}
	return image.Base, nil
}

func (s *sharedImage) bring() (*liveImage, error) {
	source, err := s.where(s.ctx)
	if err != nil {
		return nil, err
	}
	return s.options.openSource(s.ctx, source)
}

// cluster reads the file.
func (o *hostMediaOptions) cluster(ctx context.Context) (*spec.Cluster, error) {
	cluster, err := o.load(ctx, o.File)
	if err != nil {
		return nil, err
	}
	if len(cluster.Spec.Hosts) == 0 {
		return nil, &install.Fault{Code: install.CodeInput, Op: "make images of", On: o.File, Permanent: true, Err: errors.New("it names no hosts"), Next: "oaictl download iso -f " + quoted(o.File)}
	}
	return cluster, nil
}

// media promises the media of every host that the cluster takes now. server hands them out, nil where they go
// into files. It fails where a host has no InfraEnv yet.
func (o *hostMediaOptions) media(ctx context.Context, cluster *spec.Cluster, server *serve.Server) (*hostMedia, error) {
	service, err := o.dial(ctx)
	if err != nil {
		return nil, err
	}
	m := &hostMedia{discovery: &discovery{service: service, desired: &install.Desired{Spec: cluster}}}
	if cluster, err = m.discovery.present(ctx); err != nil {
		return nil, err
	}
	m.cluster = cluster
	for n := range cluster.Spec.Hosts {
		if _, err := m.discovery.envOf(ctx, cluster.Spec.Hosts[n].Name); err != nil {
			return nil, o.notRegistered(err)
		}
	}
	groups := hostsByArch(cluster, everyHost)
	if o.Base != "" && len(groups) > 1 {
		return nil, usagef("--base is of one CPU architecture, and the hosts are of %d: leave it out, and the service's images are used", len(groups))
	}
	ctx, m.stop = context.WithCancel(ctx)
	for _, arch := range slices.Sorted(maps.Keys(groups)) {
		part := mediaPart{hosts: groups[arch]}
		part.base = &sharedImage{ctx: ctx, options: &o.imageOptions, where: o.baseOf(m, part.hosts[0].Name)}
		whole := *cluster
		whole.Spec.Hosts = part.hosts
		part.images, err = machine.NewImages(machine.ImagesConfig{Spec: &whole, Base: part.base.open, Ignition: m.discovery.ignition, Networks: m.discovery.networks, Server: server})
		if err != nil {
			m.stop()
			return nil, err
		}
		m.parts = append(m.parts, part)
	}
	return m, nil
}

// notRegistered says how a cluster comes into being that has no InfraEnv yet.
func (o *hostMediaOptions) notRegistered(err error) error {
	var fault *install.Fault
	if !errors.As(err, &fault) || fault.Code != install.CodeNotFound {
		return err
	}
	told := *fault
	told.Next = "oaictl create cluster -f " + quoted(o.File) + " --detach"
	if errors.Is(err, errInstalled) {
		told.Next = "oaictl add-node -f " + quoted(o.File)
	}
	return &told
}

// baseOf says where the base of a host's media is had.
func (o *hostMediaOptions) baseOf(m *hostMedia, host string) func(context.Context) (fetch.Source, error) {
	return func(ctx context.Context) (fetch.Source, error) {
		if o.Base != "" {
			return fetch.Source{Location: o.Base, SHA256: o.SHA256}, nil
		}
		return m.discovery.image(ctx, host)
	}
}

// openBases reads the bases, and holds them against the hosts that are to boot
// them.
func (o *hostMediaOptions) openBases(ctx context.Context, m *hostMedia) error {
	for _, part := range m.parts {
		base, err := part.base.open(ctx)
		if err != nil {
			return err
		}
		want := archOf(m.cluster, &part.hosts[0])
		if got := base.Info().Arch; got != "" && got != liveArch(want) {
			return &install.Fault{
				Code: install.CodeInput, Permanent: true, Next: "give --base an image for " + liveArch(want),
				Err: fmt.Errorf("%s is for %s, and %s boots %s", fetch.Redact(cmp.Or(o.Base, base.Name())), got, part.hosts[0].Name, liveArch(want)),
			}
		}
		if o.Base != "" {
			o.tellCarried(base, o.Base)
		}
	}
	return nil
}

// of is the part that a host belongs to.
func (m *hostMedia) of(host string) *mediaPart {
	for n := range m.parts {
		if slices.ContainsFunc(m.parts[n].hosts, func(h spec.Host) bool { return h.Name == host }) {
			return &m.parts[n]
		}
	}
	return nil
}

func (m *hostMedia) close() error {
	m.stop()
	var errs []error
	for _, part := range m.parts {
		errs = append(errs, part.base.image.close((*liveImage).close))
	}
	return errors.Join(errs...)
}

// everyHost is what a person boots: every host of a file.
func everyHost(c *spec.Cluster) []*spec.Host {
	hosts := make([]*spec.Host, 0, len(c.Spec.Hosts))
	for n := range c.Spec.Hosts {
		hosts = append(hosts, &c.Spec.Hosts[n])
	}
	return hosts
}

// hostsByArch are those hosts of a file that pick names, by the architecture of what
// they boot.
func hostsByArch(c *spec.Cluster, pick func(*spec.Cluster) []*spec.Host) map[spec.Arch][]spec.Host {
	groups := map[spec.Arch][]spec.Host{}
	for _, host := range pick(c) {
		arch := archOf(c, host)
		groups[arch] = append(groups[arch], *host)
	}
	return groups
}

// archOf is the architecture of what a host boots.
func archOf(c *spec.Cluster, host *spec.Host) spec.Arch {
	if arch := c.Spec.OpenShift.Arch; arch != spec.Multi {
		return cmp.Or(arch, spec.X86)
	}
	return cmp.Or(host.Arch, spec.X86)
}

// liveArch is an architecture as live images call it.
func liveArch(arch spec.Arch) string {
	if arch == spec.ARM {
		return "aarch64"
	}
	return string(arch)
}
