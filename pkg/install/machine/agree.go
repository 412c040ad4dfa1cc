package machine

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	ignition "github.com/coreos/ignition/v2/config/v3_6"
	"github.com/vincent-petithory/dataurl"
)

// assistedNetwork is where the service puts the static networks of an InfraEnv
// in its discovery Ignition, with the MAC addresses in mac_interface.ini.
const assistedNetwork = "/etc/assisted/network/"

// agrees holds the service's discovery Ignition against the network of the file
// that goes into the initrd: a machine must not come up with one network there
// and another one after.
func agrees(config []byte, macs map[string]string) error {
	known, err := assistedMACs(config)
	if err != nil {
		return err
	}
	for _, name := range slices.Sorted(maps.Keys(macs)) {
		if mac := strings.ToLower(macs[name]); !known[mac] {
			return fmt.Errorf("the service knows no static network for %s (%s), which the file has: `oaictl plan -f FILE` shows the difference, create cluster --reimage sends it", name, mac)
		}
	}
	return nil
}

// assistedMACs are the MAC addresses that a discovery Ignition has a static
// network for.
func assistedMACs(config []byte) (map[string]bool, error) {
	parsed, report, err := ignition.ParseCompatibleVersion(config)
	if err != nil {
		return nil, fmt.Errorf("read the discovery Ignition: %w: %s", err, report.String())
	}
	known := map[string]bool{}
	for _, file := range parsed.Storage.Files {
		if !strings.HasPrefix(file.Path, assistedNetwork) || !strings.HasSuffix(file.Path, "/mac_interface.ini") || file.Contents.Source == nil {
			continue
		}
		content, err := dataurl.DecodeString(*file.Contents.Source)
		if err != nil {
			return nil, fmt.Errorf("read %s of the discovery Ignition: %w", file.Path, err)
		}
		for line := range strings.Lines(string(content.Data)) {
			mac, _, _ := strings.Cut(strings.TrimSpace(line), "=")
			known[strings.ToLower(mac)] = true
		}
	}
	return known, nil
}
