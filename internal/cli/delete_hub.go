package cli

import (
	"context"
	"errors"
	"fmt"

	"github.com/oaictl/oaictl/internal/cli/document"
	"github.com/oaictl/oaictl/pkg/install/manifest"
)

// orphanCluster lets go of a cluster's objects.
func (o *changeOptions) orphanCluster(ctx context.Context) error {
	service, err := o.dial(ctx)
	if err != nil {
		return err
	}
	seen, err := o.find(ctx, service, o.target)
	if err != nil {
		return err
	}
	hub, able := service.(releaser)
	if !able {
		return usagef("--orphan goes with --backend %s", backendHub)
	}
	if err := o.confirm(fmt.Sprintf("let go of the objects of cluster %s (%s, %s)?", seen.name(), seen.ref.ID, seen.ref.Status)); err != nil {
		return err
	}
	if err := hub.ReleaseCluster(ctx, seen.ref.ID); err != nil {
		return err
	}
	return o.changed(document.Changed{Kind: "cluster", Name: seen.ref.Name, ID: seen.ref.ID, Done: "let go"})
}

// deleteGone sees to what is left of a file's cluster that is not there any more:
// images in drives, and on a hub objects that an earlier deletion did not get to.
func (o *changeOptions) deleteGone(ctx context.Context, service remote, gone error) error {
	if o.globals.Backend != backendHub {
		return o.ejectOfGone(ctx, gone)
	}
	cluster, err := o.load(ctx, o.File)
	if err != nil {
		return err
	}
	namespace := firstOf(o.globals.kube.scope(), manifest.NamespaceOf(cluster))
	id := namespace + "/" + cluster.Metadata.Name
	if err := o.confirm(fmt.Sprintf("the hub has no cluster %s any more; delete what may be left of its objects?", id)); err != nil {
		return err
	}
	if err := service.DeleteCluster(ctx, id); err != nil {
		return err
	}
	if err := o.ejectOfGone(ctx, gone); err != nil && !errors.Is(err, gone) {
		return err
	}
	return o.changed(document.Changed{Kind: "cluster", Name: cluster.Metadata.Name, ID: id, Done: "gone, with what was left of it"})
}
