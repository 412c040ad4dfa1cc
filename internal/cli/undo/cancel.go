package undo

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"net/http"
	"os"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"

	"github.com/oaictl/oaictl/internal/cli/app"
	"github.com/oaictl/oaictl/internal/cli/output"
	"github.com/oaictl/oaictl/internal/shared/statuses"
	"github.com/oaictl/oaictl/pkg/install"
	"github.com/oaictl/oaictl/pkg/install/model"
	"github.com/oaictl/oaictl/pkg/install/spec"
)

type changeOptions struct {
	*app.App
	app.Target
	Yes      bool
	Orphan   bool
	Dir      string // with the images of the machines
	BMCProxy string
	// ReturnToPool and RemoveNode are what else becomes of machines that run.
	ReturnToPool, RemoveNode bool
}

// newChange are the options of a verb that changes a whole cluster.
func newChange(a *app.App) *changeOptions {
	return &changeOptions{App: a, Target: app.Target{Whole: true}}
}

func (o *changeOptions) read(command *cobra.Command, given []string, kinds ...string) error {
	if _, err := app.ProxyURL(o.BMCProxy); err != nil {
		return err
	}
	return o.Target.Read(command, given, kinds...)
}

func (o *changeOptions) confirm(question string) error { return o.Confirm(o.Yes, question) }

func (o *changeOptions) flags(command *cobra.Command) {
	o.Declare(command.Flags())
	command.Flags().BoolVar(&o.Yes, "yes", false, "do not ask")
	command.Flags().StringVar(&o.Dir, "dir", ".",
		"`DIR` with the results of create cluster, as DIR/CLUSTER: it knows which images are its own")
	app.DeclareBMCProxy(command.Flags(), &o.BMCProxy)
}

// NewCancel is `cancel`.
func NewCancel(a *app.App) *cobra.Command {
	return newEnding(a, "cancel [cluster] NAME|ID|-f FILE", "Stop an install; the machines stay as they are",
		ending{"cancel", "cancelled", (*install.Client).CancelInstall, (*install.Client).Cancel, (*install.Client).AfterCancel})
}

// NewReset is `reset`.
func NewReset(a *app.App) *cobra.Command {
	return newEnding(a, "reset [cluster] NAME|ID|-f FILE", "Take a failed or cancelled install back to its beginning",
		ending{"reset", "reset", (*install.Client).ResetInstall, (*install.Client).Reset,
			func(*install.Client, context.Context, *install.Found) model.Advice {
				return "boot the hosts from the discovery image, then {create cluster -f FILE}"
			}})
}

// ending is a verb that ends an install, or what is left of one.
type ending struct {
	verb, done string
	onHub      func(*install.Client, context.Context, string) error // returns why not, before the user is asked
	end        func(*install.Client, context.Context, *install.Found) error
	next       func(*install.Client, context.Context, *install.Found) model.Advice
}

func newEnding(a *app.App, use, short string, e ending) *cobra.Command {
	o := newChange(a)
	command := &cobra.Command{
		Use: use, Short: short,
		RunE: func(command *cobra.Command, given []string) error {
			if err := o.read(command, given, "cluster"); err != nil {
				return err
			}
			return o.end(command.Context(), e)
		},
	}
	o.flags(command)
	return command
}

func (o *changeOptions) end(ctx context.Context, e ending) error {
	service, seen, err := app.DialFor(ctx, o.App, o.Target, o.FindCluster)
	if err != nil {
		return err
	}
	if o.Globals.Backend == app.BackendHub {
		return e.onHub(service, ctx, seen.Ref.ID)
	}
	if err := o.confirm(fmt.Sprintf("%s the install of %s (%s)?", e.verb, seen.FullName(), seen.Ref.ID)); err != nil {
		return err
	}
	if err := e.end(service, ctx, seen); err != nil {
		return o.ejectIfIdle(ctx, seen, err)
	}
	_, ejected := o.eject(ctx, seen)
	o.Say("Next: %s", o.Hint(e.next(service, ctx, seen)))
	return errors.Join(o.Changed(output.Changed{Kind: "cluster", Name: seen.Ref.Name, ID: seen.Ref.ID, Done: e.done}), ejected)
}

// eject takes discovery images out of drives and puts the boot order back. asked says whether there was a drive to read
// and a key to identify the image in it.
func (o *changeOptions) eject(ctx context.Context, seen *install.Found) (asked bool, err error) {
	keyFile := app.MediaKeyFile(filepath.Join(o.Dir, seen.Ref.Name))
	_, err = os.Stat(keyFile)
	booted := err == nil
	if seen.Spec == nil {
		if booted {
			o.Say("The virtual drives of the machines may still hold discovery images. To eject them, oaictl needs the addresses of the " +
				"BMCs: -f FILE.")
		}
		return false, nil
	}
	hosts := seen.Spec.BootedByBMC()
	if len(hosts) == 0 {
		return false, nil
	}
	if !booted {
		if !errors.Is(err, fs.ErrNotExist) {
			return false, err
		}
		o.Say("No discovery image was ejected from a virtual drive, because %s is missing. This file shows which images belong to "+
			"oaictl. create cluster wrote it; give its folder with --dir.", keyFile)
		return false, nil
	}
	names := output.Each(hosts, func(host *spec.Host) string { return host.Name })
	plane, err := o.WatchMachines(filepath.Dir(keyFile), o.BMCProxy)
	if err != nil {
		return false, err
	}
	ejected, err := plane.Eject(ctx, seen.Desired(), names...)
	if len(ejected) > 0 {
		o.Say("ejected the discovery image of %s", strings.Join(ejected, ", "))
	}
	if err != nil {
		return true, o.notEjected(seen, err)
	}
	return true, nil
}

// ejectIfIdle ejects although the service refused to end the install, if that is because
// none runs. While one runs, the machines need their images.
func (o *changeOptions) ejectIfIdle(ctx context.Context, seen *install.Found, refused error) error {
	if fault, is := errors.AsType[*model.Fault](refused); !is || fault.Status != http.StatusConflict {
		return refused
	}
	if state := statuses.Cluster(seen.Ref.Status); !state.BeforeInstall() && !state.Stopped() {
		return refused
	}
	if _, err := o.eject(ctx, seen); err != nil {
		o.Warn("%v", err)
		o.SayNext(err)
	}
	return refused
}

// notEjected suspects a proxy first: behind one a BMC that works does not answer.
func (o *changeOptions) notEjected(seen *install.Found, err error) *model.Fault {
	suspect := "give --bmc-proxy if the BMCs are behind a proxy"
	if o.BMCProxy != "" {
		suspect = "check --bmc-proxy"
	}
	return &model.Fault{
		Code: model.CodeFailure, Op: "clear the virtual drives of", On: seen.FullName(),
		Err:  errors.New(strings.ReplaceAll(err.Error(), "\n", "; ")),
		Next: model.Advice(suspect + ", and repair the access to these BMCs"),
	}
}

// ejectBeforeDelete keeps a cluster on failure: the same command can be given again.
func (o *changeOptions) ejectBeforeDelete(ctx context.Context, seen *install.Found) error {
	_, err := o.eject(ctx, seen)
	fault, is := errors.AsType[*model.Fault](err)
	if !is {
		return err
	}
	kept := *fault
	kept.Err = fmt.Errorf("%w; nothing was deleted", fault.Err)
	kept.Next += "; to delete it anyway, without a change to the BMCs, run " + model.Command("delete cluster", seen.Ref.Name)
	return &kept
}

// ejectOfGone ejects for a cluster that the service has no more. Without a drive to look
// at, that the cluster is not there is all there is to say.
func (o *changeOptions) ejectOfGone(ctx context.Context, gone error) error {
	cluster, err := o.Load(ctx, o.File)
	if err != nil {
		return err
	}
	o.ForgetImagesOf(ctx, cluster)
	seen := &install.Found{Ref: model.ClusterRef{Name: cluster.Metadata.Name, BaseDomain: cluster.Spec.BaseDomain}, Spec: cluster}
	if len(cluster.BootedByBMC()) == 0 {
		return gone
	}
	if err := o.confirm(fmt.Sprintf("eject the discovery images of cluster %s, which is not in the service?",
		seen.FullName())); err != nil {
		return err
	}
	asked, err := o.eject(ctx, seen)
	switch {
	case err != nil:
		return err
	case !asked:
		return gone
	}
	o.Say("The service has no cluster %s that oaictl created: there is nothing else to delete.", seen.FullName())
	return o.Changed()
}
