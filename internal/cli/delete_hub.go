package cli

import (
	"cmp"
	"context"
	"errors"
	"fmt"

	"github.com/oaictl/oaictl/internal/cli/document"
	"github.com/oaictl/oaictl/pkg/install"
	"github.com/oaictl/oaictl/pkg/install/hub"
	"github.com/oaictl/oaictl/pkg/install/render"
	"github.com/oaictl/oaictl/pkg/install/spec"
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
	lets, able := service.(releaser)
	if !able {
		return usagef("--orphan goes with --backend %s", backendHub)
	}
	if err := o.confirm(fmt.Sprintf("let go of the objects of cluster %s (%s, %s)?", seen.name(), seen.ref.ID, seen.ref.Status)); err != nil {
		return err
	}
	if err := lets.ReleaseCluster(ctx, seen.ref.ID); err != nil {
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
	return o.changed(document.Changed{Kind: "cluster", Name: cluster.Metadata.Name, ID: id, Done: "gone, with what was left of it"})
}

// idOnHub is the id of a file's cluster on a hub.
func (o *changeOptions) idOnHub(cluster *spec.Cluster) string {
	return cmp.Or(o.globals.kube.scope(), render.NamespaceOf(cluster)) + "/" + cluster.Metadata.Name
}

// withNotes has a hub tell what a deletion waits for and what it leaves.
func (o *changeOptions) withNotes(ctx context.Context) context.Context {
	return hub.WithNotes(ctx, func(text string) { o.say("%s", text) })
}

// telling is withNotes for a cluster, on a hub.
func (o *changeOptions) telling(ctx context.Context, id string) context.Context {
	if o.globals.Backend != backendHub {
		return ctx
	}
	o.say("Waiting for the hub's controllers to let go of the objects of %s.", id)
	return o.withNotes(ctx)
}

// lookToDelete is look for a cluster that is to be deleted. On a hub that is also one
// whose deletion was broken off, of which no observation shows enough any more, and
// none that oaictl did not make.
func (o *changeOptions) lookToDelete(ctx context.Context, service remote) (*observation, error) {
	seen, err := o.look(ctx, service, o.target)
	rest, able := service.(leftFinder)
	switch {
	case o.globals.Backend != backendHub:
		return seen, err
	case err == nil:
		return seen, hub.MayDelete(seen.ref)
	case !able || !errors.Is(err, hub.ErrDeleting) && install.CodeOf(err) != install.CodeNotFound:
		return nil, err
	}
	left, name := &observation{observed: &install.Observed{At: o.clock.Now()}}, o.Name
	if o.File != "" {
		if errors.Is(err, errGone) {
			return nil, err // the file says what there may be left of it
		}
		cluster, unread := o.load(ctx, o.File)
		if unread != nil {
			return nil, unread
		}
		left.spec, name = cluster, o.idOnHub(cluster)
	}
	ref, notFound := rest.ClusterLeft(ctx, name)
	if notFound != nil {
		return nil, err
	}
	left.ref = ref
	return left, hub.MayDelete(ref)
}
