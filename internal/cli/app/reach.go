package app

import (
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/oaictl/oaictl/internal/shared/names"
)

// reach is what this command line says of the installed cluster, and the next one needs as well.
type reach struct {
	root    *cobra.Command
	cluster string // by name or id, as it was typed
	file    string
	flags   []*pflag.Flag
}

func typedReach(command *cobra.Command, file string) reach {
	r := reach{root: command.Root(), file: file}
	flags := command.Flags()
	given := flags.Args()
	switch path := command.CommandPath(); {
	case flags.Changed("cluster"):
		r.cluster = flags.Lookup("cluster").Value.String()
	case len(given) > 0 && KindOf(given[0]) != "host" && KindOf(given[0]) != "machine" && (strings.HasSuffix(path, " get nodes") || strings.HasSuffix(path, " why")):
		r.cluster = given[len(given)-1]
	}
	for _, name := range []string{"cluster-kubeconfig", "dir", "allow-address"} {
		if flags.Changed(name) && flags.Lookup("cluster-kubeconfig") != nil {
			r.flags = append(r.flags, flags.Lookup(name))
		}
	}
	return r
}

// completed is a command that reaches the same installed cluster as this one does.
func (r reach) completed(command string) string {
	if r.root == nil {
		return command
	}
	next, _, err := r.root.Find(strings.Fields(command))
	if err != nil || next.Flags().Lookup("cluster-kubeconfig") == nil {
		return command
	}
	words := []string{command}
	says := func(flag string) bool { return strings.Contains(command, " --"+flag+" ") }
	ofNodes := slices.Contains([]string{"approve", "remove-node", "replace-node"}, next.Name())
	switch {
	case !ofNodes || says("cluster") || strings.Contains(command, " -f "):
	case r.cluster != "":
		words = append(words, "--cluster", names.Quoted(r.cluster))
	case r.file != "":
		words = append(words, "-f", names.Quoted(r.file))
	}
	for _, flag := range r.flags {
		if next.Flags().Lookup(flag.Name) == nil || flag.Name != "allow-address" && says(flag.Name) {
			continue
		}
		for _, value := range valuesOf(flag) {
			words = append(words, "--"+flag.Name, names.Quoted(value))
		}
	}
	return strings.Join(words, " ")
}

func valuesOf(flag *pflag.Flag) []string {
	if list, is := flag.Value.(pflag.SliceValue); is {
		return list.GetSlice()
	}
	return []string{flag.Value.String()}
}
