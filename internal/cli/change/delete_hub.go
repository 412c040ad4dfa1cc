package change

import (
	"context"
	"errors"
	"fmt"

	"github.com/oaictl/oaictl/internal/cli/base"
	"github.com/oaictl/oaictl/internal/cli/document"
	"github.com/oaictl/oaictl/pkg/install"
)

// orphanCluster lets go of a cluster's objects.
func (o *changeOptions) orphanCluster(ctx context.Context) error {
	service, seen, err := base.DialFor(ctx, o.App, o.Target, o.FindCluster)
	if err != nil {
		return err
	}
	if err := o.confirm(fmt.Sprintf("let go of the objects of cluster %s (%s, %s)?", seen.FullName(), seen.Ref.ID, seen.Ref.Status)); err != nil {
		return err
	}
	if err := service.ReleaseCluster(ctx, seen.Ref.ID); err != nil {
		return err
	}
	return o.Changed(document.Changed{Kind: "cluster", Name: seen.Ref.Name, ID: seen.Ref.ID, Done: "let go"})
}

// deleteGone sees to what is left of a file's cluster that is not there any more:
// images in drives, and on a hub objects that an earlier deletion did not get to.
func (o *changeOptions) deleteGone(ctx context.Context, service *install.Client, gone error) error {
	if o.Globals.Backend != base.BackendHub {
		return o.ejectOfGone(ctx, gone)
	}
	cluster, err := o.Load(ctx, o.File)
	if err != nil {
		return err
	}
	id := o.IDOnHub(cluster)
	if err := o.confirm(fmt.Sprintf("the hub has no cluster %s any more; delete what may be left of its objects?", id)); err != nil {
		return err
	}
	if err := service.DeleteCluster(ctx, id, o.telling(id)); err != nil {
		return err
	}
	if err := o.ejectOfGone(ctx, gone); err != nil && !errors.Is(err, gone) {
		return err
	}
	return o.Changed(document.Changed{Kind: "cluster", Name: cluster.Metadata.Name, ID: id, Done: "gone, with what was left of it"})
}

// deletion is what else is done about what is deleted, and told of it.
func (o *changeOptions) deletion() install.DeleteOptions {
	return install.DeleteOptions{ReturnToPool: o.ReturnToPool, RemoveNode: o.RemoveNode, Tell: func(text string) { o.Say("%s", text) }}
}

// telling is deletion of a cluster, whose objects a hub lets go of one by one.
func (o *changeOptions) telling(id string) install.DeleteOptions {
	if o.Globals.Backend == base.BackendHub {
		o.Say("Waiting for the hub's controllers to let go of the objects of %s.", id)
	}
	return o.deletion()
}
