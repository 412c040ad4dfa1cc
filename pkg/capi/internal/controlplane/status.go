package controlplane

import (
	"fmt"
	"slices"
	"strings"

	"github.com/blang/semver/v4"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	"sigs.k8s.io/cluster-api/util/collections"
	"sigs.k8s.io/cluster-api/util/conditions"

	controlplanev1 "github.com/oaictl/oaictl/pkg/capi/api/controlplane/v1beta1"
	"github.com/oaictl/oaictl/pkg/install"
)

func ownedConditions() []string {
	return []string{
		clusterv1.AvailableCondition, clusterv1.PausedCondition, clusterv1.MachinesReadyCondition, clusterv1.MachinesUpToDateCondition,
		clusterv1.RollingOutCondition, clusterv1.ScalingUpCondition, clusterv1.ScalingDownCondition, clusterv1.RemediatingCondition, clusterv1.DeletingCondition,
		controlplanev1.InitializedCondition, controlplanev1.KubeconfigAvailableCondition, controlplanev1.KubernetesVersionAvailableCondition,
		controlplanev1.CertificatesAvailableCondition, controlplanev1.EtcdClusterAvailableCondition, controlplanev1.UpgradeAvailableCondition,
		controlplanev1.UpgradeCompletedCondition, controlplanev1.MachinesCreatedCondition,
	}
}

// show writes down what there is of Machines, and how the installed cluster is.
func (s *scope) show() {
	status := &s.plane.Status
	status.Selector = collections.ControlPlaneSelectorForCluster(s.cluster.Name).String()
	count := func(kind string) *int32 {
		n := int32(0)
		for _, m := range s.machines {
			if kind == "" || conditions.IsTrue(m, kind) {
				n++
			}
		}
		return &n
	}
	status.Replicas, status.ReadyReplicas = count(""), count(clusterv1.ReadyCondition)
	status.AvailableReplicas, status.UpToDateReplicas = count(clusterv1.AvailableCondition), count(clusterv1.MachineUpToDateCondition)
	s.showScaling()
	s.aggregate(clusterv1.MachineReadyCondition, clusterv1.MachinesReadyCondition)
	s.aggregate(clusterv1.MachineUpToDateCondition, clusterv1.MachinesUpToDateCondition)
	if s.view != nil && s.view.Installed() && s.view.Observed.Spoke != nil {
		s.showCluster(s.view.Observed.Spoke)
	}
}

func (s *scope) showScaling() {
	have, want := len(s.machines), s.replicas()
	if !s.plane.DeletionTimestamp.IsZero() {
		want = 0
	}
	scaling := func(kind string, is bool, reason, not string) {
		if !is {
			s.set(kind, metav1.ConditionFalse, not, "")
			return
		}
		s.set(kind, metav1.ConditionTrue, reason, fmt.Sprintf("Scaling from %d to %d replicas", have, want))
	}
	scaling(clusterv1.ScalingUpCondition, have < want, clusterv1.ScalingUpReason, clusterv1.NotScalingUpReason)
	scaling(clusterv1.ScalingDownCondition, have > want, clusterv1.ScalingDownReason, clusterv1.NotScalingDownReason)
	if s.plane.DeletionTimestamp.IsZero() {
		s.set(clusterv1.DeletingCondition, metav1.ConditionFalse, clusterv1.NotDeletingReason, "")
	}
}

// aggregate sums a condition of the Machines up.
func (s *scope) aggregate(of, into string) {
	if len(s.machines) == 0 {
		s.set(into, metav1.ConditionTrue, "NoReplicas", "")
		return
	}
	condition, err := conditions.NewAggregateCondition(s.machines, of, conditions.TargetConditionType(into))
	if err != nil {
		s.set(into, metav1.ConditionUnknown, clusterv1.InternalErrorReason, err.Error())
		return
	}
	conditions.Set(s.plane, *condition)
}

// Names of the operators by which a control plane serves.
const (
	operatorAPI  = "kube-apiserver"
	operatorEtcd = "etcd"
)

// showCluster says how the installed cluster is, as it shows itself: one that works though something of
// it is degraded is available.
func (s *scope) showCluster(spoke *install.Spoke) {
	if spoke.Trouble != "" {
		s.notAvailable("ClusterUnreachable", spoke.Trouble)
		return
	}
	var down []string
	for i := range spoke.Operators {
		o := &spoke.Operators[i]
		if !o.Available && (o.Name == operatorAPI || o.Name == operatorEtcd) {
			down = append(down, o.Name+": "+o.Message)
		}
		if o.Name == operatorEtcd {
			s.showEtcd(o.Available, o.Message)
		}
	}
	ready, versions := 0, map[string]int32{}
	for i := range spoke.Nodes {
		n := &spoke.Nodes[i]
		if !slices.Contains(n.Roles, "master") && !slices.Contains(n.Roles, "control-plane") {
			continue
		}
		if n.Ready {
			ready++
		}
		if n.Version != "" {
			versions[kubernetesVersion(n.Version)]++
		}
	}
	if ready == 0 {
		down = append(down, "no node of the control plane is Ready")
	}
	if len(down) > 0 {
		s.notAvailable("ControlPlaneUnavailable", strings.Join(down, "; "))
	} else {
		s.set(clusterv1.AvailableCondition, metav1.ConditionTrue, clusterv1.AvailableReason, "")
	}
	s.set(controlplanev1.CertificatesAvailableCondition, metav1.ConditionTrue, controlplanev1.CertificatesAvailableCondition, "")
	s.showVersions(versions)
	if spoke.Version != "" {
		s.plane.Status.DistributionVersion = spoke.Version
	}
}

func (s *scope) showEtcd(available bool, message string) {
	if available {
		s.set(controlplanev1.EtcdClusterAvailableCondition, metav1.ConditionTrue, controlplanev1.EtcdClusterAvailableCondition, "")
		return
	}
	s.set(controlplanev1.EtcdClusterAvailableCondition, metav1.ConditionFalse, "EtcdUnavailable", message)
}

// kubernetesVersion is a kubelet's version with what Cluster API compares only: OpenShift adds the
// commit.
func kubernetesVersion(text string) string {
	version, _, _ := strings.Cut(text, "+")
	if !strings.HasPrefix(version, "v") {
		version = "v" + version
	}
	return version
}

// showVersions writes down which versions the nodes run, the oldest first.
func (s *scope) showVersions(counts map[string]int32) {
	if len(counts) == 0 {
		return
	}
	var versions []clusterv1.StatusVersion
	for version, count := range counts {
		versions = append(versions, clusterv1.StatusVersion{Version: version, Replicas: count})
	}
	slices.SortFunc(versions, func(a, b clusterv1.StatusVersion) int {
		x, errX := semver.ParseTolerant(a.Version)
		y, errY := semver.ParseTolerant(b.Version)
		if errX != nil || errY != nil {
			return strings.Compare(a.Version, b.Version)
		}
		return x.Compare(y)
	})
	s.plane.Status.Versions, s.plane.Status.Version = versions, versions[0].Version
	s.set(controlplanev1.KubernetesVersionAvailableCondition, metav1.ConditionTrue, controlplanev1.KubernetesVersionAvailableCondition, "")
}
