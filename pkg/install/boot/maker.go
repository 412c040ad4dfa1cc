package boot

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/oaictl/oaictl/pkg/install/model"
	"github.com/oaictl/oaictl/pkg/install/spec"
	"github.com/oaictl/oaictl/pkg/iso"
	"github.com/oaictl/oaictl/pkg/iso/nmstate"
	"github.com/oaictl/oaictl/pkg/iso/overlay"
	"github.com/oaictl/oaictl/pkg/iso/serve"
)

// makerConfig says what discovery media are made of.
type makerConfig struct {
	Spec *spec.Cluster // the cluster with its hosts
	// Base brings the live image that all are made of. It is called when the
	// first image is, and again only after an error.
	Base func(ctx context.Context) (*iso.Base, error)
	// Ignition is the discovery Ignition of the InfraEnv that a host of the file
	// belongs to, as the service has it now.
	Ignition func(ctx context.Context, host string) ([]byte, error)
	// Networks are the static networks of that InfraEnv, which the Ignition brings
	// into the live system. It is asked where the initrd gets a static network, too.
	Networks func(ctx context.Context, host string) ([]model.StaticNetwork, error)
	Server   *serve.Server // hands the images out; nil where they only go into files
}

// maker makes each host its own discovery media: one base, the InfraEnv's
// Ignition, the file's kernel arguments and, where the initrd needs the network
// before Ignition has run, the host's static one. It is the Media of a Plane.
type maker struct {
	config makerConfig

	opening chan struct{} // holds one element while base or built is checked or fetched
	base    *iso.Base
	built   *iso.Base // what minimal images are made of: the base without what its service put in
}

// newMaker promises an image for every host of the file. With a Server each
// is found at its URL from now on and made when it is first asked for: a BMC
// that still reads finds it again after a restart.
func newMaker(config makerConfig) (*maker, error) {
	m := &maker{config: config, opening: make(chan struct{}, 1)}
	if config.Server == nil {
		return m, nil
	}
	for n := range config.Spec.Spec.Hosts {
		if err := m.promise(config.Spec.Spec.Hosts[n].Name); err != nil {
			return nil, err
		}
	}
	return m, nil
}

// URL is where a host's image is found. It is the same after a restart with
// the same key.
func (m *maker) URL(host string) (string, error) {
	if m.config.Server == nil {
		return "", errors.New("the discovery images are not served")
	}
	return m.config.Server.URL(host, serve.ISO), nil
}

// Fetched is how much of a host's image was read.
func (m *maker) Fetched(host string) model.Fetched {
	if m.config.Server == nil {
		return model.Fetched{}
	}
	f := m.config.Server.Fetched(host)
	return model.Fetched{Requests: f.Requests, Active: f.Active, Bytes: f.Bytes, Size: f.Size, Last: f.Last, Idle: f.Idle}
}

// Prepare makes a host's image anew, so that it is what the service says now,
// and so that its BMC need not wait for it.
func (m *maker) Prepare(ctx context.Context, host string) error {
	if m.config.Server == nil {
		return errors.New("the discovery images are not served")
	}
	if err := m.promise(host); err != nil {
		return err
	}
	return m.config.Server.Prepare(ctx, host)
}

func (m *maker) promise(host string) error {
	return m.config.Server.Set(host, serve.File{Kind: serve.ISO, Open: func(ctx context.Context) (*overlay.Image, error) {
		image, _, err := m.make(ctx, host) // the server names the host
		return image, err
	}})
}

// ISO makes the image that a host boots: the full one, or the minimal one where
// spec.boot.image says so.
func (m *maker) ISO(ctx context.Context, host string) (*overlay.Image, iso.Result, error) {
	image, result, err := m.make(ctx, host)
	if err != nil {
		return nil, iso.Result{}, fmt.Errorf("make the discovery image of %s: %w", host, err)
	}
	return image, result, nil
}

func (m *maker) make(ctx context.Context, host string) (*overlay.Image, iso.Result, error) {
	fail := func(err error) (*overlay.Image, iso.Result, error) { return nil, iso.Result{}, err }
	base, err := m.open(ctx)
	if err != nil {
		return fail(err)
	}
	minimal := m.config.Spec.Spec.Boot.Image == spec.ImageMinimal
	c, err := m.customization(ctx, base, host, minimal)
	if err != nil {
		return fail(err)
	}
	if minimal {
		rootfs, err := m.rootfs(base)
		if err != nil {
			return fail(err)
		}
		// A service gives out images that hold an Ignition config, and a minimal image
		// can be made of none of them: it is made of the base before anything was put in.
		if base, err = m.once(ctx, &m.built, base.AsBuilt); err != nil {
			return fail(err)
		}
		if base, err = base.Minimal(ctx, rootfs); err != nil {
			return fail(notMinimal(err))
		}
		c.Kargs.Reset = false // it would be back to a root file system on the medium
	}
	return base.Customize(c)
}

// notMinimal is a base that no minimal image can be made of: a request to a BMC does not cure that.
func notMinimal(err error) error {
	if errors.Is(err, context.Canceled) {
		return err
	}
	return &model.Fault{Err: err, Next: "omit spec.boot.image to use the full image, or give --base a live image from which a minimal " +
		"image can be made"}
}

// Netboot makes the files that a host boots over the network.
func (m *maker) Netboot(ctx context.Context, host string) (*iso.Netboot, error) {
	base, err := m.open(ctx)
	if err != nil {
		return nil, fmt.Errorf("make the netboot files of %s: %w", host, err)
	}
	c, err := m.customization(ctx, base, host, true)
	if err != nil {
		return nil, fmt.Errorf("make the netboot files of %s: %w", host, err)
	}
	return base.Netboot(c)
}

// open opens the base, once. A caller that waits for another's attempt may give up.
func (m *maker) open(ctx context.Context) (*iso.Base, error) {
	return m.once(ctx, &m.base, func() (*iso.Base, error) { return m.config.Base(ctx) })
}

// once is one of the bases, brought by the first that asks for it.
func (m *maker) once(ctx context.Context, have **iso.Base, bring func() (*iso.Base, error)) (base *iso.Base, err error) {
	select {
	case m.opening <- struct{}{}:
		defer func() { <-m.opening }()
	case <-ctx.Done():
		return nil, context.Cause(ctx)
	}
	if *have == nil {
		*have, err = bring()
	}
	return *have, err
}

// rootfs serves the base's root file system and says where.
func (m *maker) rootfs(base *iso.Base) (string, error) {
	if m.config.Server == nil {
		return "", errors.New("a minimal image fetches its root file system from a server, but no server runs: use oaictl iso serve, or " +
			"spec.boot.image: full")
	}
	files, err := base.Netboot(iso.Customization{Existing: iso.Replace})
	if err != nil {
		return "", err
	}
	if files.Rootfs == nil {
		return "", fmt.Errorf("%s has no root file system to serve", base.Name())
	}
	const name = "rootfs"
	if err := m.config.Server.SetRootfs(name, serve.File{Image: files.Rootfs, Base: base.Identity()}); err != nil {
		return "", err
	}
	return m.config.Server.RootfsURL(name), nil
}

// customization is what makes the base a host's. early says that the initrd
// needs the host's network.
func (m *maker) customization(ctx context.Context, base *iso.Base, host string, early bool) (iso.Customization, error) {
	config, err := m.config.Ignition(ctx, host)
	if err != nil {
		return iso.Customization{}, err
	}
	c := iso.Customization{Ignition: config, Existing: iso.Replace}
	// A base that the service made for an InfraEnv has its arguments already.
	if args := m.config.Spec.Spec.Discovery.KernelArgs; len(args) > 0 || base.Kargs() != "" {
		c.Kargs = iso.KargEdit{Reset: true, Append: args}
	}
	if early {
		c.Keyfiles, err = m.keyfiles(ctx, host)
	}
	return c, err
}

// keyfiles are a host's static network as NetworkManager reads it; none where
// it has DHCP.
func (m *maker) keyfiles(ctx context.Context, host string) ([]iso.Keyfile, error) {
	n := slices.IndexFunc(m.config.Spec.Spec.Hosts, func(h spec.Host) bool { return h.Name == host })
	if n < 0 {
		return nil, fmt.Errorf("the file has no host %s", host)
	}
	text, named, static := m.config.Spec.StaticNetwork(&m.config.Spec.Spec.Hosts[n])
	if !static {
		return nil, nil
	}
	files, macs, err := compiled("the network of "+host, text, named)
	if err != nil {
		return nil, err
	}
	known, err := m.config.Networks(ctx, host)
	if err != nil {
		return nil, err
	}
	return files, agrees(known, macs, files)
}

// agrees compares the static networks that the service has with the one of the file that goes into a host's initrd: a
// machine must not come up with one network there and another one after. They are the same if they make the same
// keyfiles for NetworkManager.
func agrees(known []model.StaticNetwork, macs map[string]string, files []iso.Keyfile) error {
	var theirs *model.StaticNetwork
	for n := range known {
		if slices.ContainsFunc(known[n].MACs, func(m spec.NIC) bool { return hasMAC(macs, m.MAC) }) {
			theirs = &known[n]
		}
	}
	differ := func(err error) error {
		return &model.Fault{Err: err, Next: "`{plan -f FILE}` shows the difference, `{create cluster -f FILE --reimage}` sends it"}
	}
	if theirs == nil {
		return differ(fmt.Errorf("the file has a static network for %s, but the service does not have it", macsText(macs)))
	}
	have, _, _ := compiled("", theirs.YAML, theirs.MACs) // none where it cannot be read
	same := func(a, b iso.Keyfile) bool { return a.Name == b.Name && bytes.Equal(a.Content, b.Content) }
	if !slices.EqualFunc(have, files, same) {
		return differ(fmt.Errorf("the static network for %s in the service differs from the file", macsText(macs)))
	}
	return nil
}

// compiled is the keyfiles that NetworkManager gets for a network in nmstate's words, and the MAC addresses of its
// interfaces by their names.
func compiled(name, text string, named []spec.NIC) (files []iso.Keyfile, macs map[string]string, err error) {
	macs = macsOf(named)
	state, err := nmstate.Parse(name, []byte(text))
	if err != nil {
		return nil, nil, err
	}
	files, err = state.Keyfiles(macs)
	return files, macs, err
}

func hasMAC(macs map[string]string, mac string) bool {
	for _, own := range macs {
		if strings.EqualFold(own, mac) {
			return true
		}
	}
	return false
}

// macsText names the interfaces of a host, as in "eth0 (52:54:00:00:00:01)".
func macsText(macs map[string]string) string {
	var list []string
	for name, mac := range macs {
		list = append(list, name+" ("+strings.ToLower(mac)+")")
	}
	slices.Sort(list)
	return strings.Join(list, ", ")
}
