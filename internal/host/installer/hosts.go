//go:build linux

package installer

import (
	"context"
	"encoding/json"
	"fmt"
	"net/netip"
	"slices"
	"strings"

	"github.com/openshift/assisted-service/models"

	"github.com/oaictl/oaictl/internal/host/kube"
)

// clusterHost is a host of the cluster, as the service has it.
type clusterHost struct {
	*models.Host
	name      string
	addresses []netip.Addr
}

// hostOf finds the host that a node is: by its name, else by its address. It is -1 if there is none. The name of a host goes
// before the address of another: hosts of one lab may have a network with the same addresses.
func hostOf(hosts []clusterHost, node kube.Node) int {
	if at := slices.IndexFunc(hosts, func(h clusterHost) bool { return strings.EqualFold(h.name, node.Name) }); at >= 0 {
		return at
	}
	return slices.IndexFunc(hosts, func(h clusterHost) bool {
		return slices.ContainsFunc(node.Addresses(), func(ip string) bool {
			address, err := netip.ParseAddr(ip)
			return err == nil && slices.Contains(h.addresses, address.Unmap())
		})
	})
}

// otherHosts are the cluster's hosts but this one. A host that cannot be read has no addresses.
func (r *run) otherHosts(ctx context.Context) ([]clusterHost, error) {
	cluster, err := r.Service.Cluster(ctx, r.cluster, true)
	if err != nil {
		return nil, fmt.Errorf("list the hosts of the cluster: %w", err)
	}
	hosts := []clusterHost{}
	for _, host := range cluster.Hosts {
		if host == nil || host.ID == nil || *host.ID == r.host || host.Status != nil && *host.Status == models.HostStatusDisabled {
			continue
		}
		hosts = append(hosts, readHost(host))
	}
	return hosts, nil
}

func readHost(host *models.Host) clusterHost {
	h := clusterHost{Host: host, name: host.RequestedHostname}
	var inventory models.Inventory
	if json.Unmarshal([]byte(host.Inventory), &inventory) != nil {
		return h
	}
	if h.name == "" {
		h.name = inventory.Hostname
	}
	for _, i := range inventory.Interfaces {
		if i == nil {
			continue
		}
		for _, address := range slices.Concat(i.IPV4Addresses, i.IPV6Addresses) {
			if prefix, err := netip.ParsePrefix(address); err == nil {
				h.addresses = append(h.addresses, prefix.Addr().Unmap())
			}
		}
	}
	return h
}

// waitHosts lets a worker wait until two control plane nodes are done: these serve its config.
func (r *run) waitHosts(ctx context.Context) error {
	const needed = 2
	return r.waitFor(ctx, wait{
		what: "2 control plane hosts to be done",
		next: "look at the control plane hosts at the service",
		look: func(ctx context.Context) (bool, string, error) {
			hosts, err := r.otherHosts(ctx)
			if err != nil {
				return false, "", err
			}
			done := 0
			var others []string
			for _, h := range hosts {
				switch {
				case h.Role != models.HostRoleMaster && h.Role != models.HostRoleArbiter:
				case stageOf(h.Host) == models.HostStageDone:
					done++
				default:
					others = append(others, fmt.Sprintf("%s is at %q", h.name, stageOf(h.Host)))
				}
			}
			return done >= needed, fmt.Sprintf("%d are done; %s", done, strings.Join(others, "; ")), nil
		},
	})
}
