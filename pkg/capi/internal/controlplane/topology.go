package controlplane

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	"sigs.k8s.io/cluster-api/util/conditions"

	controlplanev1 "github.com/oaictl/oaictl/pkg/capi/api/controlplane/v1beta1"
	"github.com/oaictl/oaictl/pkg/capi/internal/rewording"
	"github.com/oaictl/oaictl/pkg/install/model"
)

// enoughAtOnce is the upgrade concurrency that is proposed, as the template of a topology has it.
const enoughAtOnce = 100

// workersWouldWait says why the MachineDeployments of a topology would wait for ever for its next version, with the
// command that helps; "" where they would not. For Cluster API, a MachineDeployment whose nodes run another version
// than its own is being upgraded, and OpenShift upgrades the nodes of all of them first.
func workersWouldWait(c *clusterv1.Cluster) string {
	count := len(c.Spec.Topology.Workers.MachineDeployments)
	if !c.Spec.Topology.IsDefined() || count == 0 {
		return ""
	}
	atOnce := 1 // Cluster API's default
	if said, there := c.Annotations[clusterv1.ClusterTopologyUpgradeConcurrencyAnnotation]; there {
		atOnce, _ = strconv.Atoi(said) // what is no number counts as 0 there
	}
	if atOnce > count {
		return ""
	}
	return fmt.Sprintf("the workers would wait for ever for the next version of the topology: it has %d MachineDeployments, of which "+
		"OpenShift upgrades all nodes at once, but Cluster API upgrades %d at a time: kubectl -n %s annotate cluster %s --overwrite %s=%d",
		count, atOnce, c.Namespace, c.Name, clusterv1.ClusterTopologyUpgradeConcurrencyAnnotation, max(enoughAtOnce, count+1))
}

// otherBuild says why a topology would take no version any more, with the commands that help; "" where it would. Cluster
// API compares the version of a MachineDeployment with the kubelets' as a text, and waits for them to be equal.
// OpenShift's kubelets name the commit they were built of. A control plane may say less than they do, and nothing else.
func otherBuild(c *clusterv1.Cluster, plane *controlplanev1.OpenshiftAssistedControlPlane, nodes []model.Node) string {
	wanted := c.Spec.Topology.Version
	if !c.Spec.Topology.IsDefined() || len(nodes) == 0 {
		return ""
	}
	runs := nodes[0].Version
	if slices.ContainsFunc(nodes, func(n model.Node) bool { return n.Version != runs }) {
		return "" // they are on their way
	}
	if withoutBuild(wanted) != withoutBuild(runs) || withoutBuild(plane.Spec.Version) != withoutBuild(runs) || wanted == runs &&
		plane.Spec.Version == runs {
		return ""
	}
	if len(c.Spec.Topology.Workers.MachineDeployments) == 0 && wanted == withoutBuild(runs) {
		return ""
	}
	const unchecked = clusterv1.ClusterTopologyUnsafeUpdateVersionAnnotation
	kubectl := "kubectl -n " + c.Namespace
	return fmt.Sprintf("the topology would not accept the next version: Cluster API waits for nodes of version %s, and they run %s: "+
		`%s annotate cluster %s %s= && %[3]s patch cluster %[4]s --type merge -p '{"spec":{"topology":{"version":"%[2]s"}}}' && `+
		`%[3]s patch openshiftassistedcontrolplane %[6]s --type merge -p '{"spec":{"version":"%[2]s"}}' && %[3]s annotate cluster %[4]s %[5]s-`,
		wanted, runs, kubectl, c.Name, unchecked, plane.Name)
}

// withoutBuild is a version without the commit that it was built of.
func withoutBuild(version string) string {
	plain, _, _ := strings.Cut(version, "+")
	return plain
}

// showTopology says, beside that the wanted version can be had, whether the workers of a topology would not get it, or
// the topology no next one.
func (r *statusReport) showTopology() {
	c := conditions.Get(r.plane, controlplanev1.UpgradeAvailableCondition)
	if c == nil || c.Status != metav1.ConditionTrue || r.view == nil || r.view.Observed.Spoke == nil || r.view.Observed.Spoke.Trouble != "" {
		return // the report about nodes holds as long as they are not read
	}
	was, texts := meta.FindStatusCondition(r.was.Conditions, c.Type), []string(nil)
	for _, trouble := range []struct{ reason, text string }{
		{"UpgradeConcurrencyTooLow", workersWouldWait(r.cluster)},
		{"TopologyVersionDiffers", otherBuild(r.cluster, r.plane, r.view.Observed.Spoke.Nodes)},
	} {
		if trouble.text == "" {
			continue
		}
		texts = append(texts, trouble.text)
		if was == nil || !strings.Contains(was.Message, trouble.text) {
			r.recorder.Eventf(r.plane, r.cluster, corev1.EventTypeWarning, trouble.reason, "Upgrade", "%s", trouble.text)
		}
	}
	r.set(c.Type, c.Status, c.Reason, rewording.Lines(texts))
}
