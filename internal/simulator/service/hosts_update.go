package service

import (
	"net/http"
	"slices"
	"strings"

	"github.com/coreos/ignition/v2/config/v3_1"
	"github.com/coreos/ignition/v2/config/v3_2"
	"github.com/openshift/assisted-service/models"
	"k8s.io/apimachinery/pkg/util/validation"

	"github.com/oaictl/oaictl/internal/simulator/service/model"
	"github.com/oaictl/oaictl/internal/simulator/service/validate"
	"github.com/oaictl/oaictl/internal/simulator/service/wire"
)

// hostUpdate is what PATCH host takes: the known parameters and the newer ones.
type hostUpdate struct {
	models.HostUpdateParams
	FencingCredentials *fencing `json:"fencing_credentials,omitempty"`
}

// fencing is how a machine can be switched off by its peer.
type fencing struct {
	Address                 *string `json:"address"`
	Username                *string `json:"username"`
	Password                *string `json:"password"`
	CertificateVerification string  `json:"certificate_verification,omitempty"`
	MACAddress              string  `json:"mac_address,omitempty"`
}

// check makes the framework's checks, of the newer fields too.
func (p *hostUpdate) check() error {
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

// updateHost changes what a user may choose about a host: all of it or nothing.
func (s *Service) updateHost(c *wire.Call) (wire.Reply, error) {
	h, err := s.getHost(c.PathValue("infra_env_id"), c.PathValue("host_id"))
	if err != nil {
		return wire.Reply{}, err
	}
	p := wire.Taken[hostUpdate](c)
	if err := p.check(); err != nil {
		return wire.Reply{}, err
	}
	changed := *h // work on a copy, so that a refusal leaves everything as it was
	for _, change := range []func(*model.Host, *hostUpdate) error{
		s.changeRole, s.changeHostname, s.changeDisk, s.changeSkipped, s.changePool, s.changeLabels, s.changeEndpoint, s.changeFencing,
	} {
		if err := change(&changed, &p); err != nil {
			return wire.Reply{}, err
		}
	}
	role, suggested := h.Role, h.SuggestedRole
	*h = changed
	if p.HostName != nil && h.Cluster != nil {
		h.Cluster.RecordUse(true, "Requested hostname", map[string]any{"host_count": 1})
	}
	h.UpdatedAt = model.Micros(s.now())
	s.refreshChangedHost(h, role, suggested)
	return wire.Created(s.printHost(h, detail{keepAddresses: true}))
}

// refreshChangedHost judges a host that was changed by the role that it had before: by the
// new one it is judged at the next look of the monitor.
func (s *Service) refreshChangedHost(h *model.Host, role, suggested string) {
	now := *h
	h.Role, h.SuggestedRole = role, suggested
	s.refreshHostNow(h)
	h.Role, h.SuggestedRole = now.Role, now.SuggestedRole
	if h.Cluster != nil {
		s.judgeIdle(h.Cluster)
	}
}

func (s *Service) changeRole(h *model.Host, p *hostUpdate) error {
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

func (s *Service) changeHostname(h *model.Host, p *hostUpdate) error {
	if p.HostName == nil {
		return nil
	}
	if err := validate.CheckHostname(*p.HostName); err != nil {
		return err
	}
	h.Hostname = *p.HostName
	return checkSettable(h, "host name", http.StatusConflict)
}

func (s *Service) changeDisk(h *model.Host, p *hostUpdate) error {
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
	var found *model.Disk
	if h.Inv != nil {
		for _, d := range h.Inv.EligibleDisks() {
			if d.Identifier() == id || d.Path == id || d.ByID == id {
				found = d
				break
			}
		}
	}
	if found == nil {
		return wire.Conflict("Requested installation disk is not part of the host's valid disks")
	}
	h.ChosenDisk = found.Identifier()
	h.InstallationDiskID, h.InstallationDiskPath = found.Identifier(), found.Path
	return nil
}

func (s *Service) changeSkipped(h *model.Host, p *hostUpdate) error {
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
			for i := range h.Inv.Disks {
				known = append(known, h.Inv.Disks[i].Identifier())
			}
			return wire.BadRequest("Disk identifier %s doesn't match any disk in the inventory, it cannot be skipped. Inventory disk identifiers are: %s", *d.DiskID, strings.Join(known, ", "))
		}
		skip = slices.DeleteFunc(skip, func(id string) bool { return id == *d.DiskID })
		if *d.SkipFormatting {
			skip = append(skip, *d.DiskID)
		}
	}
	h.SkipDisks, h.SkipFormattingDisks = skip, strings.Join(skip, ",")
	return checkSettable(h, "skip disk formatting", http.StatusInternalServerError)
}

func (s *Service) changePool(h *model.Host, p *hostUpdate) error {
	if p.MachineConfigPoolName == nil {
		return nil
	}
	h.MachineConfigPool, h.UserPool = *p.MachineConfigPoolName, *p.MachineConfigPoolName != ""
	return checkSettable(h, "host machine config pool", http.StatusConflict)
}

func (s *Service) changeLabels(h *model.Host, p *hostUpdate) error {
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

func (s *Service) changeEndpoint(h *model.Host, p *hostUpdate) error {
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

func (s *Service) changeFencing(h *model.Host, p *hostUpdate) error {
	if p.FencingCredentials == nil {
		return nil
	}
	h.FencingCredentials = model.InString(p.FencingCredentials)
	return checkSettable(h, "fencing credentials", http.StatusInternalServerError)
}

// checkSettable refuses what cannot be set any more once a host is being installed, each setting
// with a status of its own.
func checkSettable(h *model.Host, what string, status int) error {
	if model.HostChangeable(h.State) {
		return nil
	}
	return wire.Refuse(status, "Host is in %s state, %s can be set only in one of %v states", h.State, what,
		[]string{model.HostDiscovering, model.HostKnown, model.HostDisconnected, model.HostInsufficient, model.HostPendingInput})
}

// installerFlags are the flags of coreos-installer that a user may set.
func installerFlags() []string {
	return []string{"--append-karg", "--delete-karg", "-n", "--copy-network", "--network-dir", "--save-partlabel",
		"--save-partindex", "--image-url", "--image-file"}
}

func (s *Service) updateInstallerArgs(c *wire.Call) (wire.Reply, error) {
	h, err := s.getHost(c.PathValue("infra_env_id"), c.PathValue("host_id"))
	if err != nil {
		return wire.Reply{}, err
	}
	p := wire.Taken[models.InstallerArgsParams](c)
	for _, a := range p.Args {
		if strings.HasPrefix(a, "-") && !slices.Contains(installerFlags(), a) {
			return wire.Reply{}, wire.BadRequest("found unexpected flag %s for installer - allowed flags are %v", a, installerFlags())
		}
	}
	if p.Args == nil {
		p.Args = []string{}
	}
	h.InstallerArgs = model.InString(p.Args)
	h.UpdatedAt = model.Micros(s.now())
	s.noteHost(h, "host_installer_args_applied", severityInfo, "Host %s: custom installer arguments were applied", h.Name())
	return wire.Created(s.printHost(h, detail{}))
}

// updateHostIgnition sets or clears the override of the host's pointer ignition.
func (s *Service) updateHostIgnition(c *wire.Call) (wire.Reply, error) {
	h, err := s.getHost(c.PathValue("infra_env_id"), c.PathValue("host_id"))
	if err != nil {
		return wire.Reply{}, err
	}
	p := wire.Taken[models.HostIgnitionParams](c)
	if p.Config != "" {
		if err := checkIgnition(p.Config); err != nil {
			return wire.Reply{}, err
		}
		s.noteHost(h, "host_discovery_ignition_config_applied", severityInfo, "Host %s: custom discovery ignition config was applied", h.Name())
	}
	h.IgnitionOverrides = p.Config
	if h.Cluster != nil {
		useIgnition(h.Cluster, "host", p.Config != "")
	}
	return wire.Reply{Status: 201}, nil
}

// checkIgnition refuses what is neither version 3.2 of Ignition nor 3.1, whatever
// the machines' OS understands.
func checkIgnition(text string) error {
	if _, _, err := v3_2.Parse([]byte(text)); err == nil {
		return nil
	}
	if _, report, err := v3_1.Parse([]byte(text)); err != nil {
		return wire.BadRequest("error parsing ignition: %s, error report: %s", err, report.String())
	}
	return nil
}

func (s *Service) readHostIgnition(c *wire.Call) (wire.Reply, error) {
	h, err := s.getHost(c.PathValue("infra_env_id"), c.PathValue("host_id"))
	if err != nil {
		return wire.Reply{}, err
	}
	text, err := s.hostIgnition(h)
	if err != nil {
		return wire.Reply{}, err
	}
	return wire.OK(models.HostIgnitionParams{Config: text})
}

// downloadHostIgnition serves the pointer ignition that is written to the disk.
func (s *Service) downloadHostIgnition(c *wire.Call) (wire.Reply, error) {
	h, err := s.getHost(c.PathValue("infra_env_id"), c.PathValue("host_id"))
	if err != nil {
		return wire.Reply{}, err
	}
	text, err := s.hostIgnition(h)
	if err != nil {
		return wire.Reply{}, err
	}
	return wire.File(h.Role+"-"+h.ID+".ign", []byte(text))
}
