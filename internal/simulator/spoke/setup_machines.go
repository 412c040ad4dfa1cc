package spoke

import (
	"context"
	"fmt"
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// Labels, annotations and finalizers of the Machine API.
const (
	machinePrefix     = "machine.openshift.io/"
	labelMachineSet   = machinePrefix + "cluster-api-machineset"
	labelMachineRole  = machinePrefix + "cluster-api-machine-role"
	machineOfNode     = machinePrefix + "machine" // on a Node: the Machine's namespace and name
	deleteFirst       = machinePrefix + "delete-machine"
	keepPods          = machinePrefix + "exclude-node-draining"
	machineFinalizer  = "machine.machine.openshift.io"
	hostFinalizer     = "baremetalhost.metal3.io"
	hostOfMachine     = "metal3.io/BareMetalHost" // on a Machine: the host's namespace and name
	scaleByHosts      = "metal3.io/autoscale-to-hosts"
	quorumHook        = "EtcdQuorumOperator"
	quorumHookOwner   = "clusteroperator/etcd"
	externally        = "externally provisioned"
	phaseRunning      = "Running"
	phaseProvisioned  = "Provisioned"
	phaseProvisioning = "Provisioning"
	phaseDeleting     = "Deleting"
	phaseFailed       = "Failed"
)

// setUpMachines makes what the Machine API keeps, on a cluster that has it: a Machine and
// a BareMetalHost for each node, and the workers' MachineSet.
func (s *Spoke) setUpMachines(ctx context.Context) error {
	if !s.cluster.MachineAPI {
		return nil
	}
	set := s.machineSet()
	if err := s.apply(ctx, set); err != nil {
		return err
	}
	made, err := s.objectsOf(kindMachineSet, nsMachineAPI).Get(ctx, set.name, metav1.GetOptions{})
	if err != nil {
		return fmt.Errorf("read MachineSet %s: %w", set.name, err)
	}
	owner := fields{
		"apiVersion": kindMachineSet.apiVersion(), "kind": kindMachineSet.name, "name": set.name, "uid": string(made.GetUID()),
		"controller": true, "blockOwnerDeletion": true,
	}
	for i := range s.cluster.ControlPlane {
		name := fmt.Sprintf("%s-master-%d", s.cluster.infraName(), i)
		if err := s.setUpMachine(ctx, s.cluster.ControlPlane[i], name, nil); err != nil {
			return err
		}
	}
	for i := range s.cluster.Workers {
		name := set.name + "-" + digest(s.cluster.Workers[i].Name)[:5]
		if err := s.setUpMachine(ctx, s.cluster.Workers[i], name, owner); err != nil {
			return err
		}
	}
	return nil
}

func (c *Cluster) machineSetName() string { return c.infraName() + "-worker-0" }

func (s *Spoke) machineSet() object {
	name := s.cluster.machineSetName()
	labels := fields{machinePrefix + "cluster-api-cluster": s.cluster.infraName(), labelMachineSet: name}
	return object{
		kind: kindMachineSet, namespace: nsMachineAPI, name: name,
		labels: map[string]string{machinePrefix + "cluster-api-cluster": s.cluster.infraName()},
		fields: fields{"spec": fields{
			"replicas": len(s.cluster.Workers), "selector": fields{"matchLabels": labels},
			"template": fields{
				"metadata": fields{"labels": s.cluster.machineLabels(worker, name)}, "spec": fields{"providerSpec": providerSpec(worker)},
			},
		}},
	}
}

func (c *Cluster) machineLabels(role, set string) map[string]string {
	labels := map[string]string{
		machinePrefix + "cluster-api-cluster": c.infraName(), labelMachineRole: role, machinePrefix + "cluster-api-machine-type": role,
	}
	if set != "" {
		labels[labelMachineSet] = set
	}
	return labels
}

func providerSpec(role string) fields {
	return fields{"value": fields{
		"apiVersion": "baremetal.cluster.k8s.io/v1alpha1", "kind": "BareMetalMachineProviderSpec",
		"customDeploy": fields{"method": "install_coreos"}, "userData": fields{"name": role + "-user-data-managed"},
	}}
}

// setUpMachine makes the Machine of a node and the host that it runs on. Those of an
// earlier cluster of the same names are taken out of the way.
func (s *Spoke) setUpMachine(ctx context.Context, n Node, name string, owner fields) error {
	node, err := s.core.CoreV1().Nodes().Get(ctx, n.Name, metav1.GetOptions{})
	if err != nil {
		return fmt.Errorf("read node %s: %w", n.Name, err)
	}
	role, set := master, ""
	spec := fields{
		"providerSpec":   providerSpec(master),
		"lifecycleHooks": fields{"preDrain": []any{fields{"name": quorumHook, "owner": quorumHookOwner}}},
	}
	if owner != nil {
		role, set = worker, s.cluster.machineSetName()
		spec = fields{"providerSpec": providerSpec(worker)}
	}
	nics := []any{}
	for _, address := range n.Addresses {
		nics = append(nics, fields{"ip": address.String(), "mac": macOf(n.Name), "name": "eth0", "model": "unknown", "speedGbps": 10})
	}
	now := metav1.NewTime(s.clock.Now())
	machine := object{
		kind: kindMachine, namespace: nsMachineAPI, name: name, labels: s.cluster.machineLabels(role, set),
		annotations: map[string]string{hostOfMachine: nsMachineAPI + "/" + n.Name, machinePrefix + "instance-state": externally},
		fields: fields{"spec": spec, "status": fields{
			"phase": phaseRunning, "lastUpdated": now, "addresses": machineAddresses(n.Name, nics),
			"nodeRef": fields{"kind": "Node", "name": n.Name, "uid": string(node.UID)},
		}},
	}
	host := object{
		kind: kindBareMetalHost, namespace: nsMachineAPI, name: n.Name,
		fields: fields{
			"spec": fields{
				"online": true, "bootMACAddress": macOf(n.Name), "externallyProvisioned": true, "automatedCleaningMode": "metadata", "bootMode": "UEFI",
				"customDeploy": fields{"method": "install_coreos"},
				"consumerRef":  fields{"apiVersion": kindMachine.apiVersion(), "kind": kindMachine.name, "namespace": nsMachineAPI, "name": name},
			},
			"status": fields{
				"errorCount": 0, "errorMessage": "", "operationalStatus": "OK", "poweredOn": true,
				"provisioning": fields{"state": externally, "ID": idOf("host " + n.Name), "image": fields{"url": ""}},
				"hardware":     fields{"hostname": n.Name, "nics": nics},
			},
		},
	}
	for _, o := range []object{host, machine} {
		if err := s.clear(ctx, o); err != nil {
			return err
		}
		if err := s.apply(ctx, o); err != nil {
			return err
		}
	}
	if err := s.own(ctx, machine, machineFinalizer, owner); err != nil {
		return err
	}
	if err := s.own(ctx, host, hostFinalizer, nil); err != nil {
		return err
	}
	return s.annotateNode(ctx, n.Name, map[string]string{machineOfNode: nsMachineAPI + "/" + name})
}

// clear deletes an object and its finalizers.
func (s *Spoke) clear(ctx context.Context, o object) error {
	all := s.objectsOf(o.kind, o.namespace)
	if err := all.Delete(ctx, o.name, metav1.DeleteOptions{}); err != nil {
		return ignoreGone(err)
	}
	return s.own(ctx, o, "", nil)
}

// own gives an object one finalizer, or none, and an owner; what is gone needs neither.
func (s *Spoke) own(ctx context.Context, o object, finalizer string, owner fields) error {
	for {
		u, err := s.objectsOf(o.kind, o.namespace).Get(ctx, o.name, metav1.GetOptions{})
		if err != nil {
			return ignoreGone(err)
		}
		u.SetFinalizers(nil)
		if finalizer != "" {
			u.SetFinalizers([]string{finalizer})
		}
		if owner != nil {
			metadata, _ := u.Object["metadata"].(fields)
			metadata["ownerReferences"] = []any{owner}
		}
		_, err = s.objectsOf(o.kind, o.namespace).Update(ctx, u, metav1.UpdateOptions{})
		if !apierrors.IsConflict(err) {
			return ignoreGone(err)
		}
	}
}

func machineAddresses(hostname string, nics []any) []any {
	list := []any{}
	for _, entry := range nics {
		nic, _ := entry.(fields)
		list = append(list, fields{"type": "InternalIP", "address": nic["ip"]})
	}
	if hostname != "" {
		list = append(list, fields{"type": "Hostname", "address": hostname}, fields{"type": "InternalDNS", "address": hostname})
	}
	return list
}

// macOf is a network card that follows from a name, in QEMU's range.
func macOf(name string) string {
	d := digest(name)
	return strings.Join([]string{"52:54:00", d[0:2], d[2:4], d[4:6]}, ":")
}
