package live

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/vincent-petithory/dataurl"
)

// Agent is the discovery agent as a live system's configuration runs it.
type Agent struct {
	// ServiceURL is the assisted-service that it calls (--url).
	ServiceURL string
	// InfraEnvID is the infra-env that it registers with (--infra-env-id).
	InfraEnvID string
	// Token identifies it (environment PULL_SECRET_TOKEN); empty where the service asks for none.
	Token string
}

// ErrNoAgent is a live system that runs, and tells nobody.
var ErrNoAgent = errors.New("its Ignition runs no discovery agent")

const agentUnit = "agent.service"

// ReadAgent is the agent that an image of a size runs once it has booted.
func ReadAgent(image io.ReaderAt, size int64) (Agent, error) {
	configs, err := Ignition(image, size)
	if err != nil {
		return Agent{}, err
	}
	return AgentIn(configs...)
}

// AgentIn is the agent that a live system runs with these configs.
func AgentIn(configs ...[]byte) (Agent, error) {
	unit := ""
	for _, config := range configs {
		found, err := findUnit(config, 0)
		if err != nil {
			return Agent{}, fmt.Errorf("read its Ignition: %w", err)
		}
		if found != "" {
			unit = found
		}
	}
	agent := readUnit(unit)
	if agent.ServiceURL == "" || agent.InfraEnvID == "" {
		return Agent{}, ErrNoAgent
	}
	return agent, nil
}

// ignitionConfig is the part of a config that starts an agent.
type ignitionConfig struct {
	Ignition struct {
		Config struct {
			Merge   []struct{ Source string }
			Replace struct{ Source string }
		}
	}
	Systemd struct {
		Units []struct {
			Name, Contents string
			Enabled, Mask  *bool
		}
	}
}

// findUnit is the text of the agent's unit in a config or those merged into it; empty where none starts.
func findUnit(config []byte, depth int) (string, error) {
	const deepest = 4
	var parsed ignitionConfig
	if err := json.Unmarshal(config, &parsed); err != nil {
		return "", err
	}
	text := ""
	sources := parsed.Ignition.Config.Merge
	if parsed.Ignition.Config.Replace.Source != "" {
		sources = append(sources, parsed.Ignition.Config.Replace)
	}
	for _, source := range sources {
		if !strings.HasPrefix(source.Source, "data:") || depth == deepest {
			continue // there is nobody to fetch it from before the network is up
		}
		data, err := dataurl.DecodeString(source.Source)
		if err != nil {
			return "", fmt.Errorf("decode a config that is merged: %w", err)
		}
		found, err := findUnit(data.Data, depth+1)
		if err != nil {
			return "", err
		}
		if found != "" {
			text = found
		}
	}
	for _, unit := range parsed.Systemd.Units {
		started := unit.Enabled != nil && *unit.Enabled && (unit.Mask == nil || !*unit.Mask)
		if unit.Name == agentUnit && started && unit.Contents != "" {
			text = unit.Contents
		}
	}
	return text, nil
}

func readUnit(text string) Agent {
	var agent Agent
	for line := range strings.Lines(text) {
		key, value, _ := strings.Cut(strings.TrimSpace(line), "=")
		switch key {
		case "Environment":
			if token, ok := strings.CutPrefix(strings.Trim(value, `"`), "PULL_SECRET_TOKEN="); ok {
				agent.Token = token
			}
		case "ExecStart":
			words := strings.Fields(value)
			agent.ServiceURL, agent.InfraEnvID = argument(words, "--url"), argument(words, "--infra-env-id")
		}
	}
	return agent
}

// argument is what follows a flag, behind a blank or an equals sign.
func argument(words []string, flag string) string {
	for i, word := range words {
		if word == flag && i+1 < len(words) {
			return words[i+1]
		}
		if value, ok := strings.CutPrefix(word, flag+"="); ok {
			return value
		}
	}
	return ""
}
