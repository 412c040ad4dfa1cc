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

func (s *Service) tickHost(h *model.Host, names map[string]int) {
	if model.OneOf(h.State, model.HostReclaiming, model.HostReclaimingRebooting) {
		s.reclaim(h)
		return
	}
	if model.OneOf(h.State, model.HostResettingPending, model.HostUnbindingPending, model.HostBinding, model.HostUnbinding, model.HostAdded) {
		return
	}
	if h.State == model.HostDiscovering && h.Inventory == "" && h.Checks.Text != "" {
		s.checkSilence(h) // registered anew: the old verdicts stand until it tells more
		return
	}
	s.judgeHost(h, names)
	switch {
	case model.HostUnbound(h.State):
		s.movePoolHost(h)
	case model.HostEvaluated(h.State):
		s.moveHost(h)
	default:
		s.moveInstalling(h)
	}
}

// reclaim is the way of a node into the discovery image: an agent on it reads that, and reboots it.
func (s *Service) reclaim(h *model.Host) {
	switch since := s.since(h.StatusUpdatedAt); {
	case since > reclaimLimit: // it does not come back
		s.setHost(h, model.HostUnbindingPending, model.InfoUnbinding)
	case h.State == model.HostReclaiming && since > reclaimReads:
		s.setHost(h, model.HostReclaimingRebooting, model.InfoReclaimRebooting)
	}
}

// reclaimReads is how long the agent on a node takes to start, and to read the discovery image.
const reclaimReads = 20 * time.Second

const reclaimLimit = time.Hour

func (s *Service) refreshHostNow(h *model.Host) {
	if h.Cluster == nil {
		s.tickHost(h, nil)
		return
	}
	rememberState(h.Cluster)
	s.tickHost(h, h.Cluster.Hostnames())
}

func (s *Service) judgeIdle(c *model.Cluster) {
	if model.OneOf(c.Status, model.ClusterInsufficient, model.ClusterReady, model.ClusterPendingInput) {
		s.judgeCluster(c)
		s.moveIdle(c)
	}
}

func (s *Service) judgeHost(h *model.Host, names map[string]int) {
	broken, fixed := h.Checks.Set(s.made(validate.Host(h, names, s.now())))
	for _, o := range broken {
		s.addHostEvent(h, "host_validation_failed", severityWarning, "Host %s: validation '%s' %s", h.Name(), o.ID, o.How())
	}
	for _, o := range fixed {
		s.addHostEvent(h, "host_validation_fixed", severityInfo, "Host %s: validation '%s' is now fixed", h.Name(), o.ID)
	}
}

func (s *Service) checkSilence(h *model.Host) bool {
	if h.Connected(s.now()) {
		return false
	}
	s.setHost(h, model.HostDisconnected, model.InfoDisconnected)
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

func (s *Service) moveHost(h *model.Host) {
	lacks := func(id string) bool { return !model.Good(h.Checks.Status(id)) && !ignoresHost(h.Cluster, id) }
	hardware := []string{
		"has-min-cpu-cores", "has-min-memory", "has-min-valid-disks", "compatible-with-cluster-platform",
		"disk-encryption-requirements-satisfied",
	}
	switch {
	case h.MediaStatus == "disconnected":
		s.setHost(h, model.HostDisconnected, model.InfoMediaDisconnected)
	case s.checkSilence(h):
	case h.Inv == nil:
		s.setHost(h, model.HostDiscovering, model.InfoDiscovering)
	case slices.ContainsFunc(hardware, lacks):
		s.setHost(h, model.HostInsufficient, model.InfoMinimumHardware+failingChecks(h))
	case !model.Good(h.Checks.Status("machine-cidr-defined")):
		s.setHost(h, model.HostPendingInput, model.InfoWaitingForInput+failingChecks(h))
	case hindered(h):
		s.setHost(h, model.HostInsufficient, model.InfoNotInstallable+failingChecks(h))
	case h.State == model.HostPreparationFailed && h.Cluster.Before.State == model.ClusterPreparing:
		// The reason stands until the cluster has seen it.
	case h.State == model.HostKnown && h.Cluster.Before.State == model.ClusterPreparing && h.Kind == model.KindHost:
		if imagesFailed(h) { // what could not be pulled is tried again
			h.ImageResults, h.ImagesStatus = nil, ""
		}
		s.setHost(h, model.HostPreparing, model.InfoPrepared)
	default:
		s.setHost(h, model.HostKnown, model.InfoKnown)
	}
}

func (s *Service) movePoolHost(h *model.Host) {
	switch {
	case h.MediaStatus == "disconnected":
		s.setHost(h, model.HostDisconnectedUnbound, model.InfoMediaDisconnected)
	case !h.Connected(s.now()):
		s.setHost(h, model.HostDisconnectedUnbound, model.InfoDisconnected)
	case h.Inv == nil:
		s.setHost(h, model.HostDiscoveringUnbound, model.InfoDiscovering)
	case hindered(h):
		s.setHost(h, model.HostInsufficientUnbound, model.InfoNotInstallable+failingChecks(h))
	default:
		s.setHost(h, model.HostKnownUnbound, model.InfoReadyToBind)
	}
}

func (s *Service) moveInstalling(h *model.Host) {
	c := h.Cluster
	if c == nil {
		return
	}
	if c.Before.State == model.ClusterError && !model.OneOf(h.State, model.HostError, model.HostCancelled) && h.Kind == model.KindHost {
		s.setHost(h, model.HostError, model.InfoClusterFailed)
		return
	}
	switch h.State {
	case model.HostPreparing:
		s.movePreparing(h)
	case model.HostPrepared:
		switch {
		case !h.Connected(s.now()):
			s.setHost(h, model.HostDisconnected, model.InfoLostPreparing)
		case model.OneOf(c.Before.State, model.ClusterInstalling, model.ClusterFinalizing):
			s.setHost(h, model.HostInstalling, model.InfoInstallingHost)
		case model.OneOf(c.Before.State, model.ClusterInsufficient, model.ClusterReady):
			s.setHost(h, model.HostKnown, model.InfoKnown)
		}
	case model.HostInstalling:
		s.moveStarting(h)
	case model.HostInProgress:
		s.watchStage(h)
	case model.HostPendingUser:
		s.watchBoot(h)
	}
}

// movePreparing waits for the two measurements that every host makes before the installation.
func (s *Service) movePreparing(h *model.Host) {
	switch {
	case !h.Connected(s.now()):
		s.setHost(h, model.HostDisconnected, model.InfoLostPreparing)
	case h.Cluster.Before.State != model.ClusterPreparing:
		s.setHost(h, model.HostKnown, model.InfoKnown)
	case h.DiskFailed && !ignoresHost(h.Cluster, "sufficient-installation-disk-speed"):
		s.setHost(h, model.HostInsufficient, model.InfoNotInstallable+failingChecks(h))
	case imagesFailed(h) && !ignoresHost(h.Cluster, "container-images-available"):
		s.setHost(h, model.HostPreparationFailed, model.InfoPreparationFailed+failingChecks(h))
	case (h.DiskTested || h.BootsFromDisk()) && len(h.ImageResults) > 0:
		s.setHost(h, model.HostPrepared, model.InfoPrepared)
	case s.since(h.StatusUpdatedAt) > s.steps.Patience.Host():
		var open []string
		if !h.DiskTested && !h.BootsFromDisk() {
			open = append(open, "the installation disk speed check did not complete within the timeout.")
		}
		if len(h.ImageResults) == 0 {
			open = append(open, "container availability was not determined within the timeout.")
		}
		s.setHost(h, model.HostPreparationFailed, model.InfoPrepareOvertime+strings.Join(open, "\n"))
	}
}

func imagesFailed(h *model.Host) bool {
	results := slices.Collect(maps.Values(h.ImageResults))
	return slices.ContainsFunc(results, func(r models.ContainerImageAvailability) bool { return r.Result != "success" })
}

const startLimit = 20 * time.Minute

func (s *Service) moveStarting(h *model.Host) {
	switch {
	case !h.Connected(s.now()):
		s.setHost(h, model.HostError, model.InfoLostInstalling)
	case s.since(h.StatusUpdatedAt) > startLimit:
		s.setHost(h, model.HostError, model.InfoStartTimedOut)
	}
}

// watchStage looks at how long a host has been in its stage; silence does not count while rebooting.
func (s *Service) watchStage(h *model.Host) {
	single := h.Cluster.IsSingle()
	stage := h.Stage()
	reporting := model.OneOf(stage, model.StageStarting, model.StageInstalling, model.StageWriting, model.StageCopying,
		model.StageControlPlane, model.StageBootkube, model.StageController)
	if reporting && !h.Connected(s.now()) {
		s.setHost(h, model.HostError, model.InfoLostInstalling)
		return
	}
	if h.Cluster.Status == model.ClusterPendingUser && model.OneOf(stage, model.StageControlPlane, model.StageController,
		model.StageBootkube, model.StageRebooting) {
		h.Progress.StageUpdatedAt = model.Millis(s.now()) // it waits for the host that booted the wrong disk
		return
	}
	limit := model.StageTimeout(stage, single)
	if s.since(h.Progress.StageUpdatedAt) <= limit {
		return
	}
	switch stage {
	case model.StageRebooting:
		s.setHost(h, model.HostPendingUser, fmt.Sprintf("Host timed out when pulling the configuration files. Verify in the host console that the host boots from the OpenShift installation disk (%s, %s) and has network access to the cluster API. The installation will resume after the host successfully boots and can access the cluster API",
			diskName(h), h.InstallationDiskID))
	case model.StageWriting, model.StageCopying:
		s.setHost(h, model.HostError, fmt.Sprintf(model.InfoStageStuck, stage, limit))
	default:
		s.setHost(h, model.HostError, fmt.Sprintf(model.InfoStageTooLong, stage, limit))
	}
}

// bootLimit is how long a host may boot the wrong disk that the cluster can do without.
const bootLimit = time.Hour

// watchBoot gives up a host that never boots from its disk, if the cluster has enough others.
func (s *Service) watchBoot(h *model.Host) {
	spared := outcomeOf(h.Cluster).installed() && !model.OneOf(h.Cluster.Status, model.ClusterInstalled, model.ClusterAddingHosts)
	if spared && s.since(h.StatusUpdatedAt) > bootLimit {
		s.setHost(h, model.HostError, model.InfoNotBooted)
	}
}

func diskName(h *model.Host) string {
	if d := h.InstallationDisk(); d != nil {
		return d.Name
	}
	return h.InstallationDiskPath
}
