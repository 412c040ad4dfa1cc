package live

import (
	"errors"
	"strings"
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

// ErrNoAgent is a live system that runs without an agent.
var ErrNoAgent = errors.New("its Ignition runs no discovery agent")

const agentUnit = "agent.service"

// AgentIn is the agent that a live system with this Ignition config runs.
func AgentIn(config []byte) (Agent, error) {
	system, err := readSystem(config)
	if err != nil {
		return Agent{}, err
	}
	agent := readUnit(system.started[agentUnit])
	if agent.ServiceURL == "" || agent.InfraEnvID == "" {
		return Agent{}, ErrNoAgent
	}
	return agent, nil
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
