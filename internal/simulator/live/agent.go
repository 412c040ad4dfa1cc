package live

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"slices"
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
	system, err := readSystem(configs)
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

const (
	legacyArea = "images/ignition.img"
	configName = "config.ign"
	baseConfig = "usr/lib/ignition/base.d/"
	mostArea   = 64 << 20
)

// ErrNoIgnition is an image that boots, and then does nothing.
var ErrNoIgnition = errors.New("it carries no Ignition config")

// Ignition is an image's config as the live system finds it: the system's first, the user's last.
func Ignition(image io.ReaderAt, size int64) ([][]byte, error) {
	at, err := area(image, size)
	if err != nil {
		return nil, err
	}
	content := make([]byte, at.size)
	if _, err := image.ReadAt(content, at.offset); err != nil {
		return nil, fmt.Errorf("read the Ignition area at %d: %w", at.offset, err)
	}
	files, err := unpack(content)
	if err != nil {
		return nil, fmt.Errorf("unpack the Ignition area at %d: %w", at.offset, err)
	}
	var configs [][]byte
	for _, name := range slices.Sorted(maps.Keys(files)) {
		if strings.HasPrefix(name, baseConfig) && strings.HasSuffix(name, ".ign") {
			configs = append(configs, files[name])
		}
	}
	if config, ok := files[configName]; ok {
		configs = append(configs, config)
	}
	if len(configs) == 0 {
		return nil, ErrNoIgnition
	}
	return configs, nil
}

// area is where coreos/igninfo.json says that Ignition stands; older images have a file of a fixed name.
func area(image io.ReaderAt, size int64) (place, error) {
	info := struct {
		File           string
		Offset, Length int64
	}{File: legacyArea}
	if err := readJSON(image, size, "coreos/igninfo.json", &info); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return place{}, err
	}
	file, err := find(image, size, info.File)
	if err != nil {
		return place{}, err
	}
	info.Length = cmp.Or(info.Length, file.size-info.Offset)
	if info.Offset < 0 || info.Length < 0 || info.Length > mostArea || info.Offset+info.Length > file.size {
		return place{}, fmt.Errorf("the Ignition area, %d bytes at %d of %s, is not in that file of %d bytes", info.Length, info.Offset, info.File, file.size)
	}
	return place{offset: file.offset + info.Offset, size: info.Length}, nil
}
