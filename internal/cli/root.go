// Package cli is the command line: the tree of commands, put together from groups
// that are a package each. Nothing imports it but cmd/oaictl and what writes the
// commands down.
//
// A command has one shape. Its options hold what it needs and what its flags
// say; New<Verb> declares the flags and fills the options; the run method does the
// work and reads top to bottom. Nothing is opened, dialled or read before a run
// method asks for it, so that help and version cost nothing.
package cli

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"github.com/oaictl/oaictl/internal/cli/agent"
	"github.com/oaictl/oaictl/internal/cli/app"
	"github.com/oaictl/oaictl/internal/cli/create"
	"github.com/oaictl/oaictl/internal/cli/download"
	"github.com/oaictl/oaictl/internal/cli/get"
	"github.com/oaictl/oaictl/internal/cli/iso"
	"github.com/oaictl/oaictl/internal/cli/kubeconfig"
	"github.com/oaictl/oaictl/internal/cli/media"
	"github.com/oaictl/oaictl/internal/cli/nodes"
	"github.com/oaictl/oaictl/internal/cli/offline"
	"github.com/oaictl/oaictl/internal/cli/printer"
	"github.com/oaictl/oaictl/internal/cli/streams"
	"github.com/oaictl/oaictl/internal/cli/undo"
	"github.com/oaictl/oaictl/internal/cli/upgrade"
	"github.com/oaictl/oaictl/internal/shared/escape"
	"github.com/oaictl/oaictl/pkg/install/model"
	"github.com/oaictl/oaictl/pkg/install/spec"
	"github.com/oaictl/oaictl/pkg/install/spec/schema"
)

func rootCommand(a *app.App) *cobra.Command {
	if a.Identity.Name == app.MediaName {
		return agent.NewMediaCommand(a)
	}
	root := &cobra.Command{
		Use:         strings.ReplaceAll(a.Identity.Name, " ", "-"),
		Short:       "Install OpenShift on bare metal through the Assisted Installer",
		Annotations: map[string]string{cobra.CommandDisplayNameAnnotation: a.Identity.Name},
		Args:        cobra.ArbitraryArgs,
		RunE: func(command *cobra.Command, given []string) error {
			if !asksVersion(command) {
				return app.UnknownSubcommand(command, given)
			}
			_, err := fmt.Fprintln(command.OutOrStdout(), app.ReadBuildInfo())
			return err
		},
		SilenceErrors:     true,
		SilenceUsage:      true,
		CompletionOptions: cobra.CompletionOptions{DisableDefaultCmd: true},
		PersistentPreRunE: func(command *cobra.Command, given []string) error {
			if asksVersion(command) {
				return nil
			}
			if command.HasAvailableSubCommands() && len(given) > 0 {
				return app.UnknownSubcommand(command, given) // its flags may mean something else
			}
			return a.Prepare(command)
		},
	}
	root.SetFlagErrorFunc(a.BadFlag)
	root.SetUsageFunc(usage)
	root.SetHelpCommand(helpCommand(a))
	a.Globals.Declare(root.PersistentFlags(), a.Identity.Backend)
	root.Flags().Bool("version", false, "print the version of oaictl")
	for _, group := range commands(a) {
		root.AddGroup(&cobra.Group{ID: group.title, Title: group.title})
		for _, command := range group.commands {
			command.GroupID = group.title
			root.AddCommand(command)
		}
	}
	root.AddCommand(
		&cobra.Command{Use: "environment", Short: "Variables and the configuration file", Args: cobra.NoArgs},
		&cobra.Command{Use: "exit-codes", Short: "What each exit code means", Args: cobra.NoArgs},
	)
	app.Describe(root)
	app.FileOnce(root)
	a.Identity.InOwnWords(root)
	registerCompletions(a, root)
	return root
}

// asksVersion reports whether --version was given. cobra's own way to answer it brings text/template along.
func asksVersion(command *cobra.Command) bool {
	asked, err := command.Flags().GetBool("version")
	return err == nil && asked && !command.HasParent()
}

type commandGroup struct {
	title    string
	commands []*cobra.Command
}

func commands(a *app.App) []commandGroup {
	creating := app.Group("create", "Create a cluster, or the images that its machines boot", create.NewCluster(a), media.NewCreateImages(a))
	upgrading := app.Group("upgrade", "Bring an installed cluster to another version of OpenShift", upgrade.NewCluster(a))
	images := iso.NewCommand(a)
	images.AddCommand(media.NewServe(a))
	return []commandGroup{
		{"Install:", []*cobra.Command{creating, create.NewAddNode(a), nodes.NewApprove(a), nodes.NewImport(a), agent.NewCommand(a),
			create.NewPlan(a), create.NewWait(a)}},
		{"Look:", []*cobra.Command{create.NewWhy(a), get.NewGet(a), get.NewDescribe(a), download.NewLogs(a), download.NewDownload(a),
			kubeconfig.NewCommand(a)}},
		{"Change:", []*cobra.Command{undo.NewCancel(a), undo.NewReset(a), undo.NewDelete(a), nodes.NewRemove(a), create.NewReplaceNode(a),
			upgrading}},
		{"Cluster API:", []*cobra.Command{controllerCommand(a)}},
		{"Without a service:", []*cobra.Command{
			offline.NewInit(a), offline.NewValidate(a), offline.NewRender(a), offline.NewConvert(a), offline.NewSchema(a), offline.NewExplain(a),
			images,
			simulatorCommand(a), versionCommand(a), completionCommand(a),
		}},
	}
}

// Main runs the command line argv, program's name first, and returns the exit code. It
// changes nothing but what it is given, so that tests can run it in process.
func Main(ctx context.Context, argv []string, io streams.Streams, environ []string) int {
	return execute(ctx, app.New(app.Identify(argv), io, streams.EnvOf(environ)))
}

func execute(ctx context.Context, a *app.App) int {
	a.IO.In = app.UntilDone(ctx, a.IO.In)
	root := rootCommand(a)
	root.SetArgs(a.Identity.Args)
	root.SetIn(a.IO.In)
	help := &app.Sink{Path: "standard output", W: a.IO.Out} // cobra does not report that it could not be written
	root.SetOut(help)
	root.SetErr(a.IO.Err)
	command, err := root.ExecuteContextC(ctx)
	if err == nil {
		err = help.Failed
	}
	a.Close()
	return exit(ctx, a, command, err)
}

// exit prints the error once. An interrupt outranks the error that it caused.
func exit(ctx context.Context, a *app.App, command *cobra.Command, err error) int {
	if err == nil {
		return 0
	}
	if by := app.InterruptOf(ctx); by != nil && app.CodeOf(err) != by.Code {
		err = &model.Fault{Code: by.Code, Err: by, Next: model.Advicef("%s", a.CommandLine())}
	}
	code := app.CodeOf(err)
	fmt.Fprintf(a.IO.Err, "%s: %s\n", a.Identity.Name, shownError(err))
	next := a.Hint(nextOf(err))
	if app.Is[*app.UsageError](err) {
		fmt.Fprintf(a.IO.Err, "Usage: %s\n", useLine(command))
		next = command.CommandPath() + " --help"
	}
	if next != "" {
		escape.Fprintf(a.IO.Err, "Next: %s\n", next)
	}
	return int(code)
}

// nextOf is the error's advice, or the explanation of the first field that is wrong.
func nextOf(err error) model.Advice {
	problems, is := errors.AsType[*spec.Problems](err)
	if next := model.FaultOf(err).Next; next != "" || !is {
		return next
	}
	for _, p := range problems.List {
		if p.Field == "" {
			continue
		}
		if doc, err := schema.Explain("", p.Field); err == nil {
			return model.Command("explain", doc.Path)
		}
	}
	return ""
}

func useLine(command *cobra.Command) string {
	switch {
	case !app.IsGroup(command):
	case command.HasParent():
		return command.CommandPath() + " " + strings.Join(app.SubcommandNames(command), "|")
	default:
		return command.CommandPath() + " COMMAND"
	}
	return command.UseLine()
}

// shownError has a line for each problem of one's own file, and one for a fault, which may
// repeat what a service or a machine said.
func shownError(err error) string {
	type listed interface {
		error
		MultiLine()
	}
	if app.Is[*model.Fault](err) && !app.Is[*spec.Problems](err) && !app.Is[listed](err) {
		return escape.Word(app.PlainError(err))
	}
	return escape.Lines(app.PlainError(err))
}

// Tree is the tree of commands for what writes it down. It is not for running.
func Tree() *cobra.Command {
	return rootCommand(app.New(app.Identify([]string{"oaictl"}), streams.Streams{}, streams.Env{}))
}

func versionCommand(a *app.App) *cobra.Command {
	return &cobra.Command{
		Use:         "version",
		Short:       "Print the version of oaictl",
		Args:        app.NoArguments,
		Annotations: map[string]string{app.NoConfig: "true"},
		RunE: func(*cobra.Command, []string) error {
			info := app.ReadBuildInfo()
			return a.Print(printer.Result{
				Data:  info,
				Names: []string{info.Version},
				Text:  func() string { return fmt.Sprintln(info) },
			})
		},
	}
}

// helpCommand is `help [COMMAND|TOPIC]`.
func helpCommand(a *app.App) *cobra.Command {
	return &cobra.Command{
		Use:         "help [COMMAND|TOPIC]",
		Short:       "Help about a command or a topic",
		Annotations: map[string]string{app.NoConfig: "true"},
		RunE: func(command *cobra.Command, args []string) error {
			target, rest, err := command.Root().Find(args)
			if err != nil || len(rest) > 0 {
				return app.Usagef("no help about %q", strings.Join(args, " "))
			}
			target.InitDefaultHelpFlag()
			return target.Help()
		},
	}
}
