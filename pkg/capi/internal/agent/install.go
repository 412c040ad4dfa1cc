package agent

import (
	"context"
	"errors"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/cluster-api/util/conditions"
	ctrl "sigs.k8s.io/controller-runtime"

	agentv1 "github.com/oaictl/oaictl/pkg/capi/api/agent/v1beta2"
	bootstrapv1 "github.com/oaictl/oaictl/pkg/capi/api/bootstrap/v1beta1"
	"github.com/oaictl/oaictl/pkg/capi/internal/agent/pool"
	"github.com/oaictl/oaictl/pkg/capi/internal/clusterloop"
	"github.com/oaictl/oaictl/pkg/capi/internal/rewording"
	"github.com/oaictl/oaictl/pkg/install/model"
)

// Reasons of AgentSpecSynced where it is not the service that gives them.
const (
	reasonNotYet  = "WaitingForAssistedInstaller"
	reasonRefused = "ServiceRefused"
)

// install carries out what the plan of the cluster says of the machine's host and of its node.
func (s *scope) install(ctx context.Context) (ctrl.Result, error) {
	view, done, err := s.Installations.Act(ctx, s.key, s.scopes()...)
	if len(done) > 0 && s.host != nil { // what was done shows
		now, failed := s.Pool.UncachedHost(ctx, s.object.Namespace, s.host.NamespacedName, s.clusterID())
		if failed != nil && !errors.Is(failed, errForeign) {
			return ctrl.Result{}, errors.Join(err, failed)
		}
		if now != nil {
			s.host = now
		}
	}
	s.view, s.acted = view, err
	s.show()
	if clusterloop.IsRefusal(err) || errors.Is(err, clusterloop.ErrNotYet) {
		return ctrl.Result{}, nil // a change of the objects wakes
	}
	return ctrl.Result{}, err
}

// scopes are those of the plan that the AgentMachine's reconciler acts on.
func (s *scope) scopes() []model.Scope {
	return []model.Scope{model.ScopeHost.Of(s.machine.Name), model.ScopeNode.Of(s.machine.Name)}
}

// isOurs reports whether a host is bound to the machine's cluster, as far as it is known which that is.
func (s *scope) isOurs(host *pool.Host) (ours, known bool) {
	id := s.clusterID()
	return host != nil && id != "" && host.Cluster == id, id != ""
}

// clusterID is the id that the machine's cluster has in the service; on a hub that is NAMESPACE/NAME, in the machine's
// namespace. Over REST it is that of the record that is proven to be the cluster's.
func (s *scope) clusterID() string {
	if view := s.Installations.Last(s.key); view != nil && view.Observed != nil && view.Observed.Cluster != nil {
		return view.Observed.Cluster.ID
	}
	if s.infra == nil || !s.Pool.RecordsReservation() || s.infra.Status.ClusterDeploymentRef.Namespace != s.object.Namespace {
		return ""
	}
	return idOf(s.infra.Status.ClusterDeploymentRef)
}

// seeCluster observes the cluster if that was not done yet: over REST nothing else says which hosts are its own.
func (s *scope) seeCluster(ctx context.Context) error {
	if s.Pool.RecordsReservation() || s.cluster == nil || s.reserved().Name == "" || s.Installations.Last(s.key) != nil {
		return nil
	}
	_, err := s.Installations.View(ctx, s.key)
	if clusterloop.IsRefusal(err) || errors.Is(err, clusterloop.ErrNotYet) {
		return nil
	}
	return err
}

func idOf(ref agentv1.ClusterDeploymentReference) string {
	if ref.Namespace == "" || ref.Name == "" {
		return ref.Name
	}
	return ref.Namespace + "/" + ref.Name
}

// showPlan adds what the plan says to what the service says of the host.
func (s *scope) showPlan() {
	switch {
	case s.host.Installed && (s.view == nil || s.view.NoPlan != nil): // it runs, even if what is wanted of its cluster has errors
	case errors.Is(s.acted, clusterloop.ErrNotYet):
		s.set(agentv1.AgentSpecSyncedCondition, metav1.ConditionFalse, reasonNotYet, s.acted.Error())
	case clusterloop.IsRefusal(s.acted):
		s.set(agentv1.AgentSpecSyncedCondition, metav1.ConditionFalse, reasonInvalid, s.acted.Error())
	case s.acted != nil:
		s.set(agentv1.AgentSpecSyncedCondition, metav1.ConditionFalse, reasonRefused, rewording.Error(s.acted))
	}
	if s.view == nil {
		return
	}
	var blockers []string
	for _, b := range s.view.Plan.Blockers {
		if b.Scope != model.ScopeNode.Of(s.machine.Name) && s.isAbout(b.Scope, b.Hosts) {
			blockers = append(blockers, rewording.Sentence(b.Message, b.Remedy))
		}
	}
	blockers = append(blockers, rewording.LeftOut(&s.view.Plan, s.machine.Name)...)
	if len(blockers) > 0 && !s.host.Installed {
		s.set(agentv1.AgentValidatedCondition, metav1.ConditionFalse, "ValidationsFailing", rewording.Lines(blockers))
	}
	if why := s.view.LeftOut(s.machine.Name); why != "" && s.host.Cluster == "" && !s.host.Installed {
		s.set(agentv1.AgentValidatedCondition, metav1.ConditionFalse, bootstrapv1.HostLeftOutReason, rewording.Text(why)+
			"; once that is cured and the cluster is installed, the host joins, or delete Machine "+s.machine.Name+" to give it back to its pool")
	}
	s.showNode()
}

// isAbout reports whether something in a plan is about the machine.
func (s *scope) isAbout(scope model.Scope, hosts []string) bool {
	for _, name := range hosts {
		if name == s.machine.Name {
			return true
		}
	}
	return len(hosts) == 0 && scope.Host() == s.machine.Name
}

// showNode reports which certificate request of the node waits for a person, and what else keeps the node.
func (s *scope) showNode() {
	pending, others := rewording.Node(&s.view.Plan, s.machine.Name)
	conditions.Set(s.object, pending)
	if len(others) > 0 && s.host.Installed {
		s.nodeTrouble(rewording.Lines(others))
	}
}

// split takes the id of an object on a hub apart.
func split(id string) (namespace, name string) {
	namespace, name, both := strings.Cut(id, "/")
	if !both {
		return "", id
	}
	return namespace, name
}
