package spoke

import (
	"context"
	"fmt"
	"maps"
	"net/netip"
	"strings"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// Roles of machines, in the words of cluster.yaml.
const (
	RoleControlPlane = "control-plane"
	RoleWorker       = "worker"
	RoleArbiter      = "arbiter"
)

const rolePrefix = "node-role.kubernetes.io/"

func (s *Spoke) setUpNodes(ctx context.Context) error {
	if s.cluster.Joining {
		return nil
	}
	for role, list := range s.cluster.nodes() {
		for i := range list {
			if err := s.setUpNode(ctx, list[i].machine(role)); err != nil {
				return err
			}
		}
	}
	return nil
}

func (n Node) machine(role string) Machine {
	return Machine{Hostname: n.Name, Role: role, Addresses: n.Addresses, Labels: n.Labels, UUID: n.UUID}
}

// setUpNode makes a node that is there and ready, with what the machine config operator writes on it.
func (s *Spoke) setUpNode(ctx context.Context, m Machine) error {
	now := s.stamp()
	node := s.nodeOf(m, m.Addresses, now)
	if m.Role == RoleControlPlane && s.cluster.compact() {
		node.Labels[rolePrefix+worker] = ""
		node.Spec.Taints = nil
	}
	config := s.cluster.rendered(poolOf(m))
	maps.Copy(node.Annotations, configAnnotations(config, config))
	node.Annotations[annotationState] = stateDone
	setReady(&node.Status, ready(corev1.ConditionTrue, "KubeletReady", "kubelet is posting ready status", now))
	status := node.Status
	made, err := s.core.CoreV1().Nodes().Create(ctx, node, metav1.CreateOptions{})
	if apierrors.IsAlreadyExists(err) {
		if made, err = s.core.CoreV1().Nodes().Get(ctx, node.Name, metav1.GetOptions{}); err == nil {
			made.Labels, made.Annotations = node.Labels, node.Annotations
		}
	}
	if err != nil {
		return fmt.Errorf("make node %s: %w", node.Name, err)
	}
	// The API server taints new nodes.
	made.Spec.Taints = node.Spec.Taints
	if made, err = s.core.CoreV1().Nodes().Update(ctx, made, metav1.UpdateOptions{}); err != nil {
		return fmt.Errorf("make node %s ready: %w", node.Name, err)
	}
	made.Status = status
	if _, err = s.core.CoreV1().Nodes().UpdateStatus(ctx, made, metav1.UpdateOptions{}); err != nil {
		return fmt.Errorf("make node %s ready: %w", node.Name, err)
	}
	return nil
}

// nodeOf is the Node that the kubelet of a machine registers: not ready yet.
func (s *Spoke) nodeOf(m Machine, addresses []netip.Addr, at metav1.Time) *corev1.Node {
	arch := machineArch(s.cluster.Arch)
	node := &corev1.Node{ObjectMeta: metav1.ObjectMeta{
		Name: m.nodeName(),
		Labels: map[string]string{
			corev1.LabelHostname: m.nodeName(), corev1.LabelOSStable: "linux", corev1.LabelArchStable: arch,
			"beta.kubernetes.io/os": "linux", "beta.kubernetes.io/arch": arch, "node.openshift.io/os_id": "rhel",
		},
		Annotations: map[string]string{"volumes.kubernetes.io/controller-managed-attach-detach": "true"},
	}}
	for _, role := range m.roleLabels() {
		node.Labels[rolePrefix+role] = ""
	}
	if m.Role == RoleControlPlane || m.Role == RoleArbiter {
		name := master
		if m.Role == RoleArbiter {
			name = RoleArbiter
		}
		node.Spec.Taints = []corev1.Taint{{Key: rolePrefix + name, Effect: corev1.TaintEffectNoSchedule}}
	}
	maps.Copy(node.Labels, m.Labels)
	maps.Copy(node.Labels, m.clusterLabels())
	node.Status = s.statusOf(m, addresses, at)
	return node
}

func (s *Spoke) statusOf(m Machine, addresses []netip.Addr, at metav1.Time) corev1.NodeStatus {
	capacity := corev1.ResourceList{
		corev1.ResourceCPU: resource.MustParse("16"), corev1.ResourceMemory: resource.MustParse("65536Mi"),
		corev1.ResourcePods: resource.MustParse("250"), corev1.ResourceEphemeralStorage: resource.MustParse("480Gi"),
	}
	version := s.versionOf(m.nodeName())
	status := corev1.NodeStatus{
		Capacity: capacity, Allocatable: capacity,
		DaemonEndpoints: corev1.NodeDaemonEndpoints{KubeletEndpoint: corev1.DaemonEndpoint{Port: 10250}},
		NodeInfo: corev1.NodeSystemInfo{
			MachineID: digest(m.UUID), SystemUUID: m.UUID, BootID: idOf(m.UUID + at.String()),
			KernelVersion: "5.14.0-570.12.1.el9_6." + s.cluster.Arch, OSImage: "Red Hat Enterprise Linux CoreOS " + version + " (simulated)",
			ContainerRuntimeVersion: "cri-o://" + strings.TrimPrefix(KubernetesOf(version), "v"), KubeletVersion: KubeletOf(version),
			OperatingSystem: "linux", Architecture: machineArch(s.cluster.Arch),
		},
	}
	for _, address := range addresses {
		status.Addresses = append(status.Addresses, corev1.NodeAddress{Type: corev1.NodeInternalIP, Address: address.String()})
	}
	status.Addresses = append(status.Addresses, corev1.NodeAddress{Type: corev1.NodeHostName, Address: m.nodeName()})
	for _, well := range []struct {
		kind            corev1.NodeConditionType
		reason, message string
	}{
		{corev1.NodeMemoryPressure, "KubeletHasSufficientMemory", "kubelet has sufficient memory available"},
		{corev1.NodeDiskPressure, "KubeletHasNoDiskPressure", "kubelet has no disk pressure"},
		{corev1.NodePIDPressure, "KubeletHasSufficientPID", "kubelet has sufficient PID available"},
	} {
		status.Conditions = append(status.Conditions, corev1.NodeCondition{
			Type: well.kind, Status: corev1.ConditionFalse, Reason: well.reason, Message: well.message, LastHeartbeatTime: at,
			LastTransitionTime: at,
		})
	}
	setReady(&status, ready(corev1.ConditionFalse, "KubeletNotReady", noNetwork, at))
	return status
}

// noNetwork is what a kubelet says before its network provider has started.
const noNetwork = "container runtime network not ready: NetworkReady=false reason:NetworkPluginNotReady " +
	"message:Network plugin returns error: No CNI configuration file in /etc/kubernetes/cni/net.d/. Has your network provider started?"

// setReady puts the condition Ready in its place, with the time of the last change where it is none. It reports whether it changed.
func setReady(status *corev1.NodeStatus, c corev1.NodeCondition) bool {
	for i := range status.Conditions {
		old := &status.Conditions[i]
		if old.Type != c.Type {
			continue
		}
		changed := old.Status != c.Status || old.Reason != c.Reason || old.Message != c.Message
		if old.Status == c.Status {
			c.LastTransitionTime = old.LastTransitionTime
		}
		*old = c
		return changed
	}
	status.Conditions = append(status.Conditions, c)
	return true
}
