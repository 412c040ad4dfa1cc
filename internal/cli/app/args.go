package app

import (
	"context"
	_ "embed"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/oaictl/oaictl/internal/shared/listtext"
	"github.com/oaictl/oaictl/internal/shared/spelling"
)

// UnknownSubcommand answers a group that was called without one of its commands.
func UnknownSubcommand(command *cobra.Command, args []string) error {
	if len(args) == 0 {
		if !command.HasParent() {
			return command.Help()
		}
		return Usagef("%s what? one of %s", VerbOf(command), strings.Join(SubcommandNames(command), ", "))
	}
	hint := ""
	if near := meant(command, args[0]); near != nil {
		hint = didYouMean(strings.Join(append([]string{near.CommandPath()}, args[1:]...), " "))
	} else if takesClusterName(command) && len(args) == 1 {
		hint = didYouMean(command.CommandPath() + " cluster " + listtext.Quoted(args[0]))
	}
	return Usagef("unknown command %q for %s%s", args[0], command.CommandPath(), hint)
}

func didYouMean(line string) string { return fmt.Sprintf("; did you mean `%s`?", line) }

func takesClusterName(command *cobra.Command) bool {
	return slices.ContainsFunc(command.Commands(), func(sub *cobra.Command) bool {
		return sub.Name() == "cluster" && strings.Contains(sub.Use, "NAME")
	})
}

// otherWords are words for a command that users of other programs type.
//
//go:embed otherwords.txt
var otherWords string

// meant is the command that word was probably meant for, nil if none is near.
func meant(group *cobra.Command, word string) *cobra.Command {
	called := map[string]*cobra.Command{}
	var words []string
	call := func(command *cobra.Command, names ...string) {
		for _, name := range names {
			if called[name] == nil {
				called[name], words = command, append(words, name)
			}
		}
	}
	for _, sub := range group.Commands() {
		if sub.IsAvailableCommand() {
			call(sub, append([]string{sub.Name()}, sub.Aliases...)...)
		}
	}
	for line := range strings.Lines(otherWords) {
		path, others, _ := strings.Cut(line, ":")
		if found, rest, err := group.Find(strings.Fields(path)); err == nil && len(rest) == 0 && found != group {
			call(found, strings.Fields(others)...)
		}
	}
	return called[closest(strings.ToLower(word), words)]
}

// SubcommandNames is what a person may write after command.
func SubcommandNames(command *cobra.Command) []string {
	var names []string
	for _, sub := range command.Commands() {
		if sub.IsAvailableCommand() {
			names = append(names, sub.Name())
		}
	}
	return names
}

// BadFlag says in plain words what is wrong with a flag.
func (a *App) BadFlag(command *cobra.Command, err error) error {
	var unknown *pflag.NotExistError
	var missing *pflag.ValueRequiredError
	var invalid *pflag.InvalidValueError
	var malformed *pflag.InvalidSyntaxError
	switch {
	case errors.As(err, &unknown) && IsGroup(command) && (command.HasParent() || len(a.wordsAfter(command)) > 0):
		return UnknownSubcommand(command, a.wordsAfter(command)) // the flag belongs to that command
	case errors.As(err, &unknown) && unknown.GetSpecifiedShortnames() != "":
		return Usagef("unknown flag -%s", unknown.GetSpecifiedName())
	case errors.As(err, &unknown):
		return unknownFlag(command, unknown.GetSpecifiedName())
	case errors.As(err, &missing):
		return Usagef("%s needs %s", written(missing.GetFlag()), article(valueOf(missing.GetFlag())))
	case errors.As(err, &invalid) && errors.Is(err, errTwice):
		return Usagef("%s is given twice: %q and %q; %s takes one", written(invalid.GetFlag()), invalid.GetFlag().Value.String(),
			invalid.GetValue(), VerbOf(command))
	case errors.As(err, &invalid):
		return Usagef("%s %q is not %s%s", written(invalid.GetFlag()), invalid.GetValue(), article(valueOf(invalid.GetFlag())),
			example(invalid.GetFlag()))
	case errors.As(err, &malformed):
		return Usagef("%q is not a flag", malformed.GetSpecifiedFlag())
	}
	return Usagef("%w", err)
}

// errTwice is that a flag is given a second time, whose first value would be lost.
var errTwice = errors.New("it is given twice")

// onceValue is the value of a flag that is given once.
type onceValue struct {
	pflag.Value
	given bool
}

func (v *onceValue) Set(text string) error {
	if v.given && text != v.String() { // completion sets what is typed a second time
		return errTwice
	}
	v.given = true
	return v.Value.Set(text)
}

// FileOnce has all commands refuse a second -f, where each takes one file.
func FileOnce(command *cobra.Command) {
	if flag := command.Flags().Lookup("file"); flag != nil && flag.Value.Type() == "string" {
		flag.Value = &onceValue{Value: flag.Value}
	}
	for _, sub := range command.Commands() {
		FileOnce(sub)
	}
}

func (a *App) wordsAfter(command *cobra.Command) []string {
	flags := pflag.NewFlagSet("", pflag.ContinueOnError)
	flags.ParseErrorsAllowlist.UnknownFlags = true
	flags.Usage = func() {}
	flags.AddFlagSet(command.Root().PersistentFlags())
	if err := flags.Parse(a.Identity.Args); err != nil {
		return nil
	}
	words := flags.Args()
	depth := 0
	for c := command; c.HasParent(); c = c.Parent() {
		depth++
	}
	return words[min(depth, len(words)):]
}

func unknownFlag(command *cobra.Command, name string) error {
	var names []string
	known := func(flag *pflag.Flag) {
		if !flag.Hidden {
			names = append(names, flag.Name)
		}
	}
	command.Flags().VisitAll(known)
	command.InheritedFlags().VisitAll(known)
	hint := ""
	if near := closest(name, names); near != "" {
		hint = didYouMean("--" + near)
	}
	return Usagef("unknown flag --%s%s", name, hint)
}

func written(flag *pflag.Flag) string {
	if flag.Shorthand != "" {
		return "-" + flag.Shorthand + ", --" + flag.Name
	}
	return "--" + flag.Name
}

func valueOf(flag *pflag.Flag) string {
	value, _ := pflag.UnquoteUsage(flag)
	switch flag.Value.Type() {
	case "int", "uint", "count":
		return "whole number"
	case "float64":
		return "number"
	case "bool":
		return "true or false"
	}
	return value
}

func article(value string) string {
	switch {
	case value == "" || strings.ContainsAny(value, "| "+"=") && value != "whole number":
		return value
	case strings.ContainsRune("AEIOaeio", rune(value[0])):
		return "an " + value
	}
	return "a " + value
}

func example(flag *pflag.Flag) string {
	if flag.Value.Type() == "duration" {
		return ", such as 90s, 15m or 1h30m"
	}
	return ""
}

// Run is what a command does that takes no arguments.
func Run(run func(context.Context) error) func(*cobra.Command, []string) error {
	return func(command *cobra.Command, _ []string) error { return run(command.Context()) }
}

// After is what a command does that first reads its arguments, and then runs.
func After(read func(*cobra.Command, []string) error, run func(context.Context) error) func(*cobra.Command, []string) error {
	return func(command *cobra.Command, given []string) error {
		if err := read(command, given); err != nil {
			return err
		}
		return run(command.Context())
	}
}

// NoArguments refuses everything that is no flag. What is probably the file gets its flag.
func NoArguments(command *cobra.Command, given []string) error {
	if len(given) == 0 {
		return nil
	}
	hint := ""
	if file := command.Flags().Lookup("file"); file != nil && !file.Changed && len(given) == 1 {
		hint = didYouMean(command.CommandPath() + " -f " + listtext.Quoted(given[0]))
	}
	return Usagef("%s accepts no argument, but got %s%s", VerbOf(command), quotedAll(given), hint)
}

// OneArgument asks for exactly one thing.
func OneArgument(what string) cobra.PositionalArgs {
	return func(command *cobra.Command, given []string) error {
		switch len(given) {
		case 0:
			return Usagef("%s needs %s", VerbOf(command), what)
		case 1:
			return nil
		}
		return Usagef("%s needs one argument, not %d: %s", VerbOf(command), len(given), quotedAll(given))
	}
}

// OneArgumentAtMost lets a name be left out.
func OneArgumentAtMost(command *cobra.Command, given []string) error {
	if len(given) > 1 {
		return Usagef("%s needs one name, not %d: %s", VerbOf(command), len(given), quotedAll(given))
	}
	return nil
}

func quotedAll(words []string) string {
	all := make([]string, 0, len(words))
	for _, word := range words {
		all = append(all, fmt.Sprintf("%q", word))
	}
	return strings.Join(all, " ")
}

// looksLikeFile reports whether an argument is a path and not a name: no cluster and no host has one of these endings.
func looksLikeFile(name string) bool {
	switch strings.ToLower(filepath.Ext(name)) {
	case ".yaml", ".yml", ".json":
		return true
	}
	return false
}

// VerbOf is a command as messages name it, which begin with the program's name.
func VerbOf(command *cobra.Command) string {
	return strings.TrimPrefix(command.CommandPath(), command.Root().DisplayName()+" ")
}

// RunsItself marks a command that holds others and does something by itself, too.
const RunsItself = "runs"

// IsGroup reports whether a command does nothing by itself, and holds others.
func IsGroup(command *cobra.Command) bool {
	return command.HasAvailableSubCommands() && command.Annotations[RunsItself] == ""
}

// Group is a command that only holds others.
func Group(use, short string, commands ...*cobra.Command) *cobra.Command {
	command := &cobra.Command{Use: use, Short: short, Args: cobra.ArbitraryArgs, RunE: UnknownSubcommand}
	command.AddCommand(commands...)
	return command
}

// closest is the candidate within a third of text's letters, "" if none is near.
func closest(text string, candidates []string) string {
	best, at := "", max(1, len(text)/3)+1
	for _, candidate := range candidates {
		if d := spelling.Distance(text, candidate); d < at {
			best, at = candidate, d
		}
	}
	return best
}
