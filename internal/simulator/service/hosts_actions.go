package service

import (
	"net/http"

	"github.com/openshift/assisted-service/models"

	"github.com/oaictl/oaictl/internal/simulator/service/model"
	"github.com/oaictl/oaictl/internal/simulator/service/wire"
)

func (s *Service) bindHost(c *wire.Call, h *model.Host) (wire.Reply, error) {
	p := wire.Taken[models.BindHostParams](c)
	if h.Cluster != nil {
		return wire.Reply{}, wire.Conflict("Host %s is already bound to cluster %s", h.ID, h.ClusterID)
	}
	cl := s.clusters[p.ClusterID.String()]
	if cl == nil {
		return wire.Reply{}, wire.BadRequest("Failed to find cluster %s", p.ClusterID)
	}
	if !clusterUpdatable(cl) {
		return wire.Reply{}, s.bindFailed(h, cl.ID, "Cluster %s is in %s state, host can be bound only in one of %v", cl.ID, cl.Status, updatableStates())
	}
	if a := h.InfraEnv.CPUArchitecture; cl.CPUArchitecture != "" && cl.CPUArchitecture != "multi" && a != cl.CPUArchitecture {
		return wire.Reply{}, wire.BadRequest("InfraEnv's CPU architecture (%s) doesn't match the cluster (%s)", a, cl.CPUArchitecture)
	}
	if h.State != model.HostKnownUnbound {
		return wire.Reply{}, s.bindFailed(h, cl.ID, "no condition found to run transition")
	}
	before := s.printHost(h, detail{})
	h.Join(cl)
	h.Forget()
	s.setHost(h, model.HostBinding, model.InfoBinding)
	s.addHostEvent(h, "host_bind_succeeded", severityInfo, "Host %s: Successfully bound to cluster %s", h.Name(), cl.ID)
	return wire.OK(s.printMoved(h, &before))
}

func (s *Service) bindFailed(h *model.Host, clusterID, format string, args ...any) error {
	err := wire.Conflict(format, args...)
	s.addHostEvent(h, "host_bind_failed", severityError, "Failed to bind host %s to cluster %s: %s", h.ID, clusterID, err)
	return err
}

// printMoved prints a host that was bound or unbound; only its measurements still stand.
func (s *Service) printMoved(h *model.Host, before *model.PrintedHost) model.PrintedHost {
	now := s.printHost(h, detail{plain: true})
	now.ValidationsInfo, now.NtpSources, now.FreeAddresses = before.ValidationsInfo, before.NtpSources, ""
	return now
}

// rebind finishes what bind or unbind began, now that the agent has started anew.
func (s *Service) rebind(h *model.Host) {
	h.Forget()
	if h.State != model.HostBinding {
		s.setHost(h, model.HostDiscoveringUnbound, model.InfoDiscovering)
		return
	}
	h.TakeOn(h.Cluster)
	s.setHost(h, model.HostDiscovering, model.InfoDiscovering)
}

func (s *Service) unbindHost(c *wire.Call, h *model.Host) (wire.Reply, error) {
	before, left := s.printHost(h, detail{}), h.Cluster
	if !s.cfg.KubeAPI && model.OneOf(h.State, model.HostPreparing, model.HostPreparationFailed, model.HostPrepared,
		model.HostInstalling, model.HostInProgress, model.HostPendingUser) {
		return wire.Reply{}, wire.Conflict("Cannot unbind Host %s while it is in the middle of installing.", h.ID) // which a hub's operator does not ask
	}
	// The operator of a hub says by a parameter of its own, since the real operator and service
	// are one process, that it has put an agent on the host's node, to boot it into the discovery image.
	reclaim := s.cfg.KubeAPI && c.URL.Query().Get("reclaim") == "true"
	if err := s.unbind(h, reclaim); err != nil {
		s.addHostEvent(h, "host_unbind_failed", severityError, "Failed to unbind host %s to cluster: %s", h.ID, err)
		return wire.Reply{}, err
	}
	s.hostLeft(left)
	return wire.OK(s.printMoved(h, &before))
}

// hostLeft looks at a cluster that one of its hosts has left. A hub's operators leave that to the monitor.
func (s *Service) hostLeft(c *model.Cluster) {
	if c == nil {
		return
	}
	if !s.cfg.KubeAPI {
		s.judgeIdle(c)
	}
	forceSchedulable(c)
}

func (s *Service) unbind(h *model.Host, reclaim bool) error {
	if h.Cluster == nil {
		return wire.Conflict("Host %s is already unbound", h.ID)
	}
	if h.InfraEnv.ClusterID != "" {
		return wire.Conflict("Cannot unbind Host %s. InfraEnv %s is bound to Cluster %s", h.ID, h.InfraEnvID, h.InfraEnv.ClusterID)
	}
	state := stateOnLeaving(h)
	switch {
	case reclaim && model.OneOf(h.State, model.HostInstalled, model.HostAdded):
		state = model.HostReclaiming
	case state == "":
		return wire.Refuse(http.StatusInternalServerError, "no condition found to run transition")
	}
	h.Release()
	s.setHost(h, state, model.InfoUnbinding)
	s.addHostEvent(h, "host_unbind_succeeded", severityInfo, "Host %s: Successfully unbound from cluster", h.Name())
	return nil
}

// stateOnLeaving is what becomes of a host that leaves its cluster: "" where it cannot.
func stateOnLeaving(h *model.Host) string {
	switch h.State {
	case model.HostKnown, model.HostDiscovering, model.HostDisconnected, model.HostInsufficient, model.HostPendingInput:
		return model.HostUnbinding
	case model.HostPreparing, model.HostPrepared, model.HostPreparationFailed, model.HostInstalling, model.HostInProgress,
		model.HostPendingUser, model.HostInstalled, model.HostAdded, model.HostError, model.HostCancelled:
		return model.HostUnbindingPending
	}
	return ""
}

func (s *Service) installHost(_ *wire.Call, h *model.Host) (wire.Reply, error) {
	if h.Kind != model.KindAddedHost {
		return wire.Reply{}, wire.Conflict("method only allowed when adding hosts to an existing cluster")
	}
	if h.State != model.HostKnown {
		return wire.Reply{}, wire.Conflict("cannot install host in state %s", h.State)
	}
	if h.Role == model.RoleAuto {
		h.Role = model.RoleWorker
	}
	before := s.printHost(h, detail{plain: true})
	s.addHostEvent(h, "host_installation_started", severityInfo, "Host %s starting installation as a worker node", h.Name())
	s.setHost(h, model.HostInstalling, model.InfoInstallingHost)
	before.Status = new(model.HostInstalling)
	return wire.Accepted(before)
}

func (s *Service) resetHost(_ *wire.Call, h *model.Host) (wire.Reply, error) {
	if h.Kind != model.KindAddedHost {
		return wire.Reply{}, wire.Conflict("method only allowed when adding hosts to an existing cluster")
	}
	if !model.OneOf(h.State, model.HostInstalling, model.HostInProgress, model.HostInstalled, model.HostError,
		model.HostCancelled, model.HostAdded, model.HostPendingUser) {
		return wire.Reply{}, wire.Conflict("no condition found to run transition")
	}
	before := s.printHost(h, detail{plain: true})
	s.awaitReset(h)
	before.Status = new(model.HostResettingPending)
	return wire.OK(before)
}

func (s *Service) awaitReset(h *model.Host) {
	s.setHost(h, model.HostResettingPending, model.InfoResettingPending)
	s.addHostEvent(h, "host_installation_reset", severityInfo, "Installation reset for host %s", h.Name())
}

func (s *Service) resetValidation(c *wire.Call, h *model.Host) (wire.Reply, error) {
	switch id := c.PathValue("validation_id"); id {
	case "sufficient-installation-disk-speed":
		h.DiskTested, h.DiskFailed, h.DisksInfo = false, false, ""
	case "container-images-available":
		h.ImageResults, h.ImagesStatus = nil, ""
	default:
		return wire.Reply{}, wire.BadRequest("Validation \"%s\" cannot be reset or does not exist", id)
	}
	return wire.Reply{Status: 200}, nil
}

func (s *Service) deleteHost(c *wire.Call) (wire.Reply, error) {
	h, err := s.getHost(c.PathValue("infra_env_id"), c.PathValue("host_id"))
	if err != nil {
		return wire.Reply{}, wire.Refuse(http.StatusInternalServerError, "%s", err)
	}
	left := h.Cluster
	s.forgetHost(h)
	s.hostLeft(left)
	return wire.NoContent()
}

func (s *Service) forgetHost(h *model.Host) {
	s.addHostEvent(h, "host_deregistered", severityInfo, "Host %s deregistered", h.Name())
	s.dropHost(h)
	for i := range s.events {
		if s.events[i].HostID == h.ID {
			s.events[i].hostGone = true
		}
	}
}

type detail struct {
	// plain is the host as stored: without what the service works out on the way out.
	plain bool
	// roleOnly takes the stages from the role alone, as the list of an infra-env's hosts does.
	roleOnly bool
	// keepAddresses prints the list of free addresses.
	keepAddresses bool
}

func (s *Service) printHost(h *model.Host, d detail) model.PrintedHost {
	w := h.PrintedHost
	w.Status, w.StatusInfo = new(h.State), new(h.Info)
	w.ValidationsInfo = h.Checks.Text
	w.RequestedHostname = h.Hostname
	if h.Progress != nil {
		w.Progress = new(*h.Progress)
	}
	if d.plain {
		w.ProgressStages = nil
		return w
	}
	w.RequestedHostname = h.Name()
	w.ProgressStages = s.stagesOf(h, !d.roleOnly && h.Cluster != nil && h.Cluster.IsSingle())
	if !d.keepAddresses {
		w.FreeAddresses = ""
	}
	return w
}

func (s *Service) readHost(_ *wire.Call, h *model.Host) (wire.Reply, error) {
	return wire.OK(s.printHost(h, detail{}))
}

func (s *Service) listHosts(_ *wire.Call, e *model.InfraEnv) (wire.Reply, error) {
	list := []model.PrintedHost{}
	for _, h := range s.hostsOfInfraEnv(e.ID) {
		list = append(list, s.printHost(h, detail{roleOnly: true}))
	}
	return wire.OK(list)
}

func (s *Service) listClusterHosts(c *wire.Call) (wire.Reply, error) {
	cl := s.clusters[c.PathValue("cluster_id")]
	if cl == nil {
		return wire.OK([]model.PrintedHost{})
	}
	q := c.URL.Query()
	role, status := q.Get("role"), q.Get("status")
	list := []model.PrintedHost{}
	for _, h := range cl.Hosts {
		if role != "" && h.Role != role || status != "" && h.State != status {
			continue
		}
		w := s.printHost(h, detail{plain: true})
		w.FreeAddresses = ""
		if q.Get("with-inventory") != "true" {
			w.Inventory = ""
		}
		if q.Get("with-connectivity") != "true" {
			w.Connectivity = ""
		}
		list = append(list, w)
	}
	return wire.OK(list)
}
