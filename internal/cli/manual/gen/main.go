// Command gen writes the manual of oaictl into folders: Markdown pages, man
// pages, completion scripts. It replaces what it wrote there before.
package main

import (
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"path/filepath"

	"github.com/spf13/cobra"

	"github.com/oaictl/oaictl/internal/cli"
	"github.com/oaictl/oaictl/internal/cli/manual"
)

func main() {
	markdown := flag.String("markdown", "", "`folder` for Markdown pages")
	man := flag.String("man", "", "`folder` for man pages")
	completions := flag.String("completions", "", "`folder` for completion scripts")
	validations := flag.String("validations", "", "`file` for the page about validations")
	flag.Parse()
	err := generate(cli.Tree(), *markdown, *man, *completions)
	if err == nil && *validations != "" {
		err = writeFile(*validations, manual.Validations)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "write the manual:", err)
		os.Exit(1)
	}
}

func generate(root *cobra.Command, markdown, man, completions string) error {
	markdowns, mans := map[string]func(io.Writer) error{}, map[string]func(io.Writer) error{}
	for _, page := range manual.Of(root).All() {
		markdowns[page.MarkdownName()], mans[page.ManName()] = page.Markdown, page.Man
	}
	return errors.Join(fill(markdown, "oaictl*.md", markdowns), fill(man, "*.1", mans),
		fill(completions, "oaictl.*", map[string]func(io.Writer) error{
			"oaictl.bash": func(w io.Writer) error { return root.GenBashCompletionV2(w, true) },
			"oaictl.zsh":  root.GenZshCompletion,
			"oaictl.fish": func(w io.Writer) error { return root.GenFishCompletion(w, true) },
			"oaictl.ps1":  root.GenPowerShellCompletionWithDesc,
		}))
}

// fill fills a folder, if one is named, and removes files matching old that it does not write.
func fill(folder, old string, files map[string]func(io.Writer) error) error {
	if folder == "" {
		return nil
	}
	if err := os.MkdirAll(folder, 0o755); err != nil {
		return err
	}
	stale, err := filepath.Glob(filepath.Join(folder, old))
	if err != nil {
		return err
	}
	for _, name := range stale {
		if files[filepath.Base(name)] == nil {
			if err := os.Remove(name); err != nil {
				return err
			}
		}
	}
	for name, write := range files {
		if err := writeFile(filepath.Join(folder, name), write); err != nil {
			return err
		}
	}
	return nil
}

func writeFile(name string, write func(io.Writer) error) (err error) {
	file, err := os.Create(name)
	if err != nil {
		return err
	}
	defer func() {
		if closed := file.Close(); err == nil {
			err = closed
		}
	}()
	return write(file)
}
