package clustersettings

import (
	"github.com/oaictl/oaictl/pkg/install/model"
	"github.com/oaictl/oaictl/pkg/install/spec"
)

// OfHost is what cluster.yaml says of a host, as far as it can be said
// of the machine: disk is the id of the resolved installation disk, keep those
// of the disks to leave alone.
func OfHost(h *spec.Host, disk string, keep []string) model.Settings {
	s := model.Settings{}
	put(s, model.SettingRole, h.Role)
	put(s, model.SettingHostname, h.Hostname)
	put(s, model.SettingDisk, disk)
	if h.Disk.Keep != nil {
		s[model.SettingKeepDisks] = model.ValueOf(keep)
	}
	if h.Labels != nil {
		s[model.SettingLabels] = model.ValueOf(h.Labels)
	}
	put(s, model.SettingPool, h.MachineConfigPool)
	if h.InstallerArgs != nil {
		s[model.SettingInstallerArgs] = model.ValueOf(h.InstallerArgs)
	}
	if h.Ignition != nil {
		ignition, err := h.Ignition.JSON()
		if err != nil {
			ignition = h.Ignition.Text() // which the service refuses, and says why
		}
		put(s, model.SettingIgnition, ignition)
	}
	if f := h.FencedBy(); f != nil {
		put(s, model.SettingFencing, f.Address)
	}
	if endpoint := h.IgnitionEndpoint; endpoint != nil {
		if endpoint.Token != nil {
			s[model.SettingEndpointToken] = model.ValueOf(TokenSet)
		}
		if endpoint.Headers != nil {
			s[model.SettingEndpointHeaders] = model.ValueOf(endpoint.Headers)
		}
	}
	return s
}

// Secrets are those of a host's settings that the service does not give
// back and that may have become others since they were sent.
func Secrets(s model.Settings) model.Settings {
	out := model.Settings{}
	for _, setting := range []model.Setting{model.SettingFencing, model.SettingEndpointToken, model.SettingEndpointHeaders} {
		if value, set := s[setting]; set {
			out[setting] = value
		}
	}
	return out
}

// TokenSet is what can be said of a token: that there is one.
const TokenSet = "set"
