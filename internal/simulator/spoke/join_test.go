//go:build e2e

package spoke_test

import (
	"context"
	"crypto/x509"
	"encoding/pem"
	"regexp"
	"slices"
	"testing"
	"time"

	certificatesv1 "k8s.io/api/certificates/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/oaictl/oaictl/internal/simulator/spoke"
)

const (
	client  = certificatesv1.KubeAPIServerClientKubeletSignerName
	serving = certificatesv1.KubeletServingSignerName
)

func parsed(t *testing.T, c certificatesv1.CertificateSigningRequest) *x509.CertificateRequest {
	t.Helper()
	block, _ := pem.Decode(c.Spec.Request)
	if block == nil {
		t.Fatalf("%s has no request", c.Name)
	}
	r, err := x509.ParseCertificateRequest(block.Bytes)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// TestWorkerJoins has a worker join by its two requests, and not a step further than each of them allows.
func TestWorkerJoins(t *testing.T) {
	st := play(t, nil)
	st.join(machine("worker-0", "192.168.127.50"))

	first := st.awaitRequest(client)
	r := parsed(t, first)
	if r.Subject.CommonName != "system:node:worker-0" || !slices.Equal(r.Subject.Organization, []string{"system:nodes"}) || len(r.DNSNames)+len(r.IPAddresses) > 0 {
		t.Errorf("the client request is for %v, %v, %v", r.Subject, r.DNSNames, r.IPAddresses)
	}
	groups := slices.Sorted(slices.Values(first.Spec.Groups))
	if first.Spec.Username != "system:serviceaccount:openshift-machine-config-operator:node-bootstrapper" ||
		!slices.Equal(groups, []string{"system:authenticated", "system:serviceaccounts", "system:serviceaccounts:openshift-machine-config-operator"}) {
		t.Errorf("it is of %s, %v", first.Spec.Username, groups)
	}
	if !slices.Equal(first.Spec.Usages, []certificatesv1.KeyUsage{"digital signature", "client auth"}) {
		t.Errorf("it is for %v", first.Spec.Usages)
	}
	if err := st.clock.Sleep(t.Context(), 3*time.Minute); err != nil {
		t.Fatal(err)
	}
	if st.node("worker-0") != nil {
		t.Fatal("the node is there before anybody has approved it")
	}

	st.approve(first.Name)
	second := st.awaitRequest(serving)
	r = parsed(t, second)
	if second.Spec.Username != "system:node:worker-0" || r.Subject.CommonName != second.Spec.Username || !slices.Contains(second.Spec.Groups, "system:nodes") {
		t.Errorf("the serving request is %v of %s, %v", r.Subject, second.Spec.Username, second.Spec.Groups)
	}
	if !slices.Equal(r.DNSNames, []string{"worker-0"}) || len(r.IPAddresses) != 1 || r.IPAddresses[0].String() != "192.168.127.50" {
		t.Errorf("it names %v, %v", r.DNSNames, r.IPAddresses)
	}
	if c := st.readiness("worker-0"); c.Status == corev1.ConditionFalse && c.Reason != "KubeletNotReady" {
		t.Errorf("it is not ready for %s: %s", c.Reason, c.Message)
	}
	st.approve(second.Name)
	st.awaitReady("worker-0", corev1.ConditionTrue)
	n := st.node("worker-0")
	if _, is := n.Labels["node-role.kubernetes.io/worker"]; !is {
		t.Errorf("its labels are %v", n.Labels)
	}
	if built := regexp.MustCompile(`^v1\.33\.33\+[0-9a-f]{7}$`); !built.MatchString(n.Status.NodeInfo.KubeletVersion) || n.Status.Addresses[0].Address != "192.168.127.50" {
		t.Errorf("it says %v", n.Status)
	}
	lease, err := st.core.CoordinationV1().Leases("kube-node-lease").Get(t.Context(), "worker-0", metav1.GetOptions{})
	if err != nil || len(lease.OwnerReferences) != 1 {
		t.Errorf("its lease is %v (%v)", lease, err)
	}
}

// TestUnanswered has a kubelet ask again with another key, and leave the first request, as it does after 15 minutes.
func TestUnanswered(t *testing.T) {
	st := play(t, func(c *spoke.Config) { c.AnswerSoon = time.Millisecond })
	st.join(machine("worker-0", "192.168.127.50"))
	first := st.awaitRequest(client)
	if err := st.clock.Sleep(t.Context(), 14*time.Minute); err != nil {
		t.Fatal(err)
	}
	if got := st.requests(); len(got) != 1 {
		t.Fatalf("%d requests after 14 minutes", len(got))
	}
	st.eventually("a second request", func(context.Context) (bool, error) { return len(st.requests()) == 2, nil })
	keys := map[string]bool{}
	for _, c := range st.requests() {
		der, err := x509.MarshalPKIXPublicKey(parsed(t, c).PublicKey)
		if err != nil || !pending(&c) {
			t.Fatalf("%s: %v, %v", c.Name, err, c.Status)
		}
		keys[string(der)] = true
	}
	if len(keys) != 2 {
		t.Error("both requests have the same key")
	}
	// The first one is worth nothing any more.
	st.approve(first.Name)
	if err := st.clock.Sleep(t.Context(), 2*time.Minute); err != nil {
		t.Fatal(err)
	}
	if st.node("worker-0") != nil {
		t.Error("the kubelet has a certificate whose key it has forgotten")
	}
	st.approveAll(client)
	st.eventually("the node", func(context.Context) (bool, error) { return st.node("worker-0") != nil, nil })
}

// TestComesBack has a node that was removed come back at the next start of its machine, with
// the certificate that it still has, and not before. Another installation has to ask again.
func TestComesBack(t *testing.T) {
	st := play(t, nil)
	m := machine("worker-0", "192.168.127.50")
	off := st.join(m)
	st.approve(st.awaitRequest(client).Name)
	st.approve(st.awaitRequest(serving).Name)
	st.awaitReady("worker-0", corev1.ConditionTrue)
	if err := st.core.CoreV1().Nodes().Delete(t.Context(), "worker-0", metav1.DeleteOptions{}); err != nil {
		t.Fatal(err)
	}
	if err := st.clock.Sleep(t.Context(), 10*time.Minute); err != nil {
		t.Fatal(err)
	}
	if st.node("worker-0") != nil {
		t.Fatal("it has come back while it ran")
	}
	off()
	before := len(st.requests())
	off = st.join(m)
	st.awaitReady("worker-0", corev1.ConditionTrue)
	if after := len(st.requests()); after != before {
		t.Errorf("%d requests where there were %d", after, before)
	}
	off()
	m.Installation = "again"
	st.join(m)
	st.awaitRequest(client)
}
