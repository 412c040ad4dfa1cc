//go:build linux

package network

import (
	"context"
	"fmt"
	"log/slog"
	"net"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/go-openapi/strfmt"
	"github.com/openshift/assisted-service/models"

	"github.com/oaictl/oaictl/internal/host/network/dhcp"
	"github.com/oaictl/oaictl/internal/host/network/probe"
	"github.com/oaictl/oaictl/internal/shared/clock"
)

// DHCP gets the virtual IP addresses of a cluster from a server of DHCP.
type DHCP struct {
	// NICs are the interfaces of this machine.
	NICs func() ([]probe.NIC, error)
	// Open sends and receives frames on an interface, with another MAC address.
	Open  func(nic probe.NIC, mac net.HardwareAddr) (dhcp.Wire, error)
	Clock clock.Clock
	Log   *slog.Logger
}

// leaseTime is the longest that a lease may take. The service asks again.
const leaseTime = 28 * time.Second

// Execute implements Executor.
func (d DHCP) Execute(ctx context.Context, args []string) (exitCode int, stdout, stderr string) {
	var request models.DhcpAllocationRequest
	if err := decode(d.Log, "dhcp-lease-allocate", args, &request); err != nil {
		return refuse(failed, err)
	}
	nic, err := d.nic(request.Interface)
	if err != nil {
		return refuse(failed, fmt.Errorf("dhcp-lease-allocate: %w", err))
	}
	var response models.DhcpAllocationResponse
	var apiErr, ingressErr error
	var both sync.WaitGroup
	both.Go(func() {
		response.APIVipAddress, response.APIVipLease, apiErr = d.lease(ctx, nic, "api", request.APIVipMac, request.APIVipLease)
	})
	both.Go(func() {
		response.IngressVipAddress, response.IngressVipLease, ingressErr = d.lease(ctx, nic, "ingress", request.IngressVipMac,
			request.IngressVipLease)
	})
	both.Wait()
	for _, err := range []error{apiErr, ingressErr} {
		if err != nil {
			return refuse(failed, fmt.Errorf("dhcp-lease-allocate: %w", err))
		}
	}
	return answer(response)
}

func (d DHCP) nic(name *string) (probe.NIC, error) {
	if name == nil {
		return probe.NIC{}, fmt.Errorf("the name of the network interface: %w", errMissing)
	}
	nics, err := d.NICs()
	if err != nil {
		return probe.NIC{}, fmt.Errorf("find the network interfaces of this machine: %w", err)
	}
	at := slices.IndexFunc(nics, func(n probe.NIC) bool { return n.Name == *name && n.Ethernet() })
	if at < 0 {
		return probe.NIC{}, fmt.Errorf("this machine has no Ethernet interface %q with an address", *name)
	}
	return nics[at], nil
}

// lease gets the address for a virtual IP, the one of its earlier lease if there is one. The name is that of its link in
// the file that the nodes of the cluster get.
func (d DHCP) lease(ctx context.Context, nic probe.NIC, name string, mac *strfmt.MAC, earlier string) (*strfmt.IPv4, string, error) {
	if mac == nil {
		return nil, "", fmt.Errorf("the MAC address of the virtual IP %s: %w", name, errMissing)
	}
	hardware, err := net.ParseMAC(mac.String())
	const group = 1 // a bit of the first byte
	if err != nil || len(hardware) != len(nic.MAC) || hardware[0]&group != 0 {
		return nil, "", fmt.Errorf("%q is no MAC address of a machine", mac.String())
	}
	wire, err := d.Open(nic, hardware)
	if err != nil {
		return nil, "", fmt.Errorf("open a socket for DHCP on %s: %w", nic.Name, err)
	}
	defer wire.Close()
	ctx, cancel := context.WithTimeout(ctx, leaseTime)
	defer cancel()
	client := dhcp.Client{
		Wire: wire, Clock: d.Clock, MAC: hardware, Hostname: strings.ReplaceAll(hardware.String(), ":", "-") + "-" + name,
	}
	given, err := client.Lease(ctx, dhcp.AddressIn(earlier))
	if err != nil {
		return nil, "", fmt.Errorf("get a lease for the virtual IP %s with the MAC address %s on %s: %w", name, hardware, nic.Name, err)
	}
	address := strfmt.IPv4(given.Address.String())
	return &address, given.Text(name), nil
}
