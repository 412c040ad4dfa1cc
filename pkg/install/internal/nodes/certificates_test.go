package nodes

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/oaictl/oaictl/internal/model"
	"github.com/oaictl/oaictl/pkg/install/node/csr"
	"github.com/oaictl/oaictl/pkg/install/spec"
)

// asksAnew has the kubelet of a node ask for its client certificate again and again; the newest
// request is csr-1.
func asksAnew(t *testing.T, node string, often int) []csr.Request {
	t.Helper()
	var all []csr.Request
	for i := range often {
		key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
		if err != nil {
			t.Fatal(err)
		}
		der, err := x509.CreateCertificateRequest(rand.Reader, &x509.CertificateRequest{
			Subject: pkix.Name{Organization: []string{"system:nodes"}, CommonName: "system:node:" + node},
		}, key)
		if err != nil {
			t.Fatal(err)
		}
		name := fmt.Sprint("csr-", often-i)
		all = append(all, csr.Request{
			Name: name, UID: name, Created: now.Add(time.Duration(i-often) * 15 * time.Minute), Signer: "kubernetes.io/kube-apiserver-client-kubelet",
			Username: "system:serviceaccount:openshift-machine-config-operator:node-bootstrapper", Usages: []string{"digital signature", "client auth"},
			Groups: []string{"system:serviceaccounts", "system:serviceaccounts:openshift-machine-config-operator", "system:authenticated"},
			PEM:    pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE REQUEST", Bytes: der}),
		})
	}
	return all
}

// TestOneOfMany: of what a kubelet has asked again and again, the newest request is told, alone,
// and as long in the way as the first of them.
func TestOneOfMany(t *testing.T) {
	for name, test := range map[string]struct {
		approved bool
		reason   string
		remedy   string
	}{
		"none approved": {false, ReasonAsk, "if it is the node's: oaictl approve w-1 --request csr-1"},
		"one approved":  {true, "RequestRefused", "find out who asks for it; to approve it nevertheless: oc adm certificate approve csr-1"},
	} {
		t.Run(name, func(t *testing.T) {
			const often = 12
			answer := Join(asked(func(q *Question) {
				q.Observed.Hosts[0].Rebooted = now.Add(-4 * time.Hour)
				q.Observed.Spoke.Requests = asksAnew(t, "w-1", often)
				q.Observed.Spoke.Requests[3].Approved = test.approved
			}))
			if len(answer.Blockers) != 1 || len(answer.Waits)+len(answer.Warnings)+len(answer.Actions) > 0 {
				t.Fatalf("got %s", said(answer))
			}
			b := answer.Blockers[0]
			if b.Reason != test.reason || b.Remedy.String() != test.remedy || b.Key != "node/w-1/request/client" || len(b.Message) > 600 {
				t.Errorf("got %+v", b)
			}
			if !b.Since.Equal(now.Add(-often * 15 * time.Minute)) {
				t.Errorf("since %s", b.Since)
			}
			if len(answer.Requests) == 0 || answer.Requests[0].Name != "csr-1" || strings.Count(b.Message, "csr-1 ") != 1 {
				t.Errorf("got %+v", b)
			}
		})
	}
}

// TestUnaskedHost: a host that was added, and that nobody asks about, is not said to be none.
func TestUnaskedHost(t *testing.T) {
	q := asked(func(q *Question) {
		q.Desired.Spec.Spec.Hosts = []spec.Host{{Name: "w-2"}}
		q.Observed.Hosts = append(q.Observed.Hosts, model.Host{ID: "id-2", Hostname: "w-2", State: model.HostAdded, Day2: true})
		q.Observed.Spoke.Requests = asksAnew(t, "w-2", 1)
	})
	if got := Judge(q); len(got) != 1 || got[0].Decision != csr.Refuse || got[0].Reason != csr.ReasonHostUnasked {
		t.Errorf("got %+v", got)
	}
}
