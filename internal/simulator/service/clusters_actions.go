package service

import (
	"encoding/json"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/openshift/assisted-service/models"
)

// stale prints a cluster as it was before an action, but for its new state: that
// is what the service answers to actions.
func (s *Service) stale(c *cluster) wireCluster {
	return s.printCluster(c, clusterDetail{plain: true, hosts: true})
}

// installCluster starts the preparation, which leads to the installation. The roles that
// were left to the service are given for good before anything is refused.
func (s *Service) installCluster(c *call) (reply, error) {
	cl, err := s.getCluster(c.PathValue("cluster_id"))
	if err != nil {
		return reply{}, err
	}
	chosen := s.settleRoles(cl)
	cl.forceSchedulable()
	if cl.IgnoredHostValidations != "" && cl.IgnoredHostValidations != "[]" || cl.IgnoredClusterValidations != "" && cl.IgnoredClusterValidations != "[]" {
		s.note(cl, "validations_ignored", severityInfo, "Cluster %s: ignored some or all validations at the discretion of the user", cl.ID)
		cl.use(true, "Validations have been ignored for this cluster", nil)
	}
	cl.use(chosen && len(cl.hosts) > 3, "auto assign role", nil)
	if chosen {
		if err := s.refreshForInstall(cl); err != nil {
			return reply{}, err
		}
	}
	if cl.Status != clusterReady {
		return reply{}, conflict("Cluster is not ready for installation, %s validation_info=%s", cl.StatusInfo, cl.ValidationsInfo)
	}
	now := s.now()
	s.chooseBootstrap(cl)
	cl.InstallStartedAt, cl.InstallCompletedAt = millis(now), millis{}
	cl.preparedAt = now
	cl.LastPreparation = notPrepared()
	s.setCluster(cl, clusterPreparing, infoPreparing)
	s.note(cl, "cluster_prepare_installation_started", severityInfo, "Cluster starting to prepare for installation")
	return accepted(s.stale(cl))
}

func notPrepared() lastPreparation {
	return lastPreparation{Status: preparationNotBegun, Reason: "Installation preparation not performed"}
}

// settleRoles makes suggestions final, once all hosts have said what they are. It tells
// whether some role was left to the service.
func (s *Service) settleRoles(c *cluster) (chosen bool) {
	if slices.ContainsFunc(c.hosts, func(h *host) bool { return h.inv == nil }) {
		return false
	}
	s.suggestRoles(c)
	for _, h := range c.hosts {
		if h.open() {
			chosen = true
			h.Role = h.role()
			if h.open() {
				h.Role = roleWorker
			}
			h.SuggestedRole = h.Role
		}
	}
	return chosen
}

// refreshForInstall looks at all hosts and the cluster anew, since their roles are new,
// and refuses hosts that are not ready.
func (s *Service) refreshForInstall(c *cluster) error {
	c.updateGroupsAndCollisions()
	c.remember()
	names := c.hostnames()
	for _, h := range c.hosts {
		if h.state != hostKnown && h.Kind == kindHost {
			return badRequest("Host %s is in status %s and not ready for install", h.name(), h.state)
		}
		s.tickHost(h, names)
	}
	s.judgeIdle(c)
	return nil
}

// chooseBootstrap makes a control plane host the bootstrap, if none is yet.
func (s *Service) chooseBootstrap(c *cluster) {
	var masters []*host
	for _, h := range c.hosts {
		h.SuggestedRole = h.Role
		if h.Role == roleMaster {
			masters = append(masters, h)
		}
	}
	if len(masters) == 0 || slices.ContainsFunc(masters, func(h *host) bool { return h.Bootstrap }) {
		return
	}
	b := s.pickBootstrap(masters)
	b.Bootstrap = true
	s.noteHost(b, "host_bootstrap_set", severityInfo, "Host %s: set as bootstrap", b.name())
}

// hostCancelledTo is what a cancel makes of a host in a state, and whether it can be
// cancelled at all: a host of which nothing has been written yet is as it was.
func hostCancelledTo(state string) (to string, can bool) {
	switch state {
	case hostKnown, hostPreparing, hostPrepared:
		return hostKnown, true
	case hostPendingUser, hostInstalling, hostInProgress, hostInstalled, hostError:
		return hostCancelled, true
	}
	return "", false
}

// cancelCluster stops an installation. One that is still being prepared is as
// if it had not been asked for.
func (s *Service) cancelCluster(c *call) (reply, error) {
	cl, err := s.getCluster(c.PathValue("cluster_id"))
	if err != nil {
		return reply{}, err
	}
	refused := conflict("no condition found to run transition")
	var state string
	switch cl.Status {
	case clusterPreparing:
		state = clusterReady
	case clusterInstalling, clusterFinalizing, clusterPendingUser, clusterError:
		state = clusterCancelled
	default:
		s.note(cl, "cancel_installation_failed", severityError, "Failed to cancel installation: %s", refused)
		return reply{}, refused
	}
	for _, h := range cl.hosts {
		if _, can := hostCancelledTo(h.state); !can {
			s.noteHost(h, "host_cancel_installation_failed", severityError, "Failed to cancel installation of host %s: %s", h.name(), refused)
			return reply{}, refused
		}
	}
	before := s.stale(cl)
	before.Status = state
	if state == clusterCancelled {
		cl.InstallCompletedAt = millis(s.now())
	}
	s.setCluster(cl, state, infoCancelled)
	s.note(cl, "cluster_installation_canceled", severityInfo, "Canceled cluster installation")
	for i, h := range cl.hosts {
		to, _ := hostCancelledTo(h.state)
		if h.state != to {
			s.setHost(h, to, infoHostCancelled)
		}
		s.noteHost(h, "host_installation_cancelled", severityInfo, "Installation cancelled for host %s", h.name())
		before.Hosts[i].Status = new(to)
	}
	return accepted(before)
}

// resetCluster takes an installation back to its beginning. The machines have to
// be booted from the discovery image again.
func (s *Service) resetCluster(c *call) (reply, error) {
	cl, err := s.getCluster(c.PathValue("cluster_id"))
	if err != nil {
		return reply{}, err
	}
	if !oneOf(cl.Status, clusterPreparing, clusterInstalling, clusterPendingUser, clusterError, clusterCancelled, clusterFinalizing) {
		err := conflict("no condition found to run transition")
		s.note(cl, "reset_installation_failed", severityError, "Failed to reset installation. Error: %s", err)
		return reply{}, err
	}
	before := s.printCluster(cl, clusterDetail{plain: true, hosts: true, named: true})
	before.Status = clusterInsufficient
	s.note(cl, "cluster_installation_reset", severityInfo, "Reset cluster installation")
	for i, h := range cl.hosts {
		s.noteHost(h, "host_installation_reset", severityInfo, "Installation reset for host %s", h.name())
		s.awaitReset(h)
		before.Hosts[i].Status = new(hostResettingPending)
	}
	cl.OpenshiftClusterID = ""
	cl.Progress = &clusterProgress{}
	cl.LogsInfo, cl.ControllerLogsStartedAt, cl.ControllerLogsCollectedAt = "", millis{}, millis{}
	cl.LastPreparation = notPrepared()
	cl.preparedAt = time.Time{}
	cl.ingressCert = ""
	cl.objects, cl.credentials = map[string][]byte{}, nil
	maps.DeleteFunc(cl.manifests, func(_ string, m manifest) bool { return m.system })
	for i := range cl.MonitoredOperators {
		cl.MonitoredOperators = slices.Clone(cl.MonitoredOperators)
		o := &cl.MonitoredOperators[i]
		o.Status, o.StatusInfo, o.StatusUpdatedAt, o.Version = "", "", millis{}, ""
	}
	if cl.isSingle() {
		cl.APIVips, cl.IngressVips = []vip{}, []vip{}
	}
	s.setCluster(cl, clusterInsufficient, infoReset)
	return accepted(before)
}

// allowAddHosts makes an installed cluster one that takes further hosts.
func (s *Service) allowAddHosts(c *call) (reply, error) {
	cl, err := s.getCluster(c.PathValue("cluster_id"))
	if err != nil {
		return reply{}, err
	}
	if cl.Status != clusterInstalled {
		return reply{}, badRequest("cannot transform cluster %s to day2. Expected cluster status: installed, but cluster status is: %s", cl.ID, cl.Status)
	}
	info := cl.StatusInfo
	cl.Kind = kindAddHosts
	cl.APIVipDNSName = cl.apiAddress()
	s.setCluster(cl, clusterAddingHosts, cl.StatusInfo)
	// The answer carries the hosts with their stages, and the old text.
	w := s.printCluster(cl, clusterDetail{hosts: true})
	w.StatusInfo = info
	w.OperatorBundles = nil
	return accepted(w)
}

// finalizingReport is what the controller says of its stage.
type finalizingReport struct {
	FinalizingStage string `json:"finalizing_stage"`
}

// reportFinalizing takes the controller's stage.
func (s *Service) reportFinalizing(c *call) (reply, error) {
	p := taken[finalizingReport](c)
	at := finalizingIndex(p.FinalizingStage)
	if at < 0 {
		return reply{}, badRequest("invalid finaling stage '%s'", p.FinalizingStage)
	}
	cl, err := s.getCluster(c.PathValue("cluster_id"))
	if err != nil {
		return reply{}, err
	}
	if states := []string{clusterInstalling, clusterFinalizing, clusterPendingUser}; !slices.Contains(states, cl.Status) {
		return reply{}, badRequest("cluster is %s, not in one of allowed statuses: %v", cl.Status, states)
	}
	if cl.Progress.FinalizingStage == p.FinalizingStage {
		return reply{status: 200}, nil
	}
	progress := *cl.Progress
	progress.FinalizingStage, progress.FinalizingStageStartedAt, progress.FinalizingStageTimedOut = p.FinalizingStage, millis(s.now()), false
	cl.Progress = &progress
	s.note(cl, "cluster_finalizing_stage_updated", severityInfo, "Updated finalizing stage of the cluster to '%s'", p.FinalizingStage)
	return reply{status: 200}, nil
}

// operatorReport is where a controller that gives up says how the operators are doing.
const operatorReport = "CLUSTER_OPERATORS_REPORT"

// completeInstallation takes the controller's verdict, which decides nothing: the
// operators' states do, and the time. Of a bad one the operators that failed are told.
func (s *Service) completeInstallation(c *call) (reply, error) {
	cl, err := s.getCluster(c.PathValue("cluster_id"))
	if err != nil {
		return reply{}, err
	}
	p := taken[models.CompletionParams](c)
	if data, told := p.Data[operatorReport]; told && !*p.IsSuccess {
		if failed, err := failedOperators(data); err == nil {
			s.note(cl, "cluster_operator_report", severityInfo, "The following operators are experiencing issues: %s", strings.Join(failed, ", "))
		}
	}
	return accepted(s.stale(cl))
}

// failedOperators names those of a report that failed.
func failedOperators(report any) ([]string, error) {
	text, err := json.Marshal(report)
	if err != nil {
		return nil, err
	}
	var all []models.OperatorMonitorReport
	if err := json.Unmarshal(text, &all); err != nil {
		return nil, err
	}
	var failed []string
	for _, o := range all {
		if o.Status == models.OperatorStatusFailed {
			failed = append(failed, o.Name)
		}
	}
	return failed, nil
}
