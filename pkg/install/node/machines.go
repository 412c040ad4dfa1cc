package node

import (
	"cmp"
	"context"
	"net/netip"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/oaictl/oaictl/pkg/install/model"
)

// The kinds of the Machine API, and of the machines beneath it.
var (
	machines       = schema.GroupVersionResource{Group: "machine.openshift.io", Version: "v1beta1", Resource: "machines"}
	machineSets    = schema.GroupVersionResource{Group: "machine.openshift.io", Version: "v1beta1", Resource: "machinesets"}
	bareMetalHosts = schema.GroupVersionResource{Group: "metal3.io", Version: "v1alpha1", Resource: "baremetalhosts"}
)

const (
	machineSpace = "openshift-machine-api"

	labelMachineSet     = "machine.openshift.io/cluster-api-machineset"
	labelMachineCluster = "machine.openshift.io/cluster-api-cluster"
	labelMachineType    = "machine.openshift.io/cluster-api-machine-type"
	instanceState       = "machine.openshift.io/instance-state"
	labelMachineRole    = "machine.openshift.io/cluster-api-machine-role"
	deleteMachine       = "machine.openshift.io/delete-machine"
	deleteMachineOld    = "machine.openshift.io/cluster-api-delete-machine"
	hostOfMachine       = "metal3.io/BareMetalHost"
	autoscaleToHosts    = "metal3.io/autoscale-to-hosts"
)

func (c *connection) readMachines(ctx context.Context, p *polls) error {
	all, err := c.listIn(ctx, machines, machineSpace)
	if err != nil {
		return err
	}
	for i := range all {
		p.machines = append(p.machines, readMachine(&all[i]))
	}
	if all, err = c.listIn(ctx, machineSets, machineSpace); err != nil {
		return err
	}
	for i := range all {
		p.sets = append(p.sets, readMachineSet(&all[i]))
	}
	if all, err = c.listIn(ctx, bareMetalHosts, machineSpace); err != nil {
		return err
	}
	for i := range all {
		p.hosts = append(p.hosts, readBareMetalHost(&all[i]))
	}
	return nil
}

func readMachine(u *unstructured.Unstructured) model.Machine {
	m := model.Machine{
		Name: u.GetName(), UID: string(u.GetUID()), Phase: textAt(u, "status", "phase"), Node: textAt(u, "status", "nodeRef", "name"),
		MachineSet: u.GetLabels()[labelMachineSet], ControlPlane: u.GetLabels()[labelMachineRole] == "master",
		Deleting: u.GetDeletionTimestamp() != nil,
	}
	m.ToBeDeleted = u.GetAnnotations()[deleteMachine] != "" || u.GetAnnotations()[deleteMachineOld] != ""
	m.Removes, m.Error = u.GetAnnotations()[removesNode], cmp.Or(textAt(u, "status", "errorMessage"), textAt(u, "status", "errorReason"))
	switch textAt(u, "status", "authoritativeAPI") {
	case "", "MachineAPI":
	default:
		m.Elsewhere = true
	}
	list, _, _ := unstructured.NestedSlice(u.Object, "status", "addresses")
	m.Addresses = readAddresses(list, "address")
	_, m.BareMetalHost, _ = strings.Cut(u.GetAnnotations()[hostOfMachine], "/")
	hooks, _, _ := unstructured.NestedSlice(u.Object, "spec", "lifecycleHooks", "preDrain")
	for _, entry := range hooks {
		if fields, is := entry.(map[string]any); is {
			name, _ := fields["name"].(string)
			owner, _ := fields["owner"].(string)
			m.Hooks = append(m.Hooks, name+" of "+owner)
		}
	}
	return m
}

func readMachineSet(u *unstructured.Unstructured) model.MachineSet {
	replicas, _, _ := unstructured.NestedInt64(u.Object, "spec", "replicas")
	_, follows := u.GetAnnotations()[autoscaleToHosts]
	set := model.MachineSet{
		Name: u.GetName(), UID: string(u.GetUID()), Version: u.GetResourceVersion(), Replicas: int(replicas),
		Policy: textAt(u, "spec", "deletePolicy"), FollowsHosts: follows,
	}
	if uids := u.GetAnnotations()[loweredFor]; uids != "" {
		set.Lowered = strings.Split(uids, ",")
	}
	return set
}

func readBareMetalHost(u *unstructured.Unstructured) model.BareMetalHost {
	on, _, _ := unstructured.NestedBool(u.Object, "status", "poweredOn")
	h := model.BareMetalHost{
		Name: u.GetName(), UID: string(u.GetUID()), Removes: u.GetAnnotations()[removesNode], State: textAt(u, "status", "provisioning", "state"),
		PoweredOn: on, Consumer: textAt(u, "spec", "consumerRef", "name"),
		MAC: textAt(u, "spec", "bootMACAddress"), BMC: textAt(u, "spec", "bmc", "address"), Deleting: u.GetDeletionTimestamp() != nil,
	}
	h.External, _, _ = unstructured.NestedBool(u.Object, "spec", "externallyProvisioned")
	nics, _, _ := unstructured.NestedSlice(u.Object, "status", "hardware", "nics")
	for _, entry := range nics {
		fields, _ := entry.(map[string]any)
		if mac, _ := fields["mac"].(string); mac != "" && !slices.Contains(h.MACs, mac) {
			h.MACs = append(h.MACs, mac)
		}
	}
	h.Addresses = readAddresses(nics, "ip")
	return h
}

// readAddresses are the addresses in a list of objects, which have other things beside.
func readAddresses(list []any, field string) []netip.Addr {
	var out []netip.Addr
	for _, entry := range list {
		fields, _ := entry.(map[string]any)
		text, _ := fields[field].(string)
		if address, err := netip.ParseAddr(text); err == nil {
			out = append(out, address.Unmap().WithZone(""))
		}
	}
	return out
}

// textAt is a text in an object, "" where there is none.
func textAt(u *unstructured.Unstructured, path ...string) string {
	text, _, _ := unstructured.NestedString(u.Object, path...)
	return text
}
