package node

import (
	"cmp"
	"context"
	"fmt"
	"net/netip"
	"slices"
	"strings"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/oaictl/oaictl/pkg/install/model"
)

// The kinds of OpenShift that are looked at now and then. A cluster need not have them.
var (
	clusterVersions  = schema.GroupVersionResource{Group: "config.openshift.io", Version: "v1", Resource: "clusterversions"}
	clusterOperators = schema.GroupVersionResource{Group: "config.openshift.io", Version: "v1", Resource: "clusteroperators"}
	infrastructures  = schema.GroupVersionResource{Group: "config.openshift.io", Version: "v1", Resource: "infrastructures"}
	networks         = schema.GroupVersionResource{Group: "config.openshift.io", Version: "v1", Resource: "networks"}
	machineConfigs   = schema.GroupVersionResource{Group: "machineconfiguration.openshift.io", Version: "v1", Resource: "machineconfigs"}
	pools            = schema.GroupVersionResource{Group: "machineconfiguration.openshift.io", Version: "v1", Resource: "machineconfigpools"}
)

// platform is what hardly changes of a cluster.
type platform struct {
	api      string
	vips     []netip.Addr
	networks []netip.Prefix
	server   model.ConfigServer
}

func (p *platform) spoke() *model.Spoke {
	return &model.Spoke{API: p.api, VIPs: p.vips, Networks: p.networks, ConfigServer: p.server}
}

// polls is what changes now and then.
type polls struct {
	id, version string
	machineAPI  bool
	pools       []model.Pool
	operators   []model.ClusterOperator
	machines    []model.Machine
	sets        []model.MachineSet
	hosts       []model.BareMetalHost
}

// poll reads what is not watched, where it is not fresh any more.
func (c *connection) poll(ctx context.Context, fresh time.Duration) error {
	now := c.clock.Now()
	if !c.polled.IsZero() && now.Sub(c.polled) < fresh {
		return nil
	}
	ctx, cancel := context.WithTimeout(withoutLogging(ctx), callTimeout)
	defer cancel()
	if c.rarely.IsZero() || now.Sub(c.rarely) >= rarelyFor {
		if err := c.readPlatform(ctx); err != nil {
			return err
		}
		c.rarely = now
	}
	next, err := c.readPolls(ctx)
	if err != nil {
		return err
	}
	c.polls, c.polled = next, now
	return nil
}

func (c *connection) readPlatform(ctx context.Context) error {
	infrastructure, err := c.object(ctx, infrastructures, "cluster")
	if err != nil {
		return err
	}
	network, err := c.object(ctx, networks, "cluster")
	if err != nil {
		return err
	}
	var p platform
	p.api, _, _ = unstructured.NestedString(infrastructure, "status", "apiServerURL")
	status, _, _ := unstructured.NestedMap(infrastructure, "status", "platformStatus")
	for kind := range status { // baremetal, vsphere, nutanix, …: all spell it alike
		for _, field := range []string{"apiServerInternalIPs", "ingressIPs"} {
			texts, _, _ := unstructured.NestedStringSlice(status, kind, field)
			for _, text := range texts {
				if address, err := netip.ParseAddr(text); err == nil {
					p.vips = append(p.vips, address.Unmap())
				}
			}
		}
	}
	for _, field := range []string{"status", "spec"} {
		clusterNetwork, _, _ := unstructured.NestedSlice(network, field, "clusterNetwork")
		for _, entry := range clusterNetwork {
			if fields, is := entry.(map[string]any); is {
				cidr, _, _ := unstructured.NestedString(fields, "cidr")
				p.addNetwork(cidr)
			}
		}
		serviceNetwork, _, _ := unstructured.NestedStringSlice(network, field, "serviceNetwork")
		for _, cidr := range serviceNetwork {
			p.addNetwork(cidr)
		}
	}
	if p.server, err = c.readConfigServer(ctx, infrastructure); err != nil {
		return err
	}
	c.platform = p
	return nil
}

func (p *platform) addNetwork(cidr string) {
	if prefix, err := netip.ParsePrefix(cidr); err == nil && !slices.Contains(p.networks, prefix.Masked()) {
		p.networks = append(p.networks, prefix.Masked())
	}
}

func (c *connection) readPolls(ctx context.Context) (polls, error) {
	var p polls
	version, err := c.object(ctx, clusterVersions, "version")
	if err != nil {
		return p, err
	}
	p.id, _, _ = unstructured.NestedString(version, "spec", "clusterID")
	p.version = currentVersion(version)
	capabilities, _, _ := unstructured.NestedStringSlice(version, "status", "capabilities", "enabledCapabilities")
	p.machineAPI = slices.Contains(capabilities, "MachineAPI")
	all, err := c.list(ctx, pools)
	if err != nil {
		return p, err
	}
	for i := range all {
		p.pools = append(p.pools, readPool(&all[i]))
	}
	if err = c.readEncryption(ctx, p.pools); err != nil {
		return p, err
	}
	if all, err = c.list(ctx, clusterOperators); err != nil {
		return p, err
	}
	for i := range all {
		p.operators = append(p.operators, readOperator(&all[i]))
	}
	if p.machineAPI {
		err = c.readMachines(ctx, &p)
	}
	return p, err
}

// currentVersion is the release that the cluster has been brought to last: an update that is
// under way does not count yet.
func currentVersion(version map[string]any) string {
	history, _, _ := unstructured.NestedSlice(version, "status", "history")
	for _, entry := range history { // newest first
		if fields, is := entry.(map[string]any); is && fields["state"] == "Completed" {
			text, _ := fields["version"].(string)
			return text
		}
	}
	text, _, _ := unstructured.NestedString(version, "status", "desired", "version")
	return text
}

func readPool(u *unstructured.Unstructured) model.Pool {
	p := model.Pool{Name: u.GetName()}
	p.Paused, _, _ = unstructured.NestedBool(u.Object, "spec", "paused")
	p.Config, _, _ = unstructured.NestedString(u.Object, "spec", "configuration", "name")
	p.Served, _, _ = unstructured.NestedString(u.Object, "status", "configuration", "name")
	p.Machines, _, _ = unstructured.NestedInt64(u.Object, "status", "machineCount")
	p.Updated, _, _ = unstructured.NestedInt64(u.Object, "status", "updatedMachineCount")
	if p.Updated > 0 || p.Served == "" {
		p.Served = p.Config
	}
	p.Labels, _, _ = unstructured.NestedStringMap(u.Object, "spec", "nodeSelector", "matchLabels")
	for kind, c := range conditions(u) {
		switch {
		case c.status != "True":
		case kind == "Degraded":
			p.Degraded, p.Message = true, c.message
		case kind == "Updating":
			p.Updating = true
		}
	}
	return p
}

func readOperator(u *unstructured.Unstructured) model.ClusterOperator {
	found := conditions(u)
	o := model.ClusterOperator{Name: u.GetName(), Available: found["Available"].status == "True", Degraded: found["Degraded"].status == "True"}
	switch {
	case o.Degraded:
		o.Message = found["Degraded"].message
	case !o.Available:
		o.Message = found["Available"].message
	}
	return o
}

type condition struct{ status, message string }

// conditions are those of an object, by type. A message that says nothing has its reason instead.
func conditions(u *unstructured.Unstructured) map[string]condition {
	list, _, _ := unstructured.NestedSlice(u.Object, "status", "conditions")
	out := make(map[string]condition, len(list))
	for _, entry := range list {
		fields, _ := entry.(map[string]any)
		text := func(name string) string { s, _ := fields[name].(string); return s }
		out[text("type")] = condition{text("status"), cmp.Or(strings.TrimSpace(text("message")), text("reason"))}
	}
	return out
}

// object is a cluster-wide object; nothing, where the cluster has no such object or kind.
func (c *connection) object(ctx context.Context, kind schema.GroupVersionResource, name string) (map[string]any, error) {
	u, err := c.Dynamic.Resource(kind).Get(ctx, name, metav1.GetOptions{})
	if apierrors.IsNotFound(err) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("read its %s: %w", kind.Resource, err)
	}
	return u.Object, nil
}

func (c *connection) list(ctx context.Context, kind schema.GroupVersionResource) ([]unstructured.Unstructured, error) {
	return c.listIn(ctx, kind, "")
}

// listIn lists a kind in one namespace; nothing, where the cluster does not have the kind.
func (c *connection) listIn(ctx context.Context, kind schema.GroupVersionResource, namespace string) ([]unstructured.Unstructured, error) {
	options := metav1.ListOptions{ResourceVersion: "0"}
	if c.exact {
		options.ResourceVersion = ""
	}
	list, err := c.Dynamic.Resource(kind).Namespace(namespace).List(ctx, options)
	if apierrors.IsNotFound(err) {
		return nil, nil
	}
	if err != nil {
		return nil, listFault(kind.Resource, err)
	}
	return list.Items, nil
}
