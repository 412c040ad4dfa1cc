package cli

import (
	"context"
	"slices"
	"strings"
	"time"
	"unicode"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/oaictl/oaictl/internal/cli/app"
	"github.com/oaictl/oaictl/internal/cli/offline"
	"github.com/oaictl/oaictl/internal/cli/output"
	"github.com/oaictl/oaictl/internal/shared/escape"
	"github.com/oaictl/oaictl/internal/simulator/auth"
	"github.com/oaictl/oaictl/internal/simulator/host"
	"github.com/oaictl/oaictl/pkg/install"
	"github.com/oaictl/oaictl/pkg/install/hub/machinecause"
	"github.com/oaictl/oaictl/pkg/install/model"
)

func completionCommand(a *app.App) *cobra.Command {
	return &cobra.Command{
		Use:         "completion bash|zsh|fish|powershell",
		Short:       "Print a completion script for a shell",
		Args:        app.OneArgument("bash, zsh, fish or powershell"),
		ValidArgs:   []string{"bash", "zsh", "fish", "powershell"},
		Annotations: map[string]string{app.NoConfig: "true"},
		RunE: func(command *cobra.Command, args []string) error {
			root := command.Root()
			switch args[0] {
			case "bash":
				return root.GenBashCompletionV2(a.IO.Out, true)
			case "zsh":
				return root.GenZshCompletion(a.IO.Out)
			case "fish":
				return root.GenFishCompletion(a.IO.Out, true)
			case "powershell":
				return root.GenPowerShellCompletionWithDesc(a.IO.Out)
			default:
				return app.Usagef("no completion for shell %q; one of bash, zsh, fish, powershell", args[0])
			}
		},
	}
}

// registerCompletions also keeps shells from offering files where no argument is taken.
func registerCompletions(a *app.App, root *cobra.Command) {
	flags := flagCompletions(a)
	arguments := argumentCompletions(a)
	var visit func(command *cobra.Command)
	visit = func(command *cobra.Command) {
		add := func(flag *pflag.Flag) {
			if flag.Name == "output" && command.HasParent() {
				return // a file: what -o means everywhere else is the root's
			}
			if complete := flags[flag.Name]; complete != nil {
				if err := command.RegisterFlagCompletionFunc(flag.Name, complete); err != nil {
					panic("cli: completion of --" + flag.Name + ": " + err.Error())
				}
			}
		}
		command.Flags().VisitAll(add) // its parents' are not among them yet
		command.PersistentFlags().VisitAll(add)
		path := strings.TrimSpace(strings.TrimPrefix(command.CommandPath(), root.CommandPath()))
		switch {
		case command.ValidArgsFunction != nil, len(command.ValidArgs) > 0, command.HasSubCommands():
		case arguments[path] != nil:
			command.ValidArgsFunction = arguments[path]
		default:
			command.ValidArgsFunction = cobra.NoFileCompletions
		}
		for _, sub := range command.Commands() {
			visit(sub)
		}
	}
	visit(root)
}

// flagCompletions go by the flags' names, which mean the same with every command.
func flagCompletions(a *app.App) map[string]cobra.CompletionFunc {
	words := func(list ...string) cobra.CompletionFunc {
		return func(_ *cobra.Command, _ []string, begun string) ([]string, cobra.ShellCompDirective) {
			found := beginning(list, begun)
			if len(found) == 1 && strings.HasSuffix(found[0], "=") { // a value goes on there
				return found, cobra.ShellCompDirectiveNoFileComp | cobra.ShellCompDirectiveNoSpace
			}
			return found, cobra.ShellCompDirectiveNoFileComp
		}
	}
	yaml := cobra.FixedCompletions([]string{"yaml", "yml"}, cobra.ShellCompDirectiveFilterFileExt)
	images := imageFiles()
	folders := cobra.FixedCompletions(nil, cobra.ShellCompDirectiveFilterDirs)
	return map[string]cobra.CompletionFunc{
		"backend":   words(app.BackendREST, app.BackendHub),
		"progress":  words(app.ProgressAuto, app.ProgressTTY, app.ProgressPlain, app.ProgressJSON),
		"output":    words("table", "wide", "json", "yaml", "name", "jsonpath="),
		"for":       words("installed", "ready", "hosts="),
		"severity":  words("info", "warning", "error", "critical"),
		"auth":      words(auth.Modes()...),
		"boot":      words(string(host.Day1), string(host.Day2)),
		"file":      yaml,
		"nmstate":   yaml,
		"base":      images,
		"ignition":  cobra.FixedCompletions([]string{"ign", "json"}, cobra.ShellCompDirectiveFilterFileExt),
		"scenario":  yaml,
		"dir":       folders,
		"token-dir": folders,
		"cluster":   flagValue(a, clusterNames),
		"infra-env": flagValue(a, infraEnvNames),
		"discovery": flagValue(a, infraEnvNames),
		"host":      flagValue(a, hostNames),
		"adopt":     flagValue(a, foreignClusters),
		"context":   contextNames(a),
		"namespace": inAnyNamespace(a),
		"from":      formatOrFile(offline.FormatsRead()),
		"kind":      words(offline.DocumentKinds()...),
		"to":        formatOrFile(offline.FormatsWritten()),
		"report":    cobra.FixedCompletions([]string{"json"}, cobra.ShellCompDirectiveFilterFileExt),
	}
}

func argumentCompletions(a *app.App) map[string]cobra.CompletionFunc {
	complete := map[string]cobra.CompletionFunc{
		"get infraenvs": argument(a, infraEnvNames), "delete infraenv": argument(a, infraEnvNames), "delete host": argument(a, hostNames),
		"remove-node": argument(a, hostNames),
		"describe":    kindAndArgument(a, "cluster", "host"), "why": kindAndArgument(a, "cluster", "host", "machine"),
		"logs": kindAndArgument(a, "cluster", "host"),
		"wait": kindAndArgument(a, "cluster"), "upgrade cluster": argument(a, clusterNames), "cancel": kindAndArgument(a, "cluster"),
		"reset": kindAndArgument(a, "cluster"),
	}
	for _, path := range []string{
		"iso customize", "iso show", "iso verify", "iso extract ignition", "iso extract kargs", "iso extract network", "iso extract pxe",
		"iso extract minimal",
	} {
		complete[path] = imageFiles()
	}
	for _, path := range []string{
		"get clusters", "get hosts", "get machines", "get events", "get validations", "delete cluster",
		"download iso", "download kubeconfig", "download ignition", "download manifests", "kubeconfig merge", "kubeconfig refresh",
	} {
		complete[path] = argument(a, clusterNames)
	}
	return complete
}

func imageFiles() cobra.CompletionFunc {
	return cobra.FixedCompletions([]string{"iso"}, cobra.ShellCompDirectiveFilterFileExt)
}

func beginning(words []string, begun string) []string {
	return slices.DeleteFunc(slices.Clone(words), func(word string) bool { return !strings.HasPrefix(word, begun) })
}

// namesWithin is how long a person waits for names after a TAB, in real time.
const namesWithin = 2 * time.Second

type candidate struct {
	name, id string
	note     string // what distinguishes it from others: its state
}

// naming lists things of one kind. What it read before it failed is better than nothing.
type naming func(context.Context, *install.Client) []candidate

func clusterNames(ctx context.Context, service *install.Client) []candidate {
	clusters, _ := service.ListClusters(ctx)
	return output.Each(clusters, func(c model.Cluster) candidate {
		return candidate{name: c.Name, id: c.ID, note: string(c.State)}
	})
}

// namespaceNames are those of clusters: few may list all that a hub has.
func namespaceNames(ctx context.Context, service *install.Client) []candidate {
	clusters, _ := service.ListClusters(ctx)
	var all []candidate
	for _, c := range clusters {
		if namespace, _, found := strings.Cut(c.ID, "/"); found &&
			!slices.ContainsFunc(all, func(have candidate) bool { return have.name == namespace }) {
			all = append(all, candidate{name: namespace, id: namespace})
		}
	}
	return all
}

func contextNames(a *app.App) cobra.CompletionFunc {
	return func(command *cobra.Command, _ []string, begun string) ([]string, cobra.ShellCompDirective) {
		if err := a.Prepare(command); err != nil {
			return nil, cobra.ShellCompDirectiveNoFileComp
		}
		return beginning(a.Globals.Kube.Contexts(), begun), cobra.ShellCompDirectiveNoFileComp
	}
}

// formatOrFile completes --from and --to, which are formats of convert and files elsewhere.
func formatOrFile(formats []string) cobra.CompletionFunc {
	return func(command *cobra.Command, _ []string, begun string) ([]string, cobra.ShellCompDirective) {
		if command.Name() != "convert" {
			return nil, cobra.ShellCompDirectiveDefault
		}
		return beginning(formats, begun), cobra.ShellCompDirectiveNoFileComp
	}
}

func inAnyNamespace(a *app.App) cobra.CompletionFunc {
	return func(command *cobra.Command, _ []string, begun string) ([]string, cobra.ShellCompDirective) {
		a.Globals.AllNamespaces = true
		return offer(a, command, namespaceNames, begun), cobra.ShellCompDirectiveNoFileComp
	}
}

// foreignClusters are those that --adopt takes, by their ids alone.
func foreignClusters(ctx context.Context, service *install.Client) []candidate {
	clusters, _ := service.ListClusters(ctx)
	var all []candidate
	for _, c := range clusters {
		if !c.Owned {
			all = append(all, candidate{id: c.ID, note: strings.TrimSuffix(c.Name+"."+c.BaseDomain, ".")})
		}
	}
	return all
}

func infraEnvNames(ctx context.Context, service *install.Client) []candidate {
	infraEnvs, _ := service.ListInfraEnvs(ctx, "")
	return output.Each(infraEnvs, func(e model.InfraEnv) candidate {
		return candidate{name: e.Name, id: e.ID, note: "image " + string(e.Image.State)}
	})
}

func hostNames(ctx context.Context, service *install.Client) []candidate {
	infraEnvs, _ := service.ListInfraEnvs(ctx, "")
	var all []candidate
	for _, env := range infraEnvs {
		hosts, err := service.ListHosts(ctx, env.ID)
		if err != nil {
			break
		}
		for _, h := range hosts {
			all = append(all, candidate{name: h.Hostname, id: h.ID, note: string(h.State)})
		}
	}
	return all
}

func machineNames(ctx context.Context, service *install.Client) []candidate {
	all, _ := app.Machines(ctx, service)
	return output.Each(all, func(m machinecause.Machine) candidate {
		return candidate{name: m.Name, id: m.ID(), note: m.Phase}
	})
}

// argument completes the one name that a command takes, unless -f is given instead.
func argument(a *app.App, list naming) cobra.CompletionFunc {
	return func(command *cobra.Command, given []string, begun string) ([]string, cobra.ShellCompDirective) {
		if len(given) > 0 || command.Flags().Changed("file") {
			return nil, cobra.ShellCompDirectiveNoFileComp
		}
		return offer(a, command, list, begun), cobra.ShellCompDirectiveNoFileComp
	}
}

// kindAndArgument completes [KIND] NAME, where the first kind may be left out.
func kindAndArgument(a *app.App, kinds ...string) cobra.CompletionFunc {
	lists := map[string]naming{"cluster": clusterNames, "host": hostNames, "machine": machineNames}
	return func(command *cobra.Command, given []string, begun string) ([]string, cobra.ShellCompDirective) {
		if len(given) == 1 && slices.Contains(kinds, app.KindOf(given[0])) {
			return argument(a, lists[app.KindOf(given[0])])(command, nil, begun)
		}
		names, directive := argument(a, lists[kinds[0]])(command, given, begun)
		if len(given) == 0 {
			names = append(names, beginning(kinds, begun)...)
		}
		return names, directive
	}
}

// flagValue completes the value of a flag that names something.
func flagValue(a *app.App, list naming) cobra.CompletionFunc {
	return func(command *cobra.Command, _ []string, begun string) ([]string, cobra.ShellCompDirective) {
		return offer(a, command, list, begun), cobra.ShellCompDirectiveNoFileComp
	}
}

// offer reports no error: a TAB is no command.
func offer(a *app.App, command *cobra.Command, list naming, begun string) []string {
	if err := a.Prepare(command); err != nil {
		return nil
	}
	to := app.ClientConfig{Connection: a.Globals.Connection, Clock: a.Clock}
	if a.Globals.CheckFlags(to.Backend) != nil || to.Backend == app.BackendREST && to.ServiceURL == "" {
		return nil
	}
	ctx, stop := context.WithTimeout(command.Context(), namesWithin)
	defer stop()
	service, err := a.Reach(ctx, to)
	if err != nil {
		return nil
	}
	return choices(list(ctx, install.New(service)), begun)
}

// choices are names or, where a name is missing, not unique or not usable in a shell, ids; and ids as well if the user
// has begun to type one.
func choices(all []candidate, begun string) []string {
	times := map[string]int{}
	for _, c := range all {
		times[c.name]++
	}
	var out []string
	for _, c := range all {
		c.id, c.note = escape.Word(c.id), escape.Word(c.note)
		switch {
		case times[c.name] == 1 && typeable(c.name) && strings.HasPrefix(c.name, begun):
			out = append(out, cobra.CompletionWithDesc(c.name, c.note))
		case strings.HasPrefix(c.id, begun):
			note := c.note
			if typeable(c.name) {
				note = c.name + ", " + note
			}
			out = append(out, cobra.CompletionWithDesc(c.id, note))
		}
	}
	return out
}

// typeable reports whether a shell takes a name as one word, and as nothing else.
func typeable(name string) bool {
	return name != "" && !strings.ContainsFunc(name, func(r rune) bool {
		return !unicode.IsLetter(r) && !unicode.IsDigit(r) && !strings.ContainsRune("-_.:", r)
	})
}
