//go:build e2e

package node_test

import (
	"context"
	"fmt"
	"net/netip"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	certificates "k8s.io/api/certificates/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/oaictl/oaictl/internal/simulator/spoke"
	"github.com/oaictl/oaictl/pkg/install"
	"github.com/oaictl/oaictl/pkg/install/model"
)

// approved are the names of those who asked for what has been approved, each with its reason.
func (s *stage) approved() map[string][]string {
	s.t.Helper()
	list, err := s.kube.Client.CertificatesV1().CertificateSigningRequests().List(s.t.Context(), metav1.ListOptions{})
	if err != nil {
		s.t.Fatal(err)
	}
	out := map[string][]string{}
	for i := range list.Items {
		for _, c := range list.Items[i].Status.Conditions {
			if c.Type == certificates.CertificateApproved {
				out[list.Items[i].Spec.Username] = append(out[list.Items[i].Spec.Username], c.Reason)
			}
		}
	}
	return out
}

// requests are the names of all certificate requests.
func (s *stage) requests() []string {
	s.t.Helper()
	list, err := s.kube.Client.CertificatesV1().CertificateSigningRequests().List(s.t.Context(), metav1.ListOptions{})
	if err != nil {
		s.t.Fatal(err)
	}
	var names []string
	for i := range list.Items {
		names = append(names, list.Items[i].Name)
	}
	return names
}

const bootstrapperUser = "system:serviceaccount:openshift-machine-config-operator:node-bootstrapper"

// TestHostile: a host gets its two certificates, and no other client gets one.
func TestHostile(t *testing.T) {
	vip := netip.MustParseAddr("192.168.127.100")
	s := newStage(t, func(c *spoke.Config) {
		c.Cluster.Platform, c.Cluster.APIVIPs, c.Cluster.IngressVIPs = spoke.BareMetal, []string{vip.String()}, []string{"192.168.127.101"}
		c.Trouble.Requests = []spoke.Request{
			{Node: "nobody"},
			{Node: "cp-0"},
			{Node: "cp-0", Organizations: []string{"system:masters"}},
			{Node: "nobody", Usages: []certificates.KeyUsage{certificates.UsageDigitalSignature, certificates.UsageClientAuth, certificates.UsageServerAuth}},
			{Node: "w-0", User: "system:serviceaccount:default:default"},
			{Node: "cp-1", Serving: true, Names: []string{"cp-1"}, Addresses: []netip.Addr{vip}},
			{Node: "w-0", Serving: true, Names: []string{"w-0"}, Addresses: []netip.Addr{vip}},
			{Node: "w-0", Serving: true, Names: []string{"w-0", "api-int.lab.example.com"}, Addresses: []netip.Addr{netip.MustParseAddr("192.168.127.20")}},
			{Node: "flood", Count: 150},
		}
	})
	s.host("w-0", "192.168.127.20")
	if err := s.clock.Sleep(t.Context(), time.Minute); err != nil { // the strangers are there first
		t.Fatal(err)
	}
	s.boot("w-0", "192.168.127.20")
	result, err := s.run(s.desired(nil), time.Minute)
	if err != nil || !slices.Equal(result.Plan.Ready, []string{"w-0"}) {
		t.Fatalf("%v; waits %+v", err, result.Plan.Waits)
	}
	got := s.approved()
	if len(got) != 2 || len(got[bootstrapperUser]) != 1 || len(got["system:node:w-0"]) != 1 {
		t.Errorf("approved %v", got)
	}
	refused := map[string]bool{}
	for _, line := range s.audit() {
		if line.Decision == "refuse" {
			refused[line.Reason] = true
		}
	}
	for _, want := range []string{"UnknownName", "UnexpectedSubject", "UnexpectedUsages", "UnexpectedRequester"} {
		if !refused[want] {
			t.Errorf("no refusal %s is written down: %v", want, refused)
		}
	}
	told := 0
	for _, e := range s.events {
		if strings.HasPrefix(e.Key, "request/") {
			told++
		}
	}
	if told == 0 || told > 40 {
		t.Errorf("%d requests are told of", told)
	}
	if !slices.ContainsFunc(result.Plan.Warnings, func(w model.Warning) bool { return w.Reason == "TooManyRequests" }) {
		t.Errorf("the flood is not told of: %+v", result.Plan.Warnings)
	}
	lines := len(s.audit())
	if _, err := s.run(s.desired(nil), time.Minute); err != nil {
		t.Errorf("again: %v", err)
	}
	if again := len(s.audit()); again != lines {
		t.Errorf("a second run writes down %d lines again", again-lines)
	}
}

// TestRivals: if another client asks in the name of a host with the bootstrapper's token, only a person can say which
// request is that of the host; that answer is enough.
func TestRivals(t *testing.T) {
	s := newStage(t, func(c *spoke.Config) { c.Trouble.Requests = []spoke.Request{{Node: "w-0"}} })
	var stranger []string
	for len(stranger) == 0 {
		if err := s.clock.Sleep(t.Context(), 10*time.Second); err != nil {
			t.Fatal(err)
		}
		stranger = s.requests()
	}
	s.host("w-0", "192.168.127.20")
	s.boot("w-0", "192.168.127.20")
	for len(s.requests()) < 2 {
		if err := s.clock.Sleep(t.Context(), 10*time.Second); err != nil {
			t.Fatal(err)
		}
	}
	_, err := s.run(s.desired(nil), time.Minute)
	if model.FaultOf(err).Code != model.CodeNeedsUser || !strings.Contains(model.FaultOf(err).Next.String(), "oaictl approve w-0 --request csr-") {
		t.Fatalf("got %v; next %s", err, model.FaultOf(err).Next)
	}
	if got := s.approved(); len(got) > 0 {
		t.Errorf("approved %v", got)
	}
	var asked atomic.Int32
	result, err := s.run(s.desired(func(d *model.Desired) { d.Options.Unattended = false }), time.Minute, install.Config{Ask: func(_ context.Context, v model.RequestVerdict) (bool, error) {
		asked.Add(1)
		return !slices.Contains(stranger, v.Name), nil
	}})
	if asked.Load() == 0 || err != nil || !slices.Equal(result.Plan.Ready, []string{"w-0"}) {
		t.Errorf("asked %d times: %v; waits %+v", asked.Load(), err, result.Plan.Waits)
	}
	if got := s.approved(); len(got) != 2 || len(got[bootstrapperUser]) != 1 || len(got["system:node:w-0"]) != 1 {
		t.Errorf("approved %v", got)
	}
}

// TestOthersApprove: what another approver approves is a success, and is recorded as theirs.
func TestOthersApprove(t *testing.T) {
	for name, approvers := range map[string]spoke.Approvers{
		"of the first day": {DayOne: true},
	} {
		t.Run(name, func(t *testing.T) {
			s := newStage(t, func(c *spoke.Config) { c.Approvers = approvers })
			s.host("w-0", "192.168.127.20")
			s.boot("w-0", "192.168.127.20")
			result, err := s.run(s.desired(func(d *model.Desired) { d.Options.Approve = model.ApproveOff }), time.Minute)
			if err != nil || !slices.Equal(result.Plan.Ready, []string{"w-0"}) {
				t.Fatalf("%v; waits %+v", err, result.Plan.Waits)
			}
			lines := s.audit()
			if len(lines) != 2 {
				t.Errorf("audit %+v", lines)
			}
			for _, line := range lines {
				if line.Decision != "approved-by-other" || !strings.Contains(line.By, "assisted-installer-controller") || line.Host != "w-0" {
					t.Errorf("%+v", line)
				}
			}
		})
	}
}

// TestMovedAddress: an address of no known host is a question, and the run ends with it if no person can answer. An
// address that the user has allowed is no question.
func TestMovedAddress(t *testing.T) {
	moved := netip.MustParseAddr("192.168.127.77")
	s := newStage(t, func(c *spoke.Config) {
		c.Trouble.Kubelets = map[string]spoke.KubeletTrouble{"w-0": {Addresses: []netip.Addr{moved}}}
	})
	s.host("w-0", "192.168.127.20")
	s.boot("w-0", "192.168.127.20")
	_, err := s.run(s.desired(nil), time.Minute)
	if model.FaultOf(err).Code != model.CodeNeedsUser || !strings.Contains(err.Error(), moved.String()) || !strings.Contains(model.FaultOf(err).Next.String(), "approve w-0 --allow-address w-0="+moved.String()) {
		t.Fatalf("got %v; next %s", err, model.FaultOf(err).Next)
	}
	result, err := s.run(s.desired(func(d *model.Desired) {
		d.Options.AllowAddresses = map[string][]netip.Addr{"w-0": {moved}}
	}), time.Minute)
	if err != nil || !slices.Equal(result.Plan.Ready, []string{"w-0"}) {
		t.Errorf("%v; waits %+v", err, result.Plan.Waits)
	}
}

// TestNeverReady is a node whose network never comes, and a hostname that changed.
func TestNeverReady(t *testing.T) {
	s := newStage(t, func(c *spoke.Config) {
		c.Trouble.Kubelets = map[string]spoke.KubeletTrouble{"w-0": {NeverReady: spoke.NoNetwork}, "w-1": {Hostname: "localhost"}}
	})
	s.host("w-0", "192.168.127.20")
	s.host("w-1", "192.168.127.21")
	s.boot("w-0", "192.168.127.20")
	s.boot("w-1", "192.168.127.21")
	result, err := s.run(s.desired(nil), time.Minute, install.Config{Timeout: 50 * time.Minute, UserTimeout: -1})
	if model.FaultOf(err).Code != model.CodeTimeout {
		t.Fatalf("got %v", err)
	}
	var texts []string
	for _, b := range result.Plan.Blockers {
		texts = append(texts, b.Reason+" "+strings.Join(b.Hosts, " "))
	}
	slices.Sort(texts)
	if fmt.Sprint(texts) != "[NodeNotJoined w-1]" {
		t.Errorf("blockers %v", texts)
	}
	if !slices.ContainsFunc(result.Plan.Waits, func(w model.Wait) bool {
		return strings.HasPrefix(w.For, "the node w-0 to be Ready: container runtime network")
	}) {
		t.Errorf("waits %+v", result.Plan.Waits)
	}
	if !slices.ContainsFunc(result.Plan.Warnings, func(w model.Warning) bool {
		return w.Reason == "UnknownRequester" && strings.Contains(w.Message, "localhost")
	}) {
		t.Errorf("warnings %+v", result.Plan.Warnings)
	}
	told := 0
	for _, e := range s.events {
		if e.Reason == "StillWaiting" && strings.HasPrefix(e.Message, "waiting for the node w-0 to be Ready") {
			told++
		}
		if e.Percent != nil && *e.Percent == 100 && e.Type == model.EventProgress {
			t.Errorf("all is done: %s", e.Message)
		}
	}
	if told != 1 {
		t.Errorf("what it waits for is told %d times", told)
	}
}

// TestKilled stops the run before and after each write, and goes on with another one: each host
// ends with two approvals, each of which is written down.
func TestKilled(t *testing.T) {
	for _, when := range []string{"before", "after"} {
		t.Run(when, func(t *testing.T) {
			s := newStage(t, nil)
			s.host("w-0", "192.168.127.20")
			s.boot("w-0", "192.168.127.20")
			desired := s.desired(func(d *model.Desired) { d.Spec.Spec.Hosts[0].Labels = map[string]string{"rack": "7"} })
			killed := 0
			for range 10 {
				ctx, kill := context.WithCancel(t.Context())
				plane := &deadly{Nodes: s.plane(), kill: kill, before: when == "before"}
				_, err := install.New(s, install.Config{Nodes: plane, Clock: s.clock, Files: install.Directory(s.dir), Timeout: 2 * time.Hour, UserTimeout: -1}).Run(ctx, desired)
				kill()
				if plane.acts.Load() == 0 {
					if err != nil {
						t.Fatal(err)
					}
					break
				}
				if when == "before" { // another process has its own luck
					plane := &deadly{Nodes: s.plane(), kill: func() {}, once: true}
					ctx, kill := context.WithCancel(t.Context())
					plane.kill = kill
					_, _ = install.New(s, install.Config{Nodes: plane, Clock: s.clock, Files: install.Directory(s.dir), Timeout: 2 * time.Hour, UserTimeout: -1}).Run(ctx, desired)
					kill()
				}
				killed++
			}
			if killed < 3 {
				t.Errorf("killed %d times", killed)
			}
			got := s.approved()
			if len(got) != 2 || len(got[bootstrapperUser]) != 1 || len(got["system:node:w-0"]) != 1 {
				t.Errorf("approved %v", got)
			}
			written := map[string]bool{}
			for _, line := range s.audit() {
				if line.Decision == "approve" {
					written[line.Request] = true
				}
			}
			if len(written) != 2 {
				t.Errorf("written down %v", written)
			}
		})
	}
}

// deadly is a plane whose process is killed with its first act.
type deadly struct {
	install.Nodes
	kill   func()
	before bool
	once   bool
	acts   atomic.Int32
}

// Act is of install.Nodes.
func (d *deadly) Act(ctx context.Context, desired *model.Desired, observed *model.Observed, a model.Action) error {
	d.acts.Add(1)
	defer d.kill()
	if d.before {
		return context.Canceled
	}
	return d.Nodes.Act(ctx, desired, observed, a)
}

// TestAwayInTheMiddle: an API server that goes away while a node joins costs time alone.
func TestAwayInTheMiddle(t *testing.T) {
	s := newStage(t, nil)
	s.host("w-0", "192.168.127.20")
	s.host("w-1", "192.168.127.21")
	s.boot("w-0", "192.168.127.20")
	seen := make(chan struct{})
	var once atomic.Bool
	go func() {
		<-seen
		s.kube.Down(t)
		_ = s.clock.Sleep(t.Context(), 3*time.Minute)
		s.kube.Up(t)
		s.boot("w-1", "192.168.127.21")
	}()
	result, err := s.run(s.desired(nil), 2*time.Minute, install.Config{Events: func(e model.Event) {
		t.Logf("%s %s %s", e.Key, e.State, e.Message)
		if e.Reason == string(model.ApproveRequest) && once.CompareAndSwap(false, true) {
			close(seen)
		}
	}})
	if err != nil || !slices.Equal(result.Plan.Ready, []string{"w-0", "w-1"}) {
		t.Fatalf("%v; waits %+v", err, result.Plan.Waits)
	}
	if got := s.approved(); len(got[bootstrapperUser]) != 2 {
		t.Errorf("approved %v", got)
	}
}
