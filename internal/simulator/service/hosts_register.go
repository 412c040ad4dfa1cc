package service

import (
	"net/http"
	"strings"
	"time"

	"github.com/oaictl/oaictl/internal/simulator/service/model"
	"github.com/oaictl/oaictl/internal/simulator/service/wire"
	"github.com/openshift/assisted-service/models"
)

// registerHost lets an agent in: a new machine, or a known one that was booted
// into the discovery image again.
func (s *Service) registerHost(c *wire.Call, e *model.InfraEnv) (wire.Reply, error) {
	p := wire.Taken[models.HostCreateParams](c)
	id := strings.ToLower(p.HostID.String())
	if h := s.hosts[e.ID+"/"+id]; h != nil {
		return s.registerAgain(h, p.DiscoveryAgentVersion)
	}
	cl := s.clusters[e.ClusterID]
	if err := s.mayJoin(e, cl); err != nil {
		s.record(event{ClusterID: e.ClusterID, HostID: id, InfraEnvID: e.ID, Name: "host_registration_failed", Severity: severityError, Message: err.Error()})
		return wire.Reply{}, err
	}
	s.takeFromOtherInfraEnv(e.ID, id)
	h := s.newHost(e, cl, id, p.DiscoveryAgentVersion)
	s.noteHost(h, "host_registration_succeeded", severityInfo, "Host %s: Successfully registered", h.Name())
	w := s.printHost(h, detail{})
	w.CreatedAt, w.UpdatedAt, w.Progress = model.Micros{}, model.Micros{}, nil
	w.NextStepRunner = runner(h)
	return wire.Created(w)
}

// mayJoin refuses new hosts while the cluster is being installed, and then until it is
// told to take more: from whichever image they booted.
func (s *Service) mayJoin(e *model.InfraEnv, cl *model.Cluster) error {
	if cl == nil {
		if e.ClusterID != "" {
			return wire.NotFound("Failed to get cluster %s: record not found", e.ClusterID)
		}
		return nil
	}
	if cl.Status == model.ClusterInstalled {
		return wire.Conflict("Cannot add hosts to an existing cluster using the original Discovery ISO.")
	}
	if !model.OneOf(cl.Status, model.ClusterInsufficient, model.ClusterReady, model.ClusterPendingInput, model.ClusterAddingHosts) {
		return wire.Conflict("Host can register only in one of the following states: %v",
			[]string{model.ClusterInsufficient, model.ClusterReady, model.ClusterPendingInput, model.ClusterAddingHosts})
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

func (s *Service) newHost(e *model.InfraEnv, cl *model.Cluster, id, agent string) *model.Host {
	now := s.now()
	h := &model.Host{InfraEnv: e, State: model.HostDiscovering, Info: model.InfoDiscovering}
	h.ID, h.InfraEnvID, h.Kind, h.UserName = id, e.ID, model.KindHost, e.UserName
	h.Href = Base + "/v2/infra-envs/" + e.ID + "/hosts/" + id
	h.Role, h.SuggestedRole, h.AgentVersion = model.RoleAuto, model.RoleAuto, agent
	h.CreatedAt, h.UpdatedAt = model.Micros(now), model.Micros(now)
	h.CheckedInAt, h.RegisteredAt, h.StatusUpdatedAt = model.Millis(now), model.Millis(now), model.Millis(now)
	h.Progress = &model.HostProgress{}
	switch {
	case cl == nil:
		h.State = model.HostDiscoveringUnbound
	case cl.IsDay2():
		h.Kind, h.Role, h.SuggestedRole, h.MachineConfigPool = model.KindAddedHost, model.RoleWorker, model.RoleWorker, "worker"
		h.Join(cl)
	case cl.IsSingle():
		h.Role, h.SuggestedRole, h.Bootstrap = model.RoleMaster, model.RoleMaster, true
		h.Join(cl)
	default:
		h.Join(cl)
	}
	key := e.ID + "/" + id
	if cl != nil {
		delete(cl.Deleted, key)
	}
	s.hosts[key] = h
	s.hostOrder = append(s.hostOrder, key)
	return h
}

func runner(h *model.Host) *model.RunnerCommand {
	return &model.RunnerCommand{Args: []string{model.InString(map[string]string{
		"agent_version": h.AgentVersion, "host_id": h.ID, "infra_env_id": h.InfraEnvID})}}
}

// registerAgain answers a machine that the service knows. What it means depends
// on how far the machine was.
func (s *Service) registerAgain(h *model.Host, agent string) (wire.Reply, error) {
	now := s.now()
	h.CheckedInAt, h.AgentVersion = model.Millis(now), agent
	switch h.State {
	case model.HostInstalled, model.HostAdded:
		return wire.Reply{}, wire.Conflict("Host is trying to register after the cluster has already been installed. That most probably means that the host is booting from the installation ISO, and therefore not effectively joining the cluster. The request will be ignored. Fix the boot order and reboot the host.")
	case model.HostPendingUser:
		return wire.Reply{}, wire.Refuse(http.StatusForbidden, "Host is required to be booted from disk %s", h.InstallationDiskPath)
	case model.HostInProgress, model.HostInstalling:
		if h.State == model.HostInProgress && model.OneOf(h.Stage(), model.StageRebooting, model.StageIgnition, model.StageConfiguring, model.StageJoined) {
			s.setHost(h, model.HostPendingUser, wrongBoot(h))
			break
		}
		s.setHost(h, model.HostError, model.InfoRestarted)
	case model.HostPreparing, model.HostPrepared:
		h.Forget()
		s.setHost(h, model.HostDiscovering, model.InfoDiscovering)
	case model.HostError, model.HostCancelled:
	case model.HostBinding, model.HostUnbinding:
		s.rebind(h)
	case model.HostUnbindingPending, model.HostReclaiming:
		s.rebind(h)
	default:
		h.Forget()
		h.Bootstrap = false // a single node too, until an install makes it that again
		state := model.HostDiscovering
		if h.Cluster == nil {
			state = model.HostDiscoveringUnbound
		}
		s.setHost(h, state, model.InfoDiscovering)
	}
	return wire.Created(s.registrationOf(h, now))
}

// registrationOf is what a machine that the service knows is answered: hardly
// anything of what is known about it.
func (s *Service) registrationOf(h *model.Host, now time.Time) model.PrintedHost {
	w := model.PrintedHost{
		CheckedInAt: model.Millis(now), ClusterID: h.ClusterID, AgentVersion: h.AgentVersion, Href: h.Href, ID: h.ID,
		InfraEnvID: h.InfraEnvID, Kind: h.Kind, ProgressStages: []string{}, RegisteredAt: model.Millis(now),
		RequestedHostname: h.ID, Role: model.RoleAuto, SuggestedRole: model.RoleAuto, UserName: h.UserName,
		NextStepRunner: runner(h),
	}
	switch {
	case h.Kind == model.KindAddedHost:
		w.Role, w.SuggestedRole, w.MachineConfigPool = h.Role, h.SuggestedRole, h.MachineConfigPool
		w.ProgressStages = s.stagesOf(h, false)
	case h.Cluster != nil && h.Cluster.IsSingle(): // like a new one
		w.Role, w.SuggestedRole, w.Bootstrap = model.RoleMaster, model.RoleMaster, true
		w.ProgressStages = s.stagesOf(&model.Host{PrintedHost: w}, true)
	}
	h.RegisteredAt = model.Millis(now)
	return w
}

// wrongBoot says which disk the machine should have booted from.
func wrongBoot(h *model.Host) string {
	words := []string{model.InfoWrongBoot}
	if h.Inv == nil {
		return model.InfoWrongBoot
	}
	d := h.Inv.FindDisk(h.InstallationDiskID)
	if d == nil {
		return model.InfoWrongBoot
	}
	for _, w := range []string{d.Model, d.Serial} {
		if w != "" {
			words = append(words, w)
		}
	}
	return strings.Join(append(words, "("+d.Name+", "+model.DiskID(d)+")"), " ")
}
