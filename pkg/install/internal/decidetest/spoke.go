package decidetest

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	cryptorand "crypto/rand"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"fmt"
	"maps"
	"math/rand/v2"
	"net"
	"slices"
	"strings"
	"time"

	"github.com/oaictl/oaictl/internal/shared/csr"
	"github.com/oaictl/oaictl/pkg/install/model"
	"github.com/oaictl/oaictl/pkg/install/spec"
)

// Spoke is a model of an installed cluster: kubelets that ask, nodes that become Ready.
type Spoke struct {
	Seen     model.Spoke
	requests int
	Approved map[string]int // by uid
}

// NewSpoke is an installed cluster without nodes.
func NewSpoke() *Spoke {
	return &Spoke{Approved: map[string]int{}, Seen: model.Spoke{API: "https://api.lab.example.com:6443",
		Pools: []model.Pool{{Name: "master"}, {Name: "worker"}}}}
}

// Ask adds a request for a certificate, and returns its uid.
func (s *Spoke) Ask(now time.Time, r model.CertificateRequest, name string, addresses ...string) string {
	key, err := ecdsa.GenerateKey(elliptic.P256(), cryptorand.Reader)
	if err != nil {
		panic(err)
	}
	template := &x509.CertificateRequest{Subject: pkix.Name{Organization: []string{"system:nodes"}, CommonName: "system:node:" + name}}
	for _, address := range addresses {
		template.IPAddresses = append(template.IPAddresses, net.ParseIP(address))
	}
	if len(addresses) > 0 {
		template.DNSNames = []string{name}
	}
	der, err := x509.CreateCertificateRequest(cryptorand.Reader, template, key)
	if err != nil {
		panic(err)
	}
	s.requests++
	r.Name, r.Created = fmt.Sprintf("csr-%d", s.requests), now
	r.UID, r.PEM = "uid-"+r.Name, pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE REQUEST", Bytes: der})
	s.Seen.Requests = append(s.Seen.Requests, r)
	return r.UID
}

const bootstrapper = "system:serviceaccount:openshift-machine-config-operator:node-bootstrapper"

// ClientRequest is the request by which a kubelet joins the cluster.
func ClientRequest() model.CertificateRequest {
	return model.CertificateRequest{
		Signer: "kubernetes.io/kube-apiserver-client-kubelet", Username: bootstrapper, Usages: []string{"digital signature", "client auth"},
		Groups: []string{"system:serviceaccounts", "system:serviceaccounts:openshift-machine-config-operator", "system:authenticated"},
	}
}

// ServingRequest is the request of the kubelet of a node for its serving certificate.
func ServingRequest(name string) model.CertificateRequest {
	return model.CertificateRequest{
		Signer: "kubernetes.io/kubelet-serving", Username: "system:node:" + name, Usages: []string{"digital signature", "server auth"},
		Groups: []string{"system:nodes", "system:authenticated"},
	}
}

// Apply is the effect of an action, and an error for one that must not be.
func (s *Spoke) Apply(a model.Action) error {
	switch a.Kind {
	case model.ApproveRequest:
		for i := range s.Seen.Requests {
			if r := &s.Seen.Requests[i]; r.UID == a.Target && r.Name == a.Name {
				r.Approved, r.Reason = true, csr.ApprovedReason
				if s.Approved[r.UID]++; s.Approved[r.UID] == 1 {
					return nil
				}
				return fmt.Errorf("%s is approved %d times", r.Name, s.Approved[r.UID])
			}
		}
		return fmt.Errorf("there is no request %s", a.Name)
	case model.UpdateNode:
		n := s.Seen.NodeByName(a.Name)
		if n == nil || n.UID != a.Target || len(a.Settings) == 0 {
			return fmt.Errorf("the node %s is given %v", a.Name, a.Settings)
		}
		return s.update(n, a)
	}
	return nil
}

func (s *Spoke) update(n *model.Node, a model.Action) error {
	labels, taints := map[string]string{}, []spec.Taint{}
	for name, value := range a.Settings {
		var err error
		switch name {
		case model.SettingLabels:
			err = value.Decode(&labels)
		case model.SettingTaints:
			err = value.Decode(&taints)
		case model.SettingProviderID:
			if n.ProviderID != "" {
				return fmt.Errorf("the node %s has the provider id %s", n.Name, n.ProviderID)
			}
			err = value.Decode(&n.ProviderID)
		default:
			err = fmt.Errorf("the node %s is given %s", n.Name, name)
		}
		if err != nil {
			return err
		}
	}
	if n.Labels = maps.Clone(n.Labels); n.Labels == nil {
		n.Labels = map[string]string{}
	}
	maps.Copy(n.Labels, labels)
	n.Taints = append(slices.Clone(n.Taints), taints...)
	return nil
}

// pass is what kubelets do meanwhile.
func (s *Spoke) pass(now time.Time, hosts []model.Host) {
	s.Seen.Nodes = slices.Clone(s.Seen.Nodes)
	s.Seen.Requests = slices.Clone(s.Seen.Requests)
	answered := func(username string, serving bool, name string) (asked, approved bool) {
		for _, r := range s.Seen.Requests {
			if r.Username == username && strings.Contains(r.Signer, "serving") == serving && strings.HasSuffix(r.Message, "of "+name) {
				asked, approved = true, r.Approved
			}
		}
		return asked, approved
	}
	for i := range hosts {
		h := &hosts[i]
		if !h.Day2 || h.State != model.HostAdded {
			continue
		}
		n := s.Seen.NodeByName(h.Hostname)
		switch {
		case n == nil:
			asked, approved := answered(bootstrapper, false, h.Hostname)
			if !asked {
				r := ClientRequest()
				r.Message = "of " + h.Hostname
				s.Ask(now, r, h.Hostname)
			}
			if approved {
				s.Seen.Nodes = append(s.Seen.Nodes, model.Node{Name: h.Hostname, UID: "node-" + h.Hostname, Created: now, ReadySince: now})
			}
		default:
			asked, _ := answered("system:node:"+h.Hostname, true, h.Hostname)
			if !asked {
				r := ServingRequest(h.Hostname)
				r.Message = "of " + h.Hostname
				address, _, _ := strings.Cut(h.Inventory.Interfaces[0].Addresses[0], "/")
				s.Ask(now, r, h.Hostname, address)
			}
			if !n.Ready && now.Sub(n.Created) > time.Minute {
				n.Ready, n.ReadySince = true, now
			}
			n.Config = model.NodeConfig{Current: "rendered", Desired: "rendered", State: "Done"}
		}
	}
}

// Stranger adds a request of a machine that is not one of the hosts that were just installed.
func (s *Spoke) Stranger(random *rand.Rand, w *World) string {
	name := "cp-0"
	switch random.IntN(5) {
	case 0:
		return s.Ask(w.Observed.At, ClientRequest(), "stranger")
	case 1: // of a node that is there
		s.Seen.Nodes = append(s.Seen.Nodes, model.Node{Name: fmt.Sprintf("old-%d", s.requests), Created: Start(), Ready: true})
		return s.Ask(w.Observed.At, ClientRequest(), fmt.Sprintf("old-%d", s.requests))
	case 2:
		r := ClientRequest()
		r.Username = "system:serviceaccount:default:default"
		return s.Ask(w.Observed.At, r, name)
	case 3:
		return s.Ask(w.Observed.At, ServingRequest(name), name, "192.168.127.100")
	}
	return s.Ask(w.Observed.At.Add(-24*time.Hour), ClientRequest(), "worker-0")
}
