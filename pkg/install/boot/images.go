package boot

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"

	"github.com/oaictl/oaictl/internal/shared/clustersettings"
	"github.com/oaictl/oaictl/pkg/install/model"
	"github.com/oaictl/oaictl/pkg/install/spec"
	"github.com/oaictl/oaictl/pkg/iso"
	"github.com/oaictl/oaictl/pkg/iso/fetch"
	"github.com/oaictl/oaictl/pkg/iso/serve"
)

// ImagesConfig says for which hosts images are made, and from what.
type ImagesConfig struct {
	Service Service
	Spec    *spec.Cluster
	Base    fetch.Source // the live image that all are made of; one without a location is the service's
	// Open brings a live image to this machine, once for each architecture. What it returns
	// is closed with the images.
	Open   func(context.Context, fetch.Source) (*iso.Base, io.Closer, error)
	Server *serve.Server // hands the images out; nil where they only go into files
}

// Images are the discovery images of every host that a cluster takes now.
type Images struct {
	Cluster *spec.Cluster // the cluster with those hosts
	Groups  []Group       // its hosts by CPU architecture

	config    ImagesConfig
	discovery *discovery
	stop      func() // ends what is still on its way
}

// Group are the hosts of one CPU architecture, whose images are made of one live image.
type Group struct {
	*maker
	Arch  spec.Arch
	Hosts []spec.Host

	base *baseImage
}

// NewImages promises the image of every host that the cluster takes now. It fails where a
// host has no InfraEnv yet, with a [NoInfraEnvError].
func NewImages(ctx context.Context, config ImagesConfig) (*Images, error) {
	all := &Images{config: config, discovery: &discovery{service: config.Service, desired: &model.Desired{Spec: config.Spec}}}
	var err error
	if all.Cluster, err = all.discovery.present(ctx); err != nil {
		return nil, err
	}
	for n := range all.Cluster.Spec.Hosts {
		if _, err := all.discovery.envOf(ctx, all.Cluster.Spec.Hosts[n].Name); err != nil {
			return nil, err
		}
	}
	groups := hostsByArch(all.Cluster, everyHost)
	if config.Base.Location != "" && len(groups) > 1 {
		return nil, severalArchs(len(groups))
	}
	ctx, all.stop = context.WithCancel(ctx)
	for _, arch := range slices.Sorted(maps.Keys(groups)) {
		group := Group{Arch: arch, Hosts: groups[arch]}
		group.base = &baseImage{ctx: ctx, opener: config.Open, where: func(ctx context.Context) (fetch.Source, error) {
			if config.Base.Location != "" {
				return config.Base, nil
			}
			return all.discovery.image(ctx, group.Hosts[0].Name)
		}}
		whole := *all.Cluster
		whole.Spec.Hosts = group.Hosts
		group.maker, err = newMaker(makerConfig{Spec: &whole, Base: group.base.open, Ignition: all.discovery.ignition,
			Networks: all.discovery.networks, Server: config.Server})
		if err != nil {
			all.stop()
			return nil, err
		}
		all.Groups = append(all.Groups, group)
	}
	return all, nil
}

// Open reads the live images, and compares them with the hosts that are to boot them. It names what a given image
// carries and no host gets.
func (i *Images) Open(ctx context.Context) (carried []string, err error) {
	for n := range i.Groups {
		group := &i.Groups[n]
		base, err := group.Base(ctx)
		if err != nil {
			return nil, err
		}
		want := clustersettings.KernelArch(group.Arch)
		if got := base.Info().Arch; got != "" && got != want {
			problem := fmt.Errorf("%s is for %s, but %s needs %s", fetch.Redact(cmp.Or(i.config.Base.Location, base.Name())), got,
				group.Hosts[0].Name, want)
			return nil, &model.Fault{Code: model.CodeInput, Permanent: true, Err: &BaseError{Arch: want, Err: problem}}
		}
		if i.config.Base.Location != "" {
			carried = carriedBy(base)
		}
	}
	return carried, nil
}

// Of is the group that a host belongs to, nil for none.
func (i *Images) Of(host string) *Group {
	for n := range i.Groups {
		if slices.ContainsFunc(i.Groups[n].Hosts, func(h spec.Host) bool { return h.Name == host }) {
			return &i.Groups[n]
		}
	}
	return nil
}

// InfraEnv is what a host's image is made for.
func (i *Images) InfraEnv(ctx context.Context, host string) (model.InfraEnv, error) {
	return i.discovery.envOf(ctx, host)
}

// Ignition is the discovery Ignition of a host, as the service has it now.
func (i *Images) Ignition(ctx context.Context, host string) ([]byte, error) {
	return i.discovery.ignition(ctx, host)
}

// Renew takes an InfraEnv that was read again: images that are made from now on follow it.
func (i *Images) Renew(env model.InfraEnv) { i.discovery.renew(env) }

// Close gives the live images back.
func (i *Images) Close() error {
	i.stop()
	var errs []error
	for n := range i.Groups {
		errs = append(errs, i.Groups[n].base.close())
	}
	return errors.Join(errs...)
}

// Base is the live image that the group's images are made of.
func (g *Group) Base(ctx context.Context) (*iso.Base, error) { return g.base.open(ctx) }

// everyHost is what a person boots: every host of a file.
func everyHost(c *spec.Cluster) []*spec.Host {
	hosts := make([]*spec.Host, 0, len(c.Spec.Hosts))
	for n := range c.Spec.Hosts {
		hosts = append(hosts, &c.Spec.Hosts[n])
	}
	return hosts
}

func hostsByArch(c *spec.Cluster, pick func(*spec.Cluster) []*spec.Host) map[spec.Arch][]spec.Host {
	groups := map[spec.Arch][]spec.Host{}
	for _, host := range pick(c) {
		arch := archOf(c, host)
		groups[arch] = append(groups[arch], *host)
	}
	return groups
}

func archOf(c *spec.Cluster, host *spec.Host) spec.Arch {
	if arch := c.Spec.OpenShift.Arch; arch != spec.Multi {
		return cmp.Or(arch, spec.X86)
	}
	return cmp.Or(host.Arch, spec.X86)
}
