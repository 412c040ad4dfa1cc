package spoke

import (
	"context"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"fmt"
	"net"
	"net/netip"
	"strings"
	"time"

	certificatesv1 "k8s.io/api/certificates/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
)

// Trouble is what goes wrong in the cluster and with machines that join it.
type Trouble struct {
	// DegradedOperators are ClusterOperators that are degraded from the start, with why.
	DegradedOperators map[string]string
	// PausedPools are MachineConfigPools that are paused from the start.
	PausedPools []string
	// DegradedPools are pools with a node that cannot be configured, with why.
	DegradedPools map[string]string
	// Kubelets is the trouble of kubelets, by the hostname of their machine.
	Kubelets map[string]KubeletTrouble
	// Requests are certificate requests that no kubelet makes.
	Requests []Request
	// Replays make a node's first request again, as it was.
	Replays []Replay
}

// KubeletTrouble is what is wrong with one machine's kubelet.
type KubeletTrouble struct {
	// Hostname is what the machine calls itself once it has rebooted, such as localhost.
	Hostname string
	// Addresses are those that it has once its network was moved to br-ex.
	Addresses []netip.Addr
	// NeverReady is why the node never becomes ready.
	NeverReady string
	// RotatesAfter is when it asks for a new client certificate, long before the old one ends; 0 is never.
	RotatesAfter time.Duration
}

// Request is one that no machine's kubelet has made. What is left out is as a kubelet's.
type Request struct {
	// After is when it is made, since the operators began.
	After time.Duration
	// Count is how many are made, each with a key of its own; 0 is one.
	Count int
	// Node is the name that it is for. Where several are made, a number follows it.
	Node string
	// Serving asks for a serving certificate, and not for a client's.
	Serving bool
	// User and Groups are who asks: by default the bootstrapper, or for a serving certificate
	// the node. The groups of another user are a node's by default, which may ask.
	User   string
	Groups []string
	// Organizations are the subject's, system:nodes by default.
	Organizations []string
	// Names and Addresses are those that the certificate is to have beside its subject.
	Names     []string
	Addresses []netip.Addr
	// Usages are those of a kubelet by default.
	Usages []certificatesv1.KeyUsage
}

// Replay makes a request again: that of a node for its first certificate, with the same key.
type Replay struct {
	Node string
	// After is when, since the request was seen.
	After time.Duration
}

type recorded struct {
	content []byte
	seen    time.Time
	made    bool
}

// NoNetwork is what a node says that is not ready since its network provider does not start.
const NoNetwork = noNetwork

func (p *operators) makeTrouble(ctx context.Context, w *snapshot) error {
	for i := range p.config.Trouble.Requests {
		r := &p.config.Trouble.Requests[i]
		if w.now.Sub(p.began) < r.After {
			continue
		}
		for p.made[i] < max(r.Count, 1) {
			if err := p.invent(ctx, r, p.made[i]); err != nil {
				return err
			}
			p.made[i]++
		}
	}
	for i := range p.config.Trouble.Replays {
		if err := p.replay(ctx, w, &p.config.Trouble.Replays[i]); err != nil {
			return err
		}
	}
	return nil
}

// as is a client that impersonates a user.
func (p *operators) as(user string, groups []string) (kubernetes.Interface, error) {
	config := rest.CopyConfig(p.config.Kube)
	config.Impersonate = rest.ImpersonationConfig{UserName: user, Groups: groups}
	return kubernetes.NewForConfig(config)
}

func (p *operators) invent(ctx context.Context, r *Request, number int) error {
	node := r.Node
	if r.Count > 1 {
		node = fmt.Sprintf("%s-%d", node, number)
	}
	user, groups := r.User, r.Groups
	signer, usages := certificatesv1.KubeAPIServerClientKubeletSignerName, clientUsages()
	if r.Serving {
		signer, usages = certificatesv1.KubeletServingSignerName, servingUsages()
	}
	switch {
	case user == "" && r.Serving:
		user = nodePrefix + node
	case user == "":
		user, groups = bootstrapperUser, []string{"system:serviceaccounts", "system:serviceaccounts:" + nsMachineConfig, "system:authenticated"}
	}
	if groups == nil {
		groups = []string{nodesGroup, "system:authenticated"}
	}
	if r.Usages != nil {
		usages = r.Usages
	}
	organizations := r.Organizations
	if organizations == nil {
		organizations = []string{nodesGroup}
	}
	template := &x509.CertificateRequest{Subject: pkix.Name{CommonName: nodePrefix + node, Organization: organizations}, DNSNames: r.Names}
	for _, address := range r.Addresses {
		template.IPAddresses = append(template.IPAddresses, net.IP(address.AsSlice()))
	}
	api, err := p.as(user, groups)
	if err != nil {
		return err
	}
	made, err := p.ask(ctx, api, nil, signer, template, usages)
	if err != nil {
		return fmt.Errorf("make trouble as %s: %w", user, err)
	}
	p.logf("trouble: %s asks for %s: %s", user, template.Subject, made.name)
	return nil
}

func (p *operators) replay(ctx context.Context, w *snapshot, r *Replay) error {
	m, seen := p.replays[r.Node]
	if !seen {
		for i := range w.requests {
			of := &w.requests[i]
			if of.Spec.SignerName == certificatesv1.KubeAPIServerClientKubeletSignerName && commonName(of) == nodePrefix+r.Node {
				p.replays[r.Node] = recorded{content: of.Spec.Request, seen: w.now.Time}
			}
		}
		return nil
	}
	if m.made || w.now.Sub(m.seen) < r.After {
		return nil
	}
	api, err := p.bootstrapClient(ctx)
	if err != nil {
		return err
	}
	made, err := api.CertificatesV1().CertificateSigningRequests().Create(ctx, &certificatesv1.CertificateSigningRequest{
		ObjectMeta: metav1.ObjectMeta{GenerateName: "csr-"},
		Spec: certificatesv1.CertificateSigningRequestSpec{
			Request: m.content, SignerName: certificatesv1.KubeAPIServerClientKubeletSignerName, Usages: clientUsages(),
		},
	}, metav1.CreateOptions{})
	if err != nil {
		return fmt.Errorf("replay the request of %s: %w", r.Node, err)
	}
	m.made = true
	p.replays[r.Node] = m
	p.logf("trouble: the request of %s is made again: %s", r.Node, made.Name)
	return nil
}

func commonName(r *certificatesv1.CertificateSigningRequest) string {
	block, _ := pem.Decode(r.Spec.Request)
	if block == nil {
		return ""
	}
	x, err := x509.ParseCertificateRequest(block.Bytes)
	if err != nil {
		return ""
	}
	return strings.ToLower(x.Subject.CommonName)
}
