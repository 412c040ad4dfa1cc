package kube

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/oaictl/oaictl/internal/hubapi"
	"github.com/oaictl/oaictl/pkg/install"
)

// Served is what a hub has of what oaictl knows how to use, as "resource.group".
type Served map[string]bool

// Has says whether the hub serves a kind.
func (s Served) Has(k Kind) bool { return s[k.GroupResource().String()] }

// Connect asks, once, what the hub serves. A hub that lacks what an install
// needs is a fault that names it.
func (c *Client) Connect(ctx context.Context) (Served, error) {
	c.connecting.Lock()
	defer c.connecting.Unlock()
	c.mu.Lock()
	have := c.have
	c.mu.Unlock()
	if have != nil {
		return have, nil
	}
	have = Served{}
	for _, version := range []string{
		hubapi.GroupHive + "/" + hubapi.VersionHive, hubapi.GroupHiveExtension + "/" + hubapi.VersionHiveExtension,
		hubapi.GroupAgentInstall + "/" + hubapi.VersionAgentInstall, hubapi.GroupMetal3 + "/" + hubapi.VersionMetal3,
	} {
		names, err := c.resourcesOf(ctx, version)
		if err != nil {
			return nil, err
		}
		group, _, _ := strings.Cut(version, "/")
		for _, name := range names {
			have[name+"."+group] = true
		}
	}
	var missing []string
	for _, k := range Required() {
		if !have.Has(k) {
			missing = append(missing, k.GroupResource().String())
		}
	}
	if len(missing) > 0 {
		return nil, &install.Fault{
			Code: install.CodeFailure, Op: "use the hub", On: c.Host, Permanent: true,
			Err:  fmt.Errorf("it does not serve %s: either this is another cluster, or the assisted-service's operator is not installed", strings.Join(missing, ", ")),
			Next: "check --kubeconfig and --context; on a hub, install the multicluster engine (or the infrastructure operator) and create an AgentServiceConfig",
		}
	}
	c.mu.Lock()
	c.have = have
	c.mu.Unlock()
	return have, nil
}

// resourcesOf are the names of what is served under a group's version, none
// where the API server does not know it.
func (c *Client) resourcesOf(ctx context.Context, groupVersion string) ([]string, error) {
	ctx, cancel := WithTimeout(ctx)
	defer cancel()
	data, err := c.Raw.Get().AbsPath("/apis/" + groupVersion).Do(ctx).Raw()
	if apierrors.IsNotFound(err) {
		return nil, nil
	}
	if err != nil {
		return nil, c.Fault(Attempt{Op: "ask the hub for " + groupVersion}, err)
	}
	var list metav1.APIResourceList
	if err := json.Unmarshal(data, &list); err != nil {
		return nil, &install.Fault{
			Code: install.CodeFailure, Op: "use the hub", On: c.Host, Permanent: true,
			Err: errors.New("what answers there is no Kubernetes API server"), Next: "check --kubeconfig and --context",
		}
	}
	var names []string
	for _, r := range list.APIResources {
		if !slices.Contains(names, r.Name) {
			names = append(names, r.Name)
		}
	}
	return names, nil
}
