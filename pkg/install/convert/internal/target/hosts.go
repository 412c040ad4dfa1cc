package target

import (
	"slices"

	"github.com/oaictl/oaictl/pkg/install/convert/internal/loss"
	"github.com/oaictl/oaictl/pkg/install/internal/objects"
	"github.com/oaictl/oaictl/pkg/install/spec"
)

// HostnameOf is the hostname, or the host's name where the machine keeps its own.
func HostnameOf(host *spec.Host) string {
	if host.Hostname == "" {
		return host.Name
	}
	return host.Hostname
}

// AddressOrLoss is the BMC's address in metal3's words, or as it is where it does
// not say enough for these.
func (w *Writer) AddressOrLoss(host *spec.Host) string {
	before := len(w.Maker.List)
	address := w.Metal3Address(host)
	for _, problem := range w.Maker.List[before:] {
		w.Lose(problem.Field, host.BMC.Address, problem.Message+"; "+problem.Remedy)
	}
	w.Maker.List = w.Maker.List[:before]
	if address == "" {
		return host.BMC.Address
	}
	return address
}

// MACsOf are the MAC addresses by which a host is recognised: that of match
// first, then those of its network.
func MACsOf(c *spec.Cluster, host *spec.Host) []string {
	var macs []string
	if host.Match.MAC != "" {
		macs = append(macs, host.Match.MAC)
	}
	if _, interfaces, ok := c.StaticNetwork(host); ok {
		for _, nic := range interfaces {
			if !slices.Contains(macs, nic.MAC) {
				macs = append(macs, nic.MAC)
			}
		}
	}
	return macs
}

// FencingEntry is how a host is powered off, without what says which host it is;
// ok is false for one that has no fencing, or whose credentials cannot be
// written, and are lost.
func (w *Writer) FencingEntry(host *spec.Host) (entry objects.Fields, ok bool) {
	if host.Fencing == nil {
		return nil, false
	}
	why := ""
	user, password, known := host.Fencing.Credentials.Login()
	switch {
	case !known || password.IsZero():
		why = "the credentials stand in a Secret on a hub"
	case !w.Secrets:
		why = "secrets were not asked for"
	}
	if why != "" {
		w.LoseHost(host, "fencing", loss.Plain(host.Fencing), why)
		return nil, false
	}
	return objects.Fields{
		"address": objects.FencingAddress(host), "username": user, "password": password.Reveal(), "certificateVerification": objects.FencingVerification(host),
	}, true
}
