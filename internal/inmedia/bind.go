package inmedia

import (
	"context"
	"fmt"
	"slices"

	"github.com/oaictl/oaictl/internal/model"
	"github.com/oaictl/oaictl/pkg/install"
)

// boundable is the service's word for the one state in which it binds a host.
const boundable = "known-unbound"

// unbound are the hosts that belong to no cluster: their InfraEnv was registered
// before the cluster was.
func unbound(hosts []install.Host) []install.Host {
	var found []install.Host
	for _, host := range hosts {
		if host.State == model.HostUnbound {
			found = append(found, host)
		}
	}
	return found
}

// bindHosts binds the medium's hosts that belong to no cluster to the one there is,
// each as soon as the service takes it, and says what of that is waited for;
// otherwise where nothing is.
func (c *Client) bindHosts(ctx context.Context, cluster *install.Cluster, otherwise wait) (wait, error) {
	infraEnv, err := c.infraEnv(ctx)
	if err != nil || infraEnv == nil || infraEnv.ClusterID != "" {
		return otherwise, err
	}
	hosts, err := c.Service.ListHosts(ctx, infraEnv.ID)
	if err != nil {
		return otherwise, err
	}
	waiting := unbound(hosts)
	if len(waiting) == 0 {
		return otherwise, nil
	}
	for _, host := range waiting {
		if host.Status != boundable {
			continue
		}
		c.Say("binding host %s to cluster %s", host.Hostname, cluster.Name)
		if err := c.Service.BindHost(ctx, infraEnv.ID, host.ID, cluster.ID); err != nil {
			return otherwise, err
		}
	}
	on := wait{what: fmt.Sprintf("%s without a cluster to be bound to %s", count(len(waiting), "host"), cluster.Name), code: install.CodeTimeout}
	if i := slices.IndexFunc(waiting, func(h install.Host) bool { return h.Status != boundable && h.Inventory.Known }); i >= 0 {
		on.what += fmt.Sprintf("; %s is %s: %s", waiting[i].Hostname, waiting[i].Status, waiting[i].StatusInfo)
		on.code, on.next = install.CodeBlocked, "{agent status}"
	}
	return on, nil
}

func count(n int, word string) string {
	if n != 1 {
		word += "s"
	}
	return fmt.Sprintf("%d %s", n, word)
}
