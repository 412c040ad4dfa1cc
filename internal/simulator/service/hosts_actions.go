package service

import (
	"net/http"

	"github.com/openshift/assisted-service/models"
)

// bindHost gives a host of the pool to a cluster. The agent has to start anew
// for it.
func (s *Service) bindHost(c *call) (reply, error) {
	h, err := s.getHost(c.PathValue("infra_env_id"), c.PathValue("host_id"))
	if err != nil {
		return reply{}, err
	}
	p := taken[models.BindHostParams](c)
	if h.cluster != nil {
		return reply{}, conflict("Host %s is already bound to cluster %s", h.ID, h.ClusterID)
	}
	cl := s.clusters[p.ClusterID.String()]
	if cl == nil {
		return reply{}, badRequest("Failed to find cluster %s", p.ClusterID)
	}
	if !oneOf(cl.Status, clusterInsufficient, clusterReady, clusterPendingInput, clusterAddingHosts) {
		return reply{}, s.bindFailed(h, cl.ID, "Cluster %s is in %s state, host can be bound only in one of [%s %s %s %s]",
			cl.ID, cl.Status, clusterInsufficient, clusterReady, clusterPendingInput, clusterAddingHosts)
	}
	if a := h.infraEnv.CPUArchitecture; cl.CPUArchitecture != "" && cl.CPUArchitecture != "multi" && a != cl.CPUArchitecture {
		return reply{}, badRequest("InfraEnv's CPU architecture (%s) doesn't match the cluster (%s)", a, cl.CPUArchitecture)
	}
	if h.state != hostKnownUnbound {
		return reply{}, s.bindFailed(h, cl.ID, "no condition found to run transition")
	}
	before := s.printHost(h, detail{})
	h.join(cl)
	h.forget()
	s.setHost(h, hostBinding, infoBinding)
	s.noteHost(h, "host_bind_succeeded", severityInfo, "Host %s: Successfully bound to cluster %s", h.name(), cl.ID)
	return ok(s.printMoved(h, &before))
}

func (s *Service) bindFailed(h *host, clusterID, format string, args ...any) error {
	err := conflict(format, args...)
	s.noteHost(h, "host_bind_failed", severityError, "Failed to bind host %s to cluster %s: %s", h.ID, clusterID, err)
	return err
}

// printMoved prints a host that was bound or unbound, as it is now; only what was
// measured of it before still stands.
func (s *Service) printMoved(h *host, before *wireHost) wireHost {
	now := s.printHost(h, detail{plain: true})
	now.ValidationsInfo, now.NtpSources, now.FreeAddresses = before.ValidationsInfo, before.NtpSources, ""
	return now
}

// rebind finishes what bind or unbind began, now that the agent has started anew.
func (s *Service) rebind(h *host) {
	h.forget()
	if h.state == hostBinding {
		cl := h.cluster
		switch {
		case cl.isDay2():
			h.Kind, h.Role, h.SuggestedRole, h.MachineConfigPool = kindAddedHost, roleWorker, roleWorker, "worker"
		case cl.isSingle():
			h.Role, h.SuggestedRole, h.Bootstrap = roleMaster, roleMaster, true
		}
		s.setHost(h, hostDiscovering, infoDiscovering)
		return
	}
	s.setHost(h, hostDiscoveringUnbound, infoDiscovering)
}

// unbindHost gives a host back to the pool.
func (s *Service) unbindHost(c *call) (reply, error) {
	h, err := s.getHost(c.PathValue("infra_env_id"), c.PathValue("host_id"))
	if err != nil {
		return reply{}, err
	}
	before, left := s.printHost(h, detail{}), h.cluster
	if !s.cfg.KubeAPI && oneOf(h.state, hostPreparing, hostPreparationFailed, hostPrepared, hostInstalling, hostInProgress, hostPendingUser) {
		return reply{}, conflict("Cannot unbind Host %s while it is in the middle of installing.", h.ID) // which a hub's operator does not ask
	}
	if err := s.unbind(h, s.reclaims(c)); err != nil {
		s.noteHost(h, "host_unbind_failed", severityError, "Failed to unbind host %s to cluster: %s", h.ID, err)
		return reply{}, err
	}
	s.hostLeft(left)
	return ok(s.printMoved(h, &before))
}

// hostLeft looks at a cluster that one of its hosts has left. A hub's operators leave that to
// the monitor.
func (s *Service) hostLeft(c *cluster) {
	if c == nil {
		return
	}
	if !s.cfg.KubeAPI {
		s.judgeIdle(c)
	}
	c.forceSchedulable()
}

// unbind moves a host out of its cluster, where its state allows that.
func (s *Service) unbind(h *host, reclaim bool) error {
	if h.cluster == nil {
		return conflict("Host %s is already unbound", h.ID)
	}
	if h.infraEnv.ClusterID != "" {
		return conflict("Cannot unbind Host %s. InfraEnv %s is bound to Cluster %s", h.ID, h.InfraEnvID, h.infraEnv.ClusterID)
	}
	state := h.leaving()
	switch {
	case reclaim && oneOf(h.state, hostInstalled, hostAdded):
		state = hostReclaiming
	case state == "":
		return refuse(http.StatusInternalServerError, "no condition found to run transition")
	}
	h.release()
	s.setHost(h, state, infoUnbinding)
	s.noteHost(h, "host_unbind_succeeded", severityInfo, "Host %s: Successfully unbound from cluster", h.name())
	return nil
}

// leaving is what becomes of a host that leaves its cluster: "" where it cannot.
func (h *host) leaving() string {
	switch h.state {
	case hostKnown, hostDiscovering, hostDisconnected, hostInsufficient, hostPendingInput:
		return hostUnbinding
	case hostPreparing, hostPrepared, hostPreparationFailed, hostInstalling, hostInProgress, hostPendingUser, hostInstalled, hostAdded, hostError, hostCancelled:
		return hostUnbindingPending
	}
	return ""
}

// reclaims tells whether the operator of a hub has put an agent on the node of a host that
// is unbound, to boot it into the discovery image. It says so by a parameter of its own:
// the real operator and service are one process.
func (s *Service) reclaims(c *call) bool {
	return s.cfg.KubeAPI && c.URL.Query().Get("reclaim") == "true"
}

// release takes the host out of its cluster and forgets what it was there.
func (h *host) release() {
	h.leave()
	h.forget()
	h.Kind, h.Role, h.SuggestedRole, h.MachineConfigPool, h.Bootstrap = kindHost, roleAuto, "", "", false
	h.Connectivity, h.peers = "", nil
	h.DomainNameResolutions, h.resolutions = "", nil
	h.FreeAddresses, h.freeNetworks = "", nil
	h.InstallationDiskID, h.InstallationDiskPath, h.chosenDisk = "", "", ""
	h.APIVipConnectivity, h.apiCheck = "", nil
	h.checks = checks{}
}

// installHost starts the installation of a host to be added to a cluster.
func (s *Service) installHost(c *call) (reply, error) {
	h, err := s.getHost(c.PathValue("infra_env_id"), c.PathValue("host_id"))
	if err != nil {
		return reply{}, err
	}
	if h.Kind != kindAddedHost {
		return reply{}, conflict("method only allowed when adding hosts to an existing cluster")
	}
	if h.state != hostKnown {
		return reply{}, conflict("cannot install host in state %s", h.state)
	}
	if h.Role == roleAuto {
		h.Role = roleWorker
	}
	before := s.printHost(h, detail{plain: true})
	s.noteHost(h, "host_installation_started", severityInfo, "Host %s starting installation as a worker node", h.name())
	s.setHost(h, hostInstalling, infoInstallingHost)
	before.Status = new(hostInstalling)
	return accepted(before)
}

// resetHost puts a host to be added back to where it can be booted again.
func (s *Service) resetHost(c *call) (reply, error) {
	h, err := s.getHost(c.PathValue("infra_env_id"), c.PathValue("host_id"))
	if err != nil {
		return reply{}, err
	}
	if h.Kind != kindAddedHost {
		return reply{}, conflict("method only allowed when adding hosts to an existing cluster")
	}
	if !oneOf(h.state, hostInstalling, hostInProgress, hostInstalled, hostError, hostCancelled, hostAdded, hostPendingUser) {
		return reply{}, conflict("no condition found to run transition")
	}
	before := s.printHost(h, detail{plain: true})
	s.noteHost(h, "host_installation_reset", severityInfo, "Installation reset for host %s", h.name())
	s.awaitReset(h)
	before.Status = new(hostResettingPending)
	return ok(before)
}

// awaitReset leaves a host waiting to be booted from the discovery image.
func (s *Service) awaitReset(h *host) {
	s.setHost(h, hostResettingPending, infoResettingPending)
	s.noteHost(h, "user_required_complete_installation_reset", severityInfo, "User action is required in order to complete installation reset for host %s", h.name())
}

// resetValidation forgets a measurement, so that it is made again.
func (s *Service) resetValidation(c *call) (reply, error) {
	h, err := s.getHost(c.PathValue("infra_env_id"), c.PathValue("host_id"))
	if err != nil {
		return reply{}, err
	}
	switch id := c.PathValue("validation_id"); id {
	case "sufficient-installation-disk-speed":
		h.diskTested, h.diskFailed, h.DisksInfo = false, false, ""
	case "container-images-available":
		h.imageResults, h.ImagesStatus = nil, ""
	default:
		return reply{}, badRequest("Validation \"%s\" cannot be reset or does not exist", id)
	}
	return reply{status: 200}, nil
}

// deleteHost forgets a host. A machine whose agent still runs registers again.
func (s *Service) deleteHost(c *call) (reply, error) {
	h, err := s.getHost(c.PathValue("infra_env_id"), c.PathValue("host_id"))
	if err != nil {
		return reply{}, refuse(http.StatusInternalServerError, "%s", err)
	}
	left := h.cluster
	s.forgetHost(h)
	s.hostLeft(left)
	return noContent()
}

// forgetHost drops a host and marks its events as those of a host that is gone.
func (s *Service) forgetHost(h *host) {
	s.noteHost(h, "host_deregistered", severityInfo, "Host %s deregistered", h.name())
	s.dropHost(h)
	for i := range s.events {
		if s.events[i].HostID == h.ID {
			s.events[i].hostGone = true
		}
	}
}
