package cli

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/oaictl/oaictl/pkg/install"
	"github.com/oaictl/oaictl/pkg/install/spec"
	"github.com/oaictl/oaictl/pkg/iso"
	"github.com/oaictl/oaictl/pkg/iso/fetch"
)

// checkBase opens a base that lies on this machine before anything is registered:
// what is wrong with it no machine and no service can cure.
func (o *runOptions) checkBase(ctx context.Context, cluster *spec.Cluster) error {
	if o.boot.Base == "" || isURL(o.boot.Base) {
		return nil
	}
	for arch := range hostsByArch(cluster, install.BootedByBMC) {
		base := &baseImage{ctx: ctx, arch: arch, where: func(context.Context) (fetch.Source, error) {
			return fetch.Source{Location: o.boot.Base}, nil
		}}
		image, err := base.open(ctx)
		if err == nil {
			o.tellCarried(image, o.boot.Base)
		}
		if err := errors.Join(err, base.close()); err != nil {
			return unusable(o.boot.Base, err)
		}
	}
	return nil
}

// unusable is the fault that what was given as --base cannot be booted.
func unusable(location string, err error) error {
	var fault *install.Fault
	if errors.As(err, &fault) && fault.Code == install.CodeInput || errors.Is(err, context.Canceled) {
		return err
	}
	return &install.Fault{Code: install.CodeInput, Op: "boot machines with", On: fetch.Redact(location), Permanent: true, Err: err, Next: nextBase}
}

const nextBase = "give --base a live image that can be read, or leave it out, and the service's is used"

// tellCarried warns of what a base carries and no host gets: theirs is the service's.
func (a *app) tellCarried(base *iso.Base, location string) {
	config, err := base.Ignition()
	if err != nil { // it is not read, but replaced
		return
	}
	keyfiles, err := base.Keyfiles()
	if err != nil || bytes.Contains(config, []byte(serviceUnit)) {
		return
	}
	var carried []string
	if len(config) > 0 {
		carried = append(carried, "config.ign")
	}
	for _, k := range keyfiles {
		carried = append(carried, k.Name)
	}
	if len(carried) > 0 {
		a.warn("--base %s carries %s; hosts get the service's instead", fetch.Redact(location), strings.Join(carried, ", "))
	}
}

// serviceUnit is in the Ignition of every image that the service makes: it starts
// its agent.
const serviceUnit = `"agent.service"`

// givenBase are machines that boot what --base says. A run ends where that turns out
// to be nothing to boot.
type givenBase struct {
	*handsFree
	location string
	tell     func(*iso.Base)
}

// Observe looks at machines, unless none of them can ever boot.
func (g *givenBase) Observe(ctx context.Context, desired *install.Desired, observed *install.Observed, ask []string) (map[string]install.MachineState, error) {
	if err := g.refused(); err != nil {
		return nil, err
	}
	states, err := g.handsFree.Observe(ctx, desired, observed, ask)
	if refused := g.refused(); refused != nil {
		return nil, refused
	}
	if err == nil && g.tell != nil {
		for _, base := range g.bases {
			if image, here := base.image.here(); here {
				g.tell(image.Base)
				g.tell = nil
				break
			}
		}
	}
	return states, err
}

// Act acts on a machine. That its image could not be brought is not the BMC's doing.
func (g *givenBase) Act(ctx context.Context, desired *install.Desired, observed *install.Observed, action install.Action) error {
	err := g.handsFree.Act(ctx, desired, observed, action)
	base := g.baseOf[action.Name]
	if err == nil || action.Kind != install.InsertMedia || base == nil || base.image.failed() == nil || install.NextOf(err) != "" {
		return err
	}
	return &install.Fault{Err: err, Next: fmt.Sprintf("see to it that %s can be fetched from here, or give another --base", fetch.Redact(g.location))}
}

// refused is what is wrong for good with the base.
func (g *givenBase) refused() error {
	for _, base := range g.bases {
		var fault *install.Fault
		if errors.As(base.image.failed(), &fault) && fault.Permanent {
			return fault
		}
	}
	return nil
}

// machines are what a run boots.
func (o *runOptions) machines(boot *handsFree) install.Machines {
	if o.boot.Base == "" {
		return boot
	}
	g := &givenBase{handsFree: boot, location: o.boot.Base}
	if isURL(o.boot.Base) { // of a file it was told before
		g.tell = func(base *iso.Base) { o.tellCarried(base, o.boot.Base) }
	}
	return g
}
