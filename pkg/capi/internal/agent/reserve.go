package agent

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/ptr"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	clusterctlv1 "sigs.k8s.io/cluster-api/cmd/clusterctl/api/v1alpha3"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller/controllerutil"

	"github.com/oaictl/oaictl/internal/shared/listtext"
	agentv1 "github.com/oaictl/oaictl/pkg/capi/api/agent/v1beta2"
	"github.com/oaictl/oaictl/pkg/capi/internal/agent/pool"
	"github.com/oaictl/oaictl/pkg/capi/internal/clusterloop"
	"github.com/oaictl/oaictl/pkg/capi/internal/machines"
	"github.com/oaictl/oaictl/pkg/capi/internal/rewording"
)

// Reasons of AgentReserved, beside those of the API.
const (
	reasonWaitingForCluster   = "WaitingForClusterInfrastructure"
	reasonWaitingForBootstrap = "WaitingForBootstrapData"
	reasonReserved            = agentv1.AgentReservedCondition
	reasonInvalid             = "InvalidSpec"
	reasonTaken               = "AgentTaken"
	reasonOutOfReach          = "AgentOutOfReach"
)

// waitsInPool is the time after which a machine that waits for a host looks again, where no watch reports that a host
// became free.
const waitsInPool = 30 * time.Second

// reserve keeps the machine's host reserved, or gives it one.
func (s *scope) reserve(ctx context.Context) (bool, ctrl.Result, error) {
	if s.reserved().Name != "" {
		kept, err := s.keep(ctx)
		if kept || err != nil || s.reserved().Name != "" {
			return kept, ctrl.Result{}, err
		}
	}
	if !s.cluster.DeletionTimestamp.IsZero() {
		s.waitToReserve(reasonWaitingForCluster, "Cluster "+s.cluster.Name+" is being deleted")
		return false, ctrl.Result{}, nil
	}
	if ptr.Deref(s.machine.Spec.Bootstrap.DataSecretName, "") == "" {
		s.waitToReserve(reasonWaitingForBootstrap, "waiting for the bootstrap data of Machine "+s.machine.Name)
		return false, ctrl.Result{}, nil
	}
	if s.infra == nil && isOfAgents(s.cluster) { // without it every host would be of the pool
		s.waitToReserve(reasonWaitingForCluster, "waiting for AgentCluster "+s.cluster.Spec.InfrastructureRef.Name+
			", which names the pool")
		return false, ctrl.Result{}, nil // it wakes
	}
	taken, err := s.choose(ctx)
	if !taken && err == nil && !s.Pool.RecordsReservation() {
		return false, ctrl.Result{RequeueAfter: waitsInPool}, nil
	}
	return taken, ctrl.Result{}, err
}

// reserved is the host that the AgentMachine says is its own; without one its name is empty.
func (s *scope) reserved() types.NamespacedName {
	namespace, name := machines.ReservedHostOf(s.object)
	return types.NamespacedName{Namespace: namespace, Name: name}
}

func (s *scope) waitToReserve(reason, message string) {
	s.set(agentv1.AgentReservedCondition, metav1.ConditionFalse, reason, message)
}

// isProvisioned reports whether the machine was handed over: its host is not exchanged any more. Since
// the status does not go along with a move, what Cluster API has taken over from it counts, too.
func (s *scope) isProvisioned() bool {
	return ptr.Deref(s.object.Status.Initialization.Provisioned, false) ||
		s.machine != nil && s.machine.Spec.ProviderID != "" && s.machine.Spec.ProviderID == s.object.Spec.ProviderID
}

// isElsewhere reports whether the host was never observed here though the machine was handed over: it was installed by
// the service of another management cluster, before a move.
func (s *scope) isElsewhere() bool {
	return s.host == nil && s.object.Status.AgentRef == nil && s.isProvisioned()
}

// isOutOfReach reports whether the host was reserved in another namespace than Agents are taken from now: that was
// configured otherwise then. What has become of the host cannot be seen, and so nothing is done about it.
func (s *scope) isOutOfReach() bool {
	within := s.Pool.HostNamespace(s.object.Namespace)
	return within != "" && s.reserved().Namespace != within && (s.object.Status.AgentRef != nil || s.holds()) && !s.isElsewhere()
}

// outOfReach says so, and what has to be configured.
func (s *scope) outOfReach() string {
	name := s.reserved()
	was := name.Namespace
	if was == s.object.Namespace {
		was = ""
	}
	return fmt.Sprintf("%s %s is reserved in namespace %s, but the providers now use %[1]ss of namespace %[4]s. To continue, apply "+
		"the providers with AGENTS_NAMESPACE=%[5]q again",
		s.Pool.HostKind(), name.Name, name.Namespace, s.Pool.HostNamespace(s.object.Namespace), was)
}

// keep makes sure that the reserved host is still reserved, and says why where it is not. A machine that was not handed
// over yet gives up a host that it cannot have.
func (s *scope) keep(ctx context.Context) (bool, error) {
	if s.isOutOfReach() {
		s.waitToReserve(reasonOutOfReach, s.outOfReach())
		return false, nil
	}
	name := s.reserved()
	host, err := s.Pool.Host(ctx, s.object.Namespace, name, s.clusterID())
	if host == nil && err == nil { // what is cached may be behind
		host, err = s.Pool.UncachedHost(ctx, s.object.Namespace, name, s.clusterID())
	}
	isForeign := errors.Is(err, errForeign)
	if err != nil && !isForeign {
		return false, err
	}
	lost, reason := "", reasonTaken
	switch {
	case s.isUnknown(host, isForeign):
		s.waitToReserve(reasonUnobserved, fmt.Sprintf("%s %s: the service's cluster for Cluster %s is not known",
			s.Pool.HostKind(), name.Name, s.key.Name))
		return false, nil // it wakes once that is known
	case isForeign:
		lost, reason = fmt.Sprintf("%s %s: %s", s.Pool.HostKind(), name.Name, errForeign), reasonOutOfReach
	case host == nil && s.isElsewhere():
		return true, s.hook(ctx)
	case host == nil:
		lost, reason = fmt.Sprintf("%s %s does not exist any more", s.Pool.HostKind(), name.Name), agentv1.AgentGoneReason
	case host.Cluster != "" && !s.isBoundHere(host):
		lost = fmt.Sprintf("%s %s is bound to the cluster %s", s.Pool.HostKind(), name.Name, host.Cluster)
	case host.Cluster == "" && !s.isProvisioned() && !s.Pool.RecordsReservation():
		rival, err := s.rival(ctx, name)
		if err != nil {
			return false, err
		}
		if rival != "" {
			lost = fmt.Sprintf("%s %s is reserved for AgentMachine %s", s.Pool.HostKind(), name.Name, rival)
		}
	}
	if lost == "" && !host.IsOwnedBy(s.me()) && s.Pool.RecordsReservation() {
		switch err := s.Pool.Reserve(ctx, name, s.me(), s.isBoundHere); {
		case errors.Is(err, errTaken):
			lost = fmt.Sprintf("%s %s is reserved for another machine", s.Pool.HostKind(), name.Name)
		case err != nil:
			return false, err
		}
	}
	if lost == "" {
		s.host = host
		s.isReserved()
		return true, s.hook(ctx)
	}
	s.waitToReserve(reason, lost)
	if s.isProvisioned() {
		return false, nil
	}
	return false, s.giveUp(ctx)
}

// isUnknown reports whether it is not known if a host is the machine's own: over REST the cluster shows that, and the
// cluster is not known. Nothing is done about such a host.
func (s *scope) isUnknown(host *pool.Host, isForeign bool) bool {
	return !s.Pool.RecordsReservation() && s.clusterID() == "" && (isForeign || host != nil && host.Cluster != "")
}

func (s *scope) isReserved() {
	s.set(agentv1.AgentReservedCondition, metav1.ConditionTrue, reasonReserved, "")
}

// giveUp takes a reservation back that the machine cannot have, or does not need any more.
func (s *scope) giveUp(ctx context.Context) error {
	name := s.reserved()
	if err := s.Pool.Release(ctx, name, s.me()); err != nil {
		return err
	}
	s.object.Status.AgentRef, s.host = nil, nil
	return s.patch(ctx, func(m *agentv1.AgentMachine) {
		m.Spec.ProviderID = ""
		delete(m.Annotations, machines.AnnotationReservedHost)
		delete(m.Annotations, clusterctlv1.BlockMoveAnnotation)
	})
}

// choose reserves a host, and says why where none fits.
func (s *scope) choose(ctx context.Context) (bool, error) {
	s.reserving.Lock()
	defer s.reserving.Unlock()
	hosts, err := s.candidates(ctx)
	if err != nil {
		s.waitToReserve(reasonUnobserved, rewording.Error(err))
		return false, err
	}
	if own := slices.IndexFunc(hosts, func(h pool.Host) bool { return h.IsOwnedBy(s.me()) && s.mayHave(&h) }); own >= 0 {
		return s.take(ctx, &hosts[own]) // of before the AgentMachine was restored from a backup
	}
	asked, err := s.demands(ctx)
	switch {
	case errors.Is(err, clusterloop.ErrNotYet):
		s.waitToReserve(reasonWaitingForControlPlane, "waiting for the control plane of Cluster "+s.cluster.Name+
			", which has the requirements for hosts")
		return false, nil // it wakes
	case err != nil:
		s.waitToReserve(reasonUnobserved, rewording.Error(err))
		return false, err
	}
	wishes, err := s.wishes(asked)
	if err != nil {
		s.waitToReserve(reasonInvalid, err.Error())
		return false, nil
	}
	alike, err := s.alike(ctx, hosts)
	if err != nil {
		return false, err
	}
	for {
		host, obstacles := pool.Choose(hosts, wishes, alike)
		if host == nil {
			s.waitToReserve(agentv1.NoSuitableAgentsReason, s.whyNone(obstacles))
			return false, nil
		}
		taken, err := s.take(ctx, host)
		if taken || err != nil {
			return taken, err
		}
		pool.Find(hosts, host.NamespacedName).Reserved = true // another machine was faster
	}
}

// whyNone says why there is no host for the machine.
func (s *scope) whyNone(obstacles pool.Obstacles) string {
	if !s.Pool.RecordsReservation() && (s.infra == nil || len(s.infra.Spec.InfraEnvRefs) == 0) {
		return "there is no pool: the AgentCluster names no InfraEnv (spec.infraEnvRefs)"
	}
	return obstacles.Text(s.Pool.HostKind(), s.whereThePoolIs())
}

// whereThePoolIs is the namespace and the InfraEnvs that hosts are taken from, as far as there are any.
func (s *scope) whereThePoolIs() string {
	where := ""
	if namespace := s.Pool.HostNamespace(s.object.Namespace); namespace != "" {
		where = " in namespace " + namespace
	}
	if s.infra != nil && len(s.infra.Spec.InfraEnvRefs) > 0 {
		envs := make([]string, 0, len(s.infra.Spec.InfraEnvRefs))
		for _, ref := range s.infra.Spec.InfraEnvRefs {
			envs = append(envs, ref.Name)
		}
		where += " of InfraEnv " + listtext.ListText(envs)
	}
	return where
}

// mayHave reports whether a host that carries the AgentMachine's name is bound to no other cluster.
func (s *scope) mayHave(h *pool.Host) bool {
	ours, _ := s.isOurs(h)
	return !h.Deleting && (h.Cluster == "" || ours)
}

// candidates are the hosts of the pool, with what other AgentMachines have said that they take.
func (s *scope) candidates(ctx context.Context) ([]pool.Host, error) {
	hosts, err := s.Pool.Hosts(ctx, s.object.Namespace, s.infra)
	if err != nil {
		return nil, err
	}
	pool.Assign(hosts, domainsOf(s.infra))
	others, err := s.others(ctx)
	if err != nil {
		return nil, err
	}
	for i := range others {
		if h := pool.Find(hosts, hostOf(&others[i])); h != nil && !h.IsOwnedBy(s.me()) {
			h.Reserved = true
		}
	}
	return hosts, nil
}

// others are the AgentMachines beside this one that have reserved a host which their namespace may take. If hosts do
// not record their reservation, only AgentMachines do, and they are read past the cache.
func (s *scope) others(ctx context.Context) ([]agentv1.AgentMachine, error) {
	reader := client.Reader(s.Client)
	if !s.Pool.RecordsReservation() {
		reader = s.Live
	}
	list := &agentv1.AgentMachineList{}
	if err := reader.List(ctx, list, client.InNamespace(s.Namespace)); err != nil {
		return nil, fmt.Errorf("list the AgentMachines: %w", err)
	}
	return slices.DeleteFunc(list.Items, func(m agentv1.AgentMachine) bool {
		return client.ObjectKeyFromObject(&m) == s.me() || hostOf(&m).Name == "" || !s.Pool.Opens(m.Namespace, hostOf(&m))
	}), nil
}

func hostOf(m *agentv1.AgentMachine) types.NamespacedName {
	namespace, name := machines.ReservedHostOf(m)
	return types.NamespacedName{Namespace: namespace, Name: name}
}

// rival is an AgentMachine that has reserved the same host, and comes before this one; "" for none. Two processes may
// have reserved at the same time, when one of them was about to end.
func (s *scope) rival(ctx context.Context, host types.NamespacedName) (string, error) {
	others, err := s.others(ctx)
	if err != nil {
		return "", err
	}
	others = slices.DeleteFunc(others, func(m agentv1.AgentMachine) bool { return hostOf(&m) != host })
	if len(others) == 0 {
		return "", nil
	}
	own := &agentv1.AgentMachine{}
	if err := s.Live.Get(ctx, s.me(), own); err != nil {
		return "", fmt.Errorf("read AgentMachine %s: %w", s.me(), err)
	}
	for i := range others {
		if comesBefore(&others[i], own, host) {
			return others[i].Namespace + "/" + others[i].Name, nil
		}
	}
	return "", nil
}

// comesBefore reports whether one AgentMachine, rather than another, has a host that both say they have reserved. An
// AgentMachine with a status that names the host comes first: the status says so once the reservation has held. Users
// may usually not write the status, while they may write the reservation into an AgentMachine of any age. Otherwise the
// older one comes first.
func comesBefore(one, other *agentv1.AgentMachine, host types.NamespacedName) bool {
	holds := func(m *agentv1.AgentMachine) bool {
		ref := m.Status.AgentRef
		return ref != nil && types.NamespacedName{Namespace: ref.Namespace, Name: ref.Name} == host
	}
	if first := holds(one); first != holds(other) {
		return first
	}
	by := one.CreationTimestamp.Compare(other.CreationTimestamp.Time)
	return by < 0 || by == 0 && strings.Compare(string(one.UID), string(other.UID)) < 0
}

// take reserves a host. The reservation is written into the AgentMachine first, so that after a crash the next process
// knows which host it was to be, and then onto the host, which has one machine only. It is false if another machine was
// faster.
func (s *scope) take(ctx context.Context, host *pool.Host) (bool, error) {
	now, err := s.Pool.UncachedHost(ctx, s.object.Namespace, host.NamespacedName, s.clusterID())
	if err != nil || now == nil || !now.IsOwnedBy(s.me()) && !now.Free() {
		return false, err
	}
	if err := s.patch(ctx, func(m *agentv1.AgentMachine) {
		controllerutil.AddFinalizer(m, agentv1.AgentMachineFinalizer)
		m.Spec.ProviderID = agentv1.ProviderIDPrefix + host.Name
		if m.Annotations == nil {
			m.Annotations = map[string]string{}
		}
		m.Annotations[machines.AnnotationReservedHost] = host.Namespace + "/" + host.Name
		m.Annotations[clusterctlv1.BlockMoveAnnotation] = "" // until it is handed over: a move would have it take another host
	}); err != nil {
		return false, err
	}
	if err := s.hook(ctx); err != nil {
		return false, err
	}
	switch err := s.Pool.Reserve(ctx, host.NamespacedName, s.me(), s.isBoundHere); {
	case errors.Is(err, errTaken):
		return false, s.giveUp(ctx)
	case err != nil:
		return false, err
	}
	now.Domain = host.Domain
	s.host = now
	s.isReserved()
	return true, nil
}

// hook makes the Machine wait before it is drained while its host is installed, and then until its host was given back.
func (s *scope) hook(ctx context.Context) error {
	if _, there := s.machine.Annotations[agentv1.PreTerminateHookAnnotation]; there || !s.machine.DeletionTimestamp.IsZero() {
		return nil
	}
	return s.patchMachine(ctx, func(m *clusterv1.Machine) {
		if m.Annotations == nil {
			m.Annotations = map[string]string{}
		}
		m.Annotations[agentv1.PreTerminateHookAnnotation], m.Annotations[agentv1.PreDrainHookAnnotation] = "", ""
	})
}

func (s *scope) patchMachine(ctx context.Context, change func(*clusterv1.Machine)) error {
	changed := s.machine.DeepCopy()
	change(changed)
	if err := s.Client.Patch(ctx, changed, client.MergeFrom(s.machine)); err != nil {
		if apierrors.IsNotFound(err) {
			return nil
		}
		return fmt.Errorf("write the annotations of Machine %s: %w", s.machine.Name, err)
	}
	s.machine = changed
	return nil
}
