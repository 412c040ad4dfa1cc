package app

import (
	_ "embed"
	"strings"

	"github.com/spf13/cobra"
	"golang.org/x/tools/txtar"
)

// helpArchive has the long help of commands under their paths, and the examples beside it.
//
//go:embed help.txtar
var helpArchive []byte

func helpTexts() map[string]string {
	texts := map[string]string{}
	for _, file := range txtar.Parse(helpArchive).Files {
		texts[file.Name] = strings.TrimSuffix(string(file.Data), "\n")
	}
	return texts
}

// LongHelp is the long help of the command at a path below the root.
func LongHelp(path string) string { return helpTexts()[path] }

// Describe gives the commands of a tree the long help and the examples that
// help.txtar has of them.
func Describe(root *cobra.Command) {
	texts := helpTexts()
	var visit func(command *cobra.Command, path string)
	visit = func(command *cobra.Command, path string) {
		if text := texts[path]; text != "" {
			command.Long = text
		}
		if text := texts[path+": examples"]; text != "" {
			command.Example = "  " + strings.ReplaceAll(text, "\n", "\n  ")
		}
		for _, sub := range command.Commands() {
			visit(sub, strings.TrimPrefix(path+" "+sub.Name(), programName+" "))
		}
	}
	visit(root, programName)
}
