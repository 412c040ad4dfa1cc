package service

import (
	"fmt"
	"slices"
	"strings"

	"github.com/goccy/go-yaml"
)

// staticHost is one machine's network configuration.
type staticHost struct {
	Map         []macName `json:"mac_interface_map"`
	NetworkYAML string    `json:"network_yaml"`
}

type macName struct {
	LogicalNIC string `json:"logical_nic_name"`
	MAC        string `json:"mac_address"`
}

// virtualTypes are interfaces that need no card of their own.
func virtualTypes() []string {
	return []string{"bond", "vlan", "linux-bridge", "ovs-bridge", "ovs-interface", "team", "dummy", "vxlan", "veth", "vrf",
		"mac-vlan", "mac-vtap", "macsec", "ipvlan", "loopback", "hsr", "infiniband"}
}

// problems lists what keeps the configuration from being applied.
func (h *staticHost) problems(index int) []string {
	var list []string
	if len(h.Map) == 0 {
		list = append(list, fmt.Sprintf("mac_interface_map for network yaml (%d) is empty", index))
	}
	var state struct {
		Interfaces []struct {
			Name       string `yaml:"name"`
			Type       string `yaml:"type"`
			Identifier string `yaml:"identifier"`
			MAC        string `yaml:"mac-address"`
		} `yaml:"interfaces"`
	}
	if err := yaml.Unmarshal([]byte(h.NetworkYAML), &state); err != nil {
		return append(list, fmt.Sprintf("failed to validate network yaml for host %d, %s", index, firstLine(err.Error())))
	}
	for _, i := range state.Interfaces {
		if slices.Contains(virtualTypes(), i.Type) || i.Identifier == "mac-address" && i.MAC != "" {
			continue
		}
		known := slices.ContainsFunc(h.Map, func(m macName) bool { return m.LogicalNIC == i.Name })
		if !known && !strings.Contains(i.Name, ".") {
			list = append(list, fmt.Sprintf("mac-interface mapping for interface %s is missing", i.Name))
		}
	}
	return list
}
