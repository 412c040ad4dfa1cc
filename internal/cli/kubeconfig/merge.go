package kubeconfig

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/oaictl/oaictl/internal/cli/app"
	"github.com/oaictl/oaictl/internal/cli/output"
	"github.com/oaictl/oaictl/internal/cli/printer"
	"github.com/oaictl/oaictl/internal/shared/escape"
	"github.com/oaictl/oaictl/internal/shared/kubeconfig"
	"github.com/oaictl/oaictl/internal/shared/listtext"
	"github.com/oaictl/oaictl/pkg/install/model"
)

type mergeOptions struct {
	options
	From      string
	As        string
	Overwrite bool
	Use       bool
}

func newMerge(a *app.App) *cobra.Command {
	o := &mergeOptions{options: options{App: a, Target: app.Target{Whole: true}}}
	command := &cobra.Command{
		Use:   "merge [NAME|ID|-f FILE]",
		Short: "Put a cluster's kubeconfig among those that kubectl uses, next to the other entries",
		RunE:  app.After(o.read, o.merge),
	}
	flags := command.Flags()
	o.declare(flags)
	flags.StringVar(&o.From, "from", "",
		"`FILE` with the cluster's kubeconfig, - for standard input (default: below --dir, else from the service)")
	flags.StringVar(&o.As, "name", "",
		"`NAME` of the context, cluster and user (default: the cluster's; with its domain where that name is taken)")
	flags.BoolVar(&o.Overwrite, "overwrite", false, "replace any entry that has the name")
	flags.BoolVar(&o.Use, "use", false, "make it the current context, also where there is one")
	return command
}

func (o *mergeOptions) read(command *cobra.Command, given []string) error {
	if o.From == app.StdoutName && o.File == app.StdoutName {
		return app.Usagef("--from - and -f - cannot both read standard input")
	}
	if strings.TrimSpace(o.As) == "" && slices.Contains(o.Globals.Given, "name") {
		return app.Usagef("--name needs a NAME")
	}
	return o.options.read(command, given)
}

func (o *mergeOptions) merge(ctx context.Context) error {
	files, preferred, err := o.contextFiles()
	if err != nil {
		return err
	}
	found, err := o.source(ctx)
	if err != nil {
		return err
	}
	wish, err := o.wish(found)
	if err != nil {
		return err
	}
	used := o.Use || currentOf(files) == ""
	at := kubeconfig.Place(files, found.Access, wish, preferred)
	wish.Use = used && at == preferred
	others := slices.Delete(slices.Clone(files), at, at+1)
	var merged kubeconfig.Merged
	path := files[at].Path
	err = kubeconfig.Edit(ctx, o.Clock, path, func(have *kubeconfig.Config) (text []byte, err error) {
		merged, err = have.Merge(others, found.Access, wish)
		return merged.Text, err
	})
	if err != nil {
		return o.refused(ctx, path, err)
	}
	if used && at != preferred { // kubectl takes the current context of the first file that has one
		err := o.edit(ctx, files[preferred].Path, func(have *kubeconfig.Config) ([]byte, error) { return have.Use(merged.Name) })
		if err != nil {
			return err
		}
	}
	before := currentOf(files)
	now := before
	if used {
		now = merged.Name
	}
	o.tell(found, merged, path, before, now)
	ends, has := found.Ends()
	if !merged.Newer.IsZero() {
		ends = merged.Newer
	}
	return o.printed(output.MergedKubeconfig{
		KubeconfigContext: output.KubeconfigContext{
			Context: merged.Name, File: path, Done: string(merged.Done), Changed: merged.Text != nil || now != before,
		},
		Current: now == merged.Name, Server: found.Server(), Expires: moment(ends, has),
	})
}

// source is the access to merge: that of --from, else what lies on disk, else the service's.
func (o *mergeOptions) source(ctx context.Context) (access, error) {
	meant, err := o.ResolveTarget(ctx, o.Target)
	if err != nil {
		return access{}, err
	}
	if o.From != "" {
		return o.given(ctx, meant)
	}
	found, err := o.kept(meant)
	if !errors.Is(err, fs.ErrNotExist) {
		return found, err
	}
	fetched, err := o.fetch(ctx, meant)
	return fetched.access, err
}

// wish says what the access may be called.
func (o *mergeOptions) wish(found access) (kubeconfig.Wish, error) {
	wish := kubeconfig.Wish{Overwrite: o.Overwrite}
	switch {
	case o.As != "":
		wish.Names = []string{o.As}
	case found.name == "":
		return wish, &model.Fault{
			Code: model.CodeUsage, Op: "merge", On: found.path, Permanent: true,
			Err:  fmt.Errorf("the name of the cluster at %s is not known", found.Server()),
			Next: "give --name NAME",
		}
	case found.domain == "":
		wish.Names = []string{found.name}
	default:
		wish.Names = []string{found.name, found.fullName()}
	}
	return wish, nil
}

// currentOf is the current context of several files, as kubectl reads them.
func currentOf(files []*kubeconfig.Config) string {
	for _, file := range files {
		if name := file.Current(); name != "" {
			return name
		}
	}
	return ""
}

// refused says what to type where the name is another's.
func (o *mergeOptions) refused(ctx context.Context, path string, err error) error {
	taken, is := errors.AsType[*kubeconfig.Taken](err)
	if !is {
		return notWritten(ctx, path, err)
	}
	again := o.CommandLine()
	next := "give another --name"
	if o.As == "" {
		next = again + " --name " + listtext.Quoted(taken.Name+"-new") + " keeps the existing entry"
	}
	return &model.Fault{
		Code: model.CodeNotFound, Op: "merge into", On: taken.Path, Permanent: true,
		Err:  fmt.Errorf("the name %q is taken: %w; nothing was changed", taken.Name, err),
		Next: model.Advicef("%s", next+"; "+again+" --overwrite replaces it"),
	}
}

// tell prints, beside the result, what the user should know.
func (o *mergeOptions) tell(found access, merged kubeconfig.Merged, path, before, now string) {
	if len(merged.Others) > 0 {
		o.Warn("the replaced entry is also used by %s", listtext.ListText(merged.Others))
	}
	if o.As == "" && merged.Name != found.name {
		o.Say("Another entry already has the name %s.", found.name)
	}
	if before != "" && before != now {
		o.Say("The current context was %s.", before)
		if o.Globals.Backend == app.BackendHub && o.Globals.Context == "" && o.Into == "" && o.Globals.Kubeconfig == "" {
			o.Say("To reach the hub from now on, give --context %s.", listtext.Quoted(before))
		}
	}
	if !merged.Newer.IsZero() {
		o.Say("The existing client certificate expires later, on %s, and is kept; --overwrite would replace it.", date(merged.Newer))
	} else if ends, has := found.Ends(); has && ends.Before(o.Clock.Now().Add(nearEnd)) {
		o.Warn("its client certificate %s", ending(o.Clock.Now(), ends))
		if next := o.refreshing(found); next != "" {
			o.Say("Next: %s", o.Hint(next))
		}
		return
	}
	reach := "kubectl"
	if !slices.Contains(o.Globals.Kube.Files(), path) {
		reach += " --kubeconfig " + listtext.Quoted(path)
	}
	if now != merged.Name {
		reach += " --context " + listtext.Quoted(merged.Name)
	}
	o.Say("Next: %s get nodes", reach)
}

// refreshing is how to renew what was merged, "" where it lies nowhere.
func (o *mergeOptions) refreshing(found access) model.Advice {
	switch {
	case found.folder != "" && o.Dir != ".":
		return model.Command("kubeconfig refresh", listtext.Quoted(found.folder), "--dir", listtext.Quoted(o.Dir))
	case found.folder != "":
		return model.Command("kubeconfig refresh", listtext.Quoted(found.folder))
	case found.path != "" && o.From != app.StdoutName:
		return model.Command("kubeconfig refresh", listtext.Quoted(found.name), "--cluster-kubeconfig", listtext.Quoted(found.path))
	}
	return ""
}

func (o *mergeOptions) printed(out output.MergedKubeconfig) error {
	return o.Print(printer.Result{Data: out, Names: []string{out.Context}, Text: func() string {
		words := map[string]string{
			string(kubeconfig.Added): "added to", string(kubeconfig.Unchanged): "already there in",
			string(kubeconfig.Refreshed): "refreshed in", string(kubeconfig.Overwritten): "overwritten in",
		}
		return escape.Sprintf("context %s %s %s\n", out.Context, words[out.Done], out.File)
	}})
}
