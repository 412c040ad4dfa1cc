package iso

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"net"
	"regexp"
	"slices"
	"strings"
)

// hostnameSpec is the oldest version of Ignition configs in the field. Merging with a config of a
// later version gives that version.
const hostnameSpec = "3.0.0"

const hostnameDir = "/etc/oaictl/hostnames/"

// hostnameUnit names a machine that has an interface whose address is the name of a file in
// hostnameDir. It runs before anything that tells the name to others.
const hostnameUnit = `[Unit]
Description=Set the hostname that belongs to a MAC address of this machine
Wants=systemd-udev-settle.service
After=systemd-udev-settle.service
Before=NetworkManager.service agent.service

[Service]
Type=oneshot
RemainAfterExit=yes
ExecStart=/usr/bin/bash -c 'for a in /sys/class/net/*/address; do read -r mac <"$$a" || continue; f=` + hostnameDir + `$$mac; if [ -f "$$f" ]; then read -r name <"$$f"; echo "$$name" >/etc/hostname; echo "$$name" >/proc/sys/kernel/hostname; exit 0; fi; done'

[Install]
WantedBy=multi-user.target
`

// hostnamePattern is a name of RFC 1123: labels of letters, digits and inner dashes.
var hostnamePattern = regexp.MustCompile(`^[a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?(\.[a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?)*$`)

// hostnameConfig is the Ignition config that gives machines their names. CoreOS has no other way to
// name a live system than its files.
func hostnameConfig(names map[string]string) ([]byte, error) {
	if name, all := names[""]; all {
		if len(names) > 1 {
			return nil, errors.New("a hostname for every machine, and others by MAC address, contradict each other")
		}
		file, err := hostnameFile("/etc/hostname", name)
		return fmt.Appendf(nil, `{"ignition":{"version":%q},"storage":{"files":[%s]}}`, hostnameSpec, file), err
	}
	var files []string
	seen := map[string]bool{}
	for _, address := range slices.Sorted(maps.Keys(names)) {
		mac, err := net.ParseMAC(address)
		if err != nil {
			return nil, fmt.Errorf("hostname %q: %q is not a MAC address", names[address], address)
		}
		file, err := hostnameFile(hostnameDir+mac.String(), names[address])
		if err != nil {
			return nil, err
		}
		if seen[mac.String()] {
			return nil, fmt.Errorf("hostname %q: the MAC address %s has a name already", names[address], mac)
		}
		seen[mac.String()] = true
		files = append(files, file)
	}
	unit, err := json.Marshal(hostnameUnit)
	return fmt.Appendf(nil, `{"ignition":{"version":%q},"storage":{"files":[%s]},"systemd":{"units":[{"name":"oaictl-hostname.service","enabled":true,"contents":%s}]}}`,
		hostnameSpec, strings.Join(files, ","), unit), err
}

// hostnameFile is a file of a config that holds a hostname, none of whose characters JSON or a URL
// would have to escape.
func hostnameFile(path, hostname string) (string, error) {
	const mode = 0o644
	return fmt.Sprintf(`{"path":%q,"mode":%d,"overwrite":true,"contents":{"source":"data:,%s%%0A"}}`, path, mode, hostname), CheckHostname(hostname)
}

// CheckHostname refuses what no machine can be called: what is not a name of RFC 1123 (section 2.1),
// labels of letters, digits and inner dashes.
func CheckHostname(name string) error {
	if len(name) > 253 || !hostnamePattern.MatchString(strings.ToLower(name)) {
		return fmt.Errorf("hostname %q is not a name of RFC 1123", name)
	}
	return nil
}
