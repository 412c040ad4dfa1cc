package node

import (
	"net/netip"
	"slices"
	"strings"

	certificates "k8s.io/api/certificates/v1"
	corev1 "k8s.io/api/core/v1"

	"github.com/oaictl/oaictl/pkg/install/model"
	"github.com/oaictl/oaictl/pkg/install/spec"
)

// The annotations by which the machine config operator works on a node.
const (
	currentConfig = "machineconfiguration.openshift.io/currentConfig"
	desiredConfig = "machineconfiguration.openshift.io/desiredConfig"
	configState   = "machineconfiguration.openshift.io/state"
	configReason  = "machineconfiguration.openshift.io/reason"
)

// machineOfNode is the Machine that a node is of, with its namespace.
const machineOfNode = "machine.openshift.io/machine"

const rolePrefix = "node-role.kubernetes.io/"

func readNode(n *corev1.Node) model.Node {
	out := model.Node{
		Name: n.Name, UID: string(n.UID), Created: n.CreationTimestamp.Time, Deleting: n.DeletionTimestamp != nil,
		Cordoned: n.Spec.Unschedulable, Labels: n.Labels, ProviderID: n.Spec.ProviderID, Version: n.Status.NodeInfo.KubeletVersion,
		Config: model.NodeConfig{
			Current: n.Annotations[currentConfig], Desired: n.Annotations[desiredConfig],
			State: n.Annotations[configState], Reason: n.Annotations[configReason],
		},
	}
	for label := range n.Labels {
		if role, is := strings.CutPrefix(label, rolePrefix); is && role != "" {
			out.Roles = append(out.Roles, role)
		}
	}
	slices.Sort(out.Roles)
	if space, name, _ := strings.Cut(n.Annotations[machineOfNode], "/"); space == machineSpace {
		out.Machine = name
	}
	out.Finalizers, out.SystemUUID = n.Finalizers, n.Status.NodeInfo.SystemUUID
	out.Leaving, out.Returns = n.Annotations[removesNode] == n.Name, n.Annotations[returnsHost]
	for _, t := range n.Spec.Taints {
		out.Taints = append(out.Taints, spec.Taint{Key: t.Key, Value: t.Value, Effect: spec.TaintEffect(t.Effect)})
	}
	for _, a := range n.Status.Addresses {
		if a.Type != corev1.NodeInternalIP && a.Type != corev1.NodeExternalIP {
			continue
		}
		if address, err := netip.ParseAddr(a.Address); err == nil {
			out.Addresses = append(out.Addresses, address.Unmap())
		}
	}
	for _, c := range n.Status.Conditions {
		if c.Type == corev1.NodeReady {
			out.Ready, out.ReadySince = c.Status == corev1.ConditionTrue, c.LastTransitionTime.Time
			if !out.Ready {
				out.Reason, out.Message = c.Reason, c.Message
			}
		}
	}
	return out
}

func readRequest(c *certificates.CertificateSigningRequest) request {
	out := request{version: c.ResourceVersion, CertificateRequest: model.CertificateRequest{
		Name: c.Name, UID: string(c.UID), Created: c.CreationTimestamp.Time,
		Signer: c.Spec.SignerName, Username: c.Spec.Username, Groups: c.Spec.Groups, PEM: c.Spec.Request, Issued: len(c.Status.Certificate) > 0,
	}}
	for _, usage := range c.Spec.Usages {
		out.Usages = append(out.Usages, string(usage))
	}
	for _, condition := range c.Status.Conditions {
		switch condition.Type {
		case certificates.CertificateApproved:
			out.Approved = true
		case certificates.CertificateDenied:
			out.Denied = true
		default:
			continue
		}
		out.Reason, out.Message, out.ConditionAt = condition.Reason, condition.Message, condition.LastTransitionTime.Time
	}
	return out
}
