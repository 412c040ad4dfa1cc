// Package undo has the commands that undo something: cancel, reset and delete.
package undo

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"github.com/oaictl/oaictl/internal/cli/app"
	"github.com/oaictl/oaictl/internal/cli/output"
	"github.com/oaictl/oaictl/internal/shared/listtext"
	"github.com/oaictl/oaictl/internal/shared/statuses"
	"github.com/oaictl/oaictl/pkg/install"
	"github.com/oaictl/oaictl/pkg/install/model"
	"github.com/oaictl/oaictl/pkg/install/spec"
)

// NewDelete is `delete`.
func NewDelete(a *app.App) *cobra.Command {
	return app.Group("delete", "Delete a cluster, an InfraEnv or a host from the service",
		newDeleteCluster(a), newDeleteInfraEnv(a), newDeleteHost(a))
}

func newDeleteCluster(a *app.App) *cobra.Command {
	o := newChange(a)
	command := &cobra.Command{
		Use:     "cluster NAME|ID|-f FILE",
		Aliases: []string{"clusters"},
		Short:   "Delete a cluster, with the InfraEnvs that oaictl made for it",
		RunE: func(command *cobra.Command, given []string) error {
			if err := o.read(command, given, "cluster"); err != nil {
				return err
			}
			switch {
			case o.ReturnToPool && o.Orphan:
				return app.Usagef("--return-to-pool and --orphan cannot be used together: the first deletes the objects, the second only " +
					"releases them")
			case o.ReturnToPool && o.Globals.Backend != app.BackendHub:
				return app.Usagef("--return-to-pool needs --backend %s: a REST service does not boot machines", app.BackendHub)
			case o.Orphan && o.Globals.Backend != app.BackendHub:
				return app.Usagef("--orphan needs --backend %s: a REST service has no objects to release", app.BackendHub)
			case o.Orphan:
				return o.orphanCluster(command.Context())
			}
			return o.deleteCluster(command.Context())
		},
	}
	o.flags(command)
	command.Flags().BoolVar(&o.ReturnToPool, "return-to-pool", false,
		"boot the nodes of a cluster that runs into the discovery image again, for the pool of a hub that they came from")
	command.Flags().BoolVar(&o.Orphan, "orphan", false, "delete nothing, and release the objects on a hub")
	return command
}

func (o *changeOptions) deleteCluster(ctx context.Context) error {
	service, err := o.Dial(ctx)
	if err != nil {
		return err
	}
	// Only an observation says which InfraEnvs are the cluster's own.
	meant, err := o.ResolveTarget(ctx, o.Target)
	if err != nil {
		return err
	}
	seen, err := service.FindToDelete(ctx, meant)
	if errors.Is(err, install.ErrNoCluster) {
		return o.deleteGone(ctx, service, err)
	}
	if err != nil {
		return err
	}
	question := fmt.Sprintf("delete cluster %s (%s, %s)", seen.FullName(), seen.Ref.ID, seen.Ref.Status)
	ours, pools := o.fateOfInfraEnvs(seen)
	if len(ours) > 0 {
		question += " and InfraEnv " + strings.Join(ours, ", ")
	}
	// The service is likely to keep a cluster that is being installed, whose
	// machines then still need their images.
	installing := statuses.Cluster(seen.Ref.Status).Running()
	ofInstall := installing && o.Globals.Backend != app.BackendHub
	if text := o.fateOfNodes(seen); text != "" && (!ofInstall || !o.Yes) {
		o.Say("%s", text)
	}
	for _, text := range pools {
		o.Say("%s", text)
	}
	if err := o.confirm(question + "?"); err != nil {
		return err
	}
	if !installing {
		if err := o.ejectBeforeDelete(ctx, seen); err != nil {
			return err
		}
	}
	deleted, failed := service.Delete(ctx, seen, o.clusterDeletion(seen.Ref.ID))
	if deleted == nil {
		return failed
	}
	if ofInstall && o.Yes { // else it was said before
		o.Say("%s", o.fateOfNodes(seen))
	}
	var ejected error
	if installing {
		_, ejected = o.eject(ctx, seen)
	}
	o.ForgetImages(ctx, seen.Observed.InfraEnvs)
	done := []output.Changed{{Kind: "cluster", Name: seen.Ref.Name, ID: seen.Ref.ID, Done: "deleted"}}
	for _, env := range deleted {
		done = append(done, output.Changed{Kind: "infraenv", Name: env.Name, ID: env.ID, Done: "deleted"})
	}
	if failed != nil {
		_ = o.Changed(done...) // the error says what is left
		return failed
	}
	return errors.Join(o.Changed(done...), ejected)
}

// fateOfInfraEnvs names the InfraEnvs that are deleted with a cluster, and says of the others why they stay: a REST
// service keeps one while hosts are in its pool.
func (o *changeOptions) fateOfInfraEnvs(seen *install.Found) (gone, stay []string) {
	for _, env := range seen.OwnInfraEnvs() {
		pool := seen.Pool(env)
		if pool == 0 || o.Globals.Backend == app.BackendHub {
			gone = append(gone, env.Name)
			continue
		}
		stay = append(stay, fmt.Sprintf("InfraEnv %s is kept, with %s in its pool. The hosts of the cluster can be bound again when "+
			"they boot its discovery image.",
			env.Name, listtext.CountText(pool, "host")))
	}
	return gone, stay
}

func newDeleteInfraEnv(a *app.App) *cobra.Command {
	o := newChange(a)
	command := &cobra.Command{
		Use:     "infraenv NAME|ID",
		Aliases: []string{"infraenvs", "infra-env", "infra-envs"},
		Short:   "Delete an InfraEnv that has no hosts",
		Args:    app.OneArgument("the NAME or ID of an InfraEnv"),
		RunE: func(command *cobra.Command, given []string) error {
			o.Name = given[0]
			return o.deleteInfraEnv(command.Context())
		},
	}
	command.Flags().BoolVar(&o.Yes, "yes", false, "do not ask")
	return command
}

func (o *changeOptions) deleteInfraEnv(ctx context.Context) error {
	service, err := o.Dial(ctx)
	if err != nil {
		return err
	}
	env, err := service.InfraEnvByNameOrID(ctx, o.Name)
	if err != nil {
		return err
	}
	if err := o.confirm(fmt.Sprintf("delete InfraEnv %s (%s)?", env.Name, env.ID)); err != nil {
		return err
	}
	if err := service.RemoveInfraEnv(ctx, env, o.deletion()); err != nil {
		return err
	}
	o.ForgetImages(ctx, []model.InfraEnv{env})
	return o.Changed(output.Changed{Kind: "infraenv", Name: env.Name, ID: env.ID, Done: "deleted"})
}

func newDeleteHost(a *app.App) *cobra.Command {
	o := newChange(a)
	command := &cobra.Command{
		Use:     "host NAME|ID",
		Aliases: []string{"hosts"},
		Short:   "Delete a host's record; power the machine off first, or it comes back",
		Args:    app.OneArgument("the NAME or ID of a host"),
		RunE: func(command *cobra.Command, given []string) error {
			if err := o.Target.Read(command, given, "host"); err != nil {
				return err
			}
			if o.RemoveNode && o.Globals.Backend != app.BackendHub {
				return app.Usagef("--remove-node needs --backend %s: a REST service does not access clusters", app.BackendHub)
			}
			return o.deleteHost(command.Context())
		},
	}
	command.Flags().BoolVar(&o.Yes, "yes", false, "do not ask")
	command.Flags().BoolVar(&o.RemoveNode, "remove-node", false, "have a hub take the node out of its cluster, too")
	o.Target.Declare(command.Flags())
	o.DeclareOfHost(command.Flags())
	return command
}

func (o *changeOptions) deleteHost(ctx context.Context) error {
	service, host, err := app.DialFor(ctx, o.App, o.Target, o.FindHost)
	if err != nil {
		return err
	}
	name := host.DisplayName()
	if text := o.fateOfNode(host, name); text != "" {
		o.Say("%s", text)
	}
	if err := o.confirm(fmt.Sprintf("delete host %s (%s, %s)?", name, host.ID, host.State)); err != nil {
		return err
	}
	if err := service.DeleteHost(ctx, host.InfraEnvID, host.ID, o.deletion()); err != nil {
		return err
	}
	return o.Changed(output.Changed{Kind: "host", Name: name, ID: host.ID, Done: "deleted"})
}

func (o *changeOptions) orphanCluster(ctx context.Context) error {
	service, seen, err := app.DialFor(ctx, o.App, o.Target, o.FindCluster)
	if err != nil {
		return err
	}
	if err := o.confirm(fmt.Sprintf("release the objects of cluster %s (%s, %s)?", seen.FullName(), seen.Ref.ID,
		seen.Ref.Status)); err != nil {
		return err
	}
	if err := service.ReleaseCluster(ctx, seen.Ref.ID); err != nil {
		return err
	}
	return o.Changed(output.Changed{Kind: "cluster", Name: seen.Ref.Name, ID: seen.Ref.ID, Done: "let go"})
}

// deleteGone cleans up after a cluster that is gone: images in drives, objects on a hub.
func (o *changeOptions) deleteGone(ctx context.Context, service *install.Client, gone error) error {
	if o.Globals.Backend != app.BackendHub {
		return nothingDeleted(o.ejectOfGone(ctx, gone))
	}
	cluster, err := o.Load(ctx, o.File)
	if err != nil {
		return err
	}
	id := o.IDOnHub(cluster)
	if err := o.confirm(fmt.Sprintf("the hub has no cluster %s any more; delete the objects that may remain of it?", id)); err != nil {
		return err
	}
	how, left := o.deletion(), false
	how.Found = func() { left = true }
	if err := service.DeleteCluster(ctx, id, how); err != nil {
		return err
	}
	if err := o.ejectOfGone(ctx, gone); err != nil && !errors.Is(err, gone) {
		return err
	}
	done := "deleted, with its remaining objects"
	if !left {
		done = "not there: nothing was deleted"
	}
	return o.Changed(output.Changed{Kind: "cluster", Name: cluster.Metadata.Name, ID: id, Done: done})
}

// nothingDeleted adds, for a cluster that was not there, that nothing was deleted.
func nothingDeleted(err error) error {
	fault, is := errors.AsType[*model.Fault](err)
	if !is || !errors.Is(err, install.ErrNoCluster) {
		return err
	}
	said := *fault
	said.Err = fmt.Errorf("%w, and nothing was deleted", fault.Err)
	return &said
}

// deletion is what else is done for a deletion, and how its steps are reported.
func (o *changeOptions) deletion() install.DeleteOptions {
	return install.DeleteOptions{ReturnToPool: o.ReturnToPool, RemoveNode: o.RemoveNode, Report: func(text string) { o.Say("%s", text) }}
}

// clusterDeletion is deletion for a cluster; a hub releases its objects one by one.
func (o *changeOptions) clusterDeletion(id string) install.DeleteOptions {
	if o.Globals.Backend == app.BackendHub {
		o.Say("Waiting for the hub's controllers to release the objects of %s.", id)
	}
	return o.deletion()
}

func (o *changeOptions) fateOfNodes(seen *install.Found) string {
	state := statuses.Cluster(seen.Ref.Status)
	switch {
	case o.ReturnToPool:
		return fmt.Sprintf("The nodes of %s boot into the discovery image and return to their pool: the cluster stops.",
			seen.FullName())
	case state.Installed():
		return fmt.Sprintf("The nodes of %s continue to run; only the %s deletes its records of them.", seen.FullName(), o.keeper())
	case state.Running():
		return fmt.Sprintf("This ends the install of %s; its machines stay in their current state.", seen.FullName())
	}
	return ""
}

func (o *changeOptions) fateOfNode(host model.Host, name string) string {
	switch {
	case o.RemoveNode && host.Role == spec.ControlPlane:
		return fmt.Sprintf("The node %s, of the control plane, is removed from its cluster first. Its pods are not drained, and there "+
			"is no check that etcd works without it. %s", name, o.insteadOf(name))
	case o.RemoveNode:
		return fmt.Sprintf("The node %s is removed from its cluster first, if it is part of one. Its pods are not drained. %s", name,
			o.insteadOf(name))
	case host.State == model.HostInstalled, host.State == model.HostAdded:
		return fmt.Sprintf("The node %s continues to run; only the %s deletes its record of it. %s", name, o.keeper(), o.insteadOf(name))
	}
	return ""
}

// insteadOf is the command that takes a node out of its cluster.
func (o *changeOptions) insteadOf(node string) string {
	return "To remove it from its cluster: " + o.Hint(model.Command("remove-node", listtext.Quoted(node)))
}

func (o *changeOptions) keeper() string {
	if o.Globals.Backend == app.BackendHub {
		return "hub"
	}
	return "service"
}
