package nodeplan

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/oaictl/oaictl/internal/shared/must"
	"github.com/oaictl/oaictl/pkg/install/model"
	"github.com/oaictl/oaictl/pkg/install/spec"
)

// asksAnew has the kubelet of a node ask for its client certificate again and again; the newest
// request is csr-1.
func asksAnew(t *testing.T, node string, often int) []model.CertificateRequest {
	t.Helper()
	var all []model.CertificateRequest
	for i := range often {
		key := must.Get(ecdsa.GenerateKey(elliptic.P256(), rand.Reader))(t)
		der := must.Get(x509.CreateCertificateRequest(rand.Reader, &x509.CertificateRequest{
			Subject: pkix.Name{Organization: []string{"system:nodes"}, CommonName: "system:node:" + node},
		}, key))(t)
		name := fmt.Sprint("csr-", often-i)
		all = append(all, model.CertificateRequest{
			Name: name, UID: name, Created: now.Add(time.Duration(i-often) * 15 * time.Minute),
			Signer:   "kubernetes.io/kube-apiserver-client-kubelet",
			Username: "system:serviceaccount:openshift-machine-config-operator:node-bootstrapper",
			Usages:   []string{"digital signature", "client auth"},
			Groups: []string{"system:serviceaccounts", "system:serviceaccounts:openshift-machine-config-operator",
				"system:authenticated"},
			PEM: pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE REQUEST", Bytes: der}),
		})
	}
	return all
}

// TestOneOfMany: if a kubelet has asked again and again, only the newest request is reported, and it counts as open
// since the first of them.
func TestOneOfMany(t *testing.T) {
	for name, test := range map[string]struct {
		approved bool
		reason   string
		remedy   string
	}{
		"none approved": {false, ReasonAsk, "if it is the node's: oaictl approve w-1 --request csr-1"},
		"one approved":  {true, "RequestRefused", "find out who asks for it; to approve it nevertheless: kubectl certificate approve csr-1"},
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

// TestUnaskedHost: a host that was added, and that the run does not ask about, is not reported as unknown.
func TestUnaskedHost(t *testing.T) {
	q := asked(func(q *Question) {
		q.Desired.Spec.Spec.Hosts = []spec.Host{{Name: "w-2"}}
		q.Observed.Hosts = append(q.Observed.Hosts, model.Host{ID: "id-2", Hostname: "w-2", State: model.HostAdded, Day2: true})
		q.Observed.Spoke.Requests = asksAnew(t, "w-2", 1)
	})
	if got := Judge(q); len(got) != 1 || got[0].Decision != model.RequestRefuse || got[0].Reason != model.ReasonHostUnasked {
		t.Errorf("got %+v", got)
	}
}

// TestOtherHostname: a person is asked about the requests of a host for which the file says another
// hostname than the service records.
func TestOtherHostname(t *testing.T) {
	serving := func(q *Question) model.CertificateRequest {
		q.Observed.Spoke.Nodes = append(q.Observed.Spoke.Nodes, model.Node{Name: "w-1", Created: now.Add(-5 * time.Minute)})
		q.Observed.Hosts[0].Inventory.Interfaces = []model.Interface{{Addresses: []string{"192.0.2.1/24"}}}
		key := must.Get(ecdsa.GenerateKey(elliptic.P256(), rand.Reader))(t)
		der := must.Get(x509.CreateCertificateRequest(rand.Reader, &x509.CertificateRequest{
			Subject: pkix.Name{Organization: []string{"system:nodes"}, CommonName: "system:node:w-1"}, DNSNames: []string{"w-1"},
		}, key))(t)
		return model.CertificateRequest{
			Name: "csr-1", UID: "csr-1", Created: now, Signer: "kubernetes.io/kubelet-serving", Username: "system:node:w-1",
			Usages: []string{"digital signature", "server auth"}, Groups: []string{"system:nodes", "system:authenticated"},
			PEM: pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE REQUEST", Bytes: der}),
		}
	}
	for name, test := range map[string]struct {
		file, service string
		asked         bool
	}{
		"the same":                 {"w-1", "w-1", false},
		"in capitals in the file":  {"W-1", "w-1", false},
		"in capitals in both":      {"W-1", "W-1", false},
		"left to the machine":      {"", "w-1", false},
		"another":                  {"worker-13", "w-1", true},
		"with a domain":            {"w-1.example.com", "w-1", true},
		"with a letter of Unicode": {"\uff57-1", "w-1", true},
	} {
		for kind, request := range map[model.RequestKind]func(*Question) model.CertificateRequest{
			model.RequestClient: func(*Question) model.CertificateRequest {
				return asksAnew(t, "w-1", 1)[0]
			}, model.RequestServing: serving,
		} {
			t.Run(name+"/"+string(kind), func(t *testing.T) {
				answer := Join(asked(func(q *Question) {
					q.Observed.Spoke.Requests = []model.CertificateRequest{request(q)}
					q.Observed.Spoke.Requests[0].Created = now.Add(-time.Minute)
					q.Hosts[0].Name, q.Hosts[0].Want.Hostname = "rack-1", test.file
					q.Observed.Hosts[0].Hostname = test.service
					q.Desired.Options.Unattended = true
				}))
				approves := slices.ContainsFunc(answer.Actions, func(a model.Action) bool { return a.Kind == model.ApproveRequest })
				asks := slices.ContainsFunc(answer.Blockers, func(b model.Blocker) bool {
					return b.Reason == ReasonAsk && b.Cure == model.CureAnswer && strings.Contains(b.Message, test.file) &&
						b.Remedy.String() == "if it is the node's: oaictl approve "+test.service+" --request csr-1"
				})
				if approves == test.asked || asks != test.asked {
					t.Errorf("got %s", said(answer))
				}
			})
		}
	}
}

// TestJoinedByTheRecord: where the service says that a host has joined, and not when it rebooted, a first
// request is not approved; and it is not said that another one was.
func TestJoinedByTheRecord(t *testing.T) {
	for _, stage := range []string{"Joined", "Done"} {
		answer := Join(asked(func(q *Question) {
			h := &q.Observed.Hosts[0]
			h.State, h.Progress.Stage, h.Rebooted, h.Registered = model.HostInstalling, stage, time.Time{}, now.Add(-time.Hour)
			q.Observed.Spoke.Requests = asksAnew(t, "w-1", 1)
		}))
		if len(answer.Actions) > 0 || len(answer.Blockers) != 1 || answer.Blockers[0].Reason != "RequestRefused" {
			t.Fatalf("%s: got %s", stage, said(answer))
		}
		if m := answer.Blockers[0].Message; !strings.Contains(m, "the service reports that the host") || strings.Contains(m, "was approved") {
			t.Errorf("%s: it says %q", stage, m)
		}
	}
}

// TestFirstRequestAfterItsEvidence: Kubernetes removes approved requests after an hour. A first request that comes later, or of
// a host whose node the service has seen, is not approved without a question, also where the node is gone.
func TestFirstRequestAfterItsEvidence(t *testing.T) {
	for name, test := range map[string]struct {
		rebooted time.Duration // ago
		stage    string
		want     model.RequestDecision
	}{
		"after the reboot":        {20 * time.Minute, "Rebooting", model.RequestApprove},
		"done after the reboot":   {20 * time.Minute, "Done", model.RequestApprove},
		"when approvals are gone": {61 * time.Minute, "Rebooting", model.RequestAsk},
		"the next day":            {20 * time.Hour, "Rebooting", model.RequestAsk},
		"its node was seen":       {10 * time.Minute, "Joined", model.RequestRefuse},
	} {
		t.Run(name, func(t *testing.T) {
			verdicts := Judge(asked(func(q *Question) {
				h := &q.Observed.Hosts[0]
				h.State, h.Progress.Stage, h.Rebooted = model.HostInstalling, test.stage, now.Add(-test.rebooted)
				q.Observed.Spoke.Requests = asksAnew(t, "w-1", 1)
			}))
			if len(verdicts) != 1 || verdicts[0].Decision != test.want {
				t.Errorf("got %+v", verdicts)
			}
		})
	}
}

// TestUnboundHost: a host of a pool that is in no cluster does not stop the requests of a host by calling itself as it does.
func TestUnboundHost(t *testing.T) {
	q := asked(func(q *Question) {
		q.Observed.Hosts = append(q.Observed.Hosts, model.Host{
			ID: "stranger", Hostname: "W-1", State: model.HostUnbound,
			Inventory: model.Inventory{Known: true, Interfaces: []model.Interface{{Addresses: []string{"192.0.2.12/24"}}}},
		})
		q.Hosts[0].Have = &q.Observed.Hosts[0]
		q.Observed.Hosts[0].Rebooted = now.Add(-20 * time.Minute)
		q.Observed.Spoke.Requests = asksAnew(t, "w-1", 1)
	})
	if got := Judge(q); len(got) != 1 || got[0].Decision != model.RequestApprove {
		t.Errorf("got %+v", got)
	}
}
