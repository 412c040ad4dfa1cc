package controlplane

import (
	"slices"
	"strings"

	"github.com/blang/semver/v4"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/tools/events"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	"sigs.k8s.io/cluster-api/util/collections"
	"sigs.k8s.io/cluster-api/util/conditions"
	"sigs.k8s.io/cluster-api/util/version"

	controlplanev1 "github.com/oaictl/oaictl/pkg/capi/api/controlplane/v1beta1"
	"github.com/oaictl/oaictl/pkg/capi/internal/status"
	"github.com/oaictl/oaictl/pkg/install/model"
)

// statusReport puts the status of a control plane together, and writes it.
type statusReport struct {
	*subject

	recorder events.EventRecorder
	status   *status.Writer
}

func (s *scope) statusReport() *statusReport {
	return &statusReport{subject: s.subject, recorder: s.Recorder, status: s.Status}
}

// show writes down what there is of Machines, and how the installed cluster is.
func (r *statusReport) show() {
	status := &r.plane.Status
	status.Selector = collections.ControlPlaneSelectorForCluster(r.cluster.Name).String()
	count := func(kind string) *int32 {
		n := int32(0)
		for _, m := range r.machines {
			if kind == "" || conditions.IsTrue(m, kind) {
				n++
			}
		}
		return &n
	}
	status.Replicas, status.ReadyReplicas = count(""), count(clusterv1.ReadyCondition)
	status.AvailableReplicas, status.UpToDateReplicas = count(clusterv1.AvailableCondition), count(clusterv1.MachineUpToDateCondition)
	r.showMachines()
	r.showLastRemediation()
	r.showTopology()
	if r.view != nil && r.view.Installed() && r.view.Observed.Spoke != nil {
		r.showCluster(r.view.Observed.Spoke)
	}
}

// Names of the operators by which a control plane serves.
const (
	operatorAPI  = "kube-apiserver"
	operatorEtcd = "etcd"
)

// showCluster reports the state of the installed cluster, by its own status: a cluster that works is available, even if
// a part of it is degraded.
func (r *statusReport) showCluster(spoke *model.Spoke) {
	if spoke.Trouble != "" {
		r.notAvailable("ClusterUnreachable", spoke.Trouble)
		return
	}
	var down []string
	for i := range spoke.Operators {
		o := &spoke.Operators[i]
		if !o.Available && (o.Name == operatorAPI || o.Name == operatorEtcd) {
			down = append(down, o.Name+": "+o.Message)
		}
		if o.Name == operatorEtcd {
			r.showEtcd(spoke, o)
		}
	}
	ready, unready, versions := 0, []string(nil), map[string]int32{}
	for i := range spoke.Nodes {
		n := &spoke.Nodes[i]
		if !slices.Contains(n.Roles, "master") && !slices.Contains(n.Roles, "control-plane") {
			continue
		}
		if n.Ready {
			ready++
		} else {
			unready = append(unready, n.Name+" ("+n.Message+")")
		}
		if n.Version != "" {
			versions[n.Version]++
		}
	}
	if ready == 0 {
		down = append(down, "no node of the control plane is Ready: "+strings.Join(unready, ", "))
	}
	if len(down) > 0 {
		r.notAvailable("ControlPlaneUnavailable", strings.Join(down, "; "))
	} else {
		r.set(clusterv1.AvailableCondition, metav1.ConditionTrue, clusterv1.AvailableReason, "")
	}
	r.set(controlplanev1.CertificatesAvailableCondition, metav1.ConditionTrue, controlplanev1.CertificatesAvailableCondition, "")
	r.showVersions(versions)
	if spoke.Version != "" {
		r.plane.Status.DistributionVersion = spoke.Version
	}
}

// showVersions writes down which versions the nodes run, the oldest first. They are whole, with the commit that OpenShift
// builds kubelets of: Cluster API compares them with what is wanted, which may be so, too.
func (r *statusReport) showVersions(counts map[string]int32) {
	if len(counts) == 0 {
		return
	}
	var versions []clusterv1.StatusVersion
	for runs, count := range counts {
		versions = append(versions, clusterv1.StatusVersion{Version: runs, Replicas: count})
	}
	slices.SortFunc(versions, func(a, b clusterv1.StatusVersion) int { return compareVersions(a.Version, b.Version) })
	r.plane.Status.Versions, r.plane.Status.Version = versions, versions[0].Version
	if r.mismatch != "" {
		return // the condition says that
	}
	r.set(controlplanev1.KubernetesVersionAvailableCondition, metav1.ConditionTrue, controlplanev1.KubernetesVersionAvailableCondition, "")
}

// compareVersions orders versions as Cluster API wants them to be ordered, and by their text where it knows no order, as
// between two commits.
func compareVersions(a, b string) int {
	x, errX := semver.ParseTolerant(a)
	y, errY := semver.ParseTolerant(b)
	if errX != nil || errY != nil {
		return strings.Compare(a, b)
	}
	if order := version.Compare(x, y, version.WithBuildTags()); order == -1 || order == 1 {
		return order
	}
	return strings.Compare(a, b)
}
