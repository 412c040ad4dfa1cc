package controlplane

import (
	"fmt"
	"strconv"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	"sigs.k8s.io/cluster-api/util/conditions"

	controlplanev1 "github.com/oaictl/oaictl/pkg/capi/api/controlplane/v1beta1"
)

// enoughAtOnce is the upgrade concurrency that is proposed, as the template of a topology has it.
const enoughAtOnce = 100

// workersWouldWait says why the MachineDeployments of a topology would wait for ever for its next version, with the
// command that helps; "" where they would not. Cluster API counts a MachineDeployment whose nodes run another
// version than its own as one that is being upgraded, and OpenShift upgrades the nodes of all of them first.
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
	return fmt.Sprintf("the workers would wait for ever for the next version of the topology: it has %d MachineDeployments, of which OpenShift upgrades all nodes at once, and Cluster API takes %d: kubectl -n %s annotate cluster %s --overwrite %s=%d",
		count, atOnce, c.Namespace, c.Name, clusterv1.ClusterTopologyUpgradeConcurrencyAnnotation, max(enoughAtOnce, count+1))
}

// showTopology says, beside that the wanted version can be had, whether the workers of a topology would not get it.
func (s *scope) showTopology() {
	c := conditions.Get(s.plane, controlplanev1.UpgradeAvailableCondition)
	if c == nil || c.Status != metav1.ConditionTrue {
		return
	}
	text := workersWouldWait(s.cluster)
	s.set(c.Type, c.Status, c.Reason, text)
	if was := meta.FindStatusCondition(s.was.Conditions, c.Type); text != "" && (was == nil || was.Message != text) {
		s.Recorder.Eventf(s.plane, s.cluster, corev1.EventTypeWarning, "UpgradeConcurrencyTooLow", "Upgrade", "%s", text)
	}
}
