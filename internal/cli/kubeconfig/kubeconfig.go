// Package kubeconfig has the commands that put a cluster's kubeconfig among those that a
// person has, and renew it.
package kubeconfig

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"slices"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/oaictl/oaictl/internal/cli/app"
	"github.com/oaictl/oaictl/internal/shared/kubeconfig"
	"github.com/oaictl/oaictl/internal/shared/listtext"
	"github.com/oaictl/oaictl/pkg/install/model"
)

// NewCommand is `kubeconfig`.
func NewCommand(a *app.App) *cobra.Command {
	return app.Group("kubeconfig", "Merge a cluster's kubeconfig into ~/.kube/config, or refresh it", newMerge(a), newRefresh(a))
}

// nearEnd is how long before its end a client certificate is worth being renewed.
const nearEnd = 30 * 24 * time.Hour

// options are what both commands have.
type options struct {
	*app.App
	app.Target
	Dir  string
	Into string
}

func (o *options) declare(flags *pflag.FlagSet) {
	o.Declare(flags)
	flags.StringVar(&o.Dir, "dir", ".", "`DIR` with the results of create cluster, as DIR/CLUSTER/auth/kubeconfig")
	flags.StringVar(&o.Into, "into", "",
		"`FILE` with the contexts of clusters (default: as kubectl does, the first of KUBECONFIG that is there, else ~/.kube/config)")
}

// read takes the cluster, which may be left out, and refuses what the backend has not.
func (o *options) read(command *cobra.Command, given []string) error {
	if o.Into == app.StdoutName {
		return app.Usagef("--into needs a file; to print the kubeconfig of a cluster: download kubeconfig NAME --to -")
	}
	if slices.Contains(o.Globals.Given, "kubeconfig") && o.Globals.Backend == app.BackendREST {
		return app.Usagef("--kubeconfig is the file with the access to a hub; --into is the file to merge into")
	}
	if err := o.Globals.CheckFlags(o.Globals.Backend); err != nil {
		return err
	}
	return o.Optional(command, given)
}

// contextFiles are the kubeconfigs that kubectl reads, and which of them new entries go into.
func (o *options) contextFiles() (files []*kubeconfig.Config, preferred int, err error) {
	paths := o.Globals.Kube.Files()
	if o.Into != "" {
		paths = []string{o.Into}
	}
	if len(paths) == 0 {
		return nil, 0, &model.Fault{
			Code: model.CodeUsage, Op: "find the kubeconfig to merge into", Permanent: true,
			Err: errors.New("neither KUBECONFIG nor HOME is set"), Next: "give --into FILE",
		}
	}
	preferred = len(paths) - 1 // kubectl makes the last one
	for i, path := range slices.Backward(paths) {
		if _, err := os.Lstat(path); err == nil {
			preferred = i
		}
	}
	for _, path := range paths {
		file, err := kubeconfig.Read(path)
		if err != nil {
			return nil, 0, app.Unreadable("read kubeconfig", path, err, "repair it, or give another file with --into")
		}
		files = append(files, file)
	}
	return files, preferred, nil
}

// notWritten says why a kubeconfig stays as it is, and what to do.
func notWritten(ctx context.Context, path string, err error) error {
	if err == nil || ctx.Err() != nil {
		return err
	}
	locked, is := errors.AsType[*kubeconfig.Locked](err)
	switch {
	case is:
		return &model.Fault{
			Code: model.CodeFailure, Op: "change kubeconfig", On: path, Err: err,
			Next: model.Advicef("try again; if no other program uses the file: rm %s", listtext.Quoted(locked.Lock)),
		}
	case app.Is[*fs.PathError](err), app.Is[*os.LinkError](err):
		return app.NotWritten(path, err)
	}
	return &model.Fault{
		Code: model.CodeFailure, Op: "change kubeconfig", On: path, Permanent: true, Err: err,
		Next: "repair it, or give another file with --into: KUBECONFIG may list both",
	}
}

// edit changes a kubeconfig of the user's.
func (o *options) edit(ctx context.Context, path string, change func(*kubeconfig.Config) ([]byte, error)) error {
	return notWritten(ctx, path, kubeconfig.Edit(ctx, o.Clock, path, change))
}

// date is a day for a sentence.
func date(at time.Time) string { return at.UTC().Format(time.DateOnly) }

// moment is a time for a document.
func moment(at time.Time, has bool) *time.Time {
	if !has {
		return nil
	}
	at = at.UTC()
	return &at
}
