package agent

import (
	"cmp"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"sync"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	"sigs.k8s.io/cluster-api/util/conditions"

	"github.com/oaictl/oaictl/internal/shared/hubapi"
	agentv1 "github.com/oaictl/oaictl/pkg/capi/api/agent/v1beta2"
	"github.com/oaictl/oaictl/pkg/capi/internal/agent/pool"
	"github.com/oaictl/oaictl/pkg/capi/internal/rewording"
	"github.com/oaictl/oaictl/pkg/install/model"
)

// show writes down what is known of the host.
func (s *scope) show() {
	h, status := s.host, &s.object.Status
	status.AgentRef = &agentv1.AgentReference{Namespace: h.Namespace, Name: h.Name}
	if addresses := addressesOf(h); len(addresses) > 0 {
		status.Addresses = addresses
	}
	one := []pool.Host{*h}
	pool.Assign(one, domainsOf(s.infra))
	status.FailureDomain = one[0].Domain
	if h.Installed || s.isProvisioned() {
		// From now on the Machine waits for its node. The hand-over is never undone.
		status.Initialization.Provisioned = ptr.To(true)
	}
	s.mirror()
	s.showPlan()
}

// reasonInstalled is that of all conditions of a machine whose host is elsewhere.
const reasonInstalled = agentv1.InstalledCondition

// showElsewhere says that the machine is installed, and that its host is not known here. Nothing can be done to
// the host, and nothing has to be: its node is Cluster API's to look at.
func (s *scope) showElsewhere() {
	message := fmt.Sprintf("the machine is installed, and there is no %s %s here", s.Pool.HostKind(), s.reserved().Name)
	for _, kind := range order() {
		s.set(kind, metav1.ConditionTrue, reasonInstalled, message)
	}
	s.object.Status.Initialization.Provisioned = ptr.To(true)
	if addresses := s.nodeAddresses(); len(addresses) > 0 {
		s.object.Status.Addresses = addresses
	}
}

// nodeAddresses are those of the machine's node, where it has been seen.
func (s *scope) nodeAddresses() []clusterv1.MachineAddress {
	node := s.seenNode()
	if node == nil || node.ProviderID != s.object.Spec.ProviderID {
		return nil
	}
	host := pool.Host{Hostname: node.Name}
	for _, address := range node.Addresses {
		host.Addresses = append(host.Addresses, address.String())
	}
	return addressesOf(&host)
}

// seenNode is the machine's node in the installed cluster, by its provider id or, before it has that, by the name of its host;
// nil where it was not seen.
func (s *scope) seenNode() *model.Node {
	view := s.Installations.Last(s.key)
	if view == nil || view.Observed.Spoke == nil {
		return nil
	}
	nodes := view.Observed.Spoke.Nodes
	if i := slices.IndexFunc(nodes, func(n model.Node) bool { return n.ProviderID == s.object.Spec.ProviderID }); i >= 0 {
		return &nodes[i]
	}
	if s.host == nil {
		return nil
	}
	return view.Observed.Spoke.NodeByName(s.host.Hostname)
}

// addressesOf are the addresses of a host, before it is a node: certificates are approved by them.
func addressesOf(h *pool.Host) []clusterv1.MachineAddress {
	if len(h.Addresses) == 0 {
		return nil
	}
	var all []clusterv1.MachineAddress
	if h.Hostname != "" {
		all = append(all, clusterv1.MachineAddress{Type: clusterv1.MachineHostName, Address: h.Hostname})
	}
	for _, address := range h.Addresses {
		all = append(all, clusterv1.MachineAddress{Type: clusterv1.MachineInternalIP, Address: address})
	}
	if h.Hostname != "" {
		all = append(all, clusterv1.MachineAddress{Type: clusterv1.MachineInternalDNS, Address: h.Hostname})
	}
	return all
}

// mirrors are which condition of an Agent is which of its AgentMachine.
func mirrors() map[string]string {
	return map[string]string{
		hubapi.ConditionSpecSynced: agentv1.AgentSpecSyncedCondition, hubapi.ConditionValidated: agentv1.AgentValidatedCondition,
		hubapi.ConditionRequirementsMet: agentv1.AgentRequirementsMetCondition, hubapi.ConditionInstalled: agentv1.InstalledCondition,
	}
}

// mirror shows the conditions of the host. How far an installation is in percent is not shown: it
// changes too often.
func (s *scope) mirror() {
	names := mirrors()
	for _, c := range s.host.Conditions {
		if c.Reason == hubapi.ReasonInstallationInProgress {
			c.Message = "the host is being installed"
		}
		s.set(names[c.Type], c.Status, reasonOf(c.Reason), c.Message)
	}
}

// reasons are what the reason of a condition may be.
var reasons = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^[A-Za-z]([A-Za-z0-9_,:]*[A-Za-z0-9_])?$`) })

// reasonOf is a word of the service as a condition may have it.
func reasonOf(word string) string {
	if reasons().MatchString(word) {
		return word
	}
	return "Unknown"
}

// nodeTrouble says that the machine is installed, and its node not as it should be.
func (s *scope) nodeTrouble(message string) { s.trouble = message }

// order is that in which conditions of a machine say why it is not ready.
func order() []string {
	return []string{
		agentv1.AgentReservedCondition, agentv1.AgentSpecSyncedCondition, agentv1.AgentValidatedCondition, agentv1.AgentRequirementsMetCondition,
		agentv1.InstalledCondition,
	}
}

// summarize sets Ready by the other conditions: the first that is not true says why not.
func (s *scope) summarize() {
	ready := metav1.Condition{Type: clusterv1.ReadyCondition, Status: metav1.ConditionTrue, Reason: clusterv1.ReadyReason}
	fail := func(reason, message string) {
		if ready.Status == metav1.ConditionTrue {
			ready.Status, ready.Reason, ready.Message = metav1.ConditionFalse, reason, message
		}
	}
	if c := conditions.Get(s.object, clusterv1.DeletingCondition); c != nil && c.Status == metav1.ConditionTrue {
		fail(c.Reason, c.Message)
	}
	for _, kind := range order() {
		switch c := conditions.Get(s.object, kind); {
		case c == nil:
			fail(clusterv1.NotReadyReason, "waiting for "+kind)
		case c.Status != metav1.ConditionTrue:
			fail(c.Reason, cmp.Or(c.Message, kind+" is "+strings.ToLower(string(c.Status))))
		}
	}
	if c := conditions.Get(s.object, agentv1.CertificateRequestPendingCondition); c != nil && c.Status == metav1.ConditionTrue {
		fail(c.Reason, c.Message)
	}
	if s.trouble != "" {
		fail(reasonNodeTrouble, rewording.Message(s.trouble))
	}
	conditions.Set(s.object, ready)
}

// reasonNodeTrouble says that the machine is installed, and its node not as it should be.
const reasonNodeTrouble = "NodeNotReady"

// told are the conditions with changes that are reported as events of the Machine.
func told() []string {
	return append(order(), agentv1.CertificateRequestPendingCondition, clusterv1.ReadyCondition, clusterv1.DeletingCondition)
}

// report reports on the Machine what has changed since the last time.
func (s *scope) report(before *agentv1.AgentMachine) {
	if s.machine == nil || s.Recorder == nil {
		return
	}
	for _, kind := range told() {
		was, is := conditions.Get(before, kind), conditions.Get(s.object, kind)
		if is == nil || was != nil && was.Status == is.Status && was.Reason == is.Reason && was.Message == is.Message {
			continue
		}
		good := is.Status == metav1.ConditionTrue
		switch kind {
		case agentv1.CertificateRequestPendingCondition:
			good = !good
			if good && was == nil {
				continue
			}
		case clusterv1.DeletingCondition:
			good = is.Reason != agentv1.WaitingForPersonReason && is.Reason != reasonOutOfReach
		case clusterv1.ReadyCondition: // the conditions that it follows from report what keeps it from becoming ready
			if !good && (was == nil || was.Status != metav1.ConditionTrue) {
				continue
			}
		}
		level, message := corev1.EventTypeNormal, kind
		if !good && isTrouble(is) {
			level = corev1.EventTypeWarning
		}
		if is.Message != "" {
			message += ": " + is.Message
		} else {
			message += " is " + strings.ToLower(string(is.Status)) + ": " + is.Reason
		}
		s.Recorder.Eventf(s.machine, s.object, level, is.Reason, "Install", "%s", message)
	}
}

// isTrouble reports whether a condition that is not true says more than that it takes time.
func isTrouble(c *metav1.Condition) bool {
	switch c.Reason {
	case reasonWaitingForCluster, reasonWaitingForControlPlane, reasonWaitingForBootstrap, reasonNotYet, "Binding", "Unbinding",
		"InstallationNotStarted", hubapi.ReasonInstallationInProgress,
		"AgentNotReady", "ValidationsUnknown":
		return false
	}
	return true
}
