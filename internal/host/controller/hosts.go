//go:build linux

package controller

import (
	"cmp"
	"encoding/json"
	"errors"
	"net/netip"
	"slices"
	"strings"

	"github.com/openshift/assisted-service/models"

	"github.com/oaictl/oaictl/internal/host/kube"
	"github.com/oaictl/oaictl/internal/shared/escape"
	"github.com/oaictl/oaictl/pkg/install/model"
)

// host is a host of the cluster as the service has it.
type host struct {
	*models.Host
	name      string // of its Node
	addresses []netip.Addr
	networks  []netip.Prefix // that the addresses are in
}

func (h *host) stage() models.HostStage {
	if h.Progress == nil {
		return ""
	}
	return h.Progress.CurrentStage
}

func (h *host) has(statuses ...string) bool {
	return h.Status != nil && slices.Contains(statuses, *h.Status)
}

// hostsOf are the hosts of a cluster, without those of some statuses, ordered by name. The error says which hosts have
// something that cannot be read; they are among the hosts without it, or left out if they have no identity.
func hostsOf(cluster *models.Cluster, without ...string) ([]host, error) {
	var hosts []host
	var errs []error
	for _, one := range cluster.Hosts {
		if one == nil || one.ID == nil || one.InfraEnvID == "" || one.Status == nil {
			errs = append(errs, errors.New("the service sent a host without id, infra_env_id or status"))
			continue
		}
		h := host{Host: one}
		if h.has(without...) {
			continue
		}
		hostname, networks, err := readInventory(one.Inventory)
		h.name = model.NodeName(cmp.Or(one.RequestedHostname, hostname))
		for _, network := range networks {
			h.addresses = append(h.addresses, plain(network.Addr()))
			h.networks = append(h.networks, network.Masked())
		}
		if err != nil {
			errs = append(errs, errors.New(escape.Sprintf("read the inventory of the host %s: %s", one.ID.String(), err)))
		}
		hosts = append(hosts, h)
	}
	slices.SortFunc(hosts, func(a, b host) int { return strings.Compare(a.name, b.name) })
	return hosts, errors.Join(errs...)
}

// readInventory reads the hostname and the addresses in an inventory, with the networks that they are in.
func readInventory(inventory string) (hostname string, addresses []netip.Prefix, err error) {
	var content struct {
		Hostname   string `json:"hostname"`
		Interfaces []struct {
			V4 []string `json:"ipv4_addresses"`
			V6 []string `json:"ipv6_addresses"`
		} `json:"interfaces"`
	}
	if err := json.Unmarshal([]byte(inventory), &content); err != nil {
		return "", nil, err
	}
	var errs []error
	for _, nic := range content.Interfaces {
		for _, text := range slices.Concat(nic.V4, nic.V6) {
			prefix, err := netip.ParsePrefix(text)
			if err != nil {
				errs = append(errs, err)
				continue
			}
			addresses = append(addresses, prefix)
		}
	}
	return content.Hostname, addresses, errors.Join(errs...)
}

// plain is an address in the form in which addresses are compared.
func plain(address netip.Addr) netip.Addr { return address.Unmap().WithZone("") }

// hostOf finds the host of a Node: by its name, or else by an internal address. A host may know itself by a short name while
// its kubelet uses the long one.
func hostOf(node *kube.Node, hosts []host) *host {
	name := model.NodeName(node.Name)
	if i := slices.IndexFunc(hosts, func(h host) bool { return h.name == name }); i >= 0 {
		return &hosts[i]
	}
	for _, text := range node.Addresses() {
		address, err := netip.ParseAddr(text)
		if err != nil {
			continue
		}
		if i := slices.IndexFunc(hosts, func(h host) bool { return slices.Contains(h.addresses, plain(address)) }); i >= 0 {
			return &hosts[i]
		}
	}
	return nil
}
