package kubeconfig

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/oaictl/oaictl/internal/cli/app"
	"github.com/oaictl/oaictl/internal/cli/output"
	"github.com/oaictl/oaictl/internal/cli/printer"
	"github.com/oaictl/oaictl/internal/shared/escape"
	"github.com/oaictl/oaictl/internal/shared/kubeconfig"
	"github.com/oaictl/oaictl/internal/shared/listtext"
	"github.com/oaictl/oaictl/pkg/install"
	"github.com/oaictl/oaictl/pkg/install/model"
)

type refreshOptions struct {
	options
	ClusterKubeconfig string
	DryRun            bool
}

func newRefresh(a *app.App) *cobra.Command {
	o := &refreshOptions{options: options{App: a, Target: app.Target{Whole: true}}}
	command := &cobra.Command{
		Use:   "refresh [NAME|ID|-f FILE]",
		Short: "Fetch a kubeconfig anew whose client certificate has ended, or ends within 30 days",
		RunE:  app.After(o.read, o.refresh),
	}
	flags := command.Flags()
	o.declare(flags)
	flags.StringVar(&o.ClusterKubeconfig, "cluster-kubeconfig", "", "`FILE` to refresh, instead of the one below --dir")
	flags.BoolVar(&o.DryRun, "dry-run", false, "only say what would be done")
	return command
}

func (o *refreshOptions) refresh(ctx context.Context) error {
	meant, err := o.ResolveTarget(ctx, o.Target)
	if err != nil {
		return err
	}
	files, _, err := o.contextFiles()
	if err != nil {
		return err
	}
	held, err := o.held(ctx, meant)
	if err != nil {
		return err
	}
	before, has := held.Ends()
	if !has {
		return &model.Fault{
			Code: model.CodeFailure, Op: "refresh", On: held.path, Permanent: true,
			Err:  errors.New("it has no client certificate, so oaictl cannot tell when it expires"),
			Next: model.Command("download kubeconfig", listtext.Quoted(held.name)),
		}
	}
	now, after := offered{access: held}, before
	if before.Before(o.Clock.Now().Add(nearEnd)) {
		if now, after, err = o.newer(ctx, meant, held, before); err != nil {
			return err
		}
	}
	// Last comes the file by which they are found: an interrupted run is continued.
	contexts, err := o.renewContexts(ctx, files, held, now.access)
	if err == nil && !after.Equal(before) && !o.DryRun {
		err = o.keep(ctx, held, now)
	}
	if err != nil {
		return err
	}
	return o.printed(held, before, after, contexts)
}

// held is the kubeconfig that is to be refreshed.
func (o *refreshOptions) held(ctx context.Context, meant install.Target) (access, error) {
	if o.ClusterKubeconfig != "" {
		text, err := app.ReadFile(ctx, o.ClusterKubeconfig, kubeconfig.Largest)
		if err != nil {
			return access{}, app.Unreadable("read kubeconfig", o.ClusterKubeconfig, err, "give --cluster-kubeconfig a file that can be read")
		}
		out, err := parsed(o.ClusterKubeconfig, text, meant)
		if errors.Is(err, errAnothers) {
			return access{}, app.NotFound("refresh", o.ClusterKubeconfig, err.Error(),
				"omit the name, or give --cluster-kubeconfig the kubeconfig of the cluster")
		}
		if err != nil {
			return access{}, app.Unreadable("read kubeconfig", o.ClusterKubeconfig, err, "give --cluster-kubeconfig the kubeconfig of the cluster")
		}
		return out, nil
	}
	out, err := o.kept(meant)
	if errors.Is(err, fs.ErrNotExist) && meant.Spec == nil && meant.Name != "" && o.canAsk() {
		if meant, err = o.byName(ctx, meant); err == nil {
			out, err = o.kept(meant)
		}
	}
	if errors.Is(err, fs.ErrNotExist) {
		return access{}, o.noneHeld(meant)
	}
	return out, err
}

// byName is the cluster of an id by its name, as its results are kept.
func (o *refreshOptions) byName(ctx context.Context, meant install.Target) (install.Target, error) {
	service, err := o.Dial(ctx)
	if err != nil {
		return meant, err
	}
	found, err := service.Find(ctx, meant)
	if err != nil {
		return meant, err
	}
	return install.Target{Name: found.Ref.Name}, nil
}

func (o *refreshOptions) noneHeld(meant install.Target) error {
	name, _ := nameOf(meant)
	if name == "" {
		name = "NAME"
	}
	next := model.Command("download kubeconfig", listtext.Quoted(name)) + ", or name the file with --cluster-kubeconfig"
	return app.NotFound("refresh the kubeconfig of", name, "there is none below "+o.Dir, next)
}

// newer fetches what the service has, with when that ends. It is an error if that is of no more use than the kubeconfig
// that is there.
func (o *refreshOptions) newer(ctx context.Context, meant install.Target, held access, before time.Time) (offered, time.Time, error) {
	if meant.Spec == nil && meant.Name == "" {
		meant.Name = held.name
	}
	has, err := o.fetch(ctx, meant)
	if err != nil {
		return offered{}, time.Time{}, err
	}
	if !has.SameCluster(held.Access) {
		if err := sameByID(ctx, held, has); err != nil {
			return offered{}, time.Time{}, err
		}
		has.Access, has.text = held.WithCredentials(has.Access), nil
	}
	after, dated := has.Ends()
	if !dated || !after.After(before) || !after.After(o.Clock.Now()) {
		return offered{}, time.Time{}, o.asOld(held, before, after)
	}
	return has, after, nil
}

// sameByID asks the cluster of what is held what it calls itself: it may be reached by another
// address than the service's copy, and by certificates of its own.
func sameByID(ctx context.Context, held access, has offered) error {
	other := func(why string) error {
		return &model.Fault{
			Code: model.CodeNotFound, Op: "refresh", On: held.path, Permanent: true,
			Err:  fmt.Errorf("it is not the kubeconfig of the cluster %s (%s) in the service: %s", has.fullName(), has.ID, why),
			Next: model.Command("download kubeconfig", listtext.Quoted(has.name)),
		}
	}
	text, err := app.ReadFile(ctx, held.path, kubeconfig.Largest)
	if err != nil {
		return app.Unreadable("read kubeconfig", held.path, err, "give --cluster-kubeconfig a file that can be read")
	}
	is, err := ask(ctx, held.path, text)
	if err != nil {
		return other("its address and its certificates are different, and the cluster does not answer")
	}
	found, err := has.service.Inspect(ctx, install.Target{Name: has.cluster.ID})
	if err != nil {
		return err
	}
	if is, means := found.Observed.Cluster.Identity(is.ID, is.API, has.fullName()); !strings.EqualFold(is, means) {
		return other("it reaches the cluster " + is + ", not " + means)
	}
	return nil
}

// keep writes what was fetched where the old one was.
func (o *refreshOptions) keep(ctx context.Context, held access, has offered) error {
	if held.folder == "" || has.text == nil {
		return o.edit(ctx, held.path, func(have *kubeconfig.Config) ([]byte, error) {
			renewed, err := have.Renew(held.Access, has.Access)
			return renewed.Text, err
		})
	}
	cluster := model.ClusterRef{ID: has.cluster.ID, Name: held.folder}
	claimed, saved, err := has.service.With(install.Config{Files: install.Directory(o.Dir)}).KeepResult(ctx, cluster, model.KubeconfigFile,
		has.text)
	for _, aside := range []string{claimed, saved} {
		if aside != "" {
			o.Say("The previous file is kept as %s.", aside)
		}
	}
	return err
}

// nodeKubeconfig is what a node of the control plane has, for root on that node. The cluster renews it.
const nodeKubeconfig = "/etc/kubernetes/static-pod-resources/kube-apiserver-certs/secrets/node-kubeconfigs/lb-ext.kubeconfig"

// asOld is the honest end where the service keeps what the installation made.
func (o *refreshOptions) asOld(held access, before, after time.Time) error {
	now := o.Clock.Now()
	why := fmt.Errorf("its client certificate %s, and the client certificate of the service's copy %s; a service only has the "+
		"kubeconfig that the installation made",
		ending(now, before), ending(now, after))
	if after.Equal(before) {
		why = fmt.Errorf("its client certificate %s, and the service has the same; a service only has the kubeconfig that the "+
			"installation made", ending(now, before))
	}
	who := "as an administrator with valid credentials"
	if before.After(now) {
		who = "while it is still valid, or as another administrator"
	}
	return &model.Fault{
		Code: model.CodeFailure, Op: "refresh", On: held.path, Permanent: true, Err: why,
		Next: model.Advicef("%s: oc config new-admin-kubeconfig > new.kubeconfig; without valid credentials, do the same as root on a node of "+
			"the control plane, with oc --kubeconfig %s; then %s",
			who, nodeKubeconfig, model.Command("kubeconfig merge", listtext.Quoted(held.name), "--from new.kubeconfig")),
	}
}

// renewContexts gives the entries that were merged before the new access.
func (o *refreshOptions) renewContexts(ctx context.Context, files []*kubeconfig.Config, old,
	now access) ([]output.KubeconfigContext, error) {
	out := []output.KubeconfigContext{}
	for _, file := range files {
		renewed, err := file.Renew(old.Access, now.Access)
		if err == nil && renewed.Text != nil && !o.DryRun {
			err = kubeconfig.Edit(ctx, o.Clock, file.Path, func(have *kubeconfig.Config) (text []byte, err error) {
				renewed, err = have.Renew(old.Access, now.Access)
				return renewed.Text, err
			})
		}
		if err != nil {
			return out, notWritten(ctx, file.Path, err)
		}
		for _, name := range renewed.Contexts {
			out = append(out, output.KubeconfigContext{Context: name, File: file.Path, Done: string(kubeconfig.Refreshed), Changed: !o.DryRun})
		}
	}
	return out, nil
}

func (o *refreshOptions) printed(held access, before, after time.Time, contexts []output.KubeconfigContext) error {
	out := output.RefreshedKubeconfig{
		Cluster: held.name, File: held.path, Done: string(kubeconfig.Unchanged), DryRun: o.DryRun,
		Before: moment(before, true), After: moment(after, true), Contexts: contexts,
	}
	if !after.Equal(before) {
		out.Done, out.Changed = string(kubeconfig.Refreshed), !o.DryRun
	}
	now := o.Clock.Now()
	if after.Before(now.Add(nearEnd)) {
		o.Warn("the new client certificate, too, %s", ending(now, after))
	}
	return o.Print(printer.Result{Data: out, Names: []string{held.path}, Text: func() string {
		is := " is refreshed"
		if o.DryRun {
			is = " would be refreshed"
		}
		var text strings.Builder
		if after.Equal(before) {
			escape.Fprintf(&text, "%s: its client certificate %s\n", held.path, ending(now, after))
		} else {
			escape.Fprintf(&text, "%s%s: its client certificate %s; the new one %s\n", held.path, is, ending(now, before), ending(now, after))
		}
		for _, c := range contexts {
			escape.Fprintf(&text, "context %s in %s%s\n", c.Context, c.File, is)
		}
		return text.String()
	}})
}

// ending says when a certificate ends, or has ended.
func ending(now, at time.Time) string {
	days := int(at.Sub(now).Abs().Hours() / 24)
	switch {
	case at.IsZero():
		return "has no readable end date"
	case at.Before(now):
		return fmt.Sprintf("ended on %s, %s ago", date(at), listtext.CountText(days, "day"))
	}
	return fmt.Sprintf("ends on %s, in %s", date(at), listtext.CountText(days, "day"))
}
