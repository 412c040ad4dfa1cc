//go:build e2e

package spoke_test

import (
	"context"
	"net/netip"
	"strings"
	"testing"
	"time"

	certificatesv1 "k8s.io/api/certificates/v1"
	corev1 "k8s.io/api/core/v1"

	"github.com/oaictl/oaictl/internal/simulator/spoke"
)

// approval is how a request of a signer, for a name, was approved; the zero one if it was not.
func (st *stage) approval(signer, node string) certificatesv1.CertificateSigningRequestCondition {
	st.t.Helper()
	for _, c := range st.requests() {
		if c.Spec.SignerName != signer || parsed(st.t, c).Subject.CommonName != "system:node:"+node {
			continue
		}
		for _, is := range c.Status.Conditions {
			if is.Type == certificatesv1.CertificateApproved {
				return is
			}
		}
	}
	return certificatesv1.CertificateSigningRequestCondition{}
}

// TestDayOneController approves every request, as the controller of an installation does.
func TestDayOneController(t *testing.T) {
	st := play(t, func(c *spoke.Config) {
		c.Approvers.DayOne = true
		c.Trouble.Requests = []spoke.Request{{Node: "nobody"}}
	})
	st.join(machine("worker-0", "192.168.127.50"))
	st.awaitReady("worker-0", corev1.ConditionTrue)
	st.eventually("the serving request's approval", func(context.Context) (bool, error) { return st.approval(serving, "worker-0").Reason != "", nil })
	for _, name := range []string{"worker-0", "nobody"} {
		c := st.approval(client, name)
		if c.Reason != "NodeCSRApprove" || c.Message != "This CSR was approved by the assisted-installer-controller" {
			t.Errorf("%s: %v", name, c)
		}
	}
}

// TestAgentController approves for the hosts that it is adding, by what their kubelets write, and for no other host.
func TestAgentController(t *testing.T) {
	st := play(t, func(c *spoke.Config) {
		c.Approvers.Agents = []string{"Worker-0"}
		c.Trouble.Requests = []spoke.Request{
			{Node: "worker-1"},
			{Node: "worker-0", Organizations: []string{"system:nodes", "system:masters"}},
			{Node: "worker-0", User: "system:node:cp-0"},
			{Node: "worker-0", Usages: []certificatesv1.KeyUsage{"digital signature", "client auth", "server auth"}},
			{Node: "worker-0", Serving: true, Names: []string{"worker-0"}, Addresses: []netip.Addr{netip.MustParseAddr("192.168.127.10")}},
		}
	})
	st.join(machine("worker-0", "192.168.127.50"))
	st.awaitReady("worker-0", corev1.ConditionTrue)
	st.eventually("the serving request's approval", func(context.Context) (bool, error) { return st.approval(serving, "worker-0").Reason != "", nil })
	for _, signer := range []string{client, serving} {
		if c := st.approval(signer, "worker-0"); c.Message != "This CSR was approved by the assisted-service" {
			t.Errorf("%s: %v", signer, c)
		}
	}
	st.sleep(5 * time.Minute)
	left := 0
	for _, c := range st.requests() {
		if pending(&c) {
			left++
		}
	}
	if left != 5 {
		t.Errorf("%d of 5 requests that are no host's are pending", left)
	}
}

// TestMachineApprover approves by Machines, and nothing at all once too much is pending.
func TestMachineApprover(t *testing.T) {
	st := play(t, func(c *spoke.Config) {
		c.Cluster.MachineAPI, c.Cluster.Platform = true, spoke.BareMetal
		c.Approvers.Machine = true
	})
	st.join(machine("stranger", "192.168.127.60"))
	st.addMachine("worker-0", "192.168.127.50", "worker")
	st.join(machine("worker-0", "192.168.127.50"))
	st.awaitReady("worker-0", corev1.ConditionTrue)
	st.eventually("the serving request's approval", func(context.Context) (bool, error) { return st.approval(serving, "worker-0").Reason != "", nil })
	for _, signer := range []string{client, serving} {
		if c := st.approval(signer, "worker-0"); c.Message != "This CSR was approved by the Node CSR Approver (cluster-machine-approver)" || c.Reason != "NodeCSRApprove" {
			t.Errorf("%s: %v", signer, c)
		}
	}
	if c := st.approval(client, "stranger"); c.Reason != "" {
		t.Errorf("a node without a Machine: %v", c)
	}
}

// TestMachineApproverGivesUp while more is pending than there are nodes and a hundred.
func TestMachineApproverGivesUp(t *testing.T) {
	st := play(t, func(c *spoke.Config) {
		c.Cluster.MachineAPI, c.Cluster.Platform = true, spoke.BareMetal
		c.Approvers.Machine = true
		c.Trouble.Requests = []spoke.Request{{Node: "flood", Count: 105}}
	})
	st.eventually("the flood", func(context.Context) (bool, error) { return len(st.requests()) == 105, nil })
	for i, c := range st.requests() {
		if r := parsed(t, c); !strings.HasPrefix(r.Subject.CommonName, "system:node:flood-") {
			t.Fatalf("request %d is for %s", i, r.Subject.CommonName)
		}
	}
	st.addMachine("worker-0", "192.168.127.50", "worker")
	st.join(machine("worker-0", "192.168.127.50"))
	st.eventually("the worker's request", func(context.Context) (bool, error) { return len(st.requests()) == 106, nil })
	st.sleep(5 * time.Minute)
	if c := st.approval(client, "worker-0"); c.Reason != "" {
		t.Errorf("approved in a flood: %v", c)
	}
	if st.node("worker-0") != nil {
		t.Error("it has joined")
	}
}
