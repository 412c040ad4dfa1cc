package cli

import (
	"os"
	"strings"
	"testing"

	"github.com/spf13/cobra"
	"golang.org/x/tools/txtar"

	"github.com/oaictl/oaictl/internal/cli/app"
	"github.com/oaictl/oaictl/internal/shared/must"
)

// TestHelpTexts holds the archive of long help against the tree: each text is of a
// command or a topic, stands once, and says something.
func TestHelpTexts(t *testing.T) {
	known := map[string]bool{}
	var visit func(command *cobra.Command, path string)
	visit = func(command *cobra.Command, path string) {
		known[path], known[path+": examples"] = true, !app.IsGroup(command)
		for _, sub := range command.Commands() {
			visit(sub, strings.TrimPrefix(path+" "+sub.Name(), "oaictl "))
		}
	}
	visit(Tree(), "oaictl")
	archive := must.Get(os.ReadFile("app/help.txtar"))(t)
	files := txtar.Parse(archive).Files
	if len(files) < 50 {
		t.Fatalf("the archive has %d texts", len(files))
	}
	for _, file := range files {
		if !known[file.Name] {
			t.Errorf("%q is no command's text, or appears twice", file.Name)
		}
		known[file.Name] = false
		if text := string(file.Data); strings.TrimSpace(text) == "" || text != strings.TrimSpace(text)+"\n" {
			t.Errorf("the text of %q is empty, or has blank lines around it", file.Name)
		}
	}
}
