package base

import (
	"context"

	"github.com/oaictl/oaictl/pkg/install"
	"github.com/oaictl/oaictl/pkg/install/hub"
	"github.com/oaictl/oaictl/pkg/install/rest"
)

// hubRemote is a hub, whose events and manifests have types of their own.
type hubRemote struct{ *hub.Plane }

var (
	_ Remote       = hubRemote{}
	_ Releaser     = hubRemote{}
	_ LeftFinder   = hubRemote{}
	_ PoolReturner = hubRemote{}
	_ NodeTaker    = hubRemote{}
)

// Releaser lets a cluster go without deleting anything. Only a hub keeps what can
// be let go of: objects that others may own.
type Releaser interface {
	ReleaseCluster(ctx context.Context, clusterID string) error
}

// LeftFinder finds what a deletion that was broken off has left of a cluster. A REST
// service deletes a cluster at once, or not.
type LeftFinder interface {
	ClusterLeft(ctx context.Context, text string) (install.ClusterRef, error)
}

// PoolReturner gives the machines of a cluster back to a pool. Only a hub boots nodes into
// the discovery image.
type PoolReturner interface {
	ReturnCluster(ctx context.Context, clusterID string) error
}

// NodeTaker takes nodes out of clusters. Only a hub speaks to those that it installed.
type NodeTaker interface {
	RemoveHost(ctx context.Context, infraEnvID, hostID string) error
}

// Events is a page of the service's event log.
func (h hubRemote) Events(ctx context.Context, filter rest.EventFilter, offset int) (rest.EventPage, error) {
	if filter.HostID != "" && filter.InfraEnvID == "" {
		env, err := h.infraEnvOfHost(ctx, filter.HostID)
		if err != nil {
			return rest.EventPage{}, err
		}
		filter.InfraEnvID = env
	}
	page, err := h.Plane.Events(ctx, hub.EventFilter(filter), offset)
	if err != nil {
		return rest.EventPage{}, err
	}
	out := rest.EventPage{Total: page.Total, Events: make([]rest.Event, 0, len(page.Events))}
	for _, event := range page.Events {
		out.Events = append(out.Events, rest.Event(event))
	}
	return out, nil
}

// infraEnvOfHost is where a host's Agent stands, which a hub has to be told.
func (h hubRemote) infraEnvOfHost(ctx context.Context, id string) (string, error) {
	hosts, err := AllHosts(ctx, h)
	if err != nil {
		return "", err
	}
	host, err := pickHost(hosts, id)
	return host.InfraEnvID, err
}

// Manifests lists a cluster's extra manifests.
func (h hubRemote) Manifests(ctx context.Context, clusterID string, system bool) ([]rest.Manifest, error) {
	if system {
		return nil, &install.Fault{
			Code: install.CodeUsage, Op: "list the service's own manifests of", On: clusterID, Permanent: true,
			Err: errOwnManifests, Next: "leave --system out, or ask the REST service behind the hub (--backend rest --service-url URL)",
		}
	}
	list, err := h.Plane.Manifests(ctx, clusterID, system)
	if err != nil {
		return nil, err
	}
	out := make([]rest.Manifest, 0, len(list))
	for _, m := range list {
		out = append(out, rest.Manifest(m))
	}
	return out, nil
}
