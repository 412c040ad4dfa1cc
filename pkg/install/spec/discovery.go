package spec

import "fmt"

// ForInfraEnv is the cluster as the InfraEnv of that name has it: with what the host that it
// serves alone says of its image (discovery) in place of what the cluster says. It is the
// cluster itself where no host says anything.
func (c *Cluster) ForInfraEnv(name string) *Cluster {
	host := c.HostAloneIn(name)
	if host == nil || host.Discovery == nil {
		return c
	}
	d, own := host.Discovery, *c
	s := &own.Spec
	if !d.PullSecret.IsZero() {
		s.PullSecret = d.PullSecret
	}
	if d.SSHKeys != nil {
		s.SSHKeys = d.SSHKeys
	}
	if d.Proxy != nil {
		s.Proxy = *d.Proxy
	}
	switch {
	case d.NTP == nil:
	case s.Network.NTP != nil:
		s.Network.NTP = d.NTP
	default:
		s.Network.Defaults.NTP = d.NTP
	}
	if d.KernelArgs != nil {
		s.Discovery.KernelArgs = d.KernelArgs
	}
	if d.Ignition != nil {
		s.Discovery.Ignition = d.Ignition
	}
	if d.TrustBundle != nil {
		s.Registry.TrustBundle = d.TrustBundle
	}
	if d.OSVersion != "" {
		s.Discovery.OSVersion = d.OSVersion
	}
	if d.Image != "" {
		s.Boot.Image = d.Image
	}
	if d.NetworkDelay != 0 {
		s.Discovery.NetworkDelay = d.NetworkDelay
	}
	return &own
}

// discovery checks what a host says of the image that it has to itself.
func (k *checker) discovery(i int, h *Host) {
	d, field := h.Discovery, hostField(i, "discovery")
	if d == nil {
		return
	}
	if h.Match.InfraEnv == "" {
		k.Report(field, "belongs to the InfraEnv that the host shares with other hosts",
			"also write match.infraEnv, which gives the host its own InfraEnv, or set it for all hosts: spec.discovery")
		return
	}
	k.pullSecretContent(field+".pullSecret", &d.PullSecret)
	k.publicKeys(field+".sshKeys", d.SSHKeys)
	if d.Proxy != nil {
		k.proxy(field+".proxy", *d.Proxy)
	}
	k.TimeServers(field+".ntp", d.NTP)
	k.kernelArgs(field+".kernelArgs", d.KernelArgs)
	k.ignition(field+".ignition", d.Ignition)
	k.certificates(field+".trustBundle", d.TrustBundle)
	k.Valid(field+".osVersion", d.OSVersion, releaseVersion.MatchString, "%q is not a version of OpenShift", liveVersion)
	k.bootImage(field+".image", d.Image)
}

func (k *checker) publicKeys(field string, keys []PublicSource) {
	for i := range keys {
		k.publicKey(fmt.Sprintf("%s[%d]", field, i), &keys[i])
	}
}
