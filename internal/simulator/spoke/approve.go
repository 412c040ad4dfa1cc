package spoke

import (
	"context"
	"crypto/x509"
	"encoding/pem"
	"fmt"
	"net"
	"slices"
	"strings"
	"time"

	certificatesv1 "k8s.io/api/certificates/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"

	"github.com/oaictl/oaictl/internal/shared/clock"
	"github.com/oaictl/oaictl/internal/simulator/apiobject"
)

// Approvers are those of a cluster that approve requests of kubelets.
type Approvers struct {
	// Machine is the cluster's own machine-approver, which goes by Machines.
	Machine bool
	// DayOne is the controller that installs the cluster. It approves everything. It runs until the installation
	// is over where the nodes of the cluster are still to join.
	DayOne bool
	// Agents are the hostnames of hosts that a hub's Agent controller is adding.
	Agents []string
}

// The names of approvers, for a command line.
const (
	ApproverMachine = "machine-approver"
	ApproverAgent   = "agent-controller"
	ApproverDayOne  = "day-1-controller"
)

// How often those look that do not watch, and how long the machine-approver counts requests.
const (
	agentEvery    = time.Minute
	dayOneEvery   = 30 * time.Second
	pendingWithin = time.Hour
	mostPending   = 100 // beyond one for each node or Machine
)

// reasonApproved is what all three give.
const reasonApproved = "NodeCSRApprove"

type approvalMemory struct {
	seen          map[types.UID]time.Time // when a request was first seen, on the simulation's clock
	answered      map[types.UID]time.Time // when it was first seen to be answered, on the same clock
	agent, dayOne time.Time               // when they have last looked
	overLimit     bool
}

func newApprovalMemory() approvalMemory {
	return approvalMemory{seen: map[types.UID]time.Time{}, answered: map[types.UID]time.Time{}}
}

type parsedCSR struct {
	*certificatesv1.CertificateSigningRequest

	request *x509.CertificateRequest
}

func (r *parsedCSR) node() string {
	return strings.TrimPrefix(r.request.Subject.CommonName, nodePrefix)
}

func isPending(r *certificatesv1.CertificateSigningRequest) bool {
	return !slices.ContainsFunc(r.Status.Conditions, func(c certificatesv1.CertificateSigningRequestCondition) bool {
		return c.Type == certificatesv1.CertificateApproved || c.Type == certificatesv1.CertificateDenied
	})
}

func (p *operators) approve(ctx context.Context, w *snapshot) error {
	m := &p.approvals
	var pending []*parsedCSR
	for i := range w.requests {
		r := &w.requests[i]
		if _, known := m.seen[r.UID]; !known {
			m.seen[r.UID] = w.now.Time
		}
		block, _ := pem.Decode(r.Spec.Request)
		if !isPending(r) || block == nil {
			continue
		}
		parsed, err := x509.ParseCertificateRequest(block.Bytes)
		if err != nil {
			continue
		}
		pending = append(pending, &parsedCSR{r, parsed})
	}
	if p.config.Approvers.Machine {
		if err := p.approveByMachine(ctx, w, pending); err != nil {
			return err
		}
	}
	if len(p.config.Approvers.Agents) > 0 && w.now.Sub(m.agent) >= agentEvery {
		m.agent = w.now.Time
		if err := p.approveByAgent(ctx, w, pending); err != nil {
			return err
		}
	}
	p.mu.Lock()
	installs := !p.joined
	p.mu.Unlock()
	if (p.config.Approvers.DayOne || installs) && w.now.Sub(m.dayOne) >= dayOneEvery {
		m.dayOne = w.now.Time
		for _, r := range pending {
			if err := p.sign(ctx, r, "This CSR was approved by the assisted-installer-controller"); err != nil {
				return err
			}
		}
	}
	return nil
}

// answeredFor is how long a request is kept that was approved or denied.
const answeredFor = time.Hour

// removeAnswered is kube-controller-manager's cleaner of requests, for those that were answered: what a machine was given
// before it is installed again is not there any more. A request that a present node has made stays for an hour of real
// time at least: the API server dates nodes and requests by that, and so clients expect to find the request.
func (p *operators) removeAnswered(ctx context.Context, w *snapshot) error {
	for i := range w.requests {
		r, m := &w.requests[i], &p.approvals
		if isPending(r) {
			continue
		}
		if _, known := m.answered[r.UID]; !known {
			m.answered[r.UID] = w.now.Time
		}
		if w.now.Sub(m.answered[r.UID]) < answeredFor || w.isOfNode(r) && clock.Real().Now().Sub(r.CreationTimestamp.Time) < answeredFor {
			continue
		}
		err := p.core.CertificatesV1().CertificateSigningRequests().Delete(ctx, r.Name, metav1.DeleteOptions{})
		if err != nil && !apierrors.IsNotFound(err) {
			return ignoreRetriable(err, "remove the answered request "+r.Name)
		}
	}
	return nil
}

func (w *snapshot) isOfNode(r *certificatesv1.CertificateSigningRequest) bool {
	name, is := strings.CutPrefix(r.Spec.Username, nodePrefix)
	node := w.node(name)
	return is && node != nil && !r.CreationTimestamp.Before(&node.CreationTimestamp)
}

func (p *operators) sign(ctx context.Context, r *parsedCSR, message string) error {
	if !isPending(r.CertificateSigningRequest) {
		return nil
	}
	now := metav1.NewTime(p.clock.Now())
	r.Status.Conditions = append(r.Status.Conditions, certificatesv1.CertificateSigningRequestCondition{
		Type: certificatesv1.CertificateApproved, Status: corev1.ConditionTrue, Reason: reasonApproved, Message: message,
		LastUpdateTime: now, LastTransitionTime: now,
	})
	_, err := p.core.CertificatesV1().CertificateSigningRequests().UpdateApproval(
		ctx, r.Name, r.CertificateSigningRequest, metav1.UpdateOptions{},
	)
	if err == nil {
		p.logf("%s: is approved, of %s: %s", r.Name, r.Spec.Username, message)
	}
	return ignoreRetriable(err, "approve "+r.Name)
}

// ofMachineApprover reports whether the machine-approver looks at a request at all.
func ofMachineApprover(r *certificatesv1.CertificateSigningRequest) bool {
	switch r.Spec.SignerName {
	case certificatesv1.KubeletServingSignerName:
		return slices.Contains(r.Spec.Groups, nodesGroup)
	case certificatesv1.KubeAPIServerClientKubeletSignerName:
		return r.Spec.Username == bootstrapperUser
	}
	return false
}

func (p *operators) approveByMachine(ctx context.Context, w *snapshot, pending []*parsedCSR) error {
	count := 0
	for _, r := range pending {
		if ofMachineApprover(r.CertificateSigningRequest) && w.now.Sub(p.approvals.seen[r.UID]) < pendingWithin {
			count++
		}
	}
	limit := max(len(w.machines), len(w.nodes)) + mostPending
	if over := count > limit; over != p.approvals.overLimit {
		p.approvals.overLimit = over
		p.logf("machine-approver: %d requests are pending, and %d may be", count, limit)
	}
	if p.approvals.overLimit {
		return nil
	}
	for _, r := range pending {
		if !ofMachineApprover(r.CertificateSigningRequest) || p.againstMachine(w, r) != nil {
			continue
		}
		if err := p.sign(ctx, r, "This CSR was approved by the Node CSR Approver (cluster-machine-approver)"); err != nil {
			return err
		}
	}
	return nil
}

// againstMachine is why the machine-approver does not approve a request.
func (p *operators) againstMachine(w *snapshot, r *parsedCSR) error {
	if r.Spec.SignerName == certificatesv1.KubeAPIServerClientKubeletSignerName {
		return p.clientByMachine(w, r)
	}
	if err := servingForm(r, true); err != nil {
		return err
	}
	if p.renews(r) {
		return nil
	}
	for i := range w.machines {
		m := &w.machines[i]
		if name := apiobject.Text(m, "status", "nodeRef", "name"); name != r.node() {
			continue
		}
		names, addresses := namesOf(m)
		for _, name := range r.request.DNSNames {
			if !slices.ContainsFunc(names, func(n string) bool { return strings.EqualFold(n, name) }) {
				return fmt.Errorf("DNS name '%s' not in machine names: %s", name, strings.Join(names, " "))
			}
		}
		for _, address := range r.request.IPAddresses {
			if !slices.Contains(addresses, address.String()) {
				return fmt.Errorf("IP address '%s' not in machine addresses: %s", address, strings.Join(addresses, " "))
			}
		}
		return nil
	}
	return fmt.Errorf("unable to find machine for node")
}

// clientByMachine judges the first request of a node: a Machine that has no node yet has
// its name, and is not older than two hours.
func (p *operators) clientByMachine(w *snapshot, r *parsedCSR) error {
	const skew, most = 10 * time.Second, 2 * time.Hour
	switch {
	case !fromBootstrapper(r.CertificateSigningRequest) || !strings.HasPrefix(r.request.Subject.CommonName, nodePrefix):
		return fmt.Errorf("not a valid node bootstrapper client cert request")
	case w.node(r.node()) != nil:
		return fmt.Errorf("node %s already exists", r.node())
	}
	for i := range w.machines {
		m := &w.machines[i]
		list, _, _ := unstructured.NestedSlice(m.Object, "status", "addresses")
		named := slices.ContainsFunc(list, func(entry any) bool {
			a, ok := entry.(fields)
			name, _ := a["address"].(string)
			return ok && a["type"] == "InternalDNS" && strings.EqualFold(strings.TrimSuffix(name, "."), r.node())
		})
		if !named {
			continue
		}
		if name := apiobject.Text(m, "status", "nodeRef", "name"); name != "" {
			return fmt.Errorf("machine for node %s already has node ref", name)
		}
		age := r.CreationTimestamp.Sub(m.GetCreationTimestamp().Time)
		if age <= -skew || age >= most {
			return fmt.Errorf("it is not of the machine's time")
		}
		return nil
	}
	return fmt.Errorf("failed to find machine for node %s", r.node())
}

// renews reports whether a node has a serving certificate with the very names that it asks for.
func (p *operators) renews(r *parsedCSR) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, d := range p.disks {
		if d.node != r.node() || d.servingCert == nil || p.running[d.node] == 0 {
			continue
		}
		same := func(a, b []net.IP) bool {
			return len(a) == len(b) && !slices.ContainsFunc(a, func(x net.IP) bool { return !slices.ContainsFunc(b, x.Equal) })
		}
		return slices.Equal(slices.Sorted(slices.Values(d.servingCert.DNSNames)), slices.Sorted(slices.Values(r.request.DNSNames))) &&
			same(d.servingCert.IPAddresses, r.request.IPAddresses)
	}
	return false
}

func namesOf(m *unstructured.Unstructured) (names, addresses []string) {
	list, _, _ := unstructured.NestedSlice(m.Object, "status", "addresses")
	for _, entry := range list {
		a, _ := entry.(fields)
		text, _ := a["address"].(string)
		switch a["type"] {
		case "InternalDNS", "ExternalDNS", "Hostname":
			names = append(names, strings.TrimSuffix(text, "."))
		case "InternalIP", "ExternalIP":
			addresses = append(addresses, text)
		}
	}
	return names, addresses
}
