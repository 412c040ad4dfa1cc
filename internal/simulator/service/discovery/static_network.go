package discovery

import (
	"encoding/json"
	"errors"
	"fmt"
	"regexp"
	"slices"

	"sigs.k8s.io/yaml"

	"github.com/oaictl/oaictl/internal/simulator/service/model"
	"github.com/oaictl/oaictl/internal/simulator/service/wire"
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

// StaticProblems lists what keeps configurations from being applied. What cannot be
// read ends the list.
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
		names[m.LogicalNIC], macs[m.MAC] = true, true
	}
	switch {
	case len(h.Map) == 0:
		return fmt.Sprintf("at least one interface for host %d must be provided", index)
	case len(names) < len(h.Map) || len(macs) < len(h.Map):
		return fmt.Sprintf("MACs and Interfaces for host %d must be unique", index)
	}
	return ""
}

// staticState is the part of a configuration that the service looks at itself.
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
		return slices.ContainsFunc(h.Map, func(m model.MACName) bool { return m.LogicalNIC == name }) || byMAC[name] || ownName.MatchString(name)
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
