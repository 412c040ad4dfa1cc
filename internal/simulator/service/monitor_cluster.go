package service

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/oaictl/oaictl/internal/simulator/service/model"
	"github.com/oaictl/oaictl/internal/simulator/service/steps"
	"github.com/oaictl/oaictl/internal/simulator/service/validate"
	"github.com/openshift/assisted-service/models"
)

// monitor moves clusters and hosts on from one state to the next, as time and what is known of them have it.
type monitor struct {
	records *records
	source  *source
	journal *journal
	variant *variant
	steps   *steps.Maker
	access  func(clusterID, name string) (Access, bool)
	// hostsLater has a tick look at hosts after the clusters; the real service does both at once.
	hostsLater bool
}

// tick evaluates every cluster and host once. What it decides about hosts rests on the
// clusters as it found them: the real service watches the two apart.
func (m *monitor) tick() {
	m.settle()
	clusters := m.records.clusters.inOrder()
	for _, c := range clusters {
		rememberState(c)
	}
	for _, c := range clusters {
		m.tickCluster(c)
	}
	if m.hostsLater {
		for _, c := range clusters {
			rememberState(c)
		}
	}
	for _, h := range m.records.hosts.inOrder() {
		if h.Cluster == nil {
			m.tickHost(h, nil)
		}
	}
	for _, c := range clusters {
		names := c.Hostnames()
		forgetRoles(c)
		for _, h := range c.Hosts {
			m.tickHost(h, names)
		}
		m.suggestRoles(c)
	}
}

// rememberState keeps the cluster as the hosts of this tick are to see it.
func rememberState(c *model.Cluster) {
	c.Before.State, c.Before.Groups = c.Status, c.Groups
	c.Before.Collisions, c.Before.Searched = c.Collisions, c.IPCollisions != ""
	c.Before.Machine = c.MachineNetworks
}

// forgetRoles takes back all suggestions in a cluster as long as one is missing: they are made together.
func forgetRoles(c *model.Cluster) {
	missing := func(h *model.Host) bool {
		return h.RoleOpen() && !h.RoleSuggested() && h.Kind != model.KindAddedHost && h.State != model.HostDisconnected
	}
	if slices.ContainsFunc(c.Hosts, missing) {
		c.ResetRoles()
	}
}

// suggestRoles suggests a role to every host that has none, once all have said what they
// are, and anew at each pass: the lightest hosts that are strong enough fill up the
// control plane, then an arbiter where one is needed, and the rest are workers.
func (m *monitor) suggestRoles(c *model.Cluster) {
	unknown := func(h *model.Host) bool { return h.Inv == nil }
	if c.IsDay2() || !slices.ContainsFunc(c.Hosts, (*model.Host).RoleOpen) || slices.ContainsFunc(c.Hosts, unknown) {
		return
	}
	masters, arbiters, _, _ := validate.CountRoles(c)
	for _, h := range validate.LightestFirst(c.Hosts) {
		if !h.RoleOpen() ||
			!model.OneOf(h.State, model.HostDiscovering, model.HostKnown, model.HostDisconnected, model.HostInsufficient, model.HostPendingInput) {
			continue
		}
		masters -= one(h.SuggestedRole == model.RoleMaster)
		arbiters -= one(h.SuggestedRole == model.RoleArbiter)
		role := model.RoleWorker
		switch {
		case masters < int(c.ControlPlaneCount) && validate.StrongEnough(c, h, model.RoleMaster):
			role = model.RoleMaster
		case c.ControlPlaneCount == 2 && arbiters == 0 && validate.StrongEnough(c, h, model.RoleArbiter):
			role = model.RoleArbiter
		}
		masters += one(role == model.RoleMaster)
		arbiters += one(role == model.RoleArbiter)
		if h.SuggestedRole != role {
			h.SuggestedRole = role
			m.journal.addHostEvent(h, "host_role_updated", severityInfo, "Host %s: calculated role is %s", h.Name(), role)
		}
	}
}

func (m *monitor) tickCluster(c *model.Cluster) {
	if model.OneOf(c.Status, model.ClusterInsufficient, model.ClusterPendingInput, model.ClusterReady, model.ClusterPreparing) {
		m.judgeCluster(c)
		validate.AssignMachineNetworks(c)
		validate.UpdateGroupsAndCollisions(c)
		forceSchedulable(c)
	}
	switch c.Status {
	case model.ClusterInsufficient, model.ClusterPendingInput, model.ClusterReady:
		m.moveIdle(c)
	case model.ClusterPreparing:
		m.movePreparation(c)
	case model.ClusterInstalling, model.ClusterPendingUser:
		m.moveInstallation(c)
	case model.ClusterFinalizing:
		m.moveFinalizing(c)
	}
}

func (m *monitor) judgeCluster(c *model.Cluster) {
	broken, fixed := c.Checks.Set(m.variant.made(validate.Cluster(c)))
	for _, o := range broken {
		m.journal.addEvent(c, "cluster_validation_failed", severityWarning, "Cluster validation '%s' %s", o.ID, o.How())
	}
	for _, o := range fixed {
		m.journal.addEvent(c, "cluster_validation_fixed", severityInfo, "Cluster validation '%s' is now fixed", o.ID)
	}
	c.ValidationsInfo = c.Checks.Text
}

// forceSchedulable notes whether the control plane has to take ordinary workloads, for
// want of workers. The service does so when hosts come and go, at an install and at each
// look of its monitor, not when a host gets another role.
func forceSchedulable(c *model.Cluster) {
	c.ForceWorkloads(c.ControlPlaneCount != 0 && validate.WorkersAsked(c) < 2)
}

// moveIdle decides the state of a cluster before its installation.
func (m *monitor) moveIdle(c *model.Cluster) {
	hinders := func(o model.Check) bool {
		return !model.Good(o.Status) && !ignores(c.IgnoredClusterValidations, o.ID, neverIgnoredCluster())
	}
	// Only the user's input can fulfil these.
	awaitsInput := func(o model.Check) bool {
		return hinders(o) && model.OneOf(o.ID, "machine-cidr-defined", "cluster-cidr-defined", "service-cidr-defined",
			"api-vips-defined", "ingress-vips-defined", "dns-domain-defined", "pull-secret-set")
	}
	switch {
	case slices.ContainsFunc(c.Checks.List, awaitsInput):
		m.journal.setCluster(c, model.ClusterPendingInput, model.InfoInputRequired)
	case slices.ContainsFunc(c.Checks.List, hinders):
		m.journal.setCluster(c, model.ClusterInsufficient, model.InfoNotReady)
	default:
		m.journal.setCluster(c, model.ClusterReady, model.InfoReady)
	}
}

// generation is how long making the files of an installation takes.
const generation = 200 * time.Millisecond

// settle finishes files in preparation between two ticks, cancelled or not.
func (m *monitor) settle() {
	for _, c := range m.records.clusters.inOrder() {
		if !c.PreparedAt.IsZero() && m.source.now().Sub(c.PreparedAt) >= generation {
			c.PreparedAt = time.Time{}
			m.ignite(c)
		}
	}
}

func (m *monitor) movePreparation(c *model.Cluster) {
	count := map[string]int{}
	for _, h := range c.Hosts {
		count[h.State]++
	}
	known := count[model.HostPreparing] + count[model.HostPrepared] + count[model.HostPreparationFailed] + count[model.HostKnown]
	switch {
	case m.source.since(c.StatusUpdatedAt) > m.steps.Patience.Cluster() && count[model.HostPreparationFailed] == 0:
		c.LastPreparation = models.LastInstallationPreparation{Status: preparationFailed,
			Reason: "Installation failed. Try again, and contact support if the issue persists."}
		m.journal.addEvent(c, "installation_preparing_timed_out", severityWarning, "Preparing for installation was timed out for the cluster")
		m.journal.setCluster(c, model.ClusterReady, model.InfoPrepareTimedOut)
	case count[model.HostPrepared] == len(c.Hosts) && c.LastPreparation.Status == preparationDone:
		startInstalling(c)
		m.journal.setCluster(c, model.ClusterInstalling, model.InfoInstalling)
	case known < len(c.Hosts):
		m.journal.setCluster(c, model.ClusterInsufficient, model.InfoHostUnprepared)
	case count[model.HostPreparationFailed] > 0 || c.LastPreparation.Status == preparationFailed:
		m.journal.setCluster(c, model.ClusterReady, model.InfoPrepareFailed)
	}
}

// How the last preparation of the installation's files went.
const (
	preparationNotBegun = "not_started"
	preparationDone     = "success"
	preparationFailed   = "failed"
)

func (m *monitor) filesFailed(c *model.Cluster, reason string) {
	c.LastPreparation = models.LastInstallationPreparation{Status: preparationFailed, Reason: reason}
	m.journal.addEvent(c, "prepare_installation_failed", severityWarning,
		"Failed to prepare the installation due to an unexpected error: %s. Please retry later", reason)
}

func startInstalling(c *model.Cluster) {
	c.Progress.PreparingForInstallationStagePercentage = 100
	measureTotal(c)
	if c.IsSingle() { // the node itself is where the API will be
		if address := validate.NodeAddress(c); address != "" {
			c.APIVips = []model.VIP{{ClusterID: c.ID, IP: address}}
			c.IngressVips = []model.VIP{{ClusterID: c.ID, IP: address}}
		}
	}
}

type outcome struct{ masters, arbiters, workers headcount }

type headcount struct{ all, in, alive int }

func outcomeOf(c *model.Cluster) outcome {
	var o outcome
	for _, h := range c.Hosts {
		if h.Kind != model.KindHost {
			continue
		}
		t := &o.workers
		switch h.Role {
		case model.RoleMaster:
			t = &o.masters
		case model.RoleArbiter:
			t = &o.arbiters
		}
		t.all++
		t.in += one(h.State == model.HostInstalled)
		t.alive += one(!model.OneOf(h.State, model.HostError, model.HostCancelled))
	}
	o.masters.all = max(o.masters.all, int(c.ControlPlaneCount)) // one that was deleted is missing
	return o
}

func one(b bool) int {
	if b {
		return 1
	}
	return 0
}

// enough reports whether control plane, an arbiter if any, and two workers if two were asked for stand.
func (o outcome) enough(count func(headcount) int) bool {
	return count(o.masters) >= o.masters.all && (o.arbiters.all == 0 || count(o.arbiters) >= 1) &&
		(o.workers.all < 2 || count(o.workers) >= 2)
}

func (o outcome) installed() bool { return o.enough(func(t headcount) int { return t.in }) }

// hopeful reports whether as many nodes as a cluster needs stand or are on their way.
func (o outcome) hopeful() bool { return o.enough(func(t headcount) int { return t.alive }) }

// userLimit is how long an installation may take in all while a user still has to fix a boot order.
const userLimit = 24 * time.Hour

func (m *monitor) moveInstallation(c *model.Cluster) {
	o := outcomeOf(c)
	switch {
	case !o.hopeful():
		m.failInstallation(c, model.InfoHostsInError)
	case c.Status == model.ClusterPendingUser && m.source.since(c.InstallStartedAt) > userLimit:
		m.failInstallation(c, model.InfoUserTimeout)
	case awaitsUser(c):
		m.journal.setCluster(c, model.ClusterPendingUser, model.InfoPendingUser)
	case o.installed():
		m.startFinalizing(c)
	default:
		m.journal.setCluster(c, model.ClusterInstalling, model.InfoInstalling)
	}
}

func awaitsUser(c *model.Cluster) bool {
	return slices.ContainsFunc(c.Hosts, func(h *model.Host) bool { return h.State == model.HostPendingUser })
}

// startFinalizing leaves the rest to the controller, with all the time again.
func (m *monitor) startFinalizing(c *model.Cluster) {
	if c.Status == model.ClusterPendingUser {
		c.Progress.FinalizingStageStartedAt, c.Progress.FinalizingStageTimedOut = model.Millis(m.source.now()), false
	}
	m.journal.setCluster(c, model.ClusterFinalizing, model.InfoFinalizing)
}

func (m *monitor) failInstallation(c *model.Cluster, reason string) {
	m.journal.setCluster(c, model.ClusterError, reason)
	c.InstallCompletedAt = model.Millis(m.source.now())
	m.journal.addEvent(c, "cluster_installation_failed", severityCritical, "Failed installing cluster. Reason: %s", reason)
}

// finalizingLimit is how long finalizing may take, in all stages of the controller together.
const finalizingLimit = 5 * time.Hour

// moveFinalizing looks at the time, and then at the last hosts, the ingress certificate and the operators.
func (m *monitor) moveFinalizing(c *model.Cluster) {
	stage, limit := c.FinalizingStage()
	overdue := stage.Name != "" && m.source.since(c.Progress.FinalizingStageStartedAt) > limit
	switch {
	case m.source.since(c.StatusUpdatedAt) > finalizingLimit:
		m.failInstallation(c, model.InfoFinalizeTimeout)
	case overdue && !stage.Optional:
		m.failInstallation(c, fmt.Sprintf(model.InfoStageTimeout, stage.Name, int(limit.Minutes())))
	case overdue && !c.Progress.FinalizingStageTimedOut:
		m.markStage(c, stage, limit)
	case awaitsUser(c) && outcomeOf(c).hopeful():
		m.journal.setCluster(c, model.ClusterPendingUser, model.InfoPendingUser)
	default:
		m.finishIfDone(c)
	}
}

func (m *monitor) finishIfDone(c *model.Cluster) {
	underway := func(h *model.Host) bool { return !model.OneOf(h.State, model.HostInstalled, model.HostError) }
	if c.IngressCert == "" || slices.ContainsFunc(c.Hosts, underway) {
		return
	}
	var broken []string
	for _, o := range c.MonitoredOperators {
		switch {
		case o.Status == "failed" && o.OperatorType != models.OperatorTypeBuiltin:
			broken = append(broken, o.Name)
		case o.Status != "available":
			return
		}
	}
	m.finish(c, broken)
}

func (m *monitor) finish(c *model.Cluster, broken []string) {
	info := model.InfoInstalled
	o := outcomeOf(c)
	switch {
	case len(broken) > 0:
		failed := ". Failed OLM operators: " + strings.Join(broken, ", ")
		info = model.InfoDegraded + failed
		m.journal.addEvent(c, "cluster_degraded_OLM_operators_failed", severityWarning,
			"Cluster is installed but degraded due to failed OLM operators %s", failed)
	case o.workers.in < o.workers.all:
		info = model.InfoWorkersMissing
	}
	c.InstallCompletedAt = model.Millis(m.source.now())
	m.journal.setCluster(c, model.ClusterInstalled, info)
	c.Progress.FinalizingStagePercentage = 100
	measureTotal(c)
	m.journal.addEvent(c, "cluster_installation_completed", severityInfo, "Successfully completed installing cluster")
}

// markStage says that a stage takes long, which is all that comes of it.
func (m *monitor) markStage(c *model.Cluster, stage model.FinalizingStage, limit time.Duration) {
	c.Progress.FinalizingStageTimedOut = true
	minutes := int(limit.Minutes())
	m.journal.setCluster(c, model.ClusterFinalizing, fmt.Sprintf(model.InfoStageSlow, stage.Name, minutes))
	m.journal.addEvent(c, "finalizing_stage_timed_out", severityWarning,
		"Cluster %s: finalizing stage %s has been active more than the expected completion time (%d minutes)", c.ID, stage.Name, minutes)
}
