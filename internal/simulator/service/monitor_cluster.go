package service

import (
	"slices"
	"strings"
	"time"
)

// tickCluster judges a cluster anew and moves it on.
func (s *Service) tickCluster(c *cluster) {
	switch {
	case c.Status == clusterAddingHosts:
		c.updateGroupsAndCollisions()
	case oneOf(c.Status, clusterInsufficient, clusterPendingInput, clusterReady, clusterPreparing):
		s.judgeCluster(c)
		if !c.isSingle() { // whose hosts are looked at first
			c.assignMachineNetworks()
		}
		c.updateGroupsAndCollisions()
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
	forced := c.ControlPlaneCount != 0 && c.workersAsked() < 2
	c.SchedulableMastersForced = &forced
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

// userLimit is how long an installation waits for somebody to fix a boot order.
const userLimit = 24 * time.Hour

func (s *Service) moveInstallation(c *cluster) {
	o := c.outcome(func(h *host) bool { return h.state == hostInstalled })
	waiting := slices.ContainsFunc(c.hosts, func(h *host) bool { return h.state == hostPendingUser })
	switch {
	case enough(o, o.mastersIn, o.arbitersIn, o.workersIn):
		s.setCluster(c, clusterFinalizing, infoFinalizing)
	case !enough(o, o.mastersUp, o.arbitersUp, o.workersAlive):
		s.failInstallation(c, infoHostsInError)
	case waiting && c.Status == clusterPendingUser && s.since(c.StatusUpdatedAt) > userLimit:
		s.failInstallation(c, infoUserTimeout)
	case waiting:
		s.setCluster(c, clusterPendingUser, infoPendingUser)
	default:
		s.setCluster(c, clusterInstalling, infoInstalling)
	}
}

func (s *Service) failInstallation(c *cluster, reason string) {
	s.setCluster(c, clusterError, reason)
	c.InstallCompletedAt = millis(s.now())
	s.note(c, "cluster_installation_failed", severityCritical, "Failed installing cluster. Reason: %s", reason)
}

// moveFinalizing waits for the last hosts, the ingress certificate and the
// operators.
func (s *Service) moveFinalizing(c *cluster) {
	s.watchFinalizing(c)
	if c.Status != clusterFinalizing {
		return
	}
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
		info = infoDegraded + strings.Join(broken, ", ")
		s.note(c, "cluster_degraded_OLM_operators_failed", severityWarning, "Cluster is installed but degraded due to failed OLM operators %s", strings.Join(broken, ", "))
	case o.workersIn < o.workers:
		info = infoWorkersMissing
	}
	c.InstallCompletedAt = millis(s.now())
	s.setCluster(c, clusterInstalled, info)
	c.measureTotal()
	s.note(c, "cluster_installation_completed", severityInfo, "Successfully completed installing cluster")
}

// hardLimit is when waiting for the operators ends in failure.
const hardLimit = 10 * time.Hour

// watchFinalizing looks at how long the controller has been in its stage.
func (s *Service) watchFinalizing(c *cluster) {
	at := finalizingIndex(c.Progress.FinalizingStage)
	if at < 0 {
		return
	}
	stage := finalizingStages()[at]
	spent := s.since(c.Progress.FinalizingStageStartedAt)
	if stage.name == finalizingOperator && spent > hardLimit {
		s.failInstallation(c, infoFinalizeTimeout)
		return
	}
	if stage.name == finalizingDone || c.Progress.FinalizingStageTimedOut || spent <= stage.soft {
		return
	}
	progress := *c.Progress
	progress.FinalizingStageTimedOut = true
	c.Progress = &progress
	s.note(c, "finalizing_stage_timed_out", severityWarning, "Cluster %s: finalizing stage %s has been active more than the expected completion time (%.0f minutes)", c.ID, stage.name, stage.soft.Minutes())
}
