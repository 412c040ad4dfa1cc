package service

import (
	"net/http"
	"strings"
	"time"

	"github.com/openshift/assisted-service/models"
)

// registerHost lets an agent in: a new machine, or a known one that was booted
// into the discovery image again.
func (s *Service) registerHost(c *call) (reply, error) {
	e, err := s.getInfraEnv(c.PathValue("infra_env_id"))
	if err != nil {
		return reply{}, err
	}
	p := taken[models.HostCreateParams](c)
	id := strings.ToLower(p.HostID.String())
	if h := s.hosts[e.ID+"/"+id]; h != nil {
		return s.registerAgain(h, p.DiscoveryAgentVersion)
	}
	cl := s.clusters[e.ClusterID]
	if err := s.mayJoin(e, cl); err != nil {
		s.record(event{ClusterID: e.ClusterID, HostID: id, InfraEnvID: e.ID, Name: "host_registration_failed", Severity: severityError, Message: err.Error()})
		return reply{}, err
	}
	s.takeFromOtherInfraEnv(e.ID, id)
	h := s.newHost(e, cl, id, p.DiscoveryAgentVersion)
	s.noteHost(h, "host_registration_succeeded", severityInfo, "Host %s: Successfully registered", h.name())
	w := s.printHost(h, detail{})
	w.CreatedAt, w.UpdatedAt, w.Progress = micros{}, micros{}, nil
	w.NextStepRunner = runner(h)
	return created(w)
}

// mayJoin refuses new hosts while the cluster is being installed, and then until it is
// told to take more: from whichever image they booted.
func (s *Service) mayJoin(e *infraEnv, cl *cluster) error {
	if cl == nil {
		if e.ClusterID != "" {
			return notFound("Failed to get cluster %s: record not found", e.ClusterID)
		}
		return nil
	}
	if cl.Status == clusterInstalled {
		return conflict("Cannot add hosts to an existing cluster using the original Discovery ISO.")
	}
	if !oneOf(cl.Status, clusterInsufficient, clusterReady, clusterPendingInput, clusterAddingHosts) {
		return conflict("Host can register only in one of the following states: %v",
			[]string{clusterInsufficient, clusterReady, clusterPendingInput, clusterAddingHosts})
	}
	return nil
}

// takeFromOtherInfraEnv forgets the machine where it was known before: a machine
// boots one image at a time.
func (s *Service) takeFromOtherInfraEnv(infraEnvID, id string) {
	for _, old := range s.hostsInOrder() {
		if old.ID == id && old.InfraEnvID != infraEnvID {
			s.dropHost(old)
		}
	}
}

func (s *Service) newHost(e *infraEnv, cl *cluster, id, agent string) *host {
	now := s.now()
	h := &host{infraEnv: e, state: hostDiscovering, info: infoDiscovering}
	h.ID, h.InfraEnvID, h.Kind, h.UserName = id, e.ID, kindHost, e.UserName
	h.Href = Base + "/v2/infra-envs/" + e.ID + "/hosts/" + id
	h.Role, h.SuggestedRole, h.AgentVersion = roleAuto, roleAuto, agent
	h.CreatedAt, h.UpdatedAt = micros(now), micros(now)
	h.CheckedInAt, h.RegisteredAt, h.StatusUpdatedAt = millis(now), millis(now), millis(now)
	h.Progress = &hostProgress{}
	switch {
	case cl == nil:
		h.state = hostDiscoveringUnbound
	case cl.isDay2():
		h.Kind, h.Role, h.SuggestedRole, h.MachineConfigPool = kindAddedHost, roleWorker, roleWorker, "worker"
		h.join(cl)
	case cl.isSingle():
		h.Role, h.SuggestedRole, h.Bootstrap = roleMaster, roleMaster, true
		h.join(cl)
	default:
		h.join(cl)
	}
	key := e.ID + "/" + id
	if cl != nil {
		delete(cl.deleted, key)
	}
	s.hosts[key] = h
	s.hostOrder = append(s.hostOrder, key)
	return h
}

func runner(h *host) *runnerCommand {
	return &runnerCommand{Args: []string{inString(map[string]string{
		"agent_version": h.AgentVersion, "host_id": h.ID, "infra_env_id": h.InfraEnvID})}}
}

// registerAgain answers a machine that the service knows. What it means depends
// on how far the machine was.
func (s *Service) registerAgain(h *host, agent string) (reply, error) {
	now := s.now()
	h.CheckedInAt, h.AgentVersion = millis(now), agent
	switch h.state {
	case hostInstalled, hostAdded:
		return reply{}, conflict("Host is trying to register after the cluster has already been installed. That most probably means that the host is booting from the installation ISO, and therefore not effectively joining the cluster. The request will be ignored. Fix the boot order and reboot the host.")
	case hostPendingUser:
		return reply{}, refuse(http.StatusForbidden, "Host is required to be booted from disk %s", h.InstallationDiskPath)
	case hostInProgress, hostInstalling:
		if h.state == hostInProgress && oneOf(h.stage(), stageRebooting, stageIgnition, stageConfiguring, stageJoined) {
			s.setHost(h, hostPendingUser, h.wrongBoot())
			break
		}
		s.setHost(h, hostError, infoRestarted)
	case hostPreparing, hostPrepared:
		h.forget()
		s.setHost(h, hostDiscovering, infoDiscovering)
	case hostError, hostCancelled:
	case hostBinding, hostUnbinding:
		s.rebind(h)
	case hostUnbindingPending, hostReclaiming:
		s.rebind(h)
	default:
		h.forget()
		h.Bootstrap = false // a single node too, until an install makes it that again
		state := hostDiscovering
		if h.cluster == nil {
			state = hostDiscoveringUnbound
		}
		s.setHost(h, state, infoDiscovering)
	}
	return created(s.registrationOf(h, now))
}

// registrationOf is what a machine that the service knows is answered: hardly
// anything of what is known about it.
func (s *Service) registrationOf(h *host, now time.Time) wireHost {
	w := wireHost{
		CheckedInAt: millis(now), ClusterID: h.ClusterID, AgentVersion: h.AgentVersion, Href: h.Href, ID: h.ID,
		InfraEnvID: h.InfraEnvID, Kind: h.Kind, ProgressStages: []string{}, RegisteredAt: millis(now),
		RequestedHostname: h.ID, Role: roleAuto, SuggestedRole: roleAuto, UserName: h.UserName,
		NextStepRunner: runner(h),
	}
	switch {
	case h.Kind == kindAddedHost:
		w.Role, w.SuggestedRole, w.MachineConfigPool = h.Role, h.SuggestedRole, h.MachineConfigPool
		w.ProgressStages = s.stagesOf(h, false)
	case h.cluster != nil && h.cluster.isSingle(): // like a new one
		w.Role, w.SuggestedRole, w.Bootstrap = roleMaster, roleMaster, true
		w.ProgressStages = s.stagesOf(&host{wireHost: w}, true)
	}
	h.RegisteredAt = millis(now)
	return w
}

// forget drops what was known of the machine before it was booted anew.
func (h *host) forget() {
	h.inv, h.Inventory = nil, ""
	h.Progress = &hostProgress{}
	h.LogsInfo, h.LogsStartedAt, h.LogsCollectedAt = "", millis{}, millis{}
	h.NtpSources, h.ntp = "", nil
	h.ImagesStatus, h.imageResults = "", nil
	h.MediaStatus = ""
	if h.cluster == nil || !h.cluster.isSingle() {
		h.Bootstrap = false
	}
}

// wrongBoot says which disk the machine should have booted from.
func (h *host) wrongBoot() string {
	words := []string{infoWrongBoot}
	if h.inv == nil {
		return infoWrongBoot
	}
	d := h.inv.findDisk(h.InstallationDiskID)
	if d == nil {
		return infoWrongBoot
	}
	for _, w := range []string{d.Model, d.Serial} {
		if w != "" {
			words = append(words, w)
		}
	}
	return strings.Join(append(words, "("+d.Name+", "+d.identifier()+")"), " ")
}
