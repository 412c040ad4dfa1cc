package spec

import (
	"testing"
	"time"
)

// An InfraEnv that serves one host has what that says of it, and else what the cluster says.
func TestForInfraEnv(t *testing.T) {
	c := &Cluster{Spec: ClusterSpec{
		PullSecret: NewSecret("shared").Source(), SSHKeys: []PublicSource{{Inline: "ssh-ed25519 AAAA shared", content: "ssh-ed25519 AAAA shared"}},
		Proxy: Proxy{HTTP: "http://shared:3128"}, Registry: Registry{TrustBundle: &PublicSource{content: "shared"}}, Boot: Boot{Image: ImageFull},
		Network:   Network{Defaults: NetworkDefaults{NTP: []string{"shared"}}},
		Discovery: Discovery{KernelArgs: []string{"shared=1"}, OSVersion: "4.20", NetworkDelay: Duration(time.Second)},
		Hosts: []Host{
			{Name: "plain", Match: Match{InfraEnv: "plain-env"}},
			{Name: "own", Match: Match{InfraEnv: "own-env"}, Discovery: &HostDiscovery{
				PullSecret: NewSecret("own").Source(), SSHKeys: []PublicSource{}, Proxy: &Proxy{}, NTP: []string{"own"}, KernelArgs: []string{},
				TrustBundle: &PublicSource{content: "own"}, OSVersion: "4.21", Image: ImageMinimal, NetworkDelay: Duration(time.Minute),
				Ignition: &Document{content: "{}"},
			}},
		},
	}}
	for _, name := range []string{"", "lab", "plain-env"} {
		if c.ForInfraEnv(name) != c {
			t.Errorf("the InfraEnv %q has something of its own", name)
		}
	}
	own := c.ForInfraEnv("own-env")
	if got := own.PullSecret().Reveal(); got != "own" {
		t.Errorf("pull secret %s", got)
	}
	s := own.Spec
	if own.SSHKey() != "" || s.Proxy.HTTP != "" || own.TrustBundle() != "own\n" || s.Boot.Image != ImageMinimal || s.Discovery.OSVersion != "4.21" ||
		len(s.Discovery.KernelArgs) > 0 || time.Duration(s.Discovery.NetworkDelay) != time.Minute || s.Discovery.Ignition.Text() != "{}" {
		t.Errorf("it has %+v", s)
	}
	if len(s.Network.NTP) > 0 || s.Network.Defaults.NTP[0] != "own" {
		t.Errorf("time servers %v and %v", s.Network.NTP, s.Network.Defaults.NTP)
	}
	if own.Host("own") != c.Host("own") || c.PullSecret().Reveal() != "shared" || len(c.Spec.Discovery.KernelArgs) != 1 {
		t.Error("the cluster itself has become another one")
	}
	c.Spec.Network = Network{NTP: []string{"only"}}
	if s := c.ForInfraEnv("own-env").Spec; s.Network.NTP[0] != "own" || len(s.Network.Defaults.NTP) > 0 {
		t.Errorf("beside the only ones: time servers %v and %v", s.Network.NTP, s.Network.Defaults.NTP)
	}
}
