package change

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/spf13/cobra"

	"github.com/oaictl/oaictl/internal/cli/base"
	"github.com/oaictl/oaictl/internal/cli/document"
	"github.com/oaictl/oaictl/internal/escape"
	"github.com/oaictl/oaictl/pkg/install"
)

// changeOptions are what the verbs that undo something have in common.
type changeOptions struct {
	*base.App
	base.Target
	Yes      bool
	Orphan   bool
	ejecting ejectOptions
	// ReturnToPool and RemoveNode are what else becomes of machines that run.
	ReturnToPool, RemoveNode bool
}

// read takes the target from the arguments, and refuses what a flag says before
// anything is done.
func (o *changeOptions) read(command *cobra.Command, given []string, kinds ...string) error {
	if _, err := base.ProxyURL(o.ejecting.BMCProxy); err != nil {
		return err
	}
	return o.Target.Read(command, given, kinds...)
}

// confirm asks a person, and refuses where there is none to ask.
func (o *changeOptions) confirm(question string) error {
	if o.Yes {
		return nil
	}
	if !o.IO.InTTY || !o.IO.ErrTTY {
		return &install.Fault{
			Code: install.CodeUsage, Permanent: true, Err: fmt.Errorf("%s needs --yes where nobody can be asked", strings.TrimSuffix(question, "?")),
			Next: install.Advice(o.CommandLine() + " --yes"),
		}
	}
	escape.Fprintf(o.IO.Err, "%s [y/N] ", question)
	answer, err := bufio.NewReader(o.IO.In).ReadString('\n')
	if err != nil {
		fmt.Fprintln(o.IO.Err)
	}
	if err != nil && !errors.Is(err, io.EOF) {
		return fmt.Errorf("read the answer: %w", err)
	}
	switch strings.ToLower(strings.TrimSpace(answer)) {
	case "y", "yes":
		return nil
	}
	return &install.Fault{Code: install.CodeFailure, Err: base.ErrNotConfirmed}
}

func (o *changeOptions) flags(command *cobra.Command) {
	o.Declare(command.Flags())
	command.Flags().BoolVar(&o.Yes, "yes", false, "do not ask")
	o.ejecting.declare(command.Flags())
}

// NewCancel is `cancel`.
func NewCancel(a *base.App) *cobra.Command {
	o := &changeOptions{App: a}
	command := &cobra.Command{
		Use:   "cancel [cluster] NAME|ID|-f FILE",
		Short: "Stop an install; the machines stay as they are",
		Long: `Stop an install. The machines stay as they are, but for this: with -f FILE, the
discovery images that create cluster put into their virtual drives are taken out,
and their boot order is put back; also where the install has not begun, or has
ended, and the service has nothing to cancel.

An install that is still being prepared has written nothing: its cluster is ready
again, a create cluster that runs ends with exit code 7, and the next one installs
it. Any other cluster is cancelled, and needs a reset.`,
		Example: `  oaictl cancel lab --yes
  oaictl cancel -f cluster.yaml --yes`,
		RunE: o.endInstall(ending{"cancel", "cancelled", (*install.Client).CancelInstall, (*install.Client).Cancel, (*install.Client).AfterCancel}),
	}
	o.flags(command)
	return command
}

// NewReset is `reset`.
func NewReset(a *base.App) *cobra.Command {
	o := &changeOptions{App: a}
	command := &cobra.Command{
		Use:   "reset [cluster] NAME|ID|-f FILE",
		Short: "Take a failed or cancelled install back to its beginning",
		Long: `Take a failed or cancelled install back to its beginning. The hosts have to boot
the discovery image again; what they know stays. With -f FILE, images that are
still in the machines' virtual drives are taken out: create cluster inserts them
anew.`,
		Example: `  oaictl reset lab --yes
  oaictl reset -f cluster.yaml --yes`,
		RunE: o.endInstall(ending{"reset", "reset", (*install.Client).ResetInstall, (*install.Client).Reset, func(*install.Client, context.Context, *install.Found) install.Advice {
			return "boot the hosts from the discovery image, then {create cluster -f FILE}"
		}}),
	}
	o.flags(command)
	return command
}

// ending is a verb that ends an install, or what is left of one.
type ending struct {
	verb, done string
	onHub      func(*install.Client, context.Context, string) error // says why not, and nobody is asked before
	end        func(*install.Client, context.Context, *install.Found) error
	next       func(*install.Client, context.Context, *install.Found) install.Advice
}

// endInstall is what such a verb does.
func (o *changeOptions) endInstall(e ending) func(*cobra.Command, []string) error {
	return func(command *cobra.Command, given []string) error {
		if err := o.read(command, given, "cluster"); err != nil {
			return err
		}
		return o.end(command.Context(), e)
	}
}

func (o *changeOptions) end(ctx context.Context, e ending) error {
	service, seen, err := base.DialFor(ctx, o.App, o.Target, o.FindCluster)
	if err != nil {
		return err
	}
	if o.Globals.Backend == base.BackendHub {
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
	return errors.Join(o.Changed(document.Changed{Kind: "cluster", Name: seen.Ref.Name, ID: seen.Ref.ID, Done: e.done}), ejected)
}
