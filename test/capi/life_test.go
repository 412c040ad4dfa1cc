//go:build e2e

package capi

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/client-go/tools/clientcmd"
	"k8s.io/utils/ptr"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	"sigs.k8s.io/cluster-api/util/conditions"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/oaictl/oaictl/internal/kubetest"
	"github.com/oaictl/oaictl/internal/shared/check"
	"github.com/oaictl/oaictl/internal/shared/must"
	controlplanev1 "github.com/oaictl/oaictl/pkg/capi/api/controlplane/v1beta1"
)

const aWhile = 5 * time.Minute

// TestLife takes a cluster through its life: it is installed with workers while Machines are deleted, gets more, loses
// one machine of either kind, is upgraded, goes to another management cluster, and is deleted there.
func TestLife(t *testing.T) {
	t.Parallel()
	r := newRig(t, 9)
	r.order("ha", 2)
	r.deleteWhileItInstalls(2)
	r.checkKubeconfig()
	r.checkWrites(7) // two of which were deleted

	r.scaleWorkers(3)
	r.untilWorkers(3)

	r.impatient()
	r.loseWorker(3)
	r.loseControlPlane(3)

	r.upgrade(3)

	there := r.beside()
	r.move(there, 3)

	there.scaleWorkers(4)
	there.untilWorkers(4)
	there.delete()
	there.checkGone()
}

func named(namespace, name string) metav1.ObjectMeta {
	return metav1.ObjectMeta{Namespace: namespace, Name: name}
}

// workload is a client of the installed cluster.
func (r *rig) workload() client.Client {
	r.t.Helper()
	if r.installed != nil {
		return r.installed
	}
	of := r.site.Workload("lab")
	if of == nil {
		r.t.Fatal("there is no workload cluster lab")
	}
	r.installed = must.Get(client.New(of.Config(), client.Options{}))(r.t)
	return r.installed
}

// nodes are the ready nodes of the installed cluster, and the provider id of each.
func (r *rig) nodes() map[string]string {
	r.t.Helper()
	list := &corev1.NodeList{}
	must.Do(r.t, r.workload().List(r.t.Context(), list))
	ready := map[string]string{}
	for i := range list.Items {
		for _, c := range list.Items[i].Status.Conditions {
			if c.Type == corev1.NodeReady && c.Status == corev1.ConditionTrue {
				ready[list.Items[i].Name] = list.Items[i].Spec.ProviderID
			}
		}
	}
	return ready
}

// machines are the Machines of the Cluster, those of its control plane or the others.
func (r *rig) machines(controlPlane bool) []clusterv1.Machine {
	r.t.Helper()
	list := &clusterv1.MachineList{}
	must.Do(r.t, r.client.List(r.t.Context(), list, client.InNamespace(r.namespace)))
	return slices.DeleteFunc(list.Items, func(m clusterv1.Machine) bool {
		_, is := m.Labels[clusterv1.MachineControlPlaneLabel]
		return is != controlPlane
	})
}

// untilWorkers waits until there are so many workers beside a control plane of three, each with its node.
func (r *rig) untilWorkers(count int) {
	r.t.Helper()
	r.until(fmt.Sprintf("%d workers are there", count), aWhile, func() (bool, string) {
		workers, control := r.machines(false), r.machines(true)
		ready := r.nodes()
		said := []string{fmt.Sprintf("%d nodes", len(ready))}
		for _, m := range slices.Concat(control, workers) {
			available := conditions.IsTrue(&m, clusterv1.MachineAvailableCondition)
			if id, is := ready[m.Status.NodeRef.Name]; !available || !is || id != m.Spec.ProviderID {
				said = append(said, fmt.Sprintf("%s %s: %s", m.Name, m.Status.Phase, conditions.GetMessage(&m, clusterv1.MachineReadyCondition)))
			}
		}
		return len(said) == 1 && len(workers) == count && len(control) == 3 && len(ready) == count+3, strings.Join(said, "; ")
	})
}

// checkKubeconfig reaches the cluster as its owner does.
func (r *rig) checkKubeconfig() {
	r.t.Helper()
	secret := &corev1.Secret{}
	if !r.get("lab-kubeconfig", secret) {
		r.t.Fatal("there is no kubeconfig")
	}
	config := must.Get(clientcmd.RESTConfigFromKubeConfig(secret.Data["value"]))(r.t)
	c := must.Get(client.New(config, client.Options{}))(r.t)
	check.Do(r.t, c.List(r.t.Context(), &corev1.NodeList{}), "the kubeconfig")
}

// mostWrites is how many a Machine may take until its cluster is Available, those for the cluster among them.
const mostWrites = 40

// checkWrites holds what was written to install a cluster against that.
func (r *rig) checkWrites(machines int) {
	r.t.Helper()
	total, which := r.writes.take()
	r.t.Logf("%d writes for %d Machines: %s", total, machines, which)
	if total > mostWrites*machines {
		r.t.Errorf("%d writes for %d Machines", total, machines)
	}
}

func (r *rig) scaleWorkers(count int32) {
	r.t.Helper()
	r.patch(&clusterv1.MachineDeployment{ObjectMeta: named(r.namespace, "lab-workers")}, func(o client.Object) {
		o.(*clusterv1.MachineDeployment).Spec.Replicas = &count
	})
}

// patch changes an object that is there.
func (r *rig) patch(o client.Object, change func(client.Object)) {
	r.t.Helper()
	if !r.get(o.GetName(), o) {
		r.t.Fatalf("there is no %T %s", o, o.GetName())
	}
	before := o.DeepCopyObject().(client.Object)
	change(o)
	if err := r.client.Patch(r.t.Context(), o, client.MergeFrom(before)); err != nil {
		r.t.Fatalf("change %T %s: %v", o, o.GetName(), err)
	}
}

// impatient makes a node unhealthy after a second of silence.
func (r *rig) impatient() {
	r.t.Helper()
	for _, name := range []string{"lab-workers", "lab-control-plane"} {
		r.patch(&clusterv1.MachineHealthCheck{ObjectMeta: named(r.namespace, name)}, func(o client.Object) {
			checks := o.(*clusterv1.MachineHealthCheck).Spec.Checks.UnhealthyNodeConditions
			for i := range checks {
				checks[i].TimeoutSeconds = ptr.To[int32](1)
			}
		})
	}
}

// bareMetalHost is the one that a Machine runs on.
func (r *rig) bareMetalHost(m *clusterv1.Machine) *unstructured.Unstructured {
	r.t.Helper()
	infrastructure := &unstructured.Unstructured{}
	infrastructure.SetAPIVersion("infrastructure.cluster.x-k8s.io/v1beta2")
	infrastructure.SetKind("Metal3Machine")
	if !r.get(m.Spec.InfrastructureRef.Name, infrastructure) {
		r.t.Fatalf("Machine %s has no Metal3Machine", m.Name)
	}
	_, name, _ := strings.Cut(infrastructure.GetAnnotations()["metal3.io/BareMetalHost"], "/")
	host := &unstructured.Unstructured{}
	host.SetAPIVersion("metal3.io/v1alpha1")
	host.SetKind("BareMetalHost")
	if !r.get(name, host) {
		r.t.Fatalf("Machine %s has no BareMetalHost", m.Name)
	}
	return host
}

// lose has the machine of a Machine break down, and says of its BareMetalHost that it is not to be used.
func (r *rig) lose(m *clusterv1.Machine) {
	r.t.Helper()
	host := r.bareMetalHost(m)
	r.patch(host, func(o client.Object) {
		notes := o.GetAnnotations()
		if notes == nil {
			notes = map[string]string{}
		}
		notes["capi.metal3.io/unhealthy"] = ""
		o.SetAnnotations(notes)
	})
	mac, _, _ := unstructured.NestedString(host.Object, "spec", "bootMACAddress")
	if !r.site.Hardware().Break(mac) {
		r.t.Fatalf("Machine %s has no machine with the address %s", m.Name, mac)
	}
}

// loseWorker loses one of so many workers, which is replaced.
func (r *rig) loseWorker(workers int) {
	r.t.Helper()
	lost := r.machines(false)[0]
	r.lose(&lost)
	r.untilGone(&lost)
	r.untilWorkers(workers)
}

// loseControlPlane loses a machine of the control plane, which is replaced once a person has removed its
// member of etcd. The cluster has so many workers.
func (r *rig) loseControlPlane(workers int) {
	r.t.Helper()
	lost := r.machines(true)[0]
	r.lose(&lost)
	r.until("it is said which member of etcd is to be removed", aWhile, func() (bool, string) {
		plane := &controlplanev1.OpenshiftAssistedControlPlane{}
		r.get("lab", plane)
		remediating := conditions.Get(plane, clusterv1.RemediatingCondition)
		if remediating == nil {
			return false, "nothing is said"
		}
		return remediating.Reason == controlplanev1.EtcdMemberRemovalRequiredReason && strings.Contains(remediating.Message, "etcdctl member remove"), remediating.Reason + ": " + remediating.Message
	})
	if was, err := r.site.Workload("lab").Played().RemoveMember(r.t.Context(), lost.Status.NodeRef.Name); err != nil || !was {
		r.t.Fatalf("remove the member of %s: %t %v", lost.Status.NodeRef.Name, was, err)
	}
	r.untilGone(&lost)
	r.untilWorkers(workers)
	r.until("etcd has three members", aWhile, func() (bool, string) {
		endpoints := &corev1.ConfigMap{ObjectMeta: named("openshift-etcd", "etcd-endpoints")}
		if err := r.workload().Get(r.t.Context(), client.ObjectKeyFromObject(endpoints), endpoints); err != nil {
			return false, err.Error()
		}
		return len(endpoints.Data) == 3, fmt.Sprint(endpoints.Data)
	})
}

func (r *rig) untilGone(m *clusterv1.Machine) {
	r.t.Helper()
	r.until("Machine "+m.Name+" is gone", aWhile, func() (bool, string) {
		now := &clusterv1.Machine{}
		if !r.get(m.Name, now) {
			return true, ""
		}
		return false, fmt.Sprintf("%s: %s; %s", now.Status.Phase, conditions.GetMessage(now, clusterv1.MachineDeletingCondition), conditions.GetMessage(now, clusterv1.MachineHealthCheckSucceededCondition))
	})
}

// identities are the Machines by their UIDs, each with its BareMetalHost and the UID of its node.
func (r *rig) identities() map[string]string {
	r.t.Helper()
	found := map[string]string{}
	for _, m := range slices.Concat(r.machines(true), r.machines(false)) {
		node := &corev1.Node{}
		must.Do(r.t, r.workload().Get(r.t.Context(), client.ObjectKey{Name: m.Status.NodeRef.Name}, node))
		found[string(m.UID)] = fmt.Sprintf("%s on %s, node %s", m.Name, m.Spec.ProviderID, node.UID)
	}
	return found
}

// upgrade upgrades the cluster, which has so many workers, to a newer version, in place.
func (r *rig) upgrade(workers int) {
	r.t.Helper()
	r.checkUpgrade(workers, func() {
		r.patch(&controlplanev1.OpenshiftAssistedControlPlane{ObjectMeta: named(r.namespace, "lab")}, func(o client.Object) {
			o.(*controlplanev1.OpenshiftAssistedControlPlane).Spec.DistributionVersion = newer
		})
	})
}

// checkUpgrade has a cluster upgraded, and sees that each Machine and each node stays, and no disk is written.
func (r *rig) checkUpgrade(workers int, order func()) {
	r.t.Helper()
	before, writes := r.identities(), r.site.Hardware().Writes()
	order()
	r.until("the cluster runs "+newer, aWhile, func() (bool, string) {
		plane := r.plane()
		return plane.Status.DistributionVersion == newer && conditions.IsTrue(plane, controlplanev1.UpgradeCompletedCondition),
			plane.Status.DistributionVersion + ": " + conditions.GetMessage(plane, controlplanev1.UpgradeCompletedCondition)
	})
	r.untilAvailable(aWhile)
	r.untilWorkers(workers)
	if after := r.identities(); !maps.Equal(before, after) {
		r.t.Errorf("the Machines were %v, and are %v", before, after)
	}
	if after := r.site.Hardware().Writes(); !maps.Equal(writes, after) {
		r.t.Errorf("disks were written so often: %v, and now %v", writes, after)
	}
}

// move makes clusterctl move the Cluster to another management cluster: nothing of the service's is deleted, no Machine
// is replaced, and no machine is started or installed again.
func (r *rig) move(there *rig, workers int) {
	r.t.Helper()
	writes, starts, before, identities := r.site.Hardware().Writes(), r.site.Hardware().Starts(), r.serviceObjects(), r.identities()
	for _, m := range []*kubetest.Management{r.Management, there.Management} {
		m.AddInventory(r.t)
	}
	if out, err := r.clusterctl("move", "-n", r.namespace, "--kubeconfig", r.Kubeconfig(r.t), "--to-kubeconfig", there.Kubeconfig(r.t)); err != nil {
		r.t.Fatalf("clusterctl move: %v\n%s", err, out)
	}
	if r.get("lab", &clusterv1.Cluster{}) {
		r.t.Error("the Cluster is still where it was")
	}
	defer func() {
		if after := r.site.Hardware().Starts(); !maps.Equal(starts, after) {
			r.t.Errorf("machines were started so often: %v, and now %v", starts, after)
		}
	}()
	there.untilAvailable(aWhile)
	there.untilWorkers(workers)
	check.Slice(r.t, slices.Sorted(maps.Values(identities)), slices.Sorted(maps.Values(there.identities())), "the Machines were")
	if after := r.serviceObjects(); !slices.Equal(before, after) {
		r.t.Errorf("the service's objects were\n%s\nand are\n%s", strings.Join(before, "\n"), strings.Join(after, "\n"))
	}
	if made := there.serviceObjects(); !r.overREST && len(made) != 2 {
		r.t.Errorf("the other hub has %v, and should have the cluster alone", made)
	}
	if after := r.site.Hardware().Writes(); !maps.Equal(writes, after) {
		r.t.Errorf("disks were written so often: %v, and now %v", writes, after)
	}
}

// serviceObjects are the objects by which the service knows the cluster.
func (r *rig) serviceObjects() []string {
	r.t.Helper()
	if r.overREST {
		return r.records()
	}
	var found []string
	for kind, version := range map[string]string{
		"ClusterDeployment": "hive.openshift.io/v1", "AgentClusterInstall": "extensions.hive.openshift.io/v1beta1",
		"InfraEnv": "agent-install.openshift.io/v1beta1", "Agent": "agent-install.openshift.io/v1beta1",
	} {
		list := &unstructured.UnstructuredList{}
		list.SetAPIVersion(version)
		list.SetKind(kind + "List")
		must.Do(r.t, r.client.List(r.t.Context(), list, client.InNamespace(r.namespace)))
		for i := range list.Items {
			found = append(found, kind+" "+list.Items[i].GetName())
		}
	}
	slices.Sort(found)
	return found
}

// records are what the service itself knows.
func (r *rig) records() []string {
	r.t.Helper()
	service := r.service()
	defer service.Close()
	clusters, failed := service.ListClusters(r.t.Context())
	envs, err := service.ListInfraEnvs(r.t.Context(), "")
	failed = errors.Join(failed, err)
	var found []string
	for i := range clusters {
		found = append(found, "cluster "+clusters[i].ID)
	}
	for i := range envs {
		found = append(found, "InfraEnv "+envs[i].ID)
		hosts, err := service.ListHosts(r.t.Context(), envs[i].ID)
		failed = errors.Join(failed, err)
		for j := range hosts {
			found = append(found, "host "+hosts[j].ID)
		}
	}
	if failed != nil {
		r.t.Fatal(failed)
	}
	slices.Sort(found)
	return found
}

// delete deletes the Cluster.
func (r *rig) delete() {
	r.t.Helper()
	cluster := &clusterv1.Cluster{}
	r.get("lab", cluster)
	must.Do(r.t, r.client.Delete(r.t.Context(), cluster))
	r.until("the Cluster is gone", aWhile, func() (bool, string) {
		now := &clusterv1.Cluster{}
		if !r.get("lab", now) {
			return true, ""
		}
		return false, conditions.GetMessage(now, clusterv1.ClusterDeletingCondition)
	})
}

// checkGone says what of the cluster is left on the hub.
func (r *rig) checkGone() {
	r.t.Helper()
	if left := r.serviceObjects(); len(left) > 0 {
		r.t.Errorf("left are %v", left)
	}
}
