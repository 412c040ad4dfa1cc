package service

import (
	"slices"
	"strings"

	"github.com/openshift/assisted-service/models"

	"github.com/oaictl/oaictl/internal/simulator/service/model"
	"github.com/oaictl/oaictl/internal/simulator/service/request"
	"github.com/oaictl/oaictl/internal/simulator/service/wire"
)

// updateHost changes what a user may choose about a host: all of it or nothing.
func (s *Service) updateHost(c *wire.Call, h *model.Host) (wire.Reply, error) {
	p := wire.Taken[request.HostUpdate](c)
	changed := *h // work on a copy, so that a refusal leaves everything as it was
	if err := request.ChangeHost(&changed, &p); err != nil {
		return wire.Reply{}, err
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

// installerFlags are the flags of coreos-installer that a user may set.
func installerFlags() []string {
	return []string{"--append-karg", "--delete-karg", "-n", "--copy-network", "--network-dir", "--save-partlabel",
		"--save-partindex", "--image-url", "--image-file"}
}

func (s *Service) updateInstallerArgs(c *wire.Call, h *model.Host) (wire.Reply, error) {
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
func (s *Service) updateHostIgnition(c *wire.Call, h *model.Host) (wire.Reply, error) {
	p := wire.Taken[models.HostIgnitionParams](c)
	if p.Config != "" {
		if err := request.CheckIgnition(p.Config); err != nil {
			return wire.Reply{}, err
		}
		s.noteHost(h, "host_discovery_ignition_config_applied", severityInfo, "Host %s: custom discovery ignition config was applied", h.Name())
	}
	h.IgnitionOverrides = p.Config
	if h.Cluster != nil {
		request.UseIgnition(h.Cluster, "host", p.Config != "")
	}
	return wire.Reply{Status: 201}, nil
}

func (s *Service) readHostIgnition(_ *wire.Call, h *model.Host) (wire.Reply, error) {
	text, err := s.hostIgnition(h)
	if err != nil {
		return wire.Reply{}, err
	}
	return wire.OK(models.HostIgnitionParams{Config: text})
}

func (s *Service) downloadHostIgnition(_ *wire.Call, h *model.Host) (wire.Reply, error) {
	text, err := s.hostIgnition(h)
	if err != nil {
		return wire.Reply{}, err
	}
	return wire.File(h.Role+"-"+h.ID+".ign", []byte(text))
}
