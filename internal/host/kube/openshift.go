package kube

import (
	"context"
	"fmt"
	"slices"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

type kind = schema.GroupVersionResource

const (
	configAPI  = "config.openshift.io"
	machineAPI = "machine.openshift.io"
	metal3     = "metal3.io"
	mco        = "machineconfiguration.openshift.io"
	olm        = "operators.coreos.com"

	// MachineSpace is the namespace of Machines and BareMetalHosts.
	MachineSpace = "openshift-machine-api"
)

func operators() kind      { return of(configAPI, "v1", "clusteroperators") }
func installPlans() kind   { return of(olm, "v1alpha1", "installplans") }
func bareMetalHosts() kind { return of(metal3, "v1alpha1", "baremetalhosts") }
func pools() kind          { return of(mco, "v1", "machineconfigpools") }

// ClusterOperators are all ClusterOperators.
func (c *Client) ClusterOperators(ctx context.Context) ([]ClusterOperator, error) {
	return list[ClusterOperator](ctx, c, operators(), "", metav1.ListOptions{})
}

// ClusterOperator is one of them.
func (c *Client) ClusterOperator(ctx context.Context, name string) (ClusterOperator, error) {
	return get[ClusterOperator](ctx, c, operators(), "", name)
}

// ClusterVersion is the only ClusterVersion.
func (c *Client) ClusterVersion(ctx context.Context) (ClusterVersion, error) {
	return get[ClusterVersion](ctx, c, of(configAPI, "v1", "clusterversions"), "", "version")
}

// HasCapability reports whether a capability is on. One that the cluster does not know is.
func (v *ClusterVersion) HasCapability(name string) bool {
	return slices.Contains(v.Status.Capabilities.Enabled, name) || !slices.Contains(v.Status.Capabilities.Known, name)
}

// Proxy is the proxy of the cluster, as it is in effect.
func (c *Client) Proxy(ctx context.Context) (Proxy, error) {
	object, err := get[struct {
		Status Proxy `json:"status"`
	}](ctx, c, of(configAPI, "v1", "proxies"), "", "cluster")
	return object.Status, err
}

// CurrentServiceVersion is the ClusterServiceVersion that a Subscription is at. It is an error if there is none yet.
func (c *Client) CurrentServiceVersion(ctx context.Context, space, subscription string) (ServiceVersion, error) {
	object, err := get[struct {
		Status struct {
			Current string `json:"currentCSV"`
		} `json:"status"`
	}](ctx, c, of(olm, "v1alpha1", "subscriptions"), space, subscription)
	if err != nil {
		return ServiceVersion{}, err
	}
	if object.Status.Current == "" {
		return ServiceVersion{}, fmt.Errorf("the Subscription %s/%s has no status.currentCSV yet", space, subscription)
	}
	return get[ServiceVersion](ctx, c, of(olm, "v1alpha1", "clusterserviceversions"), space, object.Status.Current)
}

// InstallPlans are the InstallPlans of a namespace.
func (c *Client) InstallPlans(ctx context.Context, space string) ([]InstallPlan, error) {
	return list[InstallPlan](ctx, c, installPlans(), space, metav1.ListOptions{})
}

// DeleteInstallPlan deletes an InstallPlan. It is no error if there is none.
func (c *Client) DeleteInstallPlan(ctx context.Context, space, name string) error {
	return c.remove(ctx, installPlans(), space, name)
}

// BareMetalHosts are those of the Machine API.
func (c *Client) BareMetalHosts(ctx context.Context) ([]BareMetalHost, error) {
	return list[BareMetalHost](ctx, c, bareMetalHosts(), MachineSpace, metav1.ListOptions{})
}

// BareMetalHost is one of them.
func (c *Client) BareMetalHost(ctx context.Context, name string) (BareMetalHost, error) {
	return get[BareMetalHost](ctx, c, bareMetalHosts(), MachineSpace, name)
}

// PatchBareMetalHost changes a BareMetalHost by a merge patch. The part is "" or status.
func (c *Client) PatchBareMetalHost(ctx context.Context, name string, change map[string]any, part string) error {
	if part == "" {
		return c.patch(ctx, bareMetalHosts(), MachineSpace, name, change)
	}
	return c.patch(ctx, bareMetalHosts(), MachineSpace, name, change, part)
}

// HasProvisioning reports whether the cluster provisions machines itself.
func (c *Client) HasProvisioning(ctx context.Context) (bool, error) {
	_, err := get[struct{}](ctx, c, of(metal3, "v1alpha1", "provisionings"), "", "provisioning-configuration")
	if NotFound(err) {
		return false, nil
	}
	return err == nil, err
}

// Machines are those of the Machine API.
func (c *Client) Machines(ctx context.Context) ([]Machine, error) {
	return list[Machine](ctx, c, of(machineAPI, "v1beta1", "machines"), MachineSpace, metav1.ListOptions{})
}

// MachineConfig is a MachineConfig.
func (c *Client) MachineConfig(ctx context.Context, name string) (MachineConfig, error) {
	return get[MachineConfig](ctx, c, of(mco, "v1", "machineconfigs"), "", name)
}

// PausePool pauses a MachineConfigPool, or resumes it. A pool that is as wanted is not changed.
func (c *Client) PausePool(ctx context.Context, name string, paused bool) error {
	pool, err := get[MachineConfigPool](ctx, c, pools(), "", name)
	if err != nil || pool.Spec.Paused == paused {
		return err
	}
	return c.patch(ctx, pools(), "", name, map[string]any{"spec": map[string]any{"paused": paused}})
}
