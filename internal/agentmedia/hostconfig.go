package agentmedia

import (
	"errors"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/oaictl/oaictl/internal/shared/hubapi/metal3"
	"github.com/oaictl/oaictl/internal/shared/statuses"
	"github.com/oaictl/oaictl/pkg/install/spec"
)

// The files of the folder of host configurations.
const (
	macsFile    = "mac_addresses"          // of a host, one a line
	roleFile    = "role"                   // of a host, may be missing
	hintsFile   = "root-device-hints.yaml" // of a host, may be missing
	fencingFile = "fencing-credentials.yaml"
)

type hostConfig struct {
	name    string   // of its folder
	macs    []string // in lower case; any of them identifies the host
	role    spec.Role
	hints   *spec.DiskHints // nil: any disk will do
	fencing *fencing
}

// fencing is an entry of the shared file of credentials.
type fencing struct {
	Hostname     string `json:"hostname,omitempty"`
	MACAddress   string `json:"macaddress,omitempty"`
	Address      string `json:"address"`
	Username     string `json:"username"`
	Password     string `json:"password"`
	Verification string `json:"certificateVerification,omitempty"`
}

// readHostConfigs reads the folder of host configurations, which may be missing.
func readHostConfigs(folder string) ([]hostConfig, error) {
	entries, err := os.ReadDir(folder)
	if missing(err) {
		return nil, nil
	} else if err != nil {
		return nil, badFile(folder, err)
	}
	credentials, err := readFencing(filepath.Join(folder, fencingFile))
	if err != nil {
		return nil, err
	}
	var all []hostConfig
	owner := map[string]string{}
	for _, entry := range entries {
		if !entry.IsDir() {
			continue
		}
		config, err := readHostConfig(filepath.Join(folder, entry.Name()))
		if err != nil {
			return nil, err
		}
		for _, mac := range config.macs {
			if owner[mac] != "" {
				return nil, badFile(filepath.Join(folder, config.name, macsFile), fmt.Errorf("%s is also an address of %s", mac, owner[mac]))
			}
			owner[mac] = config.name
		}
		if config.fencing, err = fencingOf(credentials, config, filepath.Join(folder, fencingFile)); err != nil {
			return nil, err
		}
		all = append(all, config)
	}
	return all, nil
}

func readHostConfig(folder string) (hostConfig, error) {
	config := hostConfig{name: filepath.Base(folder)}
	path := filepath.Join(folder, macsFile)
	data, err := readFile(path)
	if err != nil {
		return config, err
	}
	for text := range strings.Lines(string(data)) {
		if text = strings.TrimSpace(text); text == "" {
			continue
		}
		mac, err := net.ParseMAC(text)
		if err != nil {
			return config, badFile(path, fmt.Errorf("%q is no MAC address", text))
		}
		config.macs = append(config.macs, mac.String())
	}
	if len(config.macs) == 0 {
		return config, badFile(path, errors.New("it holds no MAC address"))
	}
	if config.role, err = readRole(filepath.Join(folder, roleFile)); err != nil {
		return config, err
	}
	config.hints, err = readHints(filepath.Join(folder, hintsFile))
	return config, err
}

func readRole(path string) (spec.Role, error) {
	data, err := readOptional(path)
	if err != nil {
		return "", err
	}
	switch word := strings.TrimSpace(string(data)); word {
	case "":
		return "", nil
	case "control-plane":
		return spec.ControlPlane, nil
	case "auto-assign":
		return spec.Auto, nil
	case "master", "worker", "arbiter":
		return statuses.Role(word), nil
	default:
		return "", badFile(path, fmt.Errorf("%q is not a role; use master, worker, arbiter or auto-assign", word))
	}
}

func readHints(path string) (*spec.DiskHints, error) {
	docs, err := optional(path)
	if err != nil || len(docs) == 0 {
		return nil, err
	}
	var hints metal3.RootDeviceHints
	if err := docs[0].strict(&hints); err != nil {
		return nil, err
	}
	read := spec.DiskHints(hints)
	for _, refused := range read.RefusedByService() {
		return nil, badFile(path, fmt.Errorf("%s%s %s; %s", docs[0].at(refused.Field), refused.Field, refused.Message, refused.Remedy))
	}
	if read == (spec.DiskHints{}) {
		return nil, nil
	}
	return &read, nil
}

func readFencing(path string) ([]fencing, error) {
	docs, err := optional(path)
	if err != nil || len(docs) == 0 {
		return nil, err
	}
	var file struct {
		Credentials []fencing `json:"credentials"`
	}
	if err := docs[0].strict(&file); err != nil {
		return nil, err
	}
	for i, c := range file.Credentials {
		complain := func(text string) error {
			return badFile(path, fmt.Errorf("%scredentials number %d: %s", docs[0].at(fmt.Sprintf("credentials[%d]", i)), i+1, text))
		}
		switch {
		case (c.Hostname == "") == (c.MACAddress == ""):
			return nil, complain("either hostname or macaddress must identify the host, not both")
		case c.Address == "" || c.Username == "" || c.Password == "":
			return nil, complain("address, username and password are required")
		case c.Verification != "" && c.Verification != "Enabled" && c.Verification != "Disabled":
			return nil, complain("certificateVerification is neither Enabled nor Disabled")
		}
		if c.MACAddress != "" {
			mac, err := net.ParseMAC(c.MACAddress)
			if err != nil {
				return nil, complain("macaddress is no MAC address")
			}
			file.Credentials[i].MACAddress = mac.String()
		}
	}
	return file.Credentials, nil
}

// fencingOf is the entry of a host, by the name of its folder or by an address.
func fencingOf(all []fencing, config hostConfig, path string) (*fencing, error) {
	var found *fencing
	for i := range all {
		if all[i].Hostname != config.name && !config.has(all[i].MACAddress) {
			continue
		}
		if found != nil {
			return nil, badFile(path, fmt.Errorf("it has two entries for %s", config.name))
		}
		found = &all[i]
	}
	return found, nil
}

func (c *hostConfig) has(mac string) bool {
	return slices.ContainsFunc(c.macs, func(own string) bool { return strings.EqualFold(own, mac) })
}
