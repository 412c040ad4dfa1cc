package service

import (
	"net/http"

	"github.com/openshift/assisted-service/models"

	"github.com/oaictl/oaictl/internal/simulator/service/model"
	"github.com/oaictl/oaictl/internal/simulator/service/wire"
)

// hostAPI answers what users ask of hosts.
type hostAPI struct {
	records *records
	source  *source
	journal *journal
	variant *variant
	printer *printer
	monitor *monitor
}

func (a *hostAPI) bindHost(c *wire.Call, h *model.Host) (wire.Reply, error) {
	p := wire.TypedBody[models.BindHostParams](c)
	if h.Cluster != nil {
		return wire.Reply{}, wire.Conflict("Host %s is already bound to cluster %s", h.ID, h.ClusterID)
	}
	cl := a.records.clusters.of(p.ClusterID.String())
	if cl == nil {
		return wire.Reply{}, wire.BadRequest("Failed to find cluster %s", p.ClusterID)
	}
	if !clusterUpdatable(cl) {
		return wire.Reply{}, a.bindFailed(h, cl.ID, "Cluster %s is in %s state, host can be bound only in one of %v", cl.ID, cl.Status,
			updatableStates())
	}
	if a := h.InfraEnv.CPUArchitecture; cl.CPUArchitecture != "" && cl.CPUArchitecture != "multi" && a != cl.CPUArchitecture {
		return wire.Reply{}, wire.BadRequest("InfraEnv's CPU architecture (%s) doesn't match the cluster (%s)", a, cl.CPUArchitecture)
	}
	if h.State != model.HostKnownUnbound {
		return wire.Reply{}, a.bindFailed(h, cl.ID, "no condition found to run transition")
	}
	before := a.printer.printHost(h, detail{})
	h.Join(cl)
	h.Forget()
	a.journal.setHost(h, model.HostBinding, model.InfoBinding)
	a.journal.addHostEvent(h, "host_bind_succeeded", severityInfo, "Host %s: Successfully bound to cluster %s", h.Name(), cl.ID)
	return wire.OK(a.printer.printMoved(h, &before))
}

func (a *hostAPI) bindFailed(h *model.Host, clusterID, format string, args ...any) error {
	err := wire.Conflict(format, args...)
	a.journal.addHostEvent(h, "host_bind_failed", severityError, "Failed to bind host %s to cluster %s: %s", h.ID, clusterID, err)
	return err
}

// rebind finishes what bind or unbind began, now that the agent has started anew.
func (a *agentAPI) rebind(h *model.Host) {
	h.Forget()
	if h.State != model.HostBinding {
		a.journal.setHost(h, model.HostDiscoveringUnbound, model.InfoDiscovering)
		return
	}
	h.TakeOn(h.Cluster)
	a.journal.setHost(h, model.HostDiscovering, model.InfoDiscovering)
}

func (a *hostAPI) unbindHost(c *wire.Call, h *model.Host) (wire.Reply, error) {
	before, left := a.printer.printHost(h, detail{}), h.Cluster
	if !a.variant.hub && model.OneOf(h.State, model.HostPreparing, model.HostPreparationFailed, model.HostPrepared,
		model.HostInstalling, model.HostInProgress, model.HostPendingUser) {
		// which a hub's operator does not ask
		return wire.Reply{}, wire.Conflict("Cannot unbind Host %s while it is in the middle of installing.", h.ID)
	}
	// The operator of a hub says by a parameter of its own, since the real operator and service
	// are one process, that it has put an agent on the host's node, to boot it into the discovery image.
	reclaim := a.variant.hub && c.URL.Query().Get("reclaim") == "true"
	if err := a.unbind(h, reclaim); err != nil {
		a.journal.addHostEvent(h, "host_unbind_failed", severityError, "Failed to unbind host %s to cluster: %s", h.ID, err)
		return wire.Reply{}, err
	}
	a.monitor.hostLeft(left)
	return wire.OK(a.printer.printMoved(h, &before))
}

// hostLeft looks at a cluster that one of its hosts has left. A hub's operators leave that to the monitor.
func (m *monitor) hostLeft(c *model.Cluster) {
	if c == nil {
		return
	}
	if !m.variant.hub {
		m.judgeIdle(c)
	}
	forceSchedulable(c)
}

func (a *hostAPI) unbind(h *model.Host, reclaim bool) error {
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
	a.journal.setHost(h, state, model.InfoUnbinding)
	a.journal.addHostEvent(h, "host_unbind_succeeded", severityInfo, "Host %s: Successfully unbound from cluster", h.Name())
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

func (a *hostAPI) installHost(_ *wire.Call, h *model.Host) (wire.Reply, error) {
	if h.Kind != model.KindAddedHost {
		return wire.Reply{}, wire.Conflict("method only allowed when adding hosts to an existing cluster")
	}
	if h.State != model.HostKnown {
		return wire.Reply{}, wire.Conflict("cannot install host in state %s", h.State)
	}
	if h.Role == model.RoleAuto {
		h.Role = model.RoleWorker
	}
	before := a.printer.printHost(h, detail{plain: true})
	a.journal.addHostEvent(h, "host_installation_started", severityInfo, "Host %s starting installation as a worker node", h.Name())
	a.journal.setHost(h, model.HostInstalling, model.InfoInstallingHost)
	before.Status = new(model.HostInstalling)
	return wire.Accepted(before)
}

func (a *hostAPI) resetHost(_ *wire.Call, h *model.Host) (wire.Reply, error) {
	if h.Kind != model.KindAddedHost {
		return wire.Reply{}, wire.Conflict("method only allowed when adding hosts to an existing cluster")
	}
	if !model.OneOf(h.State, model.HostInstalling, model.HostInProgress, model.HostInstalled, model.HostError,
		model.HostCancelled, model.HostAdded, model.HostPendingUser) {
		return wire.Reply{}, wire.Conflict("no condition found to run transition")
	}
	before := a.printer.printHost(h, detail{plain: true})
	a.journal.awaitReset(h)
	before.Status = new(model.HostResettingPending)
	return wire.OK(before)
}

func (a *hostAPI) resetValidation(c *wire.Call, h *model.Host) (wire.Reply, error) {
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

func (a *hostAPI) deleteHost(c *wire.Call) (wire.Reply, error) {
	h, err := a.records.getHost(c.PathValue("infra_env_id"), c.PathValue("host_id"))
	if err != nil {
		return wire.Reply{}, wire.Refuse(http.StatusInternalServerError, "%s", err)
	}
	left := h.Cluster
	a.forgetHost(h)
	a.monitor.hostLeft(left)
	return wire.NoContent()
}

func (a *hostAPI) forgetHost(h *model.Host) {
	a.journal.addHostEvent(h, "host_deregistered", severityInfo, "Host %s deregistered", h.Name())
	a.records.dropHost(h)
	a.journal.markGone(h.ID)
}

func (a *hostAPI) readHost(_ *wire.Call, h *model.Host) (wire.Reply, error) {
	return wire.OK(a.printer.printHost(h, detail{}))
}

func (a *hostAPI) listHosts(_ *wire.Call, e *model.InfraEnv) (wire.Reply, error) {
	list := []model.PrintedHost{}
	for _, h := range a.records.hostsOfInfraEnv(e.ID) {
		list = append(list, a.printer.printHost(h, detail{roleOnly: true}))
	}
	return wire.OK(list)
}

func (a *hostAPI) listClusterHosts(c *wire.Call) (wire.Reply, error) {
	cl := a.records.clusters.of(c.PathValue("cluster_id"))
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
		w := a.printer.printHost(h, detail{plain: true})
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
