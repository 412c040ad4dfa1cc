package node

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"slices"
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"

	"github.com/oaictl/oaictl/pkg/install/model"
)

type fields = map[string]any

// link carries out an action by which a node of the control plane gets a Machine: the etcd operator
// takes none without. Nothing of it touches the machine: to the operators it is one that was
// installed before they saw it.
func (c *connection) link(ctx context.Context, a model.Action, observed *model.Observed) error {
	defer c.stale.Store(true)
	switch a.Kind {
	case model.CreateMetalHost:
		host := fields{
			"online": true, "externallyProvisioned": true, "automatedCleaningMode": "metadata",
			"customDeploy": fields{"method": "install_coreos"}, "userData": fields{"name": "master-user-data-managed", "namespace": machineSpace},
		}
		if a.Target != "" {
			host["bootMACAddress"] = a.Target
		}
		return c.create(ctx, bareMetalHosts, a.Name, nil, fields{"spec": host})
	case model.CreateMachine:
		return c.createMachine(ctx, a, observed)
	case model.ReportHardware:
		return c.reportHardware(ctx, a, observed)
	}
	return errors.ErrUnsupported
}

// create makes an object of the Machine API. One that is there already is a success: it was made
// in between, and is looked at next.
func (c *connection) create(ctx context.Context, kind schema.GroupVersionResource, name string, meta fields, content fields) error {
	u := &unstructured.Unstructured{Object: content}
	u.SetAPIVersion(kind.GroupVersion().String())
	u.SetKind(singular(kind))
	if meta != nil {
		u.Object["metadata"] = meta
	}
	u.SetName(name)
	u.SetNamespace(machineSpace)
	_, err := c.Dynamic.Resource(kind).Namespace(machineSpace).Create(ctx, u, metav1.CreateOptions{FieldManager: "oaictl"})
	if apierrors.IsAlreadyExists(err) {
		err = nil
	}
	return c.failed("create the "+singular(kind), name, err)
}

// createMachine makes a Machine as those of the control plane are that the cluster was installed with.
func (c *connection) createMachine(ctx context.Context, a model.Action, observed *model.Observed) error {
	all, err := c.Dynamic.Resource(machines).Namespace(machineSpace).List(ctx, metav1.ListOptions{})
	if err != nil {
		return c.failed("create the Machine", a.Name, err)
	}
	i := slices.IndexFunc(all.Items, func(m unstructured.Unstructured) bool {
		return m.GetLabels()[labelMachineRole] == "master" && m.GetDeletionTimestamp() == nil
	})
	if i < 0 {
		return c.failed("create the Machine", a.Name, errors.New("the cluster has no control plane Machine that could be its model"))
	}
	role := "master"
	if node := observed.Spoke.NodeByName(a.Node); node != nil && node.Arbiter() {
		role = "arbiter"
	}
	provider, _, _ := unstructured.NestedMap(all.Items[i].Object, "spec", "providerSpec")
	return c.create(ctx, machines, a.Name, fields{
		"labels": fields{labelMachineCluster: all.Items[i].GetLabels()[labelMachineCluster], labelMachineRole: role,
			labelMachineType: role},
		"annotations": fields{hostOfMachine: machineSpace + "/" + a.Target, instanceState: "externally provisioned"},
	}, fields{"spec": fields{"metadata": fields{}, "providerSpec": provider}})
}

// reportHardware says of a BareMetalHost what hardware it has, as its inspection would: the node's
// addresses, each with the network card that has it, as far as that is known.
func (c *connection) reportHardware(ctx context.Context, a model.Action, observed *model.Observed) error {
	node := observed.Spoke.NodeByName(a.Node)
	if node == nil {
		return c.failed("report the addresses of the BareMetalHost", a.Name, errors.New("its node is gone"))
	}
	nics := []any{}
	for _, address := range node.Addresses {
		card := cardOf(observed, a.Node, address.String())
		nic := fields{"ip": address.String(), "name": cmp.Or(card.Name, "unknown"), "model": "unknown",
			"speedGbps": 0, "vlanId": 0, "pxe": true}
		if card.MAC != "" {
			nic["mac"] = card.MAC
		}
		nics = append(nics, nic)
	}
	hardware := fields{"hostname": node.Name, "nics": nics}
	if metal := observed.Spoke.HostOfMetal(a.Name); metal == nil || len(metal.MACs)+len(metal.Addresses) == 0 { // nothing is known of it
		hardware["cpu"], hardware["firmware"], hardware["systemVendor"] = fields{}, fields{}, fields{}
		hardware["ramMebibytes"], hardware["storage"] = 0, []any{}
	}
	data, err := json.Marshal(fields{"metadata": fields{"uid": a.Target}, "status": fields{"hardware": hardware}})
	if err != nil {
		return err
	}
	_, err = c.Dynamic.Resource(bareMetalHosts).Namespace(machineSpace).Patch(ctx, a.Name, types.MergePatchType, data,
		metav1.PatchOptions{FieldManager: "oaictl"}, "status")
	return c.failed("report the addresses of the BareMetalHost", a.Name, err)
}

// cardOf is the network card of a node's host that has an address, else its first.
func cardOf(observed *model.Observed, node, address string) model.Interface {
	for i := range observed.Hosts {
		h := &observed.Hosts[i]
		if model.NodeName(h.Hostname) != node || len(h.Inventory.Interfaces) == 0 {
			continue
		}
		for _, card := range h.Inventory.Interfaces {
			if slices.ContainsFunc(card.Addresses, func(cidr string) bool { return strings.HasPrefix(cidr, address+"/") }) {
				return card
			}
		}
		return h.Inventory.Interfaces[0]
	}
	return model.Interface{}
}
