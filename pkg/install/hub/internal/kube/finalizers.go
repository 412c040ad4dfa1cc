package kube

import (
	"fmt"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/oaictl/oaictl/internal/advice"
	"github.com/oaictl/oaictl/internal/hubapi"
	"github.com/oaictl/oaictl/internal/hubapi/agentinstall"
	"github.com/oaictl/oaictl/internal/redact"
	"github.com/oaictl/oaictl/pkg/install"
)

// DeletingFault is the fault for an object that is on its way out.
func DeletingFault(u *unstructured.Unstructured) *install.Fault {
	what, next := "its "+u.GetKind(), install.Advice("wait until it is gone, then run the same command again; a finalizer that stays is that of a controller that is down")
	switch u.GetKind() {
	case hubapi.KindNamespace:
		what = "it"
	case hubapi.KindClusterDeployment:
		next = advice.Command("delete cluster", ID(u.GetNamespace(), u.GetName())) + ", which goes on with it, and tells what it waits for"
	}
	return &install.Fault{
		Code: install.CodeFailure, Op: "observe cluster", On: ID(u.GetNamespace(), u.GetName()),
		Err:  fmt.Errorf("%s %w since %s%s", what, install.ErrDeleting, u.GetDeletionTimestamp().UTC().Format("15:04:05"), holders(u)),
		Next: next,
	}
}

// holders says what holds an object that is being deleted: its finalizers, or
// what a namespace says of those of its content.
func holders(u *unstructured.Unstructured) string {
	if u.GetKind() != hubapi.KindNamespace {
		return HeldBy(u, " (of %s)")
	}
	var texts []string
	conditions, _, _ := unstructured.NestedSlice(u.Object, "status", "conditions")
	for _, c := range conditions {
		fields, _ := c.(map[string]any)
		if fields["status"] != string(metav1.ConditionTrue) {
			continue
		}
		if message, _ := fields["message"].(string); message != "" {
			texts = append(texts, strings.TrimSuffix(message, "."))
		}
	}
	finalizers, _, _ := unstructured.NestedStringSlice(u.Object, "spec", "finalizers")
	for _, finalizer := range append(finalizers, u.GetFinalizers()...) {
		if finalizer != "kubernetes" { // that of the namespace controller, which goes by the content
			texts = append(texts, "the finalizer "+finalizer)
		}
	}
	if len(texts) == 0 {
		return "; its content is not gone yet"
	}
	return ": " + strings.Join(texts, "; ")
}

// HeldBy says what holds an object that is to go.
func HeldBy(u *unstructured.Unstructured, whose string) string {
	if u.GetDeletionTimestamp() == nil && len(u.GetOwnerReferences()) > 0 {
		return ", which goes with what owns it"
	}
	text := ""
	for _, finalizer := range u.GetFinalizers() {
		text += ", held by the finalizer " + finalizer + fmt.Sprintf(whose, finalizerOwner(finalizer))
	}
	if text == "" {
		return ", held by nothing: the garbage collector of the hub is behind"
	}
	return text + cleanupMessage(u)
}

// cleanupMessage is why the service can't take the node of an Agent out of its cluster.
func cleanupMessage(u *unstructured.Unstructured) string {
	if u.GetKind() != hubapi.KindAgent {
		return ""
	}
	agent, err := Read[agentinstall.Agent](u)
	if err != nil {
		return ""
	}
	c := hubapi.FindCondition(agent.Status.Conditions, hubapi.ConditionCleanup)
	if c != nil && c.Status == metav1.ConditionFalse && c.Message != "" {
		return ", whose node can't be taken out of its cluster: " + Shorten(redact.Text(c.Message))
	}
	return ""
}

// finalizerOwner is whose a finalizer is, and so what is down where it stays.
func finalizerOwner(finalizer string) string {
	switch {
	case finalizer == hubapi.FinalizerBMAC:
		return "the bare-metal-agent controller of the assisted-service, or the bare metal operator that it waits for,"
	case strings.HasPrefix(finalizer, hubapi.GroupHive+"/"):
		return "Hive's operator"
	case strings.Contains(finalizer, hubapi.GroupAgentInstall):
		return "the assisted-service"
	case strings.Contains(finalizer, hubapi.GroupMetal3):
		return "the bare metal operator"
	case finalizer == metav1.FinalizerDeleteDependents, finalizer == metav1.FinalizerOrphanDependents:
		return "the garbage collector of the hub"
	}
	return "whoever set it"
}
