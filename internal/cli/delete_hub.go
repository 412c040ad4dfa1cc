package cli

import (
	"cmp"
	"context"
	"errors"
	"fmt"

	"github.com/oaictl/oaictl/internal/cli/base"
	"github.com/oaictl/oaictl/internal/cli/document"
	"github.com/oaictl/oaictl/pkg/install"
	"github.com/oaictl/oaictl/pkg/install/hub"
	"github.com/oaictl/oaictl/pkg/install/render"
	"github.com/oaictl/oaictl/pkg/install/spec"
)

// orphanCluster lets go of a cluster's objects.
func (o *changeOptions) orphanCluster(ctx context.Context) error {
	service, err := o.Dial(ctx)
	if err != nil {
		return err
	}
	seen, err := o.FindCluster(ctx, service, o.Target)
	if err != nil {
		return err
	}
	lets, able := service.(base.Releaser)
	if !able {
		return base.Usagef("--orphan goes with --backend %s", base.BackendHub)
	}
	if err := o.confirm(fmt.Sprintf("let go of the objects of cluster %s (%s, %s)?", seen.Name(), seen.Ref.ID, seen.Ref.Status)); err != nil {
		return err
	}
	if err := lets.ReleaseCluster(ctx, seen.Ref.ID); err != nil {
		return err
	}
	return o.Changed(document.Changed{Kind: "cluster", Name: seen.Ref.Name, ID: seen.Ref.ID, Done: "let go"})
}

// deleteGone sees to what is left of a file's cluster that is not there any more:
// images in drives, and on a hub objects that an earlier deletion did not get to.
func (o *changeOptions) deleteGone(ctx context.Context, service base.Remote, gone error) error {
	if o.Globals.Backend != base.BackendHub {
		return o.ejectOfGone(ctx, gone)
	}
	cluster, err := o.Load(ctx, o.File)
	if err != nil {
		return err
	}
	id := o.idOnHub(cluster)
	if err := o.confirm(fmt.Sprintf("the hub has no cluster %s any more; delete what may be left of its objects?", id)); err != nil {
		return err
	}
	if err := o.deleteRecord(o.telling(ctx, id), service, id); err != nil {
		return err
	}
	if err := o.ejectOfGone(ctx, gone); err != nil && !errors.Is(err, gone) {
		return err
	}
	return o.Changed(document.Changed{Kind: "cluster", Name: cluster.Metadata.Name, ID: id, Done: "gone, with what was left of it"})
}

// idOnHub is the id of a file's cluster on a hub.
func (o *changeOptions) idOnHub(cluster *spec.Cluster) string {
	return cmp.Or(o.Globals.Kube.Scope(), render.NamespaceOf(cluster)) + "/" + cluster.Metadata.Name
}

// withNotes has a hub tell what a deletion waits for and what it leaves.
func (o *changeOptions) withNotes(ctx context.Context) context.Context {
	return hub.WithNotes(ctx, func(text string) { o.Say("%s", text) })
}

// telling is withNotes for a cluster, on a hub.
func (o *changeOptions) telling(ctx context.Context, id string) context.Context {
	if o.Globals.Backend != base.BackendHub {
		return ctx
	}
	o.Say("Waiting for the hub's controllers to let go of the objects of %s.", id)
	return o.withNotes(ctx)
}

// lookToDelete is look for a cluster that is to be deleted. On a hub that is also one
// whose deletion was broken off, of which no observation shows enough any more, and
// none that oaictl did not make.
func (o *changeOptions) lookToDelete(ctx context.Context, service base.Remote) (*base.Observation, error) {
	seen, err := o.ObserveCluster(ctx, service, o.Target)
	rest, able := service.(base.LeftFinder)
	switch {
	case o.Globals.Backend != base.BackendHub:
		return seen, err
	case err == nil:
		return seen, hub.MayDelete(seen.Ref)
	case !able || !errors.Is(err, hub.ErrDeleting) && install.CodeOf(err) != install.CodeNotFound:
		return nil, err
	}
	left, name := &base.Observation{Observed: &install.Observed{At: o.Clock.Now()}}, o.Name
	if o.File != "" {
		if errors.Is(err, base.ErrGone) {
			return nil, err // the file says what there may be left of it
		}
		cluster, unread := o.Load(ctx, o.File)
		if unread != nil {
			return nil, unread
		}
		left.Spec, name = cluster, o.idOnHub(cluster)
	}
	ref, notFound := rest.ClusterLeft(ctx, name)
	if notFound != nil {
		return nil, err
	}
	left.Ref = ref
	return left, hub.MayDelete(ref)
}
