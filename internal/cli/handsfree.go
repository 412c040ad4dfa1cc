package cli

import (
	"context"
	"fmt"
	"net/netip"
	"net/url"
	"path/filepath"
	"time"

	"github.com/spf13/pflag"

	"github.com/oaictl/oaictl/pkg/install"
	"github.com/oaictl/oaictl/pkg/install/spec"
)

// mediaListen is where the media server of a run listens: always the same, since
// a BMC goes on reading at the address that it was told once.
const mediaListen = ":8880"

// mediaExpire is how long media are served that nobody asks for: they hold secrets,
// and a BMC reads for hours at most.
const mediaExpire = 24 * time.Hour

// bootOptions are what the flags say of machines that boot through their BMCs.
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
	flags.StringVar(&o.MediaListen, "media-listen", mediaListen, "`ADDRESS` at which BMCs read their machines' images")
	flags.StringVar(&o.MediaURL, "media-url", "", "`URL` that BMCs are told for it (default: derived from the way to them)")
	flags.BoolVar(&o.RebootRunning, "reboot-running", false, "permit to reboot machines that are on and have not registered")
	declareBMCProxy(flags, &o.BMCProxy)
}

func declareBMCProxy(flags *pflag.FlagSet, to *string) {
	flags.StringVar(to, "bmc-proxy", "", "`URL` of the HTTP proxy through which BMCs are reached")
}

// check refuses values that mean nothing, and combinations of them.
func (o *bootOptions) check(detach bool) error {
	if _, err := proxyURL(o.BMCProxy); err != nil {
		return err
	}
	if o.given("media-listen") {
		if err := checkListen("--media-listen", o.MediaListen); err != nil {
			return err
		}
	}
	if o.Base != "" {
		if err := checkSource(o.Base, ""); err != nil {
			return err
		}
	}
	if o.MediaURL != "" {
		if u, err := url.Parse(o.MediaURL); err != nil || u.Host == "" || u.User != nil || u.RawQuery != "" || u.Scheme != "http" && u.Scheme != "https" {
			return usagef("--media-url is not the beginning of an http or https URL, without user, password and query")
		}
	}
	if detach && o.given("media-listen") {
		return usagef("--detach and --media-listen exclude each other: nothing is served once this command has left; use oaictl iso serve, and --media-url")
	}
	return nil
}

func (o *bootOptions) given(flag string) bool { return o.flags != nil && o.flags.Changed(flag) }

// fits refuses flags for BMCs where the file has none, and a run that would
// leave machines without what they boot.
func (o *bootOptions) fits(file string, hosts []*spec.Host, detach bool) error {
	if len(hosts) == 0 {
		for _, flag := range []string{"base", "media-listen", "media-url", "bmc-proxy", "reboot-running"} {
			if o.given(flag) {
				return usagef("--%s: no host of %s is booted through a BMC: that takes bmc.address, bmc.credentials and boot.method redfish", flag, file)
			}
		}
		return nil
	}
	if detach && o.MediaURL == "" {
		return usagef("--detach needs --media-url where machines boot through their BMCs: they read their images after this command has left, from oaictl iso serve")
	}
	return nil
}

func proxyURL(text string) (*url.URL, error) {
	if text == "" {
		return nil, nil
	}
	u, err := url.Parse(text)
	if err != nil || u.Host == "" || u.Scheme != "http" && u.Scheme != "https" {
		return nil, usagef("--bmc-proxy is not an http or https URL")
	}
	return u, nil
}

// mediaKeyFile holds the key of the URLs at which a cluster's images are found.
func mediaKeyFile(clusterDir string) string { return filepath.Join(clusterDir, "media.key") }

// mediaURL is where BMCs find a server that listens at an address: as the user
// says; else at that address; else where the way to all of them begins.
func (o *bootOptions) mediaURL(ctx context.Context, listen netip.AddrPort, hosts []*spec.Host, route func(context.Context, *spec.BMC) (netip.Addr, error)) (string, error) {
	if o.MediaURL != "" {
		return o.MediaURL, nil
	}
	at := func(addr netip.Addr) string { return "http://" + netip.AddrPortFrom(addr, listen.Port()).String() }
	if addr := listen.Addr().Unmap(); addr.IsValid() && !addr.IsUnspecified() {
		return at(addr), nil
	}
	if o.BMCProxy != "" {
		return "", usagef("--media-url is needed with --bmc-proxy: how BMCs behind a proxy reach this machine is not to be seen from here")
	}
	var (
		ways   []netip.Addr
		first  = map[netip.Addr]string{}
		failed error
	)
	for _, host := range hosts {
		addr, err := route(ctx, host.BMC)
		if err != nil {
			failed = err // the plane tells of this host
			continue
		}
		if first[addr] == "" {
			first[addr] = host.Name
			ways = append(ways, addr)
		}
	}
	switch len(ways) {
	case 0:
		return "", usagef("no way leads to any BMC from here (%w): say with --media-url where BMCs reach this machine", failed)
	case 1:
		return at(ways[0]), nil
	}
	text := ""
	for _, addr := range ways {
		text += fmt.Sprintf("; %s is reached from %s", first[addr], addr)
	}
	return "", usagef("BMCs may reach this machine at different addresses%s: say which with --media-url", text)
}

// toBoot is the cluster whose hosts a run may boot: an install has nothing to do
// with those that can only be added.
func toBoot(desired *install.Desired) *spec.Cluster {
	if desired.Options.AddNodes {
		return desired.Spec
	}
	return desired.Spec.AtInstall()
}

// stillReading are the hosts that end with the media server of a run.
func stillReading(desired *install.Desired, result install.Result) []string {
	if result.Observed == nil {
		return nil
	}
	return install.Reading(desired, result.Observed)
}
