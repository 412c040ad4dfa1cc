package cli

import (
	"context"
	"slices"
	"strings"
	"time"
	"unicode"

	"github.com/spf13/cobra"

	"github.com/oaictl/oaictl/internal/cli/base"
	"github.com/oaictl/oaictl/internal/cli/file"
	"github.com/oaictl/oaictl/internal/escape"
	"github.com/oaictl/oaictl/pkg/install"
)

// namesWithin is how long a shell waits for names after a TAB: in real time,
// since a person waits.
const namesWithin = 2 * time.Second

// candidate is a thing that may be meant.
type candidate struct {
	name, id string
	note     string // what tells it from others: its state
}

// naming lists what there is of one kind. What it could read before it failed
// is better than nothing.
type naming func(context.Context, *install.Client) []candidate

func clusterNames(ctx context.Context, service *install.Client) []candidate {
	clusters, _ := service.ListClusters(ctx)
	all := make([]candidate, 0, len(clusters))
	for _, c := range clusters {
		all = append(all, candidate{name: c.Name, id: c.ID, note: string(c.State)})
	}
	return all
}

// namespaceNames are the namespaces that clusters stand in: few may list all that a
// hub has, and fewer still want the others.
func namespaceNames(ctx context.Context, service *install.Client) []candidate {
	clusters, _ := service.ListClusters(ctx)
	var all []candidate
	for _, c := range clusters {
		if namespace, _, found := strings.Cut(c.ID, "/"); found && !slices.ContainsFunc(all, func(have candidate) bool { return have.name == namespace }) {
			all = append(all, candidate{name: namespace, id: namespace})
		}
	}
	return all
}

// contextNames completes the contexts of the kubeconfig, which nobody has to be
// asked for.
func contextNames(a *base.App) cobra.CompletionFunc {
	return func(command *cobra.Command, _ []string, begun string) ([]string, cobra.ShellCompDirective) {
		if err := a.Prepare(command); err != nil {
			return nil, cobra.ShellCompDirectiveNoFileComp
		}
		return beginning(a.Globals.Kube.Contexts(), begun), cobra.ShellCompDirectiveNoFileComp
	}
}

// formatOrFile completes --to, which is a format of convert and a file elsewhere.
func formatOrFile(command *cobra.Command, _ []string, begun string) ([]string, cobra.ShellCompDirective) {
	if command.Name() != "convert" {
		return nil, cobra.ShellCompDirectiveDefault
	}
	return beginning(file.FormatsWritten(), begun), cobra.ShellCompDirectiveNoFileComp
}

// inAnyNamespace completes the value of --namespace, whatever it is set to.
func inAnyNamespace(a *base.App) cobra.CompletionFunc {
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
	all := make([]candidate, 0, len(infraEnvs))
	for _, e := range infraEnvs {
		all = append(all, candidate{name: e.Name, id: e.ID, note: "image " + string(e.Image.State)})
	}
	return all
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

// argument completes the one name that a command takes, unless -f stands for it.
func argument(a *base.App, list naming) cobra.CompletionFunc {
	return func(command *cobra.Command, given []string, begun string) ([]string, cobra.ShellCompDirective) {
		if len(given) > 0 || command.Flags().Changed("file") {
			return nil, cobra.ShellCompDirectiveNoFileComp
		}
		return offer(a, command, list, begun), cobra.ShellCompDirectiveNoFileComp
	}
}

// kindAndArgument completes [KIND] NAME, where the first kind may be left out.
func kindAndArgument(a *base.App, kinds ...string) cobra.CompletionFunc {
	lists := map[string]naming{"cluster": clusterNames, "host": hostNames}
	return func(command *cobra.Command, given []string, begun string) ([]string, cobra.ShellCompDirective) {
		if len(given) == 1 && slices.Contains(kinds, base.KindOf(given[0])) {
			return argument(a, lists[base.KindOf(given[0])])(command, nil, begun)
		}
		names, directive := argument(a, lists[kinds[0]])(command, given, begun)
		if len(given) == 0 {
			names = append(names, beginning(kinds, begun)...)
		}
		return names, directive
	}
}

// flagValue completes the value of a flag that names something.
func flagValue(a *base.App, list naming) cobra.CompletionFunc {
	return func(command *cobra.Command, _ []string, begun string) ([]string, cobra.ShellCompDirective) {
		return offer(a, command, list, begun), cobra.ShellCompDirectiveNoFileComp
	}
}

// offer asks the service what there is and offers what begins so. A TAB is no
// command: whatever fails, it is silent and offers nothing.
func offer(a *base.App, command *cobra.Command, list naming, begun string) []string {
	if err := a.Prepare(command); err != nil {
		return nil
	}
	to := base.ClientConfig{Connection: a.Globals.Connection, Clock: a.Clock}
	if a.Globals.CheckFlags(to.Backend) != nil || to.Backend == base.BackendREST && to.ServiceURL == "" {
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

// choices are what may be typed for the candidates: their names or, where a
// name is missing, not alone or not for a shell, their ids; and ids as well for
// who has begun one.
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

// typeable says whether a shell takes a name as one word, and as nothing else.
func typeable(name string) bool {
	return name != "" && !strings.ContainsFunc(name, func(r rune) bool {
		return !unicode.IsLetter(r) && !unicode.IsDigit(r) && !strings.ContainsRune("-_.:", r)
	})
}
