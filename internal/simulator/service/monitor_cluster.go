package service

import (
	"fmt"
	"slices"
	"strings"
	"time"
)

// tickCluster judges a cluster anew and moves it on.
func (s *Service) tickCluster(c *cluster) {
	if oneOf(c.Status, clusterInsufficient, clusterPendingInput, clusterReady, clusterPreparing) {
		s.judgeCluster(c)
		c.assignMachineNetworks()
		c.updateGroupsAndCollisions()
		c.forceSchedulable()
	}
	switch c.Status {
	case clusterInsufficient, clusterPendingInput, clusterReady:
		s.moveIdle(c)
	case clusterPreparing:
		s.movePreparation(c)
	case clusterInstalling, clusterPendingUser:
		s.moveInstallation(c)
	case clusterFinalizing:
		s.moveFinalizing(c)
	}
}

// judgeCluster evaluates the validations.
func (s *Service) judgeCluster(c *cluster) {
	broken, fixed := c.checks.set(s.made(s.evaluateCluster(c)))
	for _, o := range broken {
		s.note(c, "cluster_validation_failed", severityWarning, "Cluster validation '%s' %s", o.ID, o.how())
	}
	for _, o := range fixed {
		s.note(c, "cluster_validation_fixed", severityInfo, "Cluster validation '%s' is now fixed", o.ID)
	}
	c.ValidationsInfo = c.checks.text
}

// forceSchedulable notes whether the control plane has to take ordinary workloads, for
// want of workers. The service does so when hosts come and go, at an install and at each
// look of its monitor, not when a host gets another role.
func (c *cluster) forceSchedulable() {
	c.SchedulableMastersForced = new(c.ControlPlaneCount != 0 && c.workersAsked() < 2)
}

// workersAsked counts the workers, chosen or suggested.
func (c *cluster) workersAsked() int {
	_, _, workers, _ := c.countRoles()
	return workers
}

// inputChecks are the validations that only the user's input can fulfil.
func inputChecks() []string {
	return []string{"machine-cidr-defined", "cluster-cidr-defined", "service-cidr-defined", "api-vips-defined",
		"ingress-vips-defined", "dns-domain-defined", "pull-secret-set"}
}

// moveIdle decides the state of a cluster that nobody has told to install.
func (s *Service) moveIdle(c *cluster) {
	for _, id := range inputChecks() {
		if !good(c.checks.status(id)) && !c.ignoresCluster(id) {
			s.setCluster(c, clusterPendingInput, infoInputRequired)
			return
		}
	}
	hindered := slices.ContainsFunc(c.checks.list, func(o check) bool {
		return !good(o.Status) && !c.ignoresCluster(o.ID)
	})
	if hindered {
		s.setCluster(c, clusterInsufficient, infoNotReady)
		return
	}
	s.setCluster(c, clusterReady, infoReady)
}

// generation is how long making the files of an installation takes.
const generation = 200 * time.Millisecond

// settle finishes what goes on between two ticks: the files of the
// installations that are being prepared. They are finished for one that was
// cancelled meanwhile, too.
func (s *Service) settle() {
	for _, c := range s.clusters {
		if !c.preparedAt.IsZero() && s.now().Sub(c.preparedAt) >= generation {
			c.preparedAt = time.Time{}
			s.ignite(c)
		}
	}
}

// movePreparation waits for the hosts' measurements and for the files.
func (s *Service) movePreparation(c *cluster) {
	count := map[string]int{}
	for _, h := range c.hosts {
		count[h.state]++
	}
	known := count[hostPreparing] + count[hostPrepared] + count[hostPreparationFailed] + count[hostKnown]
	switch {
	case s.since(c.StatusUpdatedAt) > s.patience.cluster() && count[hostPreparationFailed] == 0:
		c.LastPreparation = lastPreparation{Status: preparationFailed, Reason: "Installation failed. Try again, and contact support if the issue persists."}
		s.note(c, "installation_preparing_timed_out", severityWarning, "Preparing for installation was timed out for the cluster")
		s.setCluster(c, clusterReady, infoPrepareTimedOut)
	case count[hostPrepared] == len(c.hosts) && c.LastPreparation.Status == preparationDone:
		c.startInstalling()
		s.setCluster(c, clusterInstalling, infoInstalling)
	case known < len(c.hosts):
		s.setCluster(c, clusterInsufficient, infoHostUnprepared)
	case count[hostPreparationFailed] > 0 || c.LastPreparation.Status == preparationFailed:
		s.setCluster(c, clusterReady, infoPrepareFailed)
	}
}

// How the last preparation went. It is about the files of the installation, and
// tells nothing of the hosts.
const (
	preparationNotBegun = "not_started"
	preparationDone     = "success"
	preparationFailed   = "failed"
)

// filesFailed says that the files of an installation could not be made.
func (s *Service) filesFailed(c *cluster, reason string) {
	c.LastPreparation = lastPreparation{Status: preparationFailed, Reason: reason}
	s.note(c, "prepare_installation_failed", severityWarning, "Failed to prepare the installation due to an unexpected error: %s. Please retry later", reason)
}

// startInstalling turns a prepared cluster into one that is being installed.
func (c *cluster) startInstalling() {
	progress := *c.Progress
	progress.PreparingPercentage = 100
	c.Progress = &progress
	c.measureTotal()
	if c.isSingle() { // the node itself is where the API will be
		if address := c.nodeAddress(); address != "" {
			c.APIVips = []vip{{ClusterID: c.ID, IP: address}}
			c.IngressVips = []vip{{ClusterID: c.ID, IP: address}}
		}
	}
}

// outcome counts the hosts of a running installation by what became of them.
type outcome struct {
	masters, arbiters, workers          int
	mastersIn, arbitersIn, workersIn    int // installed
	mastersUp, arbitersUp, workersAlive int // installed or still on their way
}

func (c *cluster) outcome(installed func(*host) bool) outcome {
	var o outcome
	for _, h := range c.hosts {
		if h.Kind != kindHost {
			continue
		}
		in := installed(h)
		alive := in || !oneOf(h.state, hostError, hostCancelled)
		switch h.Role {
		case roleMaster:
			o.masters++
			o.mastersIn += one(in)
			o.mastersUp += one(alive)
		case roleArbiter:
			o.arbiters++
			o.arbitersIn += one(in)
			o.arbitersUp += one(alive)
		default:
			o.workers++
			o.workersIn += one(in)
			o.workersAlive += one(alive)
		}
	}
	o.masters = max(o.masters, int(c.ControlPlaneCount)) // one that was deleted is missing
	return o
}

func one(b bool) int {
	if b {
		return 1
	}
	return 0
}

// enough tells whether as many nodes stand as a cluster needs: the whole control
// plane, an arbiter if there are any, and two workers if two were asked for.
func enough(o outcome, masters, arbiters, workers int) bool {
	return masters >= o.masters && (o.arbiters == 0 || arbiters >= 1) && (o.workers < 2 || workers >= 2)
}

// userLimit is how long an installation may have taken while somebody has still to fix
// a boot order.
const userLimit = 24 * time.Hour

// moveInstallation looks at how many nodes stand, and for how many there is hope.
func (s *Service) moveInstallation(c *cluster) {
	o := c.outcome(func(h *host) bool { return h.state == hostInstalled })
	switch {
	case !c.hopeful(o):
		s.failInstallation(c, infoHostsInError)
	case c.Status == clusterPendingUser && s.since(c.InstallStartedAt) > userLimit:
		s.failInstallation(c, infoUserTimeout)
	case c.awaitsUser():
		s.setCluster(c, clusterPendingUser, infoPendingUser)
	case enough(o, o.mastersIn, o.arbitersIn, o.workersIn):
		s.startFinalizing(c)
	default:
		s.setCluster(c, clusterInstalling, infoInstalling)
	}
}

// hopeful tells whether as many nodes as a cluster needs stand or are on their way.
func (c *cluster) hopeful(o outcome) bool {
	return enough(o, o.mastersUp, o.arbitersUp, o.workersAlive)
}

// awaitsUser tells whether a host has booted the wrong disk.
func (c *cluster) awaitsUser() bool {
	return slices.ContainsFunc(c.hosts, func(h *host) bool { return h.state == hostPendingUser })
}

// startFinalizing leaves the rest to the controller. One that waited for a user
// meanwhile has all the time again.
func (s *Service) startFinalizing(c *cluster) {
	if c.Status == clusterPendingUser {
		progress := *c.Progress
		progress.FinalizingStageStartedAt, progress.FinalizingStageTimedOut = millis(s.now()), false
		c.Progress = &progress
	}
	s.setCluster(c, clusterFinalizing, infoFinalizing)
}

func (s *Service) failInstallation(c *cluster, reason string) {
	s.setCluster(c, clusterError, reason)
	c.InstallCompletedAt = millis(s.now())
	s.note(c, "cluster_installation_failed", severityCritical, "Failed installing cluster. Reason: %s", reason)
}

// finalizingLimit is how long finalizing may take, whatever the controller's stage.
const finalizingLimit = 5 * time.Hour

// moveFinalizing looks at the time, and then at the last hosts, the ingress
// certificate and the operators.
func (s *Service) moveFinalizing(c *cluster) {
	stage, limit := c.finalizingStage()
	overdue := stage.name != "" && s.since(c.Progress.FinalizingStageStartedAt) > limit
	switch {
	case s.since(c.StatusUpdatedAt) > finalizingLimit:
		s.failInstallation(c, infoFinalizeTimeout)
	case overdue && !stage.optional:
		s.failInstallation(c, fmt.Sprintf(infoStageTimeout, stage.name, int(limit.Minutes())))
	case overdue && !c.Progress.FinalizingStageTimedOut:
		s.markStage(c, stage, limit)
	case c.awaitsUser() && c.hopeful(c.outcome(func(h *host) bool { return h.state == hostInstalled })):
		s.setCluster(c, clusterPendingUser, infoPendingUser)
	default:
		s.finishIfDone(c)
	}
}

// finishIfDone declares the cluster installed once nothing is missing.
func (s *Service) finishIfDone(c *cluster) {
	for _, h := range c.hosts {
		if !oneOf(h.state, hostInstalled, hostError) {
			return
		}
	}
	var broken []string
	for _, o := range c.MonitoredOperators {
		switch {
		case o.OperatorType == "builtin" && o.Status != "available":
			return
		case o.Status == "failed":
			broken = append(broken, o.Name)
		case o.Status != "available":
			return
		}
	}
	if c.ingressCert == "" {
		return
	}
	s.finish(c, broken)
}

// finish declares the cluster installed.
func (s *Service) finish(c *cluster, broken []string) {
	info := infoInstalled
	o := c.outcome(func(h *host) bool { return h.state == hostInstalled })
	switch {
	case len(broken) > 0:
		failed := ". Failed OLM operators: " + strings.Join(broken, ", ")
		info = infoDegraded + failed
		s.note(c, "cluster_degraded_OLM_operators_failed", severityWarning, "Cluster is installed but degraded due to failed OLM operators %s", failed)
	case o.workersIn < o.workers:
		info = infoWorkersMissing
	}
	c.InstallCompletedAt = millis(s.now())
	s.setCluster(c, clusterInstalled, info)
	progress := *c.Progress
	progress.FinalizingPercentage = 100
	c.Progress = &progress
	c.measureTotal()
	s.note(c, "cluster_installation_completed", severityInfo, "Successfully completed installing cluster")
}

// markStage says that a stage takes long, which is all that comes of it: the cluster is
// installed without what it is about.
func (s *Service) markStage(c *cluster, stage finalizingStage, limit time.Duration) {
	progress := *c.Progress
	progress.FinalizingStageTimedOut = true
	c.Progress = &progress
	minutes := int(limit.Minutes())
	s.setCluster(c, clusterFinalizing, fmt.Sprintf(infoStageSlow, stage.name, minutes))
	s.note(c, "finalizing_stage_timed_out", severityWarning, "Cluster %s: finalizing stage %s has been active more than the expected completion time (%d minutes)", c.ID, stage.name, minutes)
}
