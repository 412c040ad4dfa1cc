//go:build e2e

package capi

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/cluster-api/util/conditions"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/oaictl/oaictl/internal/shared/must"
	controlplanev1 "github.com/oaictl/oaictl/pkg/capi/api/controlplane/v1beta1"
)

// checkDescribed sees that clusterctl shows a cluster of so many Machines that is well as one.
func (r *rig) checkDescribed(machines int) {
	r.t.Helper()
	out, err := r.clusterctl("describe", "cluster", "lab", "-n", r.namespace, "--grouping=false", "--kubeconfig", r.Kubeconfig(r.t))
	if err != nil {
		r.t.Fatalf("%v\n%s", err, out)
	}
	rows := 0
	for line := range strings.Lines(out) {
		if strings.Contains(line, "OpenshiftAssistedControlPlane") || strings.Contains(line, "Machine ") {
			rows++
		}
		if strings.Contains(line, "False") || strings.Contains(line, "Unknown") {
			r.t.Errorf("shown is %s", line)
		}
	}
	if rows != machines+1 {
		r.t.Errorf("of a control plane and %d Machines there are %d rows:\n%s", machines, rows, out)
	}
	r.t.Logf("clusterctl describe cluster:\n%s", out)
}

// TestCompactOverREST installs a cluster of three machines by a service without a hub. The cluster goes to another management cluster that reaches
// the same service, where a worker is added, and it is deleted.
func TestCompactOverREST(t *testing.T) {
	t.Parallel()
	r := newRig(t, 4, func(r *rig) { r.overREST = true })
	r.order("compact", 0)
	r.untilAvailable(aWhile)
	there := r.beside()
	r.move(there, 0)
	there.scaleWorkers(1)
	there.untilWorkers(1)
	there.delete()
	there.checkGone()
}

// TestLiveISO boots the machines of a cluster from its discovery images as the service has them. Providers that are
// started anew then have nothing to write, though they serve images now. A machine that is added reads its image from
// them.
func TestLiveISO(t *testing.T) {
	t.Parallel()
	r := newRig(t, 5)
	r.order("metal3", 1)
	r.untilAvailable(aWhile)
	r.untilWorkers(1)
	r.checkKubeconfig()
	r.checkWrites(4)
	r.checkDescribed(4)
	r.checkWatches()
	before := r.imageURLs()
	r.checkRestart(r.handOnMedia)
	r.scaleWorkers(2)
	r.untilWorkers(2)
	handedOn := 0
	for name, url := range r.imageURLs() {
		switch was, is := before[name]; {
		case is && was != url:
			t.Errorf("the image of %s was %s, and is %s", name, was, url)
		case !is && strings.HasPrefix(url, "http://"+r.media+"/"):
			handedOn++
		}
	}
	if handedOn != 1 {
		t.Errorf("the images are %v", r.imageURLs())
	}
	r.delete()
	r.checkGone()
}

// checkRestart starts the providers of an installed cluster anew, and sees that they write nothing.
func (r *rig) checkRestart(restart func()) {
	r.t.Helper()
	before, after := &controlplanev1.OpenshiftAssistedControlPlane{}, &controlplanev1.OpenshiftAssistedControlPlane{}
	r.until("it is known which updates there are", aWhile, func() (bool, string) {
		r.get("lab", before)
		return conditions.IsTrue(before, controlplanev1.UpgradeCompletedCondition), conditions.GetMessage(before, controlplanev1.UpgradeCompletedCondition)
	})
	r.stop()
	r.writes.take()
	restart()
	must.Do(r.t, r.clock.Sleep(r.t.Context(), 35*time.Minute))
	if total, which := r.writes.take(); total > 0 {
		r.get("lab", after)
		r.t.Errorf("providers that are started anew write %s:\n%s", which, cmp.Diff(before.Status, after.Status))
	}
}

// TestStaticNetwork gives the machine of a cluster the network that its config selects. The object that is made of it
// for the service is deleted with the cluster, and the network itself stays.
func TestStaticNetwork(t *testing.T) {
	t.Parallel()
	r := newRig(t, 1)
	host := object("metal3.io/v1alpha1", "BareMetalHost")
	r.get("rack-host-0", host)
	mac, _, _ := unstructured.NestedString(host.Object, "spec", "bootMACAddress")
	r.apply(fmt.Sprintf(`{apiVersion: agent-install.openshift.io/v1beta1, kind: NMStateConfig, metadata: {name: rack, labels: {rack: a}}, spec: {
  interfaces: [{name: eno1, macAddress: %q}], config: {interfaces: [{name: eno1, type: ethernet, state: up, ipv4: {enabled: true, dhcp: true}}]}}}`, mac))
	r.prepare()
	const spec = "  openshiftAssistedConfigSpec:\n"
	r.apply(strings.Replace(r.generate("sno", 0, map[string]string{"OPENSHIFT_MACHINE_NETWORK": "192.168.127.0/24"}),
		spec, spec+"    nmStateConfigLabelSelector: {matchLabels: {rack: a}}\n", 1))
	r.untilAvailable(aWhile)
	if made := r.networks(); len(made) != 2 {
		t.Errorf("networks are %v", made)
	}
	r.delete()
	r.checkGone()
	if left := r.networks(); len(left) != 1 || left[0] != "rack" {
		t.Errorf("networks are %v", left)
	}
}

// networks are the names of the NMStateConfigs.
func (r *rig) networks() []string {
	r.t.Helper()
	list := &unstructured.UnstructuredList{}
	list.SetAPIVersion("agent-install.openshift.io/v1beta1")
	list.SetKind("NMStateConfigList")
	must.Do(r.t, r.client.List(r.t.Context(), list, client.InNamespace(r.namespace)))
	var names []string
	for i := range list.Items {
		names = append(names, list.Items[i].GetName())
	}
	return names
}

// handOnMedia starts the providers, which have been stopped, with media of their own.
func (r *rig) handOnMedia() {
	r.t.Helper()
	port := must.Get(r.Port(r.t.Context()))(r.t)
	r.media = fmt.Sprintf("127.0.0.1:%d", port)
	r.start()
}

// imageURLs are the images that the Metal3Machines boot, by name.
func (r *rig) imageURLs() map[string]string {
	r.t.Helper()
	list := &unstructured.UnstructuredList{}
	list.SetAPIVersion("infrastructure.cluster.x-k8s.io/v1beta2")
	list.SetKind("Metal3MachineList")
	must.Do(r.t, r.client.List(r.t.Context(), list, client.InNamespace(r.namespace)))
	urls := map[string]string{}
	for i := range list.Items {
		urls[list.Items[i].GetName()], _, _ = unstructured.NestedString(list.Items[i].Object, "spec", "image", "url")
	}
	return urls
}
