package request

import (
	"net/http"
	"slices"
	"strings"

	"github.com/coreos/ignition/v2/config/v3_1"
	"github.com/coreos/ignition/v2/config/v3_2"
	"github.com/oaictl/oaictl/internal/simulator/service/model"
	"github.com/oaictl/oaictl/internal/simulator/service/validate"
	"github.com/oaictl/oaictl/internal/simulator/service/wire"
	"github.com/openshift/assisted-service/models"
	"k8s.io/apimachinery/pkg/util/validation"
)

// HostUpdateParams is what PATCH host takes: the known parameters and the newer ones.
type HostUpdateParams struct {
	models.HostUpdateParams
	FencingCredentials *fencing `json:"fencing_credentials,omitempty"`
}

type fencing struct {
	Address                 *string `json:"address"`
	Username                *string `json:"username"`
	Password                *string `json:"password"`
	CertificateVerification string  `json:"certificate_verification,omitempty"`
	MACAddress              string  `json:"mac_address,omitempty"`
}

func (p *HostUpdateParams) check() error {
	f := p.FencingCredentials
	if f == nil {
		return nil
	}
	for name, v := range map[string]*string{"address": f.Address, "username": f.Username, "password": f.Password} {
		if v == nil {
			return wire.Malformed("fencing_credentials.%s in body is required", name)
		}
	}
	if f.CertificateVerification != "" {
		return wire.BodyEnum("fencing_credentials.certificate_verification", f.CertificateVerification, "Enabled", "Disabled")
	}
	return nil
}

// ChangeHost checks what is asked for in the order in which the service does, and writes it into the host.
func ChangeHost(h *model.Host, p *HostUpdateParams) error {
	if err := p.check(); err != nil {
		return err
	}
	for _, change := range []func(*model.Host, *HostUpdateParams) error{
		changeRole, changeHostname, changeDisk, changeSkipped, changePool, changeLabels, changeEndpoint, changeFencing,
	} {
		if err := change(h, p); err != nil {
			return err
		}
	}
	return nil
}

func changeRole(h *model.Host, p *HostUpdateParams) error {
	if p.HostRole == nil {
		return nil
	}
	role := *p.HostRole
	if role == model.RoleArbiter && h.Cluster != nil {
		if err := arbiterAllowed(h.Cluster); err != nil {
			return err
		}
	}
	if err := checkSettable(h, "host role", http.StatusInternalServerError); err != nil {
		return err
	}
	h.Role, h.SuggestedRole = role, role
	if h.Kind == model.KindAddedHost && !h.UserPool && role != model.RoleAuto {
		h.MachineConfigPool = role
	}
	return nil
}

func changeHostname(h *model.Host, p *HostUpdateParams) error {
	if p.HostName == nil {
		return nil
	}
	if err := validate.CheckHostname(*p.HostName); err != nil {
		return err
	}
	h.Hostname = *p.HostName
	return checkSettable(h, "host name", http.StatusConflict)
}

func changeDisk(h *model.Host, p *HostUpdateParams) error {
	if p.DisksSelectedConfig == nil {
		return nil
	}
	id := ""
	for _, d := range p.DisksSelectedConfig {
		if d.Role != models.DiskRoleInstall || d.ID == nil {
			continue
		}
		if id != "" {
			return wire.Conflict("duplicate setting of installation path by the user")
		}
		id = *d.ID
	}
	if err := checkSettable(h, "installation disk path", http.StatusConflict); err != nil || id == "" {
		return err
	}
	var found *models.Disk
	if h.Inv != nil {
		for _, d := range h.Inv.EligibleDisks() {
			if model.DiskID(d) == id || d.Path == id || d.ByID == id {
				found = d
				break
			}
		}
	}
	if found == nil {
		return wire.Conflict("Requested installation disk is not part of the host's valid disks")
	}
	h.ChosenDisk = model.DiskID(found)
	h.InstallationDiskID, h.InstallationDiskPath = model.DiskID(found), found.Path
	return nil
}

func changeSkipped(h *model.Host, p *HostUpdateParams) error {
	if len(p.DisksSkipFormatting) == 0 {
		return nil
	}
	skip := slices.Clone(h.SkipDisks)
	for _, d := range p.DisksSkipFormatting {
		if h.Inv == nil {
			return wire.Refuse(http.StatusInternalServerError, "inventory unmarshal failed: unexpected end of JSON input")
		}
		if h.Inv.FindDisk(*d.DiskID) == nil && *d.SkipFormatting {
			var known []string
			for _, other := range h.Inv.Disks {
				known = append(known, model.DiskID(other))
			}
			return wire.BadRequest("Disk identifier %s doesn't match any disk in the inventory, it cannot be skipped. Inventory disk "+
				"identifiers are: %s", *d.DiskID, strings.Join(known, ", "))
		}
		skip = slices.DeleteFunc(skip, func(id string) bool { return id == *d.DiskID })
		if *d.SkipFormatting {
			skip = append(skip, *d.DiskID)
		}
	}
	h.SkipDisks, h.SkipFormattingDisks = skip, strings.Join(skip, ",")
	return checkSettable(h, "skip disk formatting", http.StatusInternalServerError)
}

func changePool(h *model.Host, p *HostUpdateParams) error {
	if p.MachineConfigPoolName == nil {
		return nil
	}
	h.MachineConfigPool, h.UserPool = *p.MachineConfigPoolName, *p.MachineConfigPoolName != ""
	return checkSettable(h, "host machine config pool", http.StatusConflict)
}

func changeLabels(h *model.Host, p *HostUpdateParams) error {
	if p.NodeLabels == nil {
		return nil
	}
	labels := make(map[string]string, len(p.NodeLabels))
	for _, l := range p.NodeLabels {
		if problems := validation.IsQualifiedName(*l.Key); len(problems) > 0 {
			return wire.BadRequest("node_labels: Invalid value: %q: %s", *l.Key, problems[0])
		}
		if problems := validation.IsValidLabelValue(*l.Value); len(problems) > 0 {
			return wire.BadRequest("node_labels: Invalid value: %q: %s", *l.Value, problems[0])
		}
		labels[*l.Key] = *l.Value
	}
	h.NodeLabels = ""
	if len(labels) > 0 {
		h.NodeLabels = model.InString(labels)
	}
	return checkSettable(h, "labels", http.StatusInternalServerError)
}

func changeEndpoint(h *model.Host, p *HostUpdateParams) error {
	if p.IgnitionEndpointToken != nil {
		h.Token = *p.IgnitionEndpointToken
		h.EndpointTokenSet = h.Token != ""
		if err := checkSettable(h, "host ignition endpoint token", http.StatusConflict); err != nil && h.Token != "" {
			return err
		}
	}
	if p.IgnitionEndpointHTTPHeaders == nil {
		return nil
	}
	h.Headers = model.InString(p.IgnitionEndpointHTTPHeaders)
	return checkSettable(h, "ignition endpoint HTTP headers", http.StatusInternalServerError)
}

func changeFencing(h *model.Host, p *HostUpdateParams) error {
	if p.FencingCredentials == nil {
		return nil
	}
	h.FencingCredentials = model.InString(p.FencingCredentials)
	return checkSettable(h, "fencing credentials", http.StatusInternalServerError)
}

// checkSettable refuses settings of a host that is being installed, each with its own status.
func checkSettable(h *model.Host, what string, status int) error {
	if model.HostChangeable(h.State) {
		return nil
	}
	return wire.Refuse(status, "Host is in %s state, %s can be set only in one of %v states", h.State, what,
		[]string{model.HostDiscovering, model.HostKnown, model.HostDisconnected, model.HostInsufficient, model.HostPendingInput})
}

// CheckInventorySettable refuses every change, an empty one too, of a host in a state in which its inventory is fixed.
func CheckInventorySettable(h *model.Host) error {
	states := []string{model.HostDiscovering, model.HostKnown, model.HostDisconnected, model.HostInsufficient, model.HostPendingInput,
		model.HostInProgress, model.HostDisconnectedUnbound, model.HostInsufficientUnbound, model.HostDiscoveringUnbound, model.HostKnownUnbound}
	if h.Cluster == nil || h.Inv == nil || slices.Contains(states, h.State) {
		return nil
	}
	return wire.Conflict("Host is in %s state, host can be updated only in one of %s states", h.State, states)
}

// CheckIgnition refuses all versions but 3.2 and 3.1.
func CheckIgnition(text string) error {
	if _, _, err := v3_2.Parse([]byte(text)); err == nil {
		return nil
	}
	if _, report, err := v3_1.Parse([]byte(text)); err != nil {
		return wire.BadRequest("error parsing ignition: %s, error report: %s", err, report.String())
	}
	return nil
}
