package service

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/oaictl/oaictl/internal/simulator/service/model"
	"github.com/oaictl/oaictl/internal/simulator/service/validate"
	"github.com/openshift/assisted-service/models"
)

func (m *monitor) tickHost(h *model.Host, names map[string]int) {
	if model.OneOf(h.State, model.HostReclaiming, model.HostReclaimingRebooting) {
		m.reclaim(h)
		return
	}
	if model.OneOf(h.State, model.HostResettingPending, model.HostUnbindingPending, model.HostBinding, model.HostUnbinding, model.HostAdded) {
		return
	}
	if h.State == model.HostDiscovering && h.Inventory == "" && h.Checks.Text != "" {
		m.checkSilence(h) // registered anew: the old verdicts stand until it tells more
		return
	}
	m.judgeHost(h, names)
	switch {
	case model.HostUnbound(h.State):
		m.movePoolHost(h)
	case model.HostEvaluated(h.State):
		m.moveHost(h)
	default:
		m.moveInstalling(h)
	}
}

// reclaim is the way of a node into the discovery image: an agent on it reads that, and reboots it.
func (m *monitor) reclaim(h *model.Host) {
	switch since := m.source.since(h.StatusUpdatedAt); {
	case since > reclaimLimit: // it does not come back
		m.journal.setHost(h, model.HostUnbindingPending, model.InfoUnbinding)
	case h.State == model.HostReclaiming && since > reclaimReads:
		m.journal.setHost(h, model.HostReclaimingRebooting, model.InfoReclaimRebooting)
	}
}

// reclaimReads is how long the agent on a node takes to start, and to read the discovery image.
const reclaimReads = 20 * time.Second

const reclaimLimit = time.Hour

func (m *monitor) refreshHostNow(h *model.Host) {
	if h.Cluster == nil {
		m.tickHost(h, nil)
		return
	}
	rememberState(h.Cluster)
	m.tickHost(h, h.Cluster.Hostnames())
}

func (m *monitor) judgeIdle(c *model.Cluster) {
	if model.OneOf(c.Status, model.ClusterInsufficient, model.ClusterReady, model.ClusterPendingInput) {
		m.judgeCluster(c)
		m.moveIdle(c)
	}
}

func (m *monitor) judgeHost(h *model.Host, names map[string]int) {
	broken, fixed := h.Checks.Set(m.variant.made(validate.Host(h, names, m.source.now())))
	for _, o := range broken {
		m.journal.addHostEvent(h, "host_validation_failed", severityWarning, "Host %s: validation '%s' %s", h.Name(), o.ID, o.How())
	}
	for _, o := range fixed {
		m.journal.addHostEvent(h, "host_validation_fixed", severityInfo, "Host %s: validation '%s' is now fixed", h.Name(), o.ID)
	}
}

func (m *monitor) checkSilence(h *model.Host) bool {
	if h.Connected(m.source.now()) {
		return false
	}
	m.journal.setHost(h, model.HostDisconnected, model.InfoDisconnected)
	return true
}

func hindered(h *model.Host) bool {
	return slices.ContainsFunc(h.Checks.List, func(o model.Check) bool {
		advisory := model.OneOf(o.ID, "ntp-synced", "release-domain-name-resolved-correctly", "mtu-valid",
			"inventory-not-partially-truncated", "container-images-available")
		return !model.Good(o.Status) && !advisory && !ignoresHost(h.Cluster, o.ID)
	})
}

func failingChecks(h *model.Host) string { return strings.Join(h.Checks.Failures(), " ; ") }

func (m *monitor) moveHost(h *model.Host) {
	lacks := func(id string) bool { return !model.Good(h.Checks.Status(id)) && !ignoresHost(h.Cluster, id) }
	hardware := []string{
		"has-min-cpu-cores", "has-min-memory", "has-min-valid-disks", "compatible-with-cluster-platform",
		"disk-encryption-requirements-satisfied",
	}
	switch {
	case h.MediaStatus == "disconnected":
		m.journal.setHost(h, model.HostDisconnected, model.InfoMediaDisconnected)
	case m.checkSilence(h):
	case h.Inv == nil:
		m.journal.setHost(h, model.HostDiscovering, model.InfoDiscovering)
	case slices.ContainsFunc(hardware, lacks):
		m.journal.setHost(h, model.HostInsufficient, model.InfoMinimumHardware+failingChecks(h))
	case !model.Good(h.Checks.Status("machine-cidr-defined")):
		m.journal.setHost(h, model.HostPendingInput, model.InfoWaitingForInput+failingChecks(h))
	case hindered(h):
		m.journal.setHost(h, model.HostInsufficient, model.InfoNotInstallable+failingChecks(h))
	case h.State == model.HostPreparationFailed && h.Cluster.Before.State == model.ClusterPreparing:
		// The reason stands until the cluster has seen it.
	case h.State == model.HostKnown && h.Cluster.Before.State == model.ClusterPreparing && h.Kind == model.KindHost:
		if imagesFailed(h) { // what could not be pulled is tried again
			h.ImageResults, h.ImagesStatus = nil, ""
		}
		m.journal.setHost(h, model.HostPreparing, model.InfoPrepared)
	default:
		m.journal.setHost(h, model.HostKnown, model.InfoKnown)
	}
}

func (m *monitor) movePoolHost(h *model.Host) {
	switch {
	case h.MediaStatus == "disconnected":
		m.journal.setHost(h, model.HostDisconnectedUnbound, model.InfoMediaDisconnected)
	case !h.Connected(m.source.now()):
		m.journal.setHost(h, model.HostDisconnectedUnbound, model.InfoDisconnected)
	case h.Inv == nil:
		m.journal.setHost(h, model.HostDiscoveringUnbound, model.InfoDiscovering)
	case hindered(h):
		m.journal.setHost(h, model.HostInsufficientUnbound, model.InfoNotInstallable+failingChecks(h))
	default:
		m.journal.setHost(h, model.HostKnownUnbound, model.InfoReadyToBind)
	}
}

func (m *monitor) moveInstalling(h *model.Host) {
	c := h.Cluster
	if c == nil {
		return
	}
	if c.Before.State == model.ClusterError && !model.OneOf(h.State, model.HostError, model.HostCancelled) && h.Kind == model.KindHost {
		m.journal.setHost(h, model.HostError, model.InfoClusterFailed)
		return
	}
	switch h.State {
	case model.HostPreparing:
		m.movePreparing(h)
	case model.HostPrepared:
		switch {
		case !h.Connected(m.source.now()):
			m.journal.setHost(h, model.HostDisconnected, model.InfoLostPreparing)
		case model.OneOf(c.Before.State, model.ClusterInstalling, model.ClusterFinalizing):
			m.journal.setHost(h, model.HostInstalling, model.InfoInstallingHost)
		case model.OneOf(c.Before.State, model.ClusterInsufficient, model.ClusterReady):
			m.journal.setHost(h, model.HostKnown, model.InfoKnown)
		}
	case model.HostInstalling:
		m.moveStarting(h)
	case model.HostInProgress:
		m.watchStage(h)
	case model.HostPendingUser:
		m.watchBoot(h)
	}
}

// movePreparing waits for the two measurements that every host makes before the installation.
func (m *monitor) movePreparing(h *model.Host) {
	switch {
	case !h.Connected(m.source.now()):
		m.journal.setHost(h, model.HostDisconnected, model.InfoLostPreparing)
	case h.Cluster.Before.State != model.ClusterPreparing:
		m.journal.setHost(h, model.HostKnown, model.InfoKnown)
	case h.DiskFailed && !ignoresHost(h.Cluster, "sufficient-installation-disk-speed"):
		m.journal.setHost(h, model.HostInsufficient, model.InfoNotInstallable+failingChecks(h))
	case imagesFailed(h) && !ignoresHost(h.Cluster, "container-images-available"):
		m.journal.setHost(h, model.HostPreparationFailed, model.InfoPreparationFailed+failingChecks(h))
	case (h.DiskTested || h.BootsFromDisk()) && len(h.ImageResults) > 0:
		m.journal.setHost(h, model.HostPrepared, model.InfoPrepared)
	case m.source.since(h.StatusUpdatedAt) > m.steps.Patience.Host():
		var open []string
		if !h.DiskTested && !h.BootsFromDisk() {
			open = append(open, "the installation disk speed check did not complete within the timeout.")
		}
		if len(h.ImageResults) == 0 {
			open = append(open, "container availability was not determined within the timeout.")
		}
		m.journal.setHost(h, model.HostPreparationFailed, model.InfoPrepareOvertime+strings.Join(open, "\n"))
	}
}

func imagesFailed(h *model.Host) bool {
	results := slices.Collect(maps.Values(h.ImageResults))
	return slices.ContainsFunc(results, func(r models.ContainerImageAvailability) bool { return r.Result != "success" })
}

const startLimit = 20 * time.Minute

func (m *monitor) moveStarting(h *model.Host) {
	switch {
	case !h.Connected(m.source.now()):
		m.journal.setHost(h, model.HostError, model.InfoLostInstalling)
	case m.source.since(h.StatusUpdatedAt) > startLimit:
		m.journal.setHost(h, model.HostError, model.InfoStartTimedOut)
	}
}

// watchStage looks at how long a host has been in its stage; silence does not count while rebooting.
func (m *monitor) watchStage(h *model.Host) {
	single := h.Cluster.IsSingle()
	stage := h.Stage()
	reporting := model.OneOf(stage, model.StageStarting, model.StageInstalling, model.StageWriting, model.StageCopying,
		model.StageControlPlane, model.StageBootkube, model.StageController)
	if reporting && !h.Connected(m.source.now()) {
		m.journal.setHost(h, model.HostError, model.InfoLostInstalling)
		return
	}
	if h.Cluster.Status == model.ClusterPendingUser && model.OneOf(stage, model.StageControlPlane, model.StageController,
		model.StageBootkube, model.StageRebooting) {
		h.Progress.StageUpdatedAt = model.Millis(m.source.now()) // it waits for the host that booted the wrong disk
		return
	}
	limit := model.StageTimeout(stage, single)
	if m.source.since(h.Progress.StageUpdatedAt) <= limit {
		return
	}
	switch stage {
	case model.StageRebooting:
		m.journal.setHost(h, model.HostPendingUser,
			fmt.Sprintf("Host timed out when pulling the configuration files. Verify in the host console that the host boots from the OpenShift "+
				"installation disk (%s, %s) and has network access to the cluster API. The installation will resume after the host successfully "+
				"boots and can access the cluster API",
				diskName(h), h.InstallationDiskID))
	case model.StageWriting, model.StageCopying:
		m.journal.setHost(h, model.HostError, fmt.Sprintf(model.InfoStageStuck, stage, limit))
	default:
		m.journal.setHost(h, model.HostError, fmt.Sprintf(model.InfoStageTooLong, stage, limit))
	}
}

// bootLimit is how long a host may boot the wrong disk that the cluster can do without.
const bootLimit = time.Hour

// watchBoot gives up a host that never boots from its disk, if the cluster has enough others.
func (m *monitor) watchBoot(h *model.Host) {
	spared := outcomeOf(h.Cluster).installed() && !model.OneOf(h.Cluster.Status, model.ClusterInstalled, model.ClusterAddingHosts)
	if spared && m.source.since(h.StatusUpdatedAt) > bootLimit {
		m.journal.setHost(h, model.HostError, model.InfoNotBooted)
	}
}

func diskName(h *model.Host) string {
	if d := h.InstallationDisk(); d != nil {
		return d.Name
	}
	return h.InstallationDiskPath
}
