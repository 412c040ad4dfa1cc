// Package bootstrap reconciles OpenshiftAssistedConfigs: for each it makes the InfraEnv that discovers its machine,
// hands out what the machine boots, and gives the host that registers the settings of its Machine.
package bootstrap

import (
	"context"
	"errors"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/tools/events"
	"k8s.io/utils/ptr"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	"sigs.k8s.io/cluster-api/util"
	"sigs.k8s.io/cluster-api/util/conditions"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller/controllerutil"

	"github.com/oaictl/oaictl/internal/shared/clock"
	bootstrapv1 "github.com/oaictl/oaictl/pkg/capi/api/bootstrap/v1beta1"
	"github.com/oaictl/oaictl/pkg/capi/internal/clusterloop"
	"github.com/oaictl/oaictl/pkg/capi/internal/imageproxy"
	"github.com/oaictl/oaictl/pkg/capi/internal/machines"
	"github.com/oaictl/oaictl/pkg/capi/internal/rewording"
	"github.com/oaictl/oaictl/pkg/capi/internal/status"
	"github.com/oaictl/oaictl/pkg/install/model"
)

// Reconciler reconciles OpenshiftAssistedConfigs.
type Reconciler struct {
	Client client.Client
	// Live reads Secrets: the cache has only some of them.
	Live          client.Reader
	Installations *clusterloop.Set
	// OnHub says that the service is the management cluster's own.
	OnHub    bool
	Recorder events.EventRecorder
	Clock    clock.Clock
	Status   *status.Writer
	// Media hands discovery images on to machines that boot by live ISO; if it is nil, they read the service's own.
	Media *imageproxy.Server
	// WatchFilter is the value of the label cluster.x-k8s.io/watch-filter of the configs that are reconciled; "" for
	// all.
	WatchFilter string
}

// scope is one reconcile of a config.
type scope struct {
	*Reconciler
	config  *bootstrapv1.OpenshiftAssistedConfig
	machine *clusterv1.Machine
	cluster *clusterv1.Cluster
	key     clusterloop.Key
	way     machines.Way
	view    *clusterloop.View
	host    *model.Host
	news    []string // conditions with messages about what a person has to solve
}

// Reconcile brings one config a step further.
func (r *Reconciler) Reconcile(ctx context.Context, request ctrl.Request) (ctrl.Result, error) {
	config := &bootstrapv1.OpenshiftAssistedConfig{}
	if err := r.Client.Get(ctx, request.NamespacedName, config); err != nil {
		return ctrl.Result{}, client.IgnoreNotFound(err)
	}
	if !machines.IsWatched(config, r.WatchFilter) {
		return ctrl.Result{}, nil
	}
	s := &scope{Reconciler: r, config: config}
	if err := s.find(ctx); err != nil {
		return ctrl.Result{}, err
	}
	if machines.IsPaused(s.cluster, config) {
		return ctrl.Result{}, machines.Pause(ctx, r.Client, s.cluster, config)
	}
	if err := s.takeBack(ctx); err != nil {
		return ctrl.Result{}, err
	}
	if !config.DeletionTimestamp.IsZero() {
		return s.delete(ctx)
	}
	if s.machine == nil || s.cluster == nil {
		return ctrl.Result{}, nil // a change of either wakes
	}
	if controllerutil.AddFinalizer(config, bootstrapv1.ConfigFinalizer) {
		if err := r.Client.Patch(ctx, config, client.MergeFrom(withoutFinalizer(config))); err != nil {
			return ctrl.Result{}, client.IgnoreNotFound(err)
		}
	}
	before := config.DeepCopy()
	s.set(clusterv1.PausedCondition, metav1.ConditionFalse, clusterv1.NotPausedReason, "")
	result, err := s.reconcile(ctx)
	s.summarize()
	config.Status.Deprecated, config.Status.ObservedGeneration = nil, config.Generation
	now := config.DeepCopy()
	written, again, failed := r.Status.Write(ctx, r.Client, before, config, status.Words{News: s.news})
	if written {
		s.config = now
		s.report(before)
	}
	return util.LowestNonZeroResult(result, ctrl.Result{RequeueAfter: again}), errors.Join(err, failed)
}

func withoutFinalizer(config *bootstrapv1.OpenshiftAssistedConfig) *bootstrapv1.OpenshiftAssistedConfig {
	before := config.DeepCopy()
	controllerutil.RemoveFinalizer(before, bootstrapv1.ConfigFinalizer)
	return before
}

// find reads the Machine and the Cluster of the config, as far as they are there.
func (s *scope) find(ctx context.Context) error {
	owners, err := machines.OwnersOf(ctx, s.Client, "config", s.config.ObjectMeta)
	s.machine, s.cluster, s.key = owners.Machine, owners.Cluster, owners.Key
	return err
}

func (s *scope) reconcile(ctx context.Context) (ctrl.Result, error) {
	if err := machines.CheckInfrastructure(s.machine); err != nil {
		s.failData(bootstrapv1.WaitingForClusterInfrastructureReason, err.Error())
		return ctrl.Result{}, nil // another Machine has another config
	}
	infrastructure, err := machines.Infrastructure(ctx, s.Client, s.machine)
	if err != nil {
		s.failData(bootstrapv1.WaitingForClusterInfrastructureReason, err.Error())
		return ctrl.Result{}, err
	}
	s.way = machines.WayOf(s.machine, infrastructure)
	if !ptr.Deref(s.cluster.Status.Initialization.InfrastructureProvisioned, false) {
		s.waitForData(bootstrapv1.WaitingForClusterInfrastructureReason, "waiting for the infrastructure of Cluster "+s.cluster.Name)
		return ctrl.Result{}, nil
	}
	s.view, _, err = s.Installations.Act(ctx, s.key, s.scopes()...)
	planned := s.view != nil && s.view.NoPlan == nil
	if !planned && s.way == machines.Pool && errors.Is(err, clusterloop.ErrNotYet) {
		return ctrl.Result{}, s.emptySecret(ctx) // a host is reserved for it only then
	}
	if s.view != nil {
		s.host = s.view.Host(s.machine.Name)
	}
	if !planned {
		err = s.noView(err)
		if s.way == machines.LiveISO { // a machine boots the discovery image once, even if the cluster's settings have errors
			err = errors.Join(err, s.detach(ctx, infrastructure))
		}
		return ctrl.Result{}, err
	}
	s.showHost(err)
	var result ctrl.Result
	if left := s.settlesIn(); left > 0 {
		result.RequeueAfter = s.Clock.Wall(left) + time.Millisecond
	}
	if s.isUnmade() {
		result.RequeueAfter = s.Clock.Wall(unmadeAgain)
	}
	switch s.way {
	case machines.Pool:
		return result, s.emptySecret(ctx)
	case machines.LiveISO:
		return result, s.liveISO(ctx, infrastructure)
	case machines.Unknown:
		ref := s.machine.Spec.InfrastructureRef
		s.waitForData(bootstrapv1.WaitingForImageReason, "waiting for "+ref.Kind+" "+ref.Name+", which says how the machine boots")
		return ctrl.Result{RequeueAfter: s.Clock.Wall(unknownAgain)}, nil
	}
	return result, s.userData(ctx)
}

// unknownAgain is the time after which the way in which a machine boots is read again: no watch reports that its
// Metal3Machine has come.
const unknownAgain = 10 * time.Second

// unmadeAgain is how long the report stays that an InfraEnv is not made.
const unmadeAgain = time.Minute

// scopes are those that the config's reconciler acts on. The host and the node of a machine of a pool
// are its AgentMachine's.
func (s *scope) scopes() []model.Scope {
	if s.way == machines.Pool {
		return nil
	}
	return []model.Scope{model.ScopeInfraEnv.Of(s.config.Name), model.ScopeHost.Of(s.machine.Name), model.ScopeNode.Of(s.machine.Name)}
}

// noView says why there is no installation to look at. What the service answers is tried again; what
// only another object can cure wakes by itself.
func (s *scope) noView(err error) error {
	if clusterloop.IsRefusal(err) {
		s.failData(bootstrapv1.WaitingForAssistedInstallerReason, err.Error())
		return nil
	}
	if errors.Is(err, clusterloop.ErrNotYet) {
		s.waitForData(bootstrapv1.WaitingForAssistedInstallerReason, err.Error())
		return nil
	}
	s.failData(bootstrapv1.WaitingForAssistedInstallerReason, rewording.Error(err))
	return err
}

// isHeld reports whether the machine is not to register before the cluster is installed: the
// installation is under way, or has been decided to start, without it.
func (s *scope) isHeld() bool {
	return s.view.Desired.At(s.view.Observed).Spec.Host(s.machine.Name) == nil
}

func (s *scope) waitForData(reason, message string) {
	if ptr.Deref(s.config.Status.Initialization.DataSecretCreated, false) {
		return // it stays
	}
	s.set(bootstrapv1.DataSecretAvailableCondition, metav1.ConditionFalse, reason, message)
}

// failData is waitForData for what a person has to solve.
func (s *scope) failData(reason, message string) {
	s.waitForData(reason, message)
	s.news = append(s.news, bootstrapv1.DataSecretAvailableCondition)
}

// fail sets a condition that reports what a person has to solve.
func (s *scope) fail(kind, reason, message string) {
	s.set(kind, metav1.ConditionFalse, reason, message)
	s.news = append(s.news, kind)
}

func (s *scope) set(kind string, status metav1.ConditionStatus, reason, message string) {
	conditions.Set(s.config, metav1.Condition{Type: kind, Status: status, Reason: reason, Message: rewording.Message(message)})
}

// summarize sets Ready by the other conditions. A host that is yet to register does not make it false: the machine
// boots once the data is there.
func (s *scope) summarize() {
	ready := metav1.Condition{Type: clusterv1.ReadyCondition, Status: metav1.ConditionTrue, Reason: clusterv1.ReadyReason}
	// what comes first is waited for by what comes last
	for _, kind := range []string{bootstrapv1.DataSecretAvailableCondition, bootstrapv1.InfraEnvReadyCondition,
		bootstrapv1.HostValidatedCondition} {
		c := conditions.Get(s.config, kind)
		if c != nil && c.Status == metav1.ConditionFalse && c.Reason != bootstrapv1.HostNotRegisteredReason {
			ready.Status, ready.Reason, ready.Message = metav1.ConditionFalse, c.Reason, c.Message
		}
	}
	if c := conditions.Get(s.config, bootstrapv1.CertificateRequestPendingCondition); c != nil && c.Status == metav1.ConditionTrue {
		ready.Status, ready.Reason, ready.Message = metav1.ConditionFalse, c.Reason, c.Message
	}
	conditions.Set(s.config, ready)
}

// report reports, on the config and on the Machine, what newly blocks the host, or waits for a person.
func (s *scope) report(before *bootstrapv1.OpenshiftAssistedConfig) {
	for kind, trouble := range map[string]metav1.ConditionStatus{
		bootstrapv1.HostValidatedCondition: metav1.ConditionFalse, bootstrapv1.CertificateRequestPendingCondition: metav1.ConditionTrue,
	} {
		was, now := conditions.Get(before, kind), conditions.Get(s.config, kind)
		if now == nil || now.Status != trouble || now.Reason == bootstrapv1.HostNotRegisteredReason || was != nil && was.Message == now.Message {
			continue
		}
		s.Recorder.Eventf(s.config, s.machine, corev1.EventTypeWarning, now.Reason, "Install", "%s", now.Message)
		s.Recorder.Eventf(s.machine, s.config, corev1.EventTypeWarning, now.Reason, "Install", "%s", now.Message)
	}
}
