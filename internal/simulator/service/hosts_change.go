package service

import (
	"net/http"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/oaictl/oaictl/internal/simulator/service/model"
	"github.com/oaictl/oaictl/internal/simulator/service/request"
	"github.com/oaictl/oaictl/internal/simulator/service/wire"
	"github.com/openshift/assisted-service/models"
)

// registerHost lets an agent in: a new machine, or a known one that booted the image again.
func (a *agentAPI) registerHost(c *wire.Call, e *model.InfraEnv) (wire.Reply, error) {
	p := wire.TypedBody[models.HostCreateParams](c)
	id := strings.ToLower(p.HostID.String())
	if h := a.records.hosts.of(e.ID + "/" + id); h != nil {
		return a.registerAgain(h, p.DiscoveryAgentVersion)
	}
	cl := a.records.clusters.of(e.ClusterID)
	if err := a.mayJoin(e, cl); err != nil {
		a.journal.record(event{
			ClusterID: e.ClusterID, HostID: id, InfraEnvID: e.ID, Name: "host_registration_failed", Severity: severityError,
			Message: err.Error(),
		})
		return wire.Reply{}, err
	}
	a.takeFromOtherInfraEnv(e.ID, id)
	h := a.newHost(e, cl, id, p.DiscoveryAgentVersion)
	a.journal.addHostEvent(h, "host_registration_succeeded", severityInfo, "Host %s: Successfully registered", h.Name())
	w := a.printer.printHost(h, detail{})
	w.CreatedAt, w.UpdatedAt, w.Progress = model.Micros{}, model.Micros{}, nil
	w.NextStepRunner = runner(h)
	return wire.Created(w)
}

// mayJoin refuses new hosts from the installation on until the cluster is told to take more.
func (a *agentAPI) mayJoin(e *model.InfraEnv, cl *model.Cluster) error {
	if cl == nil {
		if e.ClusterID != "" {
			return wire.NotFound("Failed to get cluster %s: record not found", e.ClusterID)
		}
		return nil
	}
	if cl.Status == model.ClusterInstalled {
		return wire.Conflict("Cannot add hosts to an existing cluster using the original Discovery ISO.")
	}
	if !clusterUpdatable(cl) {
		return wire.Conflict("Host can register only in one of the following states: %v", updatableStates())
	}
	return nil
}

// takeFromOtherInfraEnv forgets the machine elsewhere: it boots one image at a time.
func (a *agentAPI) takeFromOtherInfraEnv(infraEnvID, id string) {
	for _, old := range a.records.hosts.inOrder() {
		if old.ID == id && old.InfraEnvID != infraEnvID {
			a.records.dropHost(old)
		}
	}
}

func (a *agentAPI) newHost(e *model.InfraEnv, cl *model.Cluster, id, agent string) *model.Host {
	now := a.source.now()
	h := &model.Host{InfraEnv: e, State: model.HostDiscovering, Info: model.InfoDiscovering}
	h.ID, h.InfraEnvID, h.Kind, h.UserName = id, e.ID, model.KindHost, e.UserName
	h.Href = Base + "/v2/infra-envs/" + e.ID + "/hosts/" + id
	h.Role, h.SuggestedRole, h.AgentVersion = model.RoleAuto, model.RoleAuto, agent
	h.CreatedAt, h.UpdatedAt = model.Micros(now), model.Micros(now)
	h.CheckedInAt, h.RegisteredAt, h.StatusUpdatedAt = model.Millis(now), model.Millis(now), model.Millis(now)
	h.Progress = &models.HostProgressInfo{}
	key := e.ID + "/" + id
	if cl == nil {
		h.State = model.HostDiscoveringUnbound
	} else {
		h.TakeOn(cl)
		h.Join(cl)
		delete(cl.Deleted, key)
	}
	a.records.hosts.add(key, h)
	return h
}

func runner(h *model.Host) *models.HostRegistrationResponseAO1NextStepRunnerCommand {
	return &models.HostRegistrationResponseAO1NextStepRunnerCommand{Args: []string{model.InString(map[string]string{
		"agent_version": h.AgentVersion, "host_id": h.ID, "infra_env_id": h.InfraEnvID})}}
}

func (a *agentAPI) registerAgain(h *model.Host, agent string) (wire.Reply, error) {
	now := a.source.now()
	h.CheckedInAt, h.AgentVersion = model.Millis(now), agent
	switch h.State {
	case model.HostInstalled, model.HostAdded:
		return wire.Reply{}, wire.Conflict("Host is trying to register after the cluster has already been installed. That most probably means " +
			"that the host is booting from the installation ISO, and therefore not effectively joining the cluster. The request will be ignored. " +
			"Fix the boot order and reboot the host.")
	case model.HostPendingUser:
		return wire.Reply{}, wire.Refuse(http.StatusForbidden, "Host is required to be booted from disk %s", h.InstallationDiskPath)
	case model.HostInProgress, model.HostInstalling:
		if h.State == model.HostInProgress &&
			model.OneOf(h.Stage(), model.StageRebooting, model.StageIgnition, model.StageConfiguring, model.StageJoined) {
			a.journal.setHost(h, model.HostPendingUser, wrongBoot(h))
			break
		}
		a.journal.setHost(h, model.HostError, model.InfoRestarted)
	case model.HostPreparing, model.HostPrepared:
		h.Forget()
		a.journal.setHost(h, model.HostDiscovering, model.InfoDiscovering)
	case model.HostError, model.HostCancelled:
	case model.HostBinding, model.HostUnbinding, model.HostUnbindingPending, model.HostReclaiming, model.HostReclaimingRebooting:
		a.rebind(h)
	default:
		h.Forget()
		h.Bootstrap = false // a single node too, until an install makes it that again
		state := model.HostDiscovering
		if h.Cluster == nil {
			state = model.HostDiscoveringUnbound
		}
		a.journal.setHost(h, state, model.InfoDiscovering)
	}
	return wire.Created(a.registrationOf(h, now))
}

// registrationOf is what a known machine is answered: hardly anything of what is known about it.
func (a *agentAPI) registrationOf(h *model.Host, now time.Time) model.PrintedHost {
	w := model.PrintedHost{
		CheckedInAt: model.Millis(now), ClusterID: h.ClusterID, AgentVersion: h.AgentVersion, Href: h.Href, ID: h.ID,
		InfraEnvID: h.InfraEnvID, Kind: h.Kind, ProgressStages: []string{}, RegisteredAt: model.Millis(now),
		RequestedHostname: h.ID, Role: model.RoleAuto, SuggestedRole: model.RoleAuto, UserName: h.UserName,
		NextStepRunner: runner(h),
	}
	switch {
	case h.Kind == model.KindAddedHost:
		w.Role, w.SuggestedRole, w.MachineConfigPool = h.Role, h.SuggestedRole, h.MachineConfigPool
		w.ProgressStages = a.printer.stagesOf(h, false)
	case h.Cluster != nil && h.Cluster.IsSingle(): // like a new one
		w.Role, w.SuggestedRole, w.Bootstrap = model.RoleMaster, model.RoleMaster, true
		w.ProgressStages = a.printer.stagesOf(&model.Host{PrintedHost: w}, true)
	}
	h.RegisteredAt = model.Millis(now)
	return w
}

func wrongBoot(h *model.Host) string {
	d := h.InstallationDisk()
	if d == nil {
		return model.InfoWrongBoot
	}
	words := []string{model.InfoWrongBoot, d.Model, d.Serial, "(" + d.Name + ", " + model.DiskID(d) + ")"}
	return strings.Join(slices.DeleteFunc(words, func(w string) bool { return w == "" }), " ")
}

// updateHost changes what a user may choose about a host: all of it or nothing.
func (a *hostAPI) updateHost(c *wire.Call, h *model.Host) (wire.Reply, error) {
	p := wire.TypedBody[request.HostUpdateParams](c)
	changed := *h // work on a copy, so that a refusal leaves everything as it was
	if err := request.ChangeHost(&changed, &p); err != nil {
		return wire.Reply{}, err
	}
	if !a.variant.hub { // a hub's operators change hosts without that look
		if err := request.CheckInventorySettable(h); err != nil {
			return wire.Reply{}, err
		}
	}
	role, suggested := h.Role, h.SuggestedRole
	*h = changed
	if p.HostName != nil && h.Cluster != nil {
		h.Cluster.RecordUse(true, "Requested hostname", map[string]any{"host_count": 1})
	}
	h.UpdatedAt = model.Micros(a.source.now())
	a.monitor.refreshChangedHost(h, role, suggested)
	return wire.Created(a.printer.printHost(h, detail{keepAddresses: true}))
}

// refreshChangedHost judges a changed host by its old role; the monitor's next look takes the new one.
func (m *monitor) refreshChangedHost(h *model.Host, role, suggested string) {
	now := *h
	h.Role, h.SuggestedRole = role, suggested
	m.refreshHostNow(h)
	h.Role, h.SuggestedRole = now.Role, now.SuggestedRole
	if h.Cluster != nil {
		m.judgeIdle(h.Cluster)
	}
}

var installerValue = regexp.MustCompile(`^[A-Za-z0-9@!#$%*()_+-=//.,";':{}\[\]]+$`)

// installerFlags are the flags of coreos-installer that a user may set.
func installerFlags() []string {
	return []string{"--append-karg", "--delete-karg", "-n", "--copy-network", "--network-dir", "--save-partlabel",
		"--save-partindex", "--image-url", "--image-file"}
}

func (a *hostAPI) updateInstallerArgs(c *wire.Call, h *model.Host) (wire.Reply, error) {
	p := wire.TypedBody[models.InstallerArgsParams](c)
	for _, a := range p.Args {
		if strings.HasPrefix(a, "-") && !slices.Contains(installerFlags(), a) {
			return wire.Reply{}, wire.BadRequest("found unexpected flag %s for installer - allowed flags are %v", a, installerFlags())
		}
		if !strings.HasPrefix(a, "-") && !installerValue.MatchString(a) {
			return wire.Reply{}, wire.BadRequest("found unexpected chars in value %s for installer", a)
		}
	}
	if p.Args == nil {
		p.Args = []string{}
	}
	h.InstallerArgs = model.InString(p.Args)
	h.UpdatedAt = model.Micros(a.source.now())
	a.journal.addHostEvent(h, "host_installer_args_applied", severityInfo, "Host %s: custom installer arguments were applied", h.Name())
	return wire.Created(a.printer.printHost(h, detail{}))
}

func (a *hostAPI) updateHostIgnition(c *wire.Call, h *model.Host) (wire.Reply, error) {
	p := wire.TypedBody[models.HostIgnitionParams](c)
	if p.Config != "" {
		if err := request.CheckIgnition(p.Config); err != nil {
			return wire.Reply{}, err
		}
		a.journal.addHostEvent(
			h, "host_discovery_ignition_config_applied", severityInfo, "Host %s: custom discovery ignition config was applied", h.Name(),
		)
	}
	h.IgnitionOverrides = p.Config
	if h.Cluster != nil {
		request.UseIgnition(h.Cluster, "host", p.Config != "")
	}
	return wire.Reply{Status: 201}, nil
}

func (a *fileAPI) readHostIgnition(c *wire.Call) (wire.Reply, error) {
	_, text, err := a.hostIgnition(c)
	if err != nil {
		return wire.Reply{}, err
	}
	return wire.OK(models.HostIgnitionParams{Config: text})
}

func (a *fileAPI) downloadHostIgnition(c *wire.Call) (wire.Reply, error) {
	name, text, err := a.hostIgnition(c)
	if err != nil {
		return wire.Reply{}, err
	}
	return wire.File(name, []byte(text))
}
