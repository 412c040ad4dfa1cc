//go:build e2e

package spoke_test

import (
	"bytes"
	"context"
	"net/netip"
	"slices"
	"testing"
	"time"

	certificatesv1 "k8s.io/api/certificates/v1"
	corev1 "k8s.io/api/core/v1"

	"github.com/oaictl/oaictl/internal/simulator/spoke"
)

// TestForeignRequests makes every request that no kubelet would, as it was configured.
func TestForeignRequests(t *testing.T) {
	vip := netip.MustParseAddr("192.168.127.5")
	wanted := []spoke.Request{
		{Node: "nobody"},
		{Node: "cp-0"},
		{Node: "cp-0", Serving: true, Names: []string{"cp-1"}, Addresses: []netip.Addr{vip}},
		{Node: "extra", Usages: []certificatesv1.KeyUsage{"digital signature", "client auth", "server auth"}},
		{Node: "rooted", Organizations: []string{"system:masters"}},
		{Node: "fraud", User: "system:node:cp-0"},
		{Node: "late", After: 5 * time.Minute},
	}
	st := play(t, func(c *spoke.Config) { c.Trouble.Requests = wanted })
	st.eventually("the requests", func(context.Context) (bool, error) { return len(st.requests()) == len(wanted), nil })
	for _, c := range st.requests() {
		r := parsed(t, c)
		at := slices.IndexFunc(wanted, func(w spoke.Request) bool {
			return "system:node:"+w.Node == r.Subject.CommonName && w.Serving == (c.Spec.SignerName == serving)
		})
		if at < 0 {
			t.Errorf("nobody wanted %v", r.Subject)
			continue
		}
		w := wanted[at]
		user, usages, organizations := w.User, w.Usages, w.Organizations
		switch {
		case user == "" && w.Serving:
			user = "system:node:" + w.Node
		case user == "":
			user = "system:serviceaccount:openshift-machine-config-operator:node-bootstrapper"
		}
		if usages == nil {
			usages = []certificatesv1.KeyUsage{"digital signature", "client auth"}
			if w.Serving {
				usages[1] = "server auth"
			}
		}
		if organizations == nil {
			organizations = []string{"system:nodes"}
		}
		if c.Spec.Username != user || !slices.Equal(c.Spec.Usages, usages) || !slices.Equal(r.Subject.Organization, organizations) {
			t.Errorf("%s: %s, %v, %v", w.Node, c.Spec.Username, c.Spec.Usages, r.Subject)
		}
		if !slices.Equal(r.DNSNames, w.Names) || len(r.IPAddresses) != len(w.Addresses) {
			t.Errorf("%s: %v, %v", w.Node, r.DNSNames, r.IPAddresses)
		}
	}
}

// TestReplay makes a node's first request again, with the same key.
func TestReplay(t *testing.T) {
	st := play(t, func(c *spoke.Config) { c.Trouble.Replays = []spoke.Replay{{Node: "worker-0", After: time.Minute}} })
	st.join(machine("worker-0", "192.168.127.50"))
	first := st.awaitRequest(client)
	st.eventually("the replay", func(context.Context) (bool, error) { return len(st.requests()) == 2, nil })
	for _, c := range st.requests() {
		if !bytes.Equal(c.Spec.Request, first.Spec.Request) || c.Spec.Username != first.Spec.Username {
			t.Errorf("%s is another request, of %s", c.Name, c.Spec.Username)
		}
	}
}

// TestKubeletTroubles shows kubelets that are not what was installed: other addresses, another name, never ready.
func TestKubeletTroubles(t *testing.T) {
	moved := netip.MustParseAddr("192.168.127.77")
	st := play(t, func(c *spoke.Config) {
		c.Trouble.Kubelets = map[string]spoke.KubeletTrouble{
			"moved": {Addresses: []netip.Addr{moved}}, "renamed": {Hostname: "localhost"}, "stuck": {NeverReady: spoke.NoNetwork, RotatesAfter: time.Minute},
		}
	})
	for i, name := range []string{"moved", "renamed", "stuck"} {
		m := machine(name, "192.168.127.50")
		m.Addresses[0] = netip.AddrFrom4([4]byte{192, 168, 127, byte(50 + i)})
		st.join(m)
	}
	approve := func(signer string, count int) {
		t.Helper()
		st.eventually("requests to "+signer, func(context.Context) (bool, error) {
			n := 0
			for _, c := range st.requests() {
				if c.Spec.SignerName == signer && pending(&c) {
					n++
				}
			}
			return n == count, nil
		})
		st.approveAll(signer)
	}
	approve(client, 3)
	st.eventually("the nodes", func(context.Context) (bool, error) {
		return st.node("moved") != nil && st.node("localhost") != nil && st.node("stuck") != nil, nil
	})
	if st.node("renamed") != nil {
		t.Error("the renamed machine has its old name, too")
	}
	var asked []string
	st.eventually("the serving requests", func(context.Context) (bool, error) {
		asked = nil
		for _, c := range st.requests() {
			if c.Spec.SignerName == serving {
				asked = append(asked, parsed(t, c).Subject.CommonName+" "+parsed(t, c).IPAddresses[0].String())
			}
		}
		return len(asked) == 3, nil
	})
	slices.Sort(asked)
	if want := []string{"system:node:localhost 192.168.127.51", "system:node:moved 192.168.127.77", "system:node:stuck 192.168.127.52"}; !slices.Equal(asked, want) {
		t.Errorf("asked for %v", asked)
	}
	st.awaitReady("moved", corev1.ConditionTrue)
	st.awaitReady("localhost", corev1.ConditionTrue)
	if c := st.readiness("stuck"); c.Status != corev1.ConditionFalse || c.Reason != "KubeletNotReady" || c.Message != spoke.NoNetwork {
		t.Errorf("stuck is %v", c)
	}
	// Its renewal, which the API server's own controllers approve.
	st.eventually("the renewal", func(context.Context) (bool, error) {
		for _, c := range st.requests() {
			if c.Spec.SignerName == client && c.Spec.Username == "system:node:stuck" {
				return !pending(&c) && c.Status.Conditions[0].Reason == "AutoApproved", nil
			}
		}
		return false, nil
	})
}
