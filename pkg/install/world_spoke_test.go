package install_test

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
	"net/netip"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/oaictl/oaictl/pkg/install/model"
	"github.com/oaictl/oaictl/pkg/install/spec"
)

// spokeModel is a model of an installed cluster: kubelets that ask, nodes that become Ready.
type spokeModel struct {
	seen     model.Spoke
	requests int
	approved map[string]int // by uid
}

func newSpokeModel() *spokeModel {
	return &spokeModel{approved: map[string]int{}, seen: model.Spoke{API: "https://api.lab.example.com:6443", Pools: []model.Pool{{Name: "master"}, {Name: "worker"}}}}
}

// ask has somebody ask for a certificate.
func (s *spokeModel) ask(now time.Time, r model.CertificateRequest, name string, addresses ...string) string {
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
	s.seen.Requests = append(s.seen.Requests, r)
	return r.UID
}

const bootstrapper = "system:serviceaccount:openshift-machine-config-operator:node-bootstrapper"

func clientRequest() model.CertificateRequest {
	return model.CertificateRequest{
		Signer: "kubernetes.io/kube-apiserver-client-kubelet", Username: bootstrapper, Usages: []string{"digital signature", "client auth"},
		Groups: []string{"system:serviceaccounts", "system:serviceaccounts:openshift-machine-config-operator", "system:authenticated"},
	}
}

func servingRequest(name string) model.CertificateRequest {
	return model.CertificateRequest{
		Signer: "kubernetes.io/kubelet-serving", Username: "system:node:" + name, Usages: []string{"digital signature", "server auth"},
		Groups: []string{"system:nodes", "system:authenticated"},
	}
}

func (s *spokeModel) apply(a model.Action) error {
	switch a.Kind {
	case model.ApproveRequest:
		for i := range s.seen.Requests {
			if r := &s.seen.Requests[i]; r.UID == a.Target && r.Name == a.Name {
				r.Approved, r.Reason = true, model.ApprovedReason
				if s.approved[r.UID]++; s.approved[r.UID] == 1 {
					return nil
				}
				return fmt.Errorf("%s is approved %d times", r.Name, s.approved[r.UID])
			}
		}
		return fmt.Errorf("there is no request %s", a.Name)
	case model.UpdateNode:
		n := s.seen.NodeByName(a.Name)
		if n == nil || n.UID != a.Target || len(a.Settings) == 0 {
			return fmt.Errorf("the node %s is given %v", a.Name, a.Settings)
		}
		return s.update(n, a)
	}
	return nil
}

func (s *spokeModel) update(n *model.Node, a model.Action) error {
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
func (s *spokeModel) pass(now time.Time, hosts []model.Host) {
	s.seen.Nodes = slices.Clone(s.seen.Nodes)
	s.seen.Requests = slices.Clone(s.seen.Requests)
	answered := func(username string, serving bool, name string) (asked, approved bool) {
		for _, r := range s.seen.Requests {
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
		n := s.seen.NodeByName(h.Hostname)
		switch {
		case n == nil:
			asked, approved := answered(bootstrapper, false, h.Hostname)
			if !asked {
				r := clientRequest()
				r.Message = "of " + h.Hostname
				s.ask(now, r, h.Hostname)
			}
			if approved {
				s.seen.Nodes = append(s.seen.Nodes, model.Node{Name: h.Hostname, UID: "node-" + h.Hostname, Created: now, ReadySince: now})
			}
		default:
			asked, _ := answered("system:node:"+h.Hostname, true, h.Hostname)
			if !asked {
				r := servingRequest(h.Hostname)
				r.Message = "of " + h.Hostname
				address, _, _ := strings.Cut(h.Inventory.Interfaces[0].Addresses[0], "/")
				s.ask(now, r, h.Hostname, address)
			}
			if !n.Ready && now.Sub(n.Created) > time.Minute {
				n.Ready, n.ReadySince = true, now
			}
			n.Config = model.NodeConfig{Current: "rendered", Desired: "rendered", State: "Done"}
		}
	}
}

// TestConvergenceOfNodes: whatever state a growing cluster is in, and whatever strangers ask
// for, each host becomes a node by two approvals, nobody else gets any, and a second run
// writes nothing.
func TestConvergenceOfNodes(t *testing.T) {
	exercised := map[model.Kind]int{}
	ready, marked := 0, 0
	for seed := range uint64(150) {
		random := rand.New(rand.NewPCG(seed, 3))
		w := anyGrowing(t, random)
		w.spoke = newSpokeModel()
		day1 := map[string]bool{}
		for i := range w.observed.Hosts { // some of which have lost what the file says of them
			h := &w.observed.Hosts[i]
			if h.State != model.HostInstalled || random.IntN(2) == 0 {
				continue
			}
			day1["node-"+h.Hostname] = true
			n := model.Node{Name: h.Hostname, UID: "node-" + h.Hostname, Created: start, Ready: true, ReadySince: start}
			if random.IntN(3) == 0 {
				n.ProviderID = "another"
			}
			w.spoke.seen.Nodes = append(w.spoke.seen.Nodes, n)
		}
		hostile := map[string]bool{}
		for range 30 {
			if random.IntN(4) == 0 {
				hostile[w.spoke.stranger(random, w)] = true
			}
			if err := settle(w); err != nil {
				t.Fatalf("seed %d: %v", seed, err)
			}
			w.pass()
		}
		for uid, times := range w.spoke.approved {
			if hostile[uid] || times > 1 {
				t.Fatalf("seed %d: %s is approved %d times, a stranger's: %v", seed, uid, times, hostile[uid])
			}
		}
		for _, a := range w.writes {
			exercised[a.Kind]++
			if day1[a.Target] {
				marked++
			}
		}
		w.writes = nil
		if err := settle(w); err != nil || len(w.writes) > 0 {
			t.Fatalf("seed %d: a second run writes %v (%v)", seed, keys(w.writes), err)
		}
		if plan := w.decide(); plan.Verdict == model.VerdictInstalled {
			ready += len(plan.Ready)
		}
	}
	for _, kind := range []model.Kind{model.InstallHost, model.ApproveRequest, model.UpdateNode} {
		if exercised[kind] == 0 {
			t.Errorf("no state led to %s: the property says nothing of it", kind)
		}
	}
	if marked == 0 {
		t.Error("no node of the install itself was ever given anything")
	}
	if ready == 0 {
		t.Error("no node was ever Ready")
	}
}

// stranger has somebody ask who is none of the hosts that were just installed.
func (s *spokeModel) stranger(random *rand.Rand, w *world) string {
	name := "cp-0"
	switch random.IntN(5) {
	case 0:
		return s.ask(w.observed.At, clientRequest(), "nobody")
	case 1: // of a node that is there
		s.seen.Nodes = append(s.seen.Nodes, model.Node{Name: fmt.Sprintf("old-%d", s.requests), Created: start, Ready: true})
		return s.ask(w.observed.At, clientRequest(), fmt.Sprintf("old-%d", s.requests))
	case 2:
		r := clientRequest()
		r.Username = "system:serviceaccount:default:default"
		return s.ask(w.observed.At, r, name)
	case 3:
		return s.ask(w.observed.At, servingRequest(name), name, "192.168.127.100")
	}
	return s.ask(w.observed.At.Add(-24*time.Hour), clientRequest(), "worker-0")
}

// addsOne is an installed cluster whose last worker is added and about to ask.
func addsOne(t *testing.T) *world {
	t.Helper()
	w := installedWithout(t, sample(3, 2), false)
	w.absent, w.desired.Options.AddNodes, w.spoke = "", true, newSpokeModel()
	for range 60 {
		if err := settle(w); err != nil {
			t.Fatal(err)
		}
		if w.decide().Verdict == model.VerdictInstalled || len(w.spoke.seen.Requests) > 0 {
			return w
		}
		w.pass()
	}
	t.Fatalf("nobody asks: %+v", w.decide())
	return nil
}

// TestApproval is who approves, and where a run ends that nobody answers.
func TestApprovalOfRequests(t *testing.T) {
	for name, test := range map[string]struct {
		change   func(w *world)
		approves bool
		blocked  model.Cure
		waits    model.Who
	}{
		"auto":            {func(*world) {}, true, "", ""},
		"off":             {func(w *world) { w.desired.Options.Approve = model.ApproveOff }, false, "", model.WhoUser},
		"ask":             {func(w *world) { w.desired.Options.Approve = model.ApproveAsk }, false, model.CurePerson, ""},
		"ask, and nobody": {func(w *world) { w.desired.Options.Approve, w.desired.Options.Unattended = model.ApproveAsk, true }, false, model.CureAnswer, ""},
		"ask, and yes": {func(w *world) {
			w.desired.Options.Approve = model.ApproveAsk
			w.memory.Answer(model.RequestVerdict{UID: "uid-csr-1", Reason: model.ReasonProven}, true)
		}, true, "", ""},
		"ask, and no": {func(w *world) {
			w.desired.Options.Approve = model.ApproveAsk
			w.memory.Answer(model.RequestVerdict{UID: "uid-csr-1", Reason: model.ReasonProven}, false)
		}, false, model.CurePerson, ""},
		"of the reboot before": {func(w *world) { w.spoke.seen.Requests[0].Created = start }, false, model.CurePerson, ""},
	} {
		t.Run(name, func(t *testing.T) {
			w := addsOne(t)
			w.spoke.seen.Requests[0].Approved = false
			test.change(w)
			plan := w.decide()
			if hasKind(plan, model.ApproveRequest) != test.approves {
				t.Errorf("actions %v", keys(plan.Actions))
			}
			if test.blocked != "" && (len(plan.Blockers) != 1 || plan.Blockers[0].Cure != test.blocked || plan.Blockers[0].Scope != "node/worker-1") {
				t.Errorf("blockers %+v", plan.Blockers)
			}
			if test.waits != "" && !slices.ContainsFunc(plan.Waits, func(x model.Wait) bool { return x.Who == test.waits && x.Scope == "node/worker-1" }) {
				t.Errorf("waits %+v", plan.Waits)
			}
		})
	}
}

// TestAllowedAddress: what a person says of an address beforehand is an answer.
func TestAllowedAddress(t *testing.T) {
	w := addsOne(t)
	for range 30 {
		if err := settle(w); err != nil {
			t.Fatal(err)
		}
		w.pass()
		if i := slices.IndexFunc(w.spoke.seen.Requests, func(r model.CertificateRequest) bool { return strings.Contains(r.Signer, "serving") }); i >= 0 {
			w.spoke.seen.Requests = w.spoke.seen.Requests[:i]
			break
		}
	}
	r := servingRequest("worker-1")
	r.Message = "of worker-1"
	w.spoke.ask(w.observed.At, r, "worker-1", "192.0.2.77")
	w.pass()
	plan := w.decide()
	if len(plan.Questions) != 1 || len(plan.Blockers) != 1 || plan.Blockers[0].Remedy.String() != "oaictl approve worker-1 --allow-address worker-1=192.0.2.77" {
		t.Fatalf("questions %+v, blockers %+v", plan.Questions, plan.Blockers)
	}
	w.desired.Options.AllowAddresses = map[string][]netip.Addr{"worker-1": {netip.MustParseAddr("192.0.2.77")}}
	if plan := w.decide(); !hasKind(plan, model.ApproveRequest) {
		t.Errorf("%+v", plan)
	}
	w.desired.Options.AllowAddresses, w.desired.Spec.Host("worker-1").Addresses = nil, []string{"192.0.2.77"}
	if plan := w.decide(); !hasKind(plan, model.ApproveRequest) {
		t.Errorf("%+v", plan)
	}
	w.desired.Spec.Spec.Network.VIPs.API = []string{"192.0.2.77"}
	if plan := w.decide(); hasKind(plan, model.ApproveRequest) {
		t.Error("a virtual address is approved")
	}
}

// TestCannotJoin: a host that cannot become a node is told of before it boots, and held.
func TestCannotJoin(t *testing.T) {
	w := installedWithout(t, sample(3, 2), false)
	w.absent, w.desired.Options.AddNodes, w.spoke = "", true, newSpokeModel()
	w.spoke.seen.Nodes = []model.Node{{Name: "worker-1", Created: start}}
	for range 10 {
		_ = settle(w)
		w.pass()
	}
	plan := w.decide()
	if len(plan.Blockers) != 1 || plan.Blockers[0].Reason != "NodeNameTaken" || plan.Fault == nil || model.CodeOf(plan.Fault) != model.CodeInput {
		t.Errorf("blockers %+v, fault %v", plan.Blockers, plan.Fault)
	}
	for _, a := range w.writes {
		if a.Kind == model.InstallHost {
			t.Error("the host is installed nevertheless")
		}
	}
}

// TestOneQuestionOfMany: a question about one host keeps no other host from being added, where
// no person is there to answer. The run ends with it once the others are done.
func TestOneQuestionOfMany(t *testing.T) {
	w := addsOne(t)
	w.memory.Seen(&w.observed, w.observed.At.Add(time.Minute))
	w.desired.Options.Unattended = true
	w.spoke.seen.Requests[0].Approved = false
	w.spoke.ask(w.observed.At, clientRequest(), "worker-1")

	c := w.desired.Spec
	c.Spec.Hosts = append(c.Spec.Hosts, spec.Host{Name: "worker-2", Hostname: "worker-2", Role: spec.Worker,
		Match: spec.Match{MAC: "52:54:00:00:09:09"}})
	other := machine("worker-2", "52:54:00:00:09:09", 92)
	other.ID, other.Hostname, other.Day2, other.State, other.Progress.Stage = "host-worker-2", "worker-2", true, model.HostInstalling,
		"Writing image to disk"
	w.observed.Hosts = append(w.observed.Hosts, other)

	plan := w.decide()
	if !hasReason(plan, "CertificateRequestPending") || plan.Fault != nil {
		t.Fatalf("while another host installs: blockers %+v, fault %v", plan.Blockers, plan.Fault)
	}
	host := w.host("host-worker-2")
	host.State, host.Progress.Stage, host.Since, host.Rebooted = model.HostAdded, "Done", w.observed.At, w.observed.At
	if plan := w.decide(); plan.Fault != nil {
		t.Fatalf("while another host joins: blockers %+v, fault %v", plan.Blockers, plan.Fault)
	}
	w.spoke.seen.Nodes = append(w.spoke.seen.Nodes, model.Node{
		Name: "worker-2", Created: w.observed.At.Add(-2 * time.Hour), Ready: true, ReadySince: w.observed.At.Add(-2 * time.Hour),
		Roles:  []string{"worker"},
		Config: model.NodeConfig{Current: "rendered", Desired: "rendered", State: "Done"},
	})
	host.Rebooted = w.observed.At.Add(-3 * time.Hour)
	plan = w.decide()
	if plan.Fault == nil || model.CodeOf(plan.Fault) != model.CodeNeedsUser || !slices.Contains(plan.Ready, "worker-2") ||
		!strings.Contains(plan.Fault.Error(), "worker-1") || !strings.Contains(string(plan.Fault.Next), "approve") {
		t.Errorf("once the other is a node: ready %v, waits %+v, blockers %+v, fault %v", plan.Ready, plan.Waits, plan.Blockers, plan.Fault)
	}
}

// TestRegisteredAgain: a node of the control plane whose machine has registered with the service once more, by a
// new id, is left alone, whether or not the old record is there; and a worker that has rebooted is added.
func TestRegisteredAgain(t *testing.T) {
	for name, test := range map[string]struct {
		recorded, ready bool
		reason          string // of a blocker
	}{
		"beside the old record":      {true, true, ""},
		"in place of the old record": {false, true, ""},
		"while its node is away":     {false, false, "RegisteredAgain"},
	} {
		t.Run(name, func(t *testing.T) {
			w := addsOne(t)
			w.spoke.seen.Requests[0].Approved, w.spoke.approved = false, map[string]int{}
			old := *w.host("host-cp-1")
			again := old
			again.ID, again.Day2, again.State, again.Progress, again.Rebooted = "new-id", true, model.HostBlocked, model.HostProgress{},
				time.Time{}
			again.Validations = []model.Validation{{ID: "hostname-unique", Category: "network", Status: "failure",
				Message: "the hostname is not unique"}}
			w.observed.Hosts = slices.DeleteFunc(w.observed.Hosts, func(h model.Host) bool { return h.ID == old.ID })
			w.observed.Hosts = append([]model.Host{again}, w.observed.Hosts...)
			if test.recorded {
				w.observed.Hosts = append(w.observed.Hosts, old)
			}
			prefix, err := netip.ParsePrefix(old.Inventory.Interfaces[0].Addresses[0])
			if err != nil {
				t.Fatal(err)
			}
			w.spoke.seen.Nodes = append(w.spoke.seen.Nodes, model.Node{
				Name: "cp-1", UID: "node-cp-1", Created: start, Ready: test.ready, Addresses: []netip.Addr{prefix.Addr()}, Roles: []string{"master"},
			})
			plan := w.decide()
			if !hasKind(plan, model.ApproveRequest) || plan.Fault != nil {
				t.Errorf("the worker is left: actions %v, blockers %+v, fault %v", keys(plan.Actions), plan.Blockers, plan.Fault)
			}
			for range 20 {
				if err := settle(w); err != nil {
					t.Fatal(err)
				}
				w.pass()
			}
			plan = w.decide()
			if !slices.Contains(plan.Ready, "worker-1") {
				t.Errorf("ready %v: blockers %+v, waits %+v", plan.Ready, plan.Blockers, plan.Waits)
			}
			told := slices.ContainsFunc(plan.Warnings, func(x model.Warning) bool {
				return x.Reason == "RegisteredAgain" &&
					x.Next.String() == "if it runs from its disk, have the service forget the new record: oaictl delete host new-id"
			})
			if told != test.ready || (test.reason == "") != (plan.Verdict == model.VerdictInstalled) || test.reason != "" &&
				!hasReason(plan, test.reason) {
				t.Errorf("%s: warnings %+v, blockers %+v, waits %+v", plan.Verdict, plan.Warnings, plan.Blockers, plan.Waits)
			}
			for _, a := range w.writes {
				if a.Target == "new-id" {
					t.Errorf("%s is done to the node's machine", a.Key)
				}
			}
		})
	}
}
