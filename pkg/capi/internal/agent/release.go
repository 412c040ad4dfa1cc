package agent

import (
	"context"
	"errors"
	"fmt"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	clusterctlv1 "sigs.k8s.io/cluster-api/cmd/clusterctl/api/v1alpha3"
	"sigs.k8s.io/cluster-api/util/conditions"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller/controllerutil"

	"github.com/oaictl/oaictl/internal/shared/listtext"
	agentv1 "github.com/oaictl/oaictl/pkg/capi/api/agent/v1beta2"
	controlplanev1 "github.com/oaictl/oaictl/pkg/capi/api/controlplane/v1beta1"
	"github.com/oaictl/oaictl/pkg/capi/internal/agent/pool"
	"github.com/oaictl/oaictl/pkg/capi/internal/clusterloop"
	"github.com/oaictl/oaictl/pkg/capi/internal/machines"
	"github.com/oaictl/oaictl/pkg/install/model"
	"github.com/oaictl/oaictl/pkg/install/spec"
)

// Reasons of Deleting.
const (
	reasonWaitingForDrain   = "WaitingForDrain"
	reasonWaitingForMachine = "WaitingForMachine"
	reasonWaitingForInstall = "WaitingForInstallComplete"
	reasonWaitingForEtcd    = "WaitingForEtcd"
	reasonReturning         = "ReturningAgent"
	reasonReturned          = "AgentReturned"
	reasonNotReturned       = "AgentNotReturned"
)

// returnTakes is the time after which the host is checked again for its return, where no watch reports it.
const returnTakes = 10 * time.Second

// release gives the host back of a Machine that is being deleted, once its node is drained and while
// it still runs: the service boots it into the discovery image by an agent on it.
func (s *scope) release(ctx context.Context) (ctrl.Result, error) {
	if !s.holds() {
		return ctrl.Result{}, s.unhook(ctx)
	}
	if waits, err := s.awaitInstall(ctx); err != nil || waits {
		return ctrl.Result{RequeueAfter: returnTakes}, err
	}
	if !s.isDrained() {
		s.waitForDrain()
		return ctrl.Result{}, nil
	}
	done, result, err := s.giveBack(ctx)
	if err != nil || !done {
		return result, err
	}
	// From here on nothing is held any more, even if another step fails before the Machine is changed.
	if err := s.forget(ctx); err != nil {
		return ctrl.Result{}, err
	}
	return ctrl.Result{}, s.unhook(ctx)
}

// awaitInstall keeps Cluster API from draining a Machine that is being deleted while its host takes part in an
// installation that runs, and then until its node is found, and reports whether it does.
func (s *scope) awaitInstall(ctx context.Context) (waits bool, err error) {
	if _, hooked := s.machine.Annotations[agentv1.PreDrainHookAnnotation]; !hooked {
		return false, nil
	}
	name := s.reserved()
	if name.Name != "" && s.isOutOfReach() {
		s.set(clusterv1.DeletingCondition, metav1.ConditionTrue, reasonOutOfReach, s.outOfReach())
		return true, nil
	}
	if name.Name != "" {
		s.host, err = s.Pool.UncachedHost(ctx, s.object.Namespace, name, s.clusterID())
		if err != nil && !errors.Is(err, errForeign) {
			return false, err
		}
	}
	if s.host != nil && s.host.Cluster != "" && s.isBoundHere(s.host) {
		switch {
		case s.installs():
			s.waitForInstall()
			return true, nil
		case s.isUnfound():
			s.set(clusterv1.DeletingCondition, metav1.ConditionTrue, reasonWaitingForDrain, fmt.Sprintf(
				"waiting for Cluster API to find the node %s, and to drain it; to give the host back undrained: kubectl -n %s "+
					"annotate machine %s %s-",
				s.seenNode().Name, s.machine.Namespace, s.machine.Name, agentv1.PreDrainHookAnnotation))
			_, _, err := s.Installations.Act(ctx, s.key, model.ScopeNode.Of(s.machine.Name)) // it is found by the provider id
			if clusterloop.IsRefusal(err) || errors.Is(err, clusterloop.ErrNotYet) {
				err = nil
			}
			return true, err
		}
	}
	if machines.SkippedDrain(s.machine) {
		s.waitForDrain()
		return true, s.drainAfterAll(ctx)
	}
	return false, s.patchMachine(ctx, func(m *clusterv1.Machine) { delete(m.Annotations, agentv1.PreDrainHookAnnotation) })
}

func (s *scope) waitForDrain() {
	s.set(clusterv1.DeletingCondition, metav1.ConditionTrue, reasonWaitingForDrain,
		"waiting for the node of Machine "+s.machine.Name+" to be drained")
}

// drainAfterAll makes Cluster API drain a node that came late.
func (s *scope) drainAfterAll(ctx context.Context) error {
	changed := s.machine.DeepCopy()
	machines.DrainAfterAll(changed)
	if err := s.Client.Status().Patch(ctx, changed, client.MergeFrom(s.machine)); client.IgnoreNotFound(err) != nil {
		return fmt.Errorf("have the node of Machine %s be drained: %w", s.machine.Name, err)
	}
	return nil
}

// isUnfound reports whether the machine has a node that Cluster API does not know for its own yet.
func (s *scope) isUnfound() bool {
	lives := s.cluster != nil && s.cluster.DeletionTimestamp.IsZero() && !isHosted(s.cluster)
	return lives && !s.machine.Status.NodeRef.IsDefined() && s.seenNode() != nil
}

// waitForInstall says that the host is not given back before the installation is over.
func (s *scope) waitForInstall() {
	s.set(clusterv1.DeletingCondition, metav1.ConditionTrue, reasonWaitingForInstall,
		"the host takes part in a running installation, and is released after it")
}

// holds reports whether there is a reservation that has to be given back.
func (s *scope) holds() bool {
	return controllerutil.ContainsFinalizer(s.object, agentv1.AgentMachineFinalizer)
}

// isDrained reports whether Cluster API has come to the hook of the Machine: its node is drained. Old
// versions say so in another place.
func (s *scope) isDrained() bool {
	if _, hooked := s.machine.Annotations[agentv1.PreTerminateHookAnnotation]; !hooked {
		return true // it went on without us
	}
	status := &s.machine.Status
	if status.Deletion != nil && !status.Deletion.WaitForPreTerminateHookStartTime.IsZero() {
		return true
	}
	for _, c := range status.Conditions {
		if c.Type == clusterv1.MachineDeletingCondition && c.Status == metav1.ConditionTrue &&
			c.Reason == clusterv1.MachineDeletingWaitingForPreTerminateHookReason {
			return true
		}
	}
	return isAtHookOfOld(status)
}

// isAtHookOfOld reports whether the hook is reached, by a condition that versions before had.
func isAtHookOfOld(status *clusterv1.MachineStatus) bool {
	if status.Deprecated == nil || status.Deprecated.V1Beta1 == nil { //nolint:staticcheck // some say it only there
		return false
	}
	for _, c := range status.Deprecated.V1Beta1.Conditions { //nolint:staticcheck // some say it only there
		if c.Type == clusterv1.PreTerminateDeleteHookSucceededV1Beta1Condition && c.Status == "False" {
			return true
		}
	}
	return false
}

// delete removes what holds an AgentMachine that is being deleted. A host that has not been given back by then is given
// back now, but not if its node's Machine is not being deleted: that node was not drained, and no user asked for its
// end.
func (s *scope) delete(ctx context.Context) (ctrl.Result, error) {
	if !s.holds() {
		return ctrl.Result{}, nil
	}
	if !machines.IsMoving(s.object) {
		switch {
		case s.lives() && s.isProvisioned():
			s.waitForMachine()
			return ctrl.Result{}, nil
		case s.machine != nil && !s.machine.DeletionTimestamp.IsZero() && !s.isDrained():
			if waits, err := s.awaitInstall(ctx); err != nil || waits {
				return ctrl.Result{RequeueAfter: returnTakes}, err
			}
			s.waitForDrain()
			return ctrl.Result{}, nil
		}
		done, result, err := s.giveBack(ctx)
		if err != nil || !done {
			return result, err
		}
		if s.machine != nil { // which would wait for what is there no more, though it is deleted later
			if err := s.unhook(ctx); err != nil {
				return ctrl.Result{}, err
			}
		}
	}
	return ctrl.Result{}, s.forget(ctx)
}

// lives reports whether the Machine is there, and is not being deleted.
func (s *scope) lives() bool { return s.machine != nil && s.machine.DeletionTimestamp.IsZero() }

// waitForMachine says that the host is not given back for as long as the Machine lives.
func (s *scope) waitForMachine() {
	s.set(clusterv1.DeletingCondition, metav1.ConditionTrue, reasonWaitingForMachine,
		"the Machine "+s.machine.Name+" is not being deleted, so its node is kept")
}

// forget records that the AgentMachine has no host any more.
func (s *scope) forget(ctx context.Context) error {
	return s.patch(ctx, func(m *agentv1.AgentMachine) {
		controllerutil.RemoveFinalizer(m, agentv1.AgentMachineFinalizer)
		if m.DeletionTimestamp.IsZero() {
			machines.GaveBack(m)
			delete(m.Annotations, clusterctlv1.BlockMoveAnnotation)
		}
	})
}

func (s *scope) unhook(ctx context.Context) error {
	_, later := s.machine.Annotations[agentv1.PreTerminateHookAnnotation]
	if _, earlier := s.machine.Annotations[agentv1.PreDrainHookAnnotation]; !earlier && !later {
		return nil
	}
	return s.patchMachine(ctx, func(m *clusterv1.Machine) {
		delete(m.Annotations, agentv1.PreTerminateHookAnnotation)
		delete(m.Annotations, agentv1.PreDrainHookAnnotation)
	})
}

// giveBack makes the host leave its cluster. It is done once the host is on its way back to the pool by itself, or
// waits for a person, or belongs to another owner.
func (s *scope) giveBack(ctx context.Context) (done bool, result ctrl.Result, err error) {
	name := s.reserved()
	if name.Name == "" {
		return true, ctrl.Result{}, nil
	}
	if s.isOutOfReach() {
		s.set(clusterv1.DeletingCondition, metav1.ConditionTrue, reasonOutOfReach, s.outOfReach())
		return false, ctrl.Result{}, nil // a user who changes that restarts the provider
	}
	host, err := s.Pool.UncachedHost(ctx, s.object.Namespace, name, s.clusterID())
	switch {
	case errors.Is(err, errForeign):
		s.set(clusterv1.DeletingCondition, metav1.ConditionTrue, reasonNotReturned,
			s.Pool.HostKind()+" "+name.Name+" is left alone: "+errForeign.Error())
		return true, ctrl.Result{}, nil
	case err != nil:
		return false, ctrl.Result{}, err
	case host == nil && s.isElsewhere():
		s.set(clusterv1.DeletingCondition, metav1.ConditionTrue, agentv1.WaitingForPersonReason, fmt.Sprintf(
			"there is no %s %s here, so the machine cannot be returned: it continues to run until a person switches it off or boots a "+
				"discovery image on it",
			s.Pool.HostKind(), name.Name))
		return true, ctrl.Result{}, nil
	case host == nil:
		s.set(clusterv1.DeletingCondition, metav1.ConditionTrue, reasonReturned, s.Pool.HostKind()+" "+name.Name+" does not exist any more")
		return true, ctrl.Result{}, nil
	}
	s.host = host
	mine, err := s.isMine(ctx)
	if err != nil {
		return false, ctrl.Result{}, err
	}
	again := ctrl.Result{RequeueAfter: returnTakes}
	switch {
	case !mine:
		s.set(clusterv1.DeletingCondition, metav1.ConditionTrue, reasonReturned,
			s.Pool.HostKind()+" "+name.Name+" does not belong to this machine any more")
		return true, ctrl.Result{}, nil
	case host.Cluster != "" && !s.isBoundHere(host):
		s.set(clusterv1.DeletingCondition, metav1.ConditionTrue, reasonNotReturned,
			s.Pool.HostKind()+" "+name.Name+" is bound to the cluster "+host.Cluster+", and is not changed")
	case host.Installed && s.lives(): // since the AgentMachine was deleted it has become a node
		s.waitForMachine()
		return false, ctrl.Result{}, nil
	case host.Cluster != "" && s.installs():
		s.waitForInstall()
		return false, again, nil
	case host.Cluster != "" && s.keptByEtcd() != "":
		s.set(clusterv1.DeletingCondition, metav1.ConditionTrue, reasonWaitingForEtcd, s.keptByEtcd())
		return false, ctrl.Result{}, nil // a change of the Machine wakes
	case host.Cluster != "":
		s.set(clusterv1.DeletingCondition, metav1.ConditionTrue, reasonReturning, "the host leaves the cluster")
		return false, again, s.returnHost(ctx)
	case host.Status == statusByHand && host.Returns != model.ReturnByHub:
		s.set(clusterv1.DeletingCondition, metav1.ConditionTrue, agentv1.WaitingForPersonReason, s.byHand())
	case host.Status == statusByHand, host.State == model.HostUnbound, host.State == model.HostUnknown,
		len(host.Conditions) == 0: // no service knows it
		s.set(clusterv1.DeletingCondition, metav1.ConditionTrue, reasonReturned, "the host returns to its pool")
	default: // the service has still to do it
		s.set(clusterv1.DeletingCondition, metav1.ConditionTrue, reasonReturning, "the service boots the host into the discovery image")
		return false, again, nil
	}
	return true, ctrl.Result{}, s.Pool.Release(ctx, name, s.me())
}

// keptByEtcd says why a machine of a control plane that manages etcd cannot be removed: the control plane has not
// reported yet that etcd can do without it. "" where it can be removed, and for any other machine.
func (s *scope) keptByEtcd() string {
	if s.machine == nil || s.machine.DeletionTimestamp.IsZero() {
		return ""
	}
	if _, looked := s.machine.Annotations[controlplanev1.EtcdMemberHookAnnotation]; !looked {
		return ""
	}
	switch c := conditions.Get(s.machine, controlplanev1.EtcdMemberRemovedCondition); {
	case c == nil:
		return "waiting for the control plane to check whether etcd works without this machine"
	case c.Status != metav1.ConditionTrue && c.Reason != controlplanev1.WaitingForOtherHooksReason:
		return c.Message
	}
	return ""
}

// statusByHand is the service's word for a host that has gone back, and that a person is to boot.
const statusByHand = "unbinding-pending-user-action"

// byHand says what a person has to do.
func (s *scope) byHand() string {
	label := s.host.Name
	if s.host.Hostname != "" {
		label = s.host.Hostname + " (" + s.host.Name + ")"
	}
	env := s.host.InfraEnv
	if s.Pool.RecordsReservation() {
		env = s.host.Namespace + "/" + env
	}
	return "a person must boot the discovery image on " + label + ", for it to be used again: " +
		model.Advicef("{download iso --infra-env %s}", listtext.Quoted(env)).String()
}

// isMine reports whether the host that is to be given back is still this AgentMachine's.
func (s *scope) isMine(ctx context.Context) (bool, error) {
	if s.Pool.RecordsReservation() {
		return s.host.IsOwnedBy(s.me()) || !s.host.Reserved && s.host.Cluster != "" && s.isBoundHere(s.host), nil
	}
	rival, err := s.rival(ctx, s.host.NamespacedName)
	return rival == "", err
}

// isBoundHere reports whether a host that is bound is so to the machine's cluster. Where it is not known any
// more which that was, on a hub it is one of the same namespace, and over REST none.
func (s *scope) isBoundHere(host *pool.Host) bool {
	if ours, known := s.isOurs(host); known {
		return ours
	}
	if !s.Pool.RecordsReservation() {
		return false
	}
	within, _ := split(host.Cluster)
	return within == s.object.Namespace
}

// installs reports whether the host takes part in the cluster's installation, which runs. A cluster
// that is being deleted as a whole is not waited for.
func (s *scope) installs() bool {
	if s.cluster == nil || !s.cluster.DeletionTimestamp.IsZero() || isHosted(s.cluster) {
		return false
	}
	if view := s.Installations.Last(s.key); view != nil && view.Observed.Cluster != nil && !view.Observed.Cluster.State.Running() {
		return false
	}
	switch s.host.State {
	case model.HostPreparing, model.HostInstalling, model.HostNeedsUser:
		return true
	}
	return false
}

// returnHost makes the service remove the host from the cluster.
func (s *scope) returnHost(ctx context.Context) error {
	if s.isHostedHost() {
		return s.returnHosted(ctx)
	}
	service, err := s.Installations.Service(s.key.Namespace)
	if err != nil {
		return err
	}
	name := s.host.Name
	if s.machine != nil {
		name = s.machine.Name
	}
	action := model.Action{
		Key: string(model.ScopeHost.Of(name)) + "/return", Scope: model.ScopeHost.Of(name), Kind: model.ReturnHost, Name: name,
		Target:   s.host.Name,
		InfraEnv: s.infraEnvID(), Reason: "its Machine is being deleted", Destructive: true,
	}
	if err := service.Act(ctx, s.desired(), action); err != nil && model.FaultOf(err).Code != model.CodeNotFound {
		return fmt.Errorf("give the host of AgentMachine %s back: %w", s.object.Name, err)
	}
	s.Installations.Changed(s.key)
	return nil
}

// desired is the desired state of the cluster that the host leaves, as it is passed to the service. The objects of that
// cluster may be gone.
func (s *scope) desired() *model.Desired {
	if view := s.Installations.Last(s.key); view != nil && view.Desired != nil {
		return view.Desired
	}
	cluster := &spec.Cluster{APIVersion: spec.APIVersion, Kind: spec.Kind, Metadata: spec.Metadata{Name: s.key.Name}}
	return &model.Desired{Spec: cluster, Options: model.Options{Adopt: s.host.Cluster}}
}

// infraEnvID is the id of the InfraEnv that the host came from; on a hub NAMESPACE/NAME.
func (s *scope) infraEnvID() string {
	if s.Pool.RecordsReservation() {
		return s.host.Namespace + "/" + s.host.InfraEnv
	}
	return s.host.InfraEnv
}
