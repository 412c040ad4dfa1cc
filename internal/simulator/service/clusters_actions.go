package service

import (
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/openshift/assisted-service/models"

	"github.com/oaictl/oaictl/internal/simulator/service/model"
	"github.com/oaictl/oaictl/internal/simulator/service/steps"
	"github.com/oaictl/oaictl/internal/simulator/service/validate"
	"github.com/oaictl/oaictl/internal/simulator/service/wire"
)

// installCluster starts the preparation; roles left to the service are settled before any refusal.
func (a *clusterAPI) installCluster(_ *wire.Call, cl *model.Cluster) (wire.Reply, error) {
	chosen := a.settleRoles(cl)
	forceSchedulable(cl)
	if cl.IgnoredHostValidations != "" && cl.IgnoredHostValidations != "[]" ||
		cl.IgnoredClusterValidations != "" && cl.IgnoredClusterValidations != "[]" {
		a.journal.addEvent(
			cl, "validations_ignored", severityInfo,
			"Cluster %s: ignored some or all validations at the discretion of the user", cl.ID,
		)
		cl.RecordUse(true, "Validations have been ignored for this cluster", nil)
	}
	cl.RecordUse(chosen && len(cl.Hosts) > 3, "auto assign role", nil)
	if chosen {
		if err := a.monitor.refreshForInstall(cl); err != nil {
			return wire.Reply{}, err
		}
	}
	if cl.Status != model.ClusterReady {
		return wire.Reply{}, wire.Conflict("Cluster is not ready for installation, %s validation_info=%s", cl.StatusInfo, cl.ValidationsInfo)
	}
	now := a.source.now()
	a.chooseBootstrap(cl)
	cl.InstallStartedAt, cl.InstallCompletedAt = model.Millis(now), model.Millis{}
	cl.PreparedAt = now
	cl.LastPreparation = notPrepared()
	a.journal.setCluster(cl, model.ClusterPreparing, model.InfoPreparing)
	a.journal.addEvent(cl, "cluster_prepare_installation_started", severityInfo, "Cluster starting to prepare for installation")
	return wire.Accepted(a.printer.stale(cl))
}

func notPrepared() models.LastInstallationPreparation {
	return models.LastInstallationPreparation{Status: preparationNotBegun, Reason: "Installation preparation not performed"}
}

func (a *clusterAPI) settleRoles(c *model.Cluster) (chosen bool) {
	if slices.ContainsFunc(c.Hosts, func(h *model.Host) bool { return h.Inv == nil }) {
		return false
	}
	a.monitor.suggestRoles(c)
	for _, h := range c.Hosts {
		if h.RoleOpen() {
			chosen = true
			h.Role = h.EffectiveRole()
			if h.RoleOpen() {
				h.Role = model.RoleWorker
			}
			h.SuggestedRole = h.Role
		}
	}
	return chosen
}

// refreshForInstall looks at all anew, since roles are new, and refuses hosts that are not ready.
func (m *monitor) refreshForInstall(c *model.Cluster) error {
	validate.UpdateGroupsAndCollisions(c)
	rememberState(c)
	names := c.Hostnames()
	for _, h := range c.Hosts {
		if h.State != model.HostKnown && h.Kind == model.KindHost {
			return wire.BadRequest("Host %s is in status %s and not ready for install", h.Name(), h.State)
		}
		m.tickHost(h, names)
	}
	m.judgeIdle(c)
	return nil
}

func (a *clusterAPI) chooseBootstrap(c *model.Cluster) {
	var masters []*model.Host
	for _, h := range c.Hosts {
		h.SuggestedRole = h.Role
		if h.Role == model.RoleMaster {
			masters = append(masters, h)
		}
	}
	if len(masters) == 0 || slices.ContainsFunc(masters, func(h *model.Host) bool { return h.Bootstrap }) {
		return
	}
	b := a.pickBootstrap(masters)
	b.Bootstrap = true
	a.journal.addHostEvent(b, "host_bootstrap_set", severityInfo, "Host %s: set as bootstrap", b.Name())
}

// hostCancelledTo is what a cancel makes of a host: one that was not written to is as it was.
func hostCancelledTo(state string) (to string, can bool) {
	switch state {
	case model.HostKnown, model.HostPreparing, model.HostPrepared:
		return model.HostKnown, true
	case model.HostPendingUser, model.HostInstalling, model.HostInProgress, model.HostInstalled, model.HostError:
		return model.HostCancelled, true
	}
	return "", false
}

// cancelCluster stops an installation; one in preparation is as if never asked for.
func (a *clusterAPI) cancelCluster(_ *wire.Call, cl *model.Cluster) (wire.Reply, error) {
	refused := wire.Conflict("no condition found to run transition")
	var state string
	switch cl.Status {
	case model.ClusterPreparing:
		state = model.ClusterReady
	case model.ClusterInstalling, model.ClusterFinalizing, model.ClusterPendingUser, model.ClusterError:
		state = model.ClusterCancelled
	default:
		a.journal.addEvent(cl, "cancel_installation_failed", severityError, "Failed to cancel installation: %s", refused)
		return wire.Reply{}, refused
	}
	for _, h := range cl.Hosts {
		if _, can := hostCancelledTo(h.State); !can {
			a.journal.addHostEvent(
				h, "host_cancel_installation_failed", severityError,
				"Failed to cancel installation of host %s: %s", h.Name(), refused,
			)
			return wire.Reply{}, refused
		}
	}
	before := a.printer.stale(cl)
	before.Status = state
	if state == model.ClusterCancelled {
		cl.InstallCompletedAt = model.Millis(a.source.now())
	}
	a.journal.setCluster(cl, state, model.InfoCancelled)
	a.journal.addEvent(cl, "cluster_installation_canceled", severityInfo, "Canceled cluster installation")
	for i, h := range cl.Hosts {
		to, _ := hostCancelledTo(h.State)
		if h.State != to {
			a.journal.setHost(h, to, model.InfoHostCancelled)
		}
		a.journal.addHostEvent(h, "host_installation_cancelled", severityInfo, "Installation cancelled for host %s", h.Name())
		before.PrintedHosts[i].Status = new(to)
	}
	return wire.Accepted(before)
}

// resetCluster takes an installation back; machines have to boot the discovery image again.
func (a *clusterAPI) resetCluster(_ *wire.Call, cl *model.Cluster) (wire.Reply, error) {
	if !model.OneOf(cl.Status, model.ClusterPreparing, model.ClusterInstalling, model.ClusterPendingUser, model.ClusterError,
		model.ClusterCancelled, model.ClusterFinalizing) {
		err := wire.Conflict("no condition found to run transition")
		a.journal.addEvent(cl, "reset_installation_failed", severityError, "Failed to reset installation. Error: %s", err)
		return wire.Reply{}, err
	}
	before := a.printer.printCluster(cl, clusterDetail{plain: true, hosts: true, named: true})
	before.Status = model.ClusterInsufficient
	a.journal.setCluster(cl, model.ClusterInsufficient, model.InfoReset)
	a.journal.addEvent(cl, "cluster_installation_reset", severityInfo, "Reset cluster installation")
	for i, h := range cl.Hosts {
		a.journal.awaitReset(h)
		before.PrintedHosts[i].Status = new(model.HostResettingPending)
	}
	cl.OpenshiftClusterID = ""
	cl.Progress = &models.ClusterProgressInfo{}
	cl.LogsInfo, cl.ControllerLogsStartedAt, cl.ControllerLogsCollectedAt = "", model.Millis{}, model.Millis{}
	cl.LastPreparation = notPrepared()
	cl.PreparedAt = time.Time{}
	cl.IngressCert = ""
	cl.Objects, cl.Credentials = map[string][]byte{}, nil
	maps.DeleteFunc(cl.Manifests, func(_ string, m model.Manifest) bool { return m.System })
	cl.MonitoredOperators = slices.Clone(cl.MonitoredOperators)
	for i := range cl.MonitoredOperators {
		o := &cl.MonitoredOperators[i]
		o.Status, o.StatusInfo, o.StatusUpdatedAt, o.Version = "", "", model.Millis{}, ""
	}
	if cl.IsSingle() {
		cl.APIVips, cl.IngressVips = []model.VIP{}, []model.VIP{}
	}
	return wire.Accepted(before)
}

func (a *clusterAPI) allowAddHosts(_ *wire.Call, cl *model.Cluster) (wire.Reply, error) {
	if cl.Status != model.ClusterInstalled {
		return wire.Reply{}, wire.BadRequest("cannot transform cluster %s to day2. Expected cluster status: installed, but cluster status is: %s",
			cl.ID, cl.Status)
	}
	info := cl.StatusInfo
	cl.Kind = model.KindAddHosts
	cl.APIVipDNSName = steps.APIAddress(cl)
	a.journal.setCluster(cl, model.ClusterAddingHosts, cl.StatusInfo)
	// The answer carries the hosts with their stages, and the old text.
	w := a.printer.printCluster(cl, clusterDetail{hosts: true})
	w.StatusInfo = info
	w.OperatorBundles = nil
	return wire.Accepted(w)
}

type finalizingReport struct {
	FinalizingStage models.FinalizingStage `json:"finalizing_stage"`
}

func (a *clusterAPI) reportFinalizing(c *wire.Call) (wire.Reply, error) {
	p := wire.TypedBody[finalizingReport](c)
	at := model.FinalizingIndex(string(p.FinalizingStage))
	if at < 0 {
		return wire.Reply{}, wire.BadRequest("invalid finaling stage '%s'", p.FinalizingStage)
	}
	cl, err := a.records.getCluster(c.PathValue("cluster_id"))
	if err != nil {
		return wire.Reply{}, err
	}
	if states := []string{model.ClusterInstalling, model.ClusterFinalizing, model.ClusterPendingUser}; !slices.Contains(states, cl.Status) {
		return wire.Reply{}, wire.BadRequest("cluster is %s, not in one of allowed statuses: %v", cl.Status, states)
	}
	if cl.Progress.FinalizingStage == p.FinalizingStage {
		return wire.Reply{Status: 200}, nil
	}
	cl.Progress.FinalizingStage = p.FinalizingStage
	cl.Progress.FinalizingStageStartedAt = model.Millis(a.source.now())
	cl.Progress.FinalizingStageTimedOut = false
	a.journal.addEvent(
		cl, "cluster_finalizing_stage_updated", severityInfo,
		"Updated finalizing stage of the cluster to '%s'", p.FinalizingStage,
	)
	return wire.Reply{Status: 200}, nil
}

// operatorReport is where a controller that gives up says how the operators are doing.
const operatorReport = "CLUSTER_OPERATORS_REPORT"

// completeInstallation takes the controller's verdict, which decides nothing: operators and time do.
func (a *clusterAPI) completeInstallation(c *wire.Call, cl *model.Cluster) (wire.Reply, error) {
	p := wire.TypedBody[models.CompletionParams](c)
	if data, reported := p.Data[operatorReport]; reported && !*p.IsSuccess {
		if failed, err := failedOperators(data); err == nil {
			a.journal.addEvent(
				cl, "cluster_operator_report", severityInfo, "The following operators are experiencing issues: %s", strings.Join(failed, ", "),
			)
		}
	}
	return wire.Accepted(a.printer.stale(cl))
}

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

// neverIgnoredHost and neverIgnoredCluster are validations without which an installation makes no sense.
func neverIgnoredHost() []string {
	return []string{"connected", "has-inventory", "inventory-not-fully-truncated", "machine-cidr-defined", "hostname-unique", "hostname-valid"}
}

func neverIgnoredCluster() []string {
	return []string{
		"api-vips-defined", "ingress-vips-defined", "all-hosts-are-ready-to-install", "sufficient-masters-count", "pull-secret-set",
	}
}

func ignores(list, id string, never []string) bool {
	if list == "" || list == "[]" || slices.Contains(never, id) {
		return false
	}
	ids := model.StringList(list)
	return slices.Contains(ids, id) || slices.Contains(ids, "all")
}

func ignoresHost(c *model.Cluster, id string) bool {
	return c != nil && ignores(c.IgnoredHostValidations, id, neverIgnoredHost())
}

func readIgnored(_ *wire.Call, cl *model.Cluster) (wire.Reply, error) {
	return wire.OK(models.IgnoredValidations{ClusterValidationIds: cl.IgnoredClusterValidations, HostValidationIds: cl.IgnoredHostValidations})
}

func (a *clusterAPI) setIgnored(c *wire.Call) (wire.Reply, error) {
	p, id := wire.TypedBody[models.IgnoredValidations](c), c.PathValue("cluster_id")
	cl := a.records.clusters.of(id)
	if cl == nil {
		return wire.Reply{}, wire.Refuse(http.StatusInternalServerError,
			"failed to fetch cluster %s to apply ignored validations: record not found", id)
	}
	if !clusterUpdatable(cl) {
		return wire.Reply{}, wire.BadRequest("%s", notUpdatable(cl))
	}
	problems := append(
		ignoredProblems("cluster", p.ClusterValidationIds, isClusterValidation, neverIgnoredCluster()),
		ignoredProblems("host", p.HostValidationIds, isHostValidation, neverIgnoredHost())...)
	if len(problems) > 0 {
		return wire.Reply{}, wire.BadRequest("cannot proceed due to the following errors: %s", strings.Join(problems, "\n"))
	}
	cl.IgnoredHostValidations, cl.IgnoredClusterValidations = p.HostValidationIds, p.ClusterValidationIds
	return wire.Created(p)
}

func ignoredProblems(kind, text string, known func(id string) bool, never []string) []string {
	if text == "" {
		return nil
	}
	var ids []string
	if json.Unmarshal([]byte(text), &ids) != nil {
		return []string{fmt.Sprintf("error during unmarshal of json for ignored %s validations", kind)}
	}
	var problems, refused []string
	for _, id := range ids {
		switch {
		case strings.EqualFold(id, "all"):
		case slices.Contains(never, id):
			refused = append(refused, id)
		case !known(id):
			problems = append(problems, fmt.Sprintf("Validation ID '%s' is not a known %s validation", id, kind))
		}
	}
	if len(refused) > 0 {
		problems = append(problems, fmt.Sprintf("unable to ignore the following %s validations (%s)", kind, strings.Join(refused, ",")))
	}
	return problems
}

// isHostValidation and isClusterValidation know the description's validations, and those that it does not list.
func isHostValidation(id string) bool {
	return models.HostValidationID(id).Validate(nil) == nil || isOperatorValidation(id) ||
		id == "inventory-not-partially-truncated" || id == "inventory-not-fully-truncated"
}

func isClusterValidation(id string) bool {
	return models.ClusterValidationID(id).Validate(nil) == nil || isOperatorValidation(id) ||
		id == "custom-manifests-requirements-satisfied" || id == "openshift-ai-gpu-requirements-satisfied"
}

func isOperatorValidation(id string) bool {
	return slices.ContainsFunc(validate.Operators(), func(o validate.OperatorCheck) bool { return o.ID == id })
}
