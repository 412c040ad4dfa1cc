//go:build e2e

package cli

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/dynamic"

	"github.com/oaictl/oaictl/internal/cli/output"
	"github.com/oaictl/oaictl/internal/simulator/spoke"
)

// patched changes an object of the played cluster.
func (s *shrinking) patched(t *testing.T, group, resource, name, patch string, subresources ...string) {
	t.Helper()
	objects, err := dynamic.NewForConfig(s.kube.Config)
	if err == nil {
		kind := schema.GroupVersionResource{Group: group, Version: "v1", Resource: resource}
		_, err = objects.Resource(kind).Patch(t.Context(), name, types.MergePatchType, []byte(patch), metav1.PatchOptions{}, subresources...)
	}
	if err != nil {
		t.Fatal(err)
	}
}

// TestUpgradeCluster shows what a cluster can be updated to, refuses what it does not offer, and follows an update to its end.
func TestUpgradeCluster(t *testing.T) {
	s := newShrinking(t, func(c *spoke.Cluster) {
		c.Version = "4.20.4"
		for _, version := range []string{"4.20.4", "4.20.5", "4.20.6"} {
			c.Updates = append(c.Updates, spoke.Update{Version: version})
		}
	})
	s.patched(t, "config.openshift.io", "clusterversions", "version", fmt.Sprintf(`{"status": {"conditionalUpdates": [{
		"release": {"version": "4.20.7", "image": "quay.io/x@sha256:%064d"}, "conditions": [{"type": "Recommended", "status": "False"}],
		"risks": [{"name": "DiskTrouble", "message": "It may break.", "url": "https://example.com/trouble"}]}]}}`, 7), "status")
	s.patched(t, "machineconfiguration.openshift.io", "machineconfigpools", "worker", `{"spec": {"paused": true}}`)
	to := " --poll-interval 1s --cluster-kubeconfig " + s.kubeconfig
	say := func(line string, code int, says ...string) outcome {
		t.Helper()
		got := s.run(t, "", "upgrade cluster "+line+to)
		for _, text := range says {
			if !strings.Contains(got.out+got.errors, text) {
				t.Errorf("%s does not say %q", line, text)
			}
		}
		if got.code != code || t.Failed() {
			t.Fatalf("%s ends with %d, and should with %d:\n%s%s", line, got.code, code, got.out, got.errors)
		}
		return got
	}
	say("lab", 0, "Version:  4.20.4\n", "Channel:  stable-4.20\n", "Available updates:\n  4.20.6\n  4.20.5\n", "not recommended for this cluster:\n"+
		"  4.20.7  DiskTrouble: It may break (https://example.com/trouble)\n", "In the way:\n  ! MachineConfigPool worker is paused",
		"Next: oaictl upgrade cluster lab --to 4.20.6 --cluster-kubeconfig "+s.kubeconfig)
	var u output.Upgrade
	if got := say("lab -o json", 0); json.Unmarshal([]byte(got.out), &u) != nil || u.Version != "4.20.4" || len(u.Updates) != 3 || u.Updates[0].Recommended {
		t.Errorf("as JSON it is %s", got.out)
	}
	say("lab --detach", 2, "--detach needs --to VERSION")
	say("", 2, "needs a NAME")
	say("other", 5, "none of that name")
	say("lab --to 4.20", 2, `"4.20" is not a complete version`)
	say("lab --to 4.20.9", 5, "upgrade lab.example.com: channel stable-4.20 has no update from 4.20.4 to 4.20.9. It offers 4.20.6, 4.20.5", "Next: oaictl upgrade cluster lab")
	say("lab --to 4.21.3", 5, "channel stable-4.20 does not contain an update to 4.21.3: oc adm upgrade channel stable-4.21. It offers 4.20.6, 4.20.5")
	say("lab --to 4.20.1", 3, "the cluster runs 4.20.4, which is newer than 4.20.1. OpenShift cannot be downgraded\n")
	say("lab --to 4.20.7", 3, "not recommended for this cluster: DiskTrouble: It may break (https://example.com/trouble). To accept the risk: oc adm upgrade --to=4.20.7 --allow-not-recommended")
	s.patched(t, "machineconfiguration.openshift.io", "machineconfigpools", "worker", `{"spec": {"paused": false}}`)
	say("lab --to 4.20.5 --detach", 0, "oaictl requests the update from 4.20.4 to 4.20.5")
	say("lab --to 4.20.5 --timeout 1ms", 8, "taken longer than 1ms, and goes on", "Next: oaictl upgrade cluster lab --to 4.20.5 --timeout 1ms")
	for !strings.Contains(say("lab", 0, "Next: oaictl upgrade cluster lab --to 4.20.5").out, "% complete") {
		t.Log("the update has not begun")
	}
	say("lab --to 4.20.6", 1, "the cluster is being updated to another version", "Next: oaictl upgrade cluster lab --to 4.20.5", "which waits for that update")
	say("lab --to 4.20.5 --progress plain", 0, "% complete", "Version:  4.20.5\n", "The cluster runs 4.20.5")
	got := say("lab --to 4.20.5 --progress json", 0, `"type":"run"`, `"state":"installed"`, `"exitCode":0`)
	if strings.Contains(got.out, "Version:") {
		t.Errorf("beside the events it prints %s", got.out)
	}
}

// TestUpgradeOfAnotherCluster asks no cluster for anything that is not the one that was named.
func TestUpgradeOfAnotherCluster(t *testing.T) {
	s := newShrinking(t)
	s.clusters[0].OpenShiftID = "9a0e0c6e-4a8a-4c2f-9d6d-3d1f6f0c1d11"
	got := s.run(t, "", "upgrade cluster lab --to 4.20.5 --cluster-kubeconfig "+s.kubeconfig)
	if got.code != 3 || !strings.Contains(got.errors, "is for another cluster") {
		t.Errorf("it ends with %d: %s", got.code, got.errors)
	}
	got = s.run(t, "", "upgrade cluster lab --cluster-kubeconfig "+kubeconfigFor(t, "https://127.0.0.1:1"))
	if got.code != 1 || !strings.Contains(got.errors, "connection refused") {
		t.Errorf("it ends with %d: %s", got.code, got.errors)
	}
}
