package discovery

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"

	"github.com/oaictl/oaictl/internal/simulator/service/model"
	"github.com/oaictl/oaictl/internal/simulator/service/wire"
	"github.com/openshift/assisted-service/models"
	"sigs.k8s.io/yaml"
)

// The types of an infra-env's image.
const (
	FullISO         = "full-iso"
	MinimalISO      = "minimal-iso"
	DisconnectedISO = "disconnected-iso"
)

var (
	// MACPattern is what a hardware address looks like.
	MACPattern = regexp.MustCompile(`^([0-9A-Fa-f]{2}[:]){5}([0-9A-Fa-f]{2})$`)
	// ownName is how the live system names a card by where it is.
	ownName = regexp.MustCompile("^en[PsvxXbucaipod]")
)

// StaticProblems lists what keeps configurations from being applied. What cannot be read ends the list.
func StaticProblems(hosts []model.StaticHost) []string {
	var list []string
	for i := range hosts {
		h := &hosts[i]
		if text := mapProblem(h, i); text != "" {
			list = append(list, text)
		}
		state, err := read(h)
		if err != nil {
			return append(list, fmt.Sprintf("failed to validate network yaml for host %d, %s", i, wire.FirstLine(err.Error())))
		}
		if text := nameProblem(h, state); text != "" {
			list = append(list, text)
		}
	}
	return list
}

func mapProblem(h *model.StaticHost, index int) string {
	names, macs := map[string]bool{}, map[string]bool{}
	for _, m := range h.Map {
		names[m.LogicalNicName], macs[m.MacAddress] = true, true
	}
	switch {
	case len(h.Map) == 0:
		return fmt.Sprintf("at least one interface for host %d must be provided", index)
	case len(names) < len(h.Map) || len(macs) < len(h.Map):
		return fmt.Sprintf("MACs and Interfaces for host %d must be unique", index)
	}
	return ""
}

type staticState struct {
	Interfaces []struct {
		Name            string `json:"name"`
		Type            string `json:"type"`
		Identifier      string `json:"identifier"`
		LinkAggregation struct {
			Port []string `json:"port"`
		} `json:"link-aggregation"`
	} `json:"interfaces"`
}

func read(h *model.StaticHost) (staticState, error) {
	var state staticState
	if h.NetworkYAML == "" {
		return state, errors.New("cannot generate configuration with an empty host YAML")
	}
	document, err := yaml.YAMLToJSON([]byte(h.NetworkYAML))
	if err != nil {
		return state, err
	}
	return state, json.Unmarshal(document, &state)
}

// nameProblem is the first card that the service could not find on a machine.
func nameProblem(h *model.StaticHost, state staticState) string {
	byMAC := map[string]bool{}
	for _, i := range state.Interfaces {
		byMAC[i.Name] = i.Identifier == "mac-address"
	}
	found := func(name string) bool {
		return slices.ContainsFunc(h.Map, func(m *models.MacInterfaceMapItems0) bool { return m.LogicalNicName == name }) || byMAC[name] ||
			ownName.MatchString(name)
	}
	for _, i := range state.Interfaces {
		missing := false
		switch i.Type {
		case "ethernet", "802-3-ethernet":
			missing = !found(i.Name)
		case "bond":
			missing = slices.ContainsFunc(i.LinkAggregation.Port, func(port string) bool { return !found(port) })
		}
		if missing {
			return fmt.Sprintf("mac-interface mapping for interface %s is missing and not a physical interface", i.Name)
		}
	}
	return ""
}

type networkFile struct {
	path string
	mode int
	text string
}

// networkUnit is the unit of the live system that gives a machine its network.
const (
	networkUnit     = "pre-network-manager-config.service"
	networkUnitText = "[Unit]\nDescription=Find the network of this machine\nAfter=NetworkManager-wait-online.service\n" +
		"Before=nmstate.service\nDefaultDependencies=no\n\n[Service]\nUser=root\nType=oneshot\nTimeoutSec=60\nExecStart=/bin/bash " +
		"/usr/local/bin/pre-network-manager-config.sh\nRemainAfterExit=no\n\n[Install]\nWantedBy=multi-user.target\n"
)

func networkScripts() []networkFile {
	return []networkFile{
		{"/usr/local/bin/pre-network-manager-config.sh", 0o755,
			"#!/bin/bash\n. /usr/local/bin/common_network_script.sh\nfor folder in /etc/assisted/network/host*; do\n\tis_mine \"$folder\" && cp " +
				"\"$folder\"/*.yml /etc/nmstate/\ndone\n"},
		{"/usr/local/bin/common_network_script.sh", 0o755,
			"is_mine() {\n\tcut -d= -f1 \"$1/mac_interface.ini\" | grep -qixFf - <(cat /sys/class/net/*/address)\n}\n"},
	}
}

func networkFiles(e *model.InfraEnv) []networkFile {
	files := make([]networkFile, 0, 2*len(e.Static))
	for i := range e.Static {
		folder := fmt.Sprintf("/etc/assisted/network/host%d", i)
		files = append(files,
			networkFile{folder + "/mac_interface.ini", 0o600, pairs(&e.Static[i])},
			networkFile{fmt.Sprintf("%s/ymlFile%d.yml", folder, i), 0o600, e.Static[i].Policy})
	}
	return files
}

func pairs(h *model.StaticHost) string {
	lines := make([]string, 0, len(h.Map))
	for _, m := range h.Map {
		lines = append(lines, m.MacAddress+"="+m.LogicalNicName)
	}
	slices.Sort(lines)
	return strings.Join(lines, "\n")
}

// NMPolicy is the configuration with each card found by its MAC address, as the live
// system reads it from OpenShift 4.18 on. It is empty where the configuration is no
// YAML, which is refused elsewhere.
func NMPolicy(h *model.StaticHost) string {
	var state map[string]any
	if yaml.Unmarshal([]byte(h.NetworkYAML), &state) != nil {
		return ""
	}
	sayDHCP(state)
	captured := map[string]string{}
	var text strings.Builder
	text.WriteString("capture:\n")
	for i, m := range h.Map {
		fmt.Fprintf(&text, "  iface%d: interfaces.mac-address == %q\n", i, strings.ToUpper(m.MacAddress))
		captured[m.LogicalNicName] = fmt.Sprintf("{{ capture.iface%d.interfaces.0.name }}", i)
	}
	text.WriteString("desiredState:\n")
	for _, line := range yamlLines(renamed(state, captured)) {
		text.WriteString("  " + line + "\n")
	}
	return text.String()
}

// yamlLines are a document's lines, keys in order; by hand, since there may be thousands of documents.
func yamlLines(value any) []string {
	var lines []string
	switch v := value.(type) {
	case map[string]any:
		for _, key := range slices.Sorted(maps.Keys(v)) {
			list, isList := v[key].([]any)
			below, isMap := v[key].(map[string]any)
			switch {
			case isList && len(list) > 0:
				lines = append(append(lines, key+":"), yamlLines(list)...)
			case isMap && len(below) > 0:
				lines = append(lines, key+":")
				for _, line := range yamlLines(below) {
					lines = append(lines, "  "+line)
				}
			default:
				lines = append(lines, key+": "+yamlWord(v[key]))
			}
		}
	case []any:
		for _, item := range v {
			for i, line := range yamlLines(item) {
				lines = append(lines, []string{"- ", "  "}[min(i, 1)]+line)
			}
		}
	default:
		lines = append(lines, yamlWord(v))
	}
	return lines
}

var plainWord = regexp.MustCompile(`^([A-Za-z][A-Za-z0-9._/-]*|[0-9]+(\.[0-9]+){3}(/[0-9]+)?)$`)

func yamlWord(value any) string {
	if text, isText := value.(string); isText && plainWord.MatchString(text) && !slices.Contains(
		[]string{"y", "n", "yes", "no", "on", "off", "true", "false", "null"}, strings.ToLower(text),
	) {
		return text
	}
	text, err := json.Marshal(value)
	if err != nil {
		return "null" // nothing that was read from JSON is unfit for it
	}
	return string(text)
}

// sayDHCP writes what the addresses of an interface leave open: no DHCP, and no autoconfiguration.
func sayDHCP(state map[string]any) {
	interfaces, _ := state["interfaces"].([]any)
	for _, item := range interfaces {
		card, _ := item.(map[string]any)
		for family, open := range map[string][]string{"ipv4": {"dhcp"}, "ipv6": {"dhcp", "autoconf"}} {
			ip, isMap := card[family].(map[string]any)
			if !isMap {
				continue
			}
			for _, key := range open {
				if _, said := ip[key]; !said {
					ip[key] = false
				}
			}
		}
	}
}

func renamed(value any, names map[string]string) any {
	switch v := value.(type) {
	case map[string]any:
		for key, item := range v {
			v[key] = renamed(item, names)
		}
	case []any:
		for i, item := range v {
			v[i] = renamed(item, names)
		}
	case string:
		if name, known := names[v]; known {
			return name
		}
	}
	return value
}
