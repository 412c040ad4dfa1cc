package create

import (
	"context"
	"errors"
	"net/netip"
	"strings"
	"testing"

	"github.com/spf13/pflag"

	"github.com/oaictl/oaictl/internal/cli/app"
	"github.com/oaictl/oaictl/internal/shared/must"
	"github.com/oaictl/oaictl/pkg/install/model"
	"github.com/oaictl/oaictl/pkg/install/spec"
)

// TestMediaURL derives the URL that BMCs get, and asks where it would be a guess.
func TestMediaURL(t *testing.T) {
	hosts := []*spec.Host{{Name: "a", BMC: &spec.BMC{Address: "10.0.0.1"}}, {Name: "b", BMC: &spec.BMC{Address: "10.0.0.2"}}}
	routes := func(addrs ...string) func(context.Context, *spec.BMC) (netip.Addr, error) {
		return func(_ context.Context, bmc *spec.BMC) (netip.Addr, error) {
			addr := addrs[0]
			if bmc.Address == "10.0.0.2" {
				addr = addrs[1]
			}
			if addr == "" {
				return netip.Addr{}, errors.New("network is unreachable")
			}
			return netip.MustParseAddr(addr), nil
		}
	}
	for name, c := range map[string]struct {
		options bootOptions
		listen  string
		routes  []string
		want    string // or what the error says
	}{
		"as told":                {bootOptions{MediaURL: "https://media.example.com/x"}, "[::]:8880", []string{"", ""}, "https://media.example.com/x"},
		"at the listener":        {bootOptions{BMCProxy: "http://proxy:3128"}, "192.0.2.1:80", []string{"", ""}, "http://192.0.2.1:80"},
		"one way":                {bootOptions{}, "[::]:8880", []string{"192.0.2.1", "192.0.2.1"}, "http://192.0.2.1:8880"},
		"one way that is IPv6":   {bootOptions{}, "0.0.0.0:8880", []string{"2001:db8::1", "2001:db8::1"}, "http://[2001:db8::1]:8880"},
		"one BMC not to be seen": {bootOptions{}, "[::]:8880", []string{"", "192.0.2.1"}, "http://192.0.2.1:8880"},
		"two ways":               {bootOptions{}, "[::]:8880", []string{"192.0.2.1", "198.51.100.1"}, "a is reached from 192.0.2.1; b is reached from 198.51.100.1: give the correct address with --media-url"},
		"no way":                 {bootOptions{}, "[::]:8880", []string{"", ""}, "there is no route to any BMC from here (network is unreachable)"},
		"behind a proxy":         {bootOptions{BMCProxy: "http://proxy:3128"}, "[::]:8880", []string{"192.0.2.1", "192.0.2.1"}, "--media-url is needed with --bmc-proxy"},
	} {
		got, err := c.options.mediaURL(t.Context(), netip.MustParseAddrPort(c.listen), hosts, routes(c.routes...))
		var usage *app.UsageError
		switch {
		case err != nil && (!errors.As(err, &usage) || !strings.Contains(err.Error(), c.want)):
			t.Errorf("%s: %v, not %q", name, err, c.want)
		case err == nil && got != c.want:
			t.Errorf("%s: %s, not %s", name, got, c.want)
		}
	}
}

// TestBootFlags refuses what means nothing before anything is done.
func TestBootFlags(t *testing.T) {
	host := []*spec.Host{{Name: "a"}}
	for text, c := range map[string]struct {
		detach bool
		hosts  []*spec.Host
		want   string // "" for nothing
	}{
		"":                                {false, host, ""},
		"--base x.iso":                    {false, nil, "--base: no host of f.yaml boots through a BMC"},
		"--reboot-running":                {false, nil, "--reboot-running: no host"},
		"--media-url http://a:1":          {true, host, ""},
		"--media-listen :1":               {true, host, "--detach and --media-listen cannot be used together"},
		"--media-listen 127.0.0.1:8880":   {false, host, ""},
		"--bmc-proxy proxy":               {false, host, "--bmc-proxy is not"},
		"--bmc-proxy http://u:secret@p:1": {false, host, ""},
		"--media-url ftp://a":             {false, host, "--media-url"},
		"--media-url http://u:secret@a":   {false, host, "--media-url"},
		"--media-url http://a?b":          {false, host, "--media-url"},
	} {
		var o bootOptions
		flags := pflag.NewFlagSet("", pflag.ContinueOnError)
		o.declare(flags)
		must.Do(t, flags.Parse(strings.Fields(text)))
		err := o.check(c.detach)
		if err == nil {
			err = o.checkHosts("f.yaml", c.hosts, c.detach)
		}
		if err == nil && c.want != "" || err != nil && (c.want == "" || !strings.Contains(err.Error(), c.want) || strings.Contains(err.Error(), "secret") || app.CodeOf(err) != model.CodeUsage) {
			t.Errorf("%q: %v, not %q", text, err, c.want)
		}
	}
	var o bootOptions
	if err := o.checkHosts("f.yaml", host, true); app.CodeOf(err) != model.CodeUsage || !strings.Contains(err.Error(), "--detach needs --media-url") {
		t.Errorf("--detach without a media server: %v", err)
	}
}
