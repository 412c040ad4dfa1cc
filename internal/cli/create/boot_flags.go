package create

import (
	"net/url"

	"github.com/spf13/pflag"

	"github.com/oaictl/oaictl/internal/cli/base"
	"github.com/oaictl/oaictl/pkg/install"
	"github.com/oaictl/oaictl/pkg/install/spec"
)

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
	flags.StringVar(&o.MediaListen, "media-listen", base.MediaListen, "`ADDRESS` at which BMCs read their machines' images")
	flags.StringVar(&o.MediaURL, "media-url", "", "`URL` that BMCs are told for it (default: derived from the way to them)")
	flags.BoolVar(&o.RebootRunning, "reboot-running", false, "permit to reboot machines that are on and have not registered")
	base.DeclareBMCProxy(flags, &o.BMCProxy)
}

// check refuses values that mean nothing, and combinations of them.
func (o *bootOptions) check(detach bool) error {
	if _, err := base.ProxyURL(o.BMCProxy); err != nil {
		return err
	}
	if o.given("media-listen") {
		if err := base.CheckListen("--media-listen", o.MediaListen); err != nil {
			return err
		}
	}
	if o.Base != "" {
		if err := base.CheckSource(o.Base, ""); err != nil {
			return err
		}
	}
	if o.MediaURL != "" {
		if u, err := url.Parse(o.MediaURL); err != nil || u.Host == "" || u.User != nil || u.RawQuery != "" || u.Scheme != "http" && u.Scheme != "https" {
			return base.Usagef("--media-url is not the beginning of an http or https URL, without user, password and query")
		}
	}
	if detach && o.given("media-listen") {
		return base.Usagef("--detach and --media-listen exclude each other: nothing is served once this command has left; use oaictl iso serve, and --media-url")
	}
	return nil
}

func (o *bootOptions) given(flag string) bool { return o.flags != nil && o.flags.Changed(flag) }

// checkHosts refuses flags for BMCs where the file has none, and a run that would
// leave machines without what they boot.
func (o *bootOptions) checkHosts(file string, hosts []*spec.Host, detach bool) error {
	if len(hosts) == 0 {
		for _, flag := range []string{"base", "media-listen", "media-url", "bmc-proxy", "reboot-running"} {
			if o.given(flag) {
				return base.Usagef("--%s: no host of %s is booted through a BMC: that takes bmc.address, bmc.credentials and boot.method redfish", flag, file)
			}
		}
		return nil
	}
	if detach && o.MediaURL == "" {
		return base.Usagef("--detach needs --media-url where machines boot through their BMCs: they read their images after this command has left, from oaictl iso serve")
	}
	return nil
}

// stillReading are the hosts that end with the media server of a run.
func stillReading(desired *install.Desired, result install.Result) []string {
	if result.Observed == nil {
		return nil
	}
	return install.NewSnapshot(desired, result.Observed).Reading()
}
