package machines

import (
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"

	agentv1 "github.com/oaictl/oaictl/pkg/capi/api/agent/v1beta2"
)

// AnnotationReservedHost is on an AgentMachine: NAMESPACE/NAME of the Agent that is reserved for it; over REST the ids
// of its InfraEnv and of the host. It stays for as long as the reservation, and is moved together with the object. It
// counts where spec.providerID names the same host. Empty, it says that the host was given back.
const AnnotationReservedHost = "oaictl.io/reserved-host"

// ReservedHost is the host that an AgentMachine has reserved: the namespace and the name of its
// Agent, over REST the ids of its InfraEnv and of the host. Without a reservation both are empty.
//
// The host is the one that spec.providerID names. Its namespace is in the annotation, else in status.agentRef; if
// neither has it, the Agent is in the AgentMachine's own namespace.
func ReservedHost(agentMachine *unstructured.Unstructured) (namespace, name string) {
	providerID, _, _ := unstructured.NestedString(agentMachine.Object, "spec", "providerID")
	ref, _, _ := unstructured.NestedStringMap(agentMachine.Object, "status", "agentRef")
	return reservedHost(providerID, agentMachine.GetAnnotations(), types.NamespacedName{Namespace: ref["namespace"], Name: ref["name"]},
		agentMachine.GetNamespace())
}

// ReservedHostOf is ReservedHost of an object that was read into its type.
func ReservedHostOf(agentMachine *agentv1.AgentMachine) (namespace, name string) {
	var ref types.NamespacedName
	if r := agentMachine.Status.AgentRef; r != nil {
		ref = types.NamespacedName{Namespace: r.Namespace, Name: r.Name}
	}
	return reservedHost(agentMachine.Spec.ProviderID, agentMachine.Annotations, ref, agentMachine.Namespace)
}

func reservedHost(providerID string, annotations map[string]string, ref types.NamespacedName, own string) (namespace, name string) {
	name, is := strings.CutPrefix(providerID, agentv1.ProviderIDPrefix)
	note, there := annotations[AnnotationReservedHost]
	if !is || name == "" || there && note == "" {
		return "", ""
	}
	if within, noted, both := strings.Cut(note, "/"); both && noted == name && within != "" {
		return within, name
	}
	if ref.Name == name && ref.Namespace != "" {
		return ref.Namespace, name
	}
	return own, name
}

// GaveBack records on an AgentMachine that it has no host any more. Its provider id stays.
func GaveBack(agentMachine *agentv1.AgentMachine) {
	if agentMachine.Annotations == nil {
		agentMachine.Annotations = map[string]string{}
	}
	agentMachine.Annotations[AnnotationReservedHost] = ""
}
