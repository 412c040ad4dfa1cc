package service

import (
	"fmt"
	"slices"
	"strings"
	"time"
)

// tickHost judges a host anew and moves it on.
func (s *Service) tickHost(h *host, names map[string]int) {
	if h.state == hostReclaiming {
		s.checkReclaim(h)
		return
	}
	if oneOf(h.state, hostResettingPending, hostUnbindingPending, hostBinding, hostUnbinding, hostAdded) {
		return
	}
	if h.state == hostDiscovering && h.Inventory == "" && h.checks.text != "" {
		s.checkSilence(h) // registered anew: the old verdicts stand until it tells more
		return
	}
	s.judgeHost(h, names)
	switch {
	case hostUnbound(h.state):
		s.movePoolHost(h)
	case hostEvaluated(h.state):
		s.moveHost(h)
	default:
		s.moveInstalling(h)
	}
}

// reclaimLimit is how long a node may take to boot into the discovery image.
const reclaimLimit = time.Hour

// checkReclaim gives up on a node that does not come back.
func (s *Service) checkReclaim(h *host) {
	if s.since(h.StatusUpdatedAt) > reclaimLimit {
		s.setHost(h, hostUnbindingPending, infoUnbinding)
	}
}

// refreshHostNow judges a host at once, after its user changed it.
func (s *Service) refreshHostNow(h *host) {
	if h.cluster == nil {
		s.tickHost(h, nil)
		return
	}
	h.cluster.remember()
	s.tickHost(h, h.cluster.hostnames())
}

// judgeIdle judges a cluster at once, as long as nothing is being installed.
func (s *Service) judgeIdle(c *cluster) {
	if oneOf(c.Status, clusterInsufficient, clusterReady, clusterPendingInput) {
		s.judgeCluster(c)
		s.moveIdle(c)
	}
}

func (s *Service) judgeHost(h *host, names map[string]int) {
	broken, fixed := h.checks.set(s.made(s.evaluateHost(h, names)))
	for _, o := range broken {
		s.noteHost(h, "host_validation_failed", severityWarning, "Host %s: validation '%s' %s", h.name(), o.ID, o.how())
	}
	for _, o := range fixed {
		s.noteHost(h, "host_validation_fixed", severityInfo, "Host %s: validation '%s' is now fixed", h.name(), o.ID)
	}
}

func (s *Service) checkSilence(h *host) bool {
	if h.connected(s.now()) {
		return false
	}
	s.setHost(h, hostDisconnected, infoDisconnected)
	return true
}

// advisory are the validations that warn and hinder nothing.
func advisory(id string) bool {
	return oneOf(id, "ntp-synced", "release-domain-name-resolved-correctly", "mtu-valid", "inventory-not-partially-truncated",
		"container-images-available")
}

// hindered tells whether some outcome keeps the host from being installed.
func (h *host) hindered() bool {
	return slices.ContainsFunc(h.checks.list, func(o check) bool {
		return !good(o.Status) && !advisory(o.ID) && !(h.cluster != nil && h.cluster.ignoresHost(o.ID))
	})
}

// failing lists the messages that a state quotes.
func (h *host) failing() string { return strings.Join(h.checks.failures(), " ; ") }

// moveHost decides the state of a host that is not being installed.
func (s *Service) moveHost(h *host) {
	if h.MediaStatus == "disconnected" {
		s.setHost(h, hostDisconnected, infoMediaDisconnected)
		return
	}
	if s.checkSilence(h) {
		return
	}
	if h.inv == nil {
		s.setHost(h, hostDiscovering, infoDiscovering)
		return
	}
	for _, id := range []string{"has-min-cpu-cores", "has-min-memory", "has-min-valid-disks", "compatible-with-cluster-platform", "disk-encryption-requirements-satisfied"} {
		if !good(h.checks.status(id)) && !h.cluster.ignoresHost(id) {
			s.setHost(h, hostInsufficient, infoMinimumHardware+h.failing())
			return
		}
	}
	if !good(h.checks.status("machine-cidr-defined")) {
		s.setHost(h, hostPendingInput, infoWaitingForInput+h.failing())
		return
	}
	if h.hindered() {
		s.setHost(h, hostInsufficient, infoNotInstallable+h.failing())
		return
	}
	if h.state == hostPreparationFailed && h.cluster.before.state == clusterPreparing {
		return // the reason stands until the cluster has seen it
	}
	if h.state == hostKnown && h.cluster.before.state == clusterPreparing && h.Kind == kindHost {
		if h.imagesFailed() { // what could not be pulled is tried again
			h.imageResults, h.ImagesStatus = nil, ""
		}
		s.setHost(h, hostPreparing, infoPrepared)
		return
	}
	s.setHost(h, hostKnown, infoKnown)
}

// movePoolHost is the same for a host that belongs to no cluster.
func (s *Service) movePoolHost(h *host) {
	switch {
	case h.MediaStatus == "disconnected":
		s.setHost(h, hostDisconnectedUnbound, infoMediaDisconnected)
	case !h.connected(s.now()):
		s.setHost(h, hostDisconnectedUnbound, infoDisconnected)
	case h.inv == nil:
		s.setHost(h, hostDiscoveringUnbound, infoDiscovering)
	case h.hindered():
		s.setHost(h, hostInsufficientUnbound, infoNotInstallable+h.failing())
	default:
		s.setHost(h, hostKnownUnbound, infoReadyToBind)
	}
}

// moveInstalling moves a host that is on its way through an installation.
func (s *Service) moveInstalling(h *host) {
	c := h.cluster
	if c == nil {
		return
	}
	if c.before.state == clusterError && !oneOf(h.state, hostError, hostCancelled) && h.Kind == kindHost {
		s.setHost(h, hostError, infoClusterFailed)
		return
	}
	switch h.state {
	case hostPreparing:
		s.movePreparing(h)
	case hostPrepared:
		switch {
		case !h.connected(s.now()):
			s.setHost(h, hostDisconnected, infoLostPreparing)
		case oneOf(c.before.state, clusterInstalling, clusterFinalizing):
			s.setHost(h, hostInstalling, infoInstallingHost)
		case oneOf(c.before.state, clusterInsufficient, clusterReady):
			s.setHost(h, hostKnown, infoKnown)
		}
	case hostInstalling:
		s.moveStarting(h)
	case hostInProgress:
		s.watchStage(h)
	case hostPendingUser:
		s.watchBoot(h)
	}
}

// movePreparing waits for the two measurements that every host makes before the
// installation.
func (s *Service) movePreparing(h *host) {
	switch {
	case !h.connected(s.now()):
		s.setHost(h, hostDisconnected, infoLostPreparing)
	case h.cluster.before.state != clusterPreparing:
		s.setHost(h, hostKnown, infoKnown)
	case h.diskFailed && !h.cluster.ignoresHost("sufficient-installation-disk-speed"):
		s.setHost(h, hostInsufficient, infoNotInstallable+h.failing())
	case h.imagesFailed() && !h.cluster.ignoresHost("container-images-available"):
		s.setHost(h, hostPreparationFailed, infoPreparationFailed+h.failing())
	case h.diskTested && len(h.imageResults) > 0:
		s.setHost(h, hostPrepared, infoPrepared)
	case s.since(h.StatusUpdatedAt) > s.patience.host():
		var open []string
		if !h.diskTested {
			open = append(open, "the installation disk speed check did not complete within the timeout.")
		}
		if len(h.imageResults) == 0 {
			open = append(open, "container availability was not determined within the timeout.")
		}
		s.setHost(h, hostPreparationFailed, infoPrepareOvertime+strings.Join(open, "\n"))
	}
}

func (h *host) imagesFailed() bool {
	for _, r := range h.imageResults {
		if r.Result != "success" {
			return true
		}
	}
	return false
}

// startLimit is how long a host may take to begin once it is told to.
const startLimit = 20 * time.Minute

func (s *Service) moveStarting(h *host) {
	switch {
	case !h.connected(s.now()):
		s.setHost(h, hostError, infoLostInstalling)
	case s.since(h.StatusUpdatedAt) > startLimit:
		s.setHost(h, hostError, infoStartTimedOut)
	}
}

// watchStage looks at how long a host has been in its stage. A host that is
// rebooting says nothing, so silence does not count then.
func (s *Service) watchStage(h *host) {
	single := h.cluster.isSingle()
	stage := h.stage()
	reporting := oneOf(stage, stageStarting, stageInstalling, stageWriting, stageCopying, stageControlPlane, stageBootkube, stageController)
	if reporting && !h.connected(s.now()) {
		s.setHost(h, hostError, infoLostInstalling)
		return
	}
	if h.cluster.Status == clusterPendingUser && oneOf(stage, stageControlPlane, stageController, stageBootkube, stageRebooting) {
		progress := *h.Progress
		progress.StageUpdatedAt = millis(s.now()) // it waits for the host that booted the wrong disk
		h.Progress = &progress
		return
	}
	limit := stageTimeout(stage, single)
	if s.since(h.Progress.StageUpdatedAt) <= limit {
		return
	}
	switch stage {
	case stageRebooting:
		s.setHost(h, hostPendingUser, fmt.Sprintf("Host timed out when pulling the configuration files. Verify in the host console that the host boots from the OpenShift installation disk (%s, %s) and has network access to the cluster API. The installation will resume after the host successfully boots and can access the cluster API",
			h.diskName(), h.InstallationDiskID))
	case stageWriting, stageCopying:
		s.setHost(h, hostError, fmt.Sprintf(infoStageStuck, stage, limit))
	default:
		s.setHost(h, hostError, fmt.Sprintf(infoStageTooLong, stage, limit))
	}
}

// bootLimit is how long a host may boot the wrong disk that the cluster can do without.
const bootLimit = time.Hour

// watchBoot gives up a host that nobody gets to boot from its disk, where the cluster
// has enough others.
func (s *Service) watchBoot(h *host) {
	o := h.cluster.outcome(func(h *host) bool { return h.state == hostInstalled })
	spared := enough(o, o.mastersIn, o.arbitersIn, o.workersIn) && !oneOf(h.cluster.Status, clusterInstalled, clusterAddingHosts)
	if spared && s.since(h.StatusUpdatedAt) > bootLimit {
		s.setHost(h, hostError, infoNotBooted)
	}
}

func (h *host) diskName() string {
	if h.inv != nil {
		if d := h.inv.findDisk(h.InstallationDiskID); d != nil {
			return d.Name
		}
	}
	return h.InstallationDiskPath
}
