package spoke

import (
	"context"
	"fmt"
	"slices"
	"strings"

	certificatesv1 "k8s.io/api/certificates/v1"
	corev1 "k8s.io/api/core/v1"
)

// bootstrapperUser is the user of the token in every machine's Ignition.
const bootstrapperUser = "system:serviceaccount:" + nsMachineConfig + ":" + bootstrapper

// fromBootstrapper reports whether a request was made with that token, and nothing more.
func fromBootstrapper(r *certificatesv1.CertificateSigningRequest) bool {
	groups := []string{"system:authenticated", "system:serviceaccounts", "system:serviceaccounts:" + nsMachineConfig}
	return r.Spec.Username == bootstrapperUser && slices.Equal(slices.Sorted(slices.Values(r.Spec.Groups)), groups)
}

// usages reports whether a request is for just these usages, with key encipherment or without.
func usages(r *certificatesv1.CertificateSigningRequest, purpose certificatesv1.KeyUsage) bool {
	wanted := []certificatesv1.KeyUsage{certificatesv1.UsageDigitalSignature, purpose}
	legacy := []certificatesv1.KeyUsage{certificatesv1.UsageDigitalSignature, certificatesv1.UsageKeyEncipherment, purpose}
	have := slices.Sorted(slices.Values(r.Spec.Usages))
	return slices.Equal(have, slices.Sorted(slices.Values(wanted))) || slices.Equal(have, slices.Sorted(slices.Values(legacy)))
}

// servingForm is what is wrong with a request for a serving certificate beside its names.
// The machine-approver, unlike the Agent controller, wants the group of nodes, and lets more usages pass.
func servingForm(r *parsedCSR, byMachineApprover bool) error {
	needs := []certificatesv1.KeyUsage{certificatesv1.UsageDigitalSignature, certificatesv1.UsageServerAuth}
	has := func(u certificatesv1.KeyUsage) bool { return slices.Contains(r.Spec.Usages, u) }
	few := len(r.Spec.Usages) != len(needs) && len(r.Spec.Usages) != len(needs)+1
	switch {
	case !strings.HasPrefix(r.Spec.Username, nodePrefix) || r.Spec.Username == nodePrefix:
		return fmt.Errorf("not a node serving cert")
	case !slices.Contains(r.Spec.Groups, "system:authenticated") || byMachineApprover && !slices.Contains(r.Spec.Groups, nodesGroup):
		return fmt.Errorf("too few groups")
	case byMachineApprover && (few || !has(needs[0]) || !has(needs[1])), !byMachineApprover &&
		!usages(r.CertificateSigningRequest, certificatesv1.UsageServerAuth):
		return fmt.Errorf("other usages")
	case r.request.Subject.CommonName != r.Spec.Username:
		return fmt.Errorf("mismatched CommonName %s != %s", r.request.Subject.CommonName, r.Spec.Username)
	case !slices.Contains(r.request.Subject.Organization, nodesGroup):
		return fmt.Errorf("organization %v doesn't include %s", r.request.Subject.Organization, nodesGroup)
	}
	return nil
}

// approveByAgent is a hub's Agent controller: for each host that it is adding it approves
// what has the host's name. What a serving certificate may name it takes from the Node, as
// its kubelet has written that.
func (p *operators) approveByAgent(ctx context.Context, w *snapshot, pending []*parsedCSR) error {
	for _, r := range pending {
		ours := slices.ContainsFunc(p.config.Approvers.Agents, func(host string) bool {
			return strings.EqualFold(nodePrefix+host, r.request.Subject.CommonName)
		})
		if !ours {
			continue
		}
		if againstClient(r) != nil && againstServing(r, w.node(r.node())) != nil {
			continue
		}
		if err := p.sign(ctx, r, "This CSR was approved by the assisted-service"); err != nil {
			return err
		}
	}
	return nil
}

// againstClient is why the Agent controller takes a request for no client's.
func againstClient(r *parsedCSR) error {
	x := r.request
	switch {
	case !slices.Equal(x.Subject.Organization, []string{nodesGroup}):
		return fmt.Errorf("organization %v", x.Subject.Organization)
	case len(x.DNSNames)+len(x.EmailAddresses)+len(x.IPAddresses) > 0:
		return fmt.Errorf("it has names")
	case !usages(r.CertificateSigningRequest, certificatesv1.UsageClientAuth):
		return fmt.Errorf("other usages")
	case !fromBootstrapper(r.CertificateSigningRequest):
		return fmt.Errorf("not from the bootstrapper")
	}
	return nil
}

func againstServing(r *parsedCSR, n *corev1.Node) error {
	if n == nil {
		return fmt.Errorf("there is no node")
	}
	if err := servingForm(r, false); err != nil {
		return err
	}
	names, addresses := []string{n.Name}, []string{}
	for _, a := range n.Status.Addresses {
		switch a.Type {
		case corev1.NodeInternalDNS, corev1.NodeExternalDNS, corev1.NodeHostName:
			names = append(names, a.Address)
		case corev1.NodeInternalIP, corev1.NodeExternalIP:
			addresses = append(addresses, a.Address)
		}
	}
	for _, name := range r.request.DNSNames {
		if !slices.Contains(names, name) {
			return fmt.Errorf("DNS name %s missing from %v", name, names)
		}
	}
	for _, address := range r.request.IPAddresses {
		if !slices.Contains(addresses, address.String()) {
			return fmt.Errorf("IP address %s missing from %v", address, addresses)
		}
	}
	return nil
}
