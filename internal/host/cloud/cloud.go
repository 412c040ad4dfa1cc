// Package cloud has what installer and controller know of clusters on a cloud, whose nodes wait for its controller.
package cloud

import (
	"encoding/json"
	"strconv"
	"strings"
)

// VCenter is a vCenter that an install-config names. The installer of OpenShift may have put placeholders there.
type VCenter struct {
	Server   string `json:"server"`
	User     string `json:"user"`
	Password string `json:"password"` // a secret
}

// InstallConfig is what is read of an install-config, or of overrides of one: the platforms by their names.
type InstallConfig struct {
	Platform map[string]json.RawMessage `json:"platform"`
}

// VCenter is the first vCenter. It is empty if there is none.
func (i InstallConfig) VCenter() VCenter {
	var of struct {
		VCenters []VCenter `json:"vcenters"`
	}
	if json.Unmarshal(i.Platform["vsphere"], &of) != nil || len(of.VCenters) == 0 {
		return VCenter{}
	}
	return of.VCenters[0]
}

// HasCredentials reports whether overrides of an install-config, in JSON, name a vCenter with credentials.
func HasCredentials(overrides string) bool {
	var config InstallConfig
	return json.Unmarshal([]byte(overrides), &config) == nil && config.VCenter().hasCredentials()
}

// HasServer reports whether the server is not a placeholder.
func (v VCenter) HasServer() bool { return real(v.Server, "vcenterplaceholder") }

// hasCredentials reports whether server, user and password are not placeholders.
func (v VCenter) hasCredentials() bool {
	return v.HasServer() && real(v.User, "usernameplaceholder") && real(v.Password, "passwordplaceholder")
}

func real(text, placeholder string) bool { return text != "" && text != placeholder }

// AtLeast reports whether a version such as 4.15.3-rc.1 is of this minor version or a later one.
func AtLeast(version string, major, minor int) bool {
	const parts = 3
	numbers := strings.SplitN(version, ".", parts)
	if len(numbers) < parts-1 {
		return false
	}
	hasMajor, err := strconv.Atoi(numbers[0])
	if err != nil {
		return false
	}
	digits, _, _ := strings.Cut(numbers[1], "-")
	hasMinor, err := strconv.Atoi(digits)
	return err == nil && (hasMajor > major || hasMajor == major && hasMinor >= minor)
}
