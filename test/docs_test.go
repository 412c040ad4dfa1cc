package test

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/spf13/pflag"
	"sigs.k8s.io/yaml"

	"github.com/oaictl/oaictl/internal/cli"
	"github.com/oaictl/oaictl/internal/shared/must"
	"github.com/oaictl/oaictl/internal/simulator/scenario"
	"github.com/oaictl/oaictl/pkg/install/spec"
)

// pages are the documents that are written by hand or generated.
func pages(t *testing.T) map[string]string {
	t.Helper()
	found := map[string]string{}
	add := func(name string) {
		text := must.Get(os.ReadFile(name))(t)
		found[name] = string(text)
	}
	for _, pattern := range []string{"../*.md", "../examples/*.md", "../examples/*/*.md", "tools/*.md"} {
		names := must.Get(filepath.Glob(pattern))(t)
		for _, name := range names {
			add(name)
		}
	}
	must.Do(t, filepath.WalkDir("../docs", func(name string, _ fs.DirEntry, err error) error {
		if err == nil && filepath.Ext(name) == ".md" {
			add(name)
		}
		return err
	}))
	if len(found) < 5 {
		t.Fatalf("found only %d pages", len(found))
	}
	return found
}

// TestLinks follows every link within the tree.
func TestLinks(t *testing.T) {
	link := regexp.MustCompile(`\]\(([^)\s]+)\)`)
	for name, text := range pages(t) {
		for _, found := range link.FindAllStringSubmatch(text, -1) {
			target, anchor, _ := strings.Cut(found[1], "#")
			if strings.Contains(target, "://") {
				continue
			}
			path := name
			if target != "" {
				path = filepath.Join(filepath.Dir(name), filepath.FromSlash(target))
			}
			if _, err := os.Stat(path); err != nil {
				t.Errorf("%s links to %s, which is not there", name, found[1])
				continue
			}
			if anchor != "" && !slices.Contains(anchors(t, path), anchor) {
				t.Errorf("%s links to %s, which has no such heading", name, found[1])
			}
		}
	}
}

// anchors are the headings of a page as links spell them.
func anchors(t *testing.T, name string) []string {
	t.Helper()
	text := must.Get(os.ReadFile(name))(t)
	var found []string
	for line := range strings.Lines(string(text)) {
		heading := strings.TrimLeft(line, "#")
		if heading == line || !strings.HasPrefix(heading, " ") {
			continue
		}
		anchor := strings.ReplaceAll(strings.ToLower(strings.TrimSpace(heading)), " ", "-")
		found = append(found, regexp.MustCompile(`[^a-z0-9_-]`).ReplaceAllString(anchor, ""))
	}
	return found
}

// TestSnippets loads every scenario and every piece of cluster.yaml that a page
// shows: whole documents, of kind Nodes too, as they are, and what starts with spec laid over the
// compact example.
func TestSnippets(t *testing.T) {
	base := must.Get(os.ReadFile(filepath.Join("..", "examples", "compact", "cluster.yaml")))(t)
	pullSecret := must.Get(os.ReadFile(filepath.Join("..", "examples", "shared", "pull-secret.json")))(t)
	sshKey := must.Get(os.ReadFile(filepath.Join("..", "examples", "shared", "id_ed25519.pub")))(t)
	env := spec.Env{
		Nodes: true,
		LookupEnv: func(name string) (string, bool) {
			value, set := map[string]string{"HOME": "/home/me", "BMC_CP0": "admin:not-a-real-password"}[name]
			return value, set
		},
		ReadFile: func(name string) ([]byte, error) {
			switch filepath.Base(name) {
			case "pull-secret.json":
				return pullSecret, nil
			case "id_ed25519.pub":
				return sshKey, nil
			case "bmc-password":
				return []byte("admin:not-a-real-password"), nil
			case "old.kubeconfig":
				return []byte("apiVersion: v1\nkind: Config\nclusters: []\n"), nil
			}
			return nil, fs.ErrNotExist
		},
	}
	block := regexp.MustCompile("(?s)```yaml\n(.*?)```")
	seen := 0
	for name, text := range pages(t) {
		for i, found := range block.FindAllStringSubmatch(text, -1) {
			document := []byte(found[1])
			switch {
			case strings.HasPrefix(found[1], "spec:"):
				document = overlay(t, base, document)
			case strings.Contains(found[1], "kind: Scenario"):
				if _, err := scenario.Parse("scenario.yaml", document); err != nil {
					t.Errorf("%s, block %d: %v\n%s", name, i+1, err, document)
				}
				continue
			case !strings.Contains(found[1], "kind: Cluster") && !strings.Contains(found[1], "kind: Nodes"):
				continue
			}
			seen++
			if _, err := spec.Parse(t.Context(), "cluster.yaml", document, env); err != nil {
				t.Errorf("%s, block %d: %v\n%s", name, i+1, err, document)
			}
		}
	}
	if seen < 4 {
		t.Errorf("found only %d pieces of cluster.yaml", seen)
	}
}

// overlay lays the fields of one document's spec over another's.
func overlay(t *testing.T, base, over []byte) []byte {
	t.Helper()
	type document map[string]any
	var below, above document
	for text, to := range map[*[]byte]*document{&base: &below, &over: &above} {
		if err := yaml.Unmarshal(*text, to); err != nil {
			t.Fatalf("%v\n%s", err, *text)
		}
	}
	fields, ok := below["spec"].(map[string]any)
	changes, fine := above["spec"].(map[string]any)
	if !ok || !fine {
		t.Fatalf("no spec in\n%s", over)
	}
	for field, value := range changes {
		if value == nil {
			delete(fields, field)
		} else {
			fields[field] = value
		}
	}
	return must.Get(yaml.Marshal(below))(t)
}

// TestCommands holds the command lines of every page to the commands that there
// are, with their flags.
func TestCommands(t *testing.T) {
	inline := regexp.MustCompile("`((?:go run ./cmd/|bin/)?oaictl [^`]+)`")
	line := regexp.MustCompile(`(?m)^(?:[a-z]+ build && time )?((?:go run ./cmd/|bin/)?oaictl [^\n]*)$`)
	fence := regexp.MustCompile("(?s)```[a-z]*\n(.*?)```")
	seen := 0
	for name, text := range pages(t) {
		if strings.Contains(name, "/reference/") {
			continue // written from the commands
		}
		var commands []string
		for _, block := range fence.FindAllStringSubmatch(text, -1) {
			for _, found := range line.FindAllStringSubmatch(block[1], -1) {
				commands = append(commands, found[1])
			}
		}
		for _, found := range inline.FindAllStringSubmatch(fence.ReplaceAllString(text, ""), -1) {
			commands = append(commands, strings.Join(strings.Fields(found[1]), " "))
		}
		for _, command := range commands {
			seen++
			if err := understood(command); err != nil {
				t.Errorf("%s: %s: %v", name, command, err)
			}
		}
	}
	if seen < 10 {
		t.Errorf("found only %d command lines", seen)
	}
}

// TestExitCodes holds the page about exit codes to the program's own list.
func TestExitCodes(t *testing.T) {
	topic, _, err := cli.Tree().Find([]string{"exit-codes"})
	if err != nil {
		t.Fatal(err)
	}
	page := must.Get(os.ReadFile(filepath.Join("..", "docs", "exit-codes.md")))(t)
	codes := func(pattern, text string) []string {
		var found []string
		for _, match := range regexp.MustCompile(pattern).FindAllStringSubmatch(text, -1) {
			found = append(found, match[1])
		}
		return found
	}
	want, got := codes(`(?m)^ +(\d+) `, topic.Long), codes(`(?m)^\| (\d+) \|`, string(page))
	if len(want) < 10 || !slices.Equal(want, got) {
		t.Errorf("the page has the codes %v, the program %v", got, want)
	}
}

// understood reports whether oaictl has the command and every flag of a line.
func understood(line string) error {
	line, _, _ = strings.Cut(line, " #")
	words := strings.Fields(line[strings.Index(line, "oaictl ")+len("oaictl "):])
	root := cli.Tree()
	root.InitDefaultHelpCmd()
	command, rest, err := root.Find(words)
	if err != nil {
		return err
	}
	if !command.HasParent() && !strings.HasPrefix(words[0], "-") {
		return fmt.Errorf("there is no command %s", words[0])
	}
	if command.HasAvailableSubCommands() && len(rest) > 0 && !strings.HasPrefix(rest[0], "-") && command.HasParent() {
		return fmt.Errorf("there is no command %s", strings.Join(words, " "))
	}
	if err := command.ParseFlags(rest); !errors.Is(err, pflag.ErrHelp) {
		return err
	}
	return nil
}

// TestMakeHandsOnPatterns holds the Makefile to hand on what is given to it as it stands: a
// pattern of tests has dollar signs, which make would take for variables of its own, and
// then no test runs.
func TestMakeHandsOnPatterns(t *testing.T) {
	text := must.Get(os.ReadFile("../Makefile"))(t)
	if strings.Contains(string(text), "$(RUN)") || !strings.Contains(string(text), "-run '$(value RUN)'") {
		t.Error("RUN is expanded before it is handed to go test")
	}
}

// TestMakeDeployNeedsNoCertManager holds the Makefile to what the page says of it: it deploys what the page makes
// without cert-manager.
func TestMakeDeployNeedsNoCertManager(t *testing.T) {
	makefile := must.Get(os.ReadFile("../Makefile"))(t)
	page := must.Get(os.ReadFile("../docs/capi.md"))(t)
	flags := regexp.MustCompile(`(?m)^MANIFESTS +\?= (.+)$`).FindSubmatch(makefile)
	said := regexp.MustCompile("oaictl controller manifests (--layout apply.*) --output-dir manifests\n[^`]*```\n\n`make docker-build docker-push deploy").FindSubmatch(page)
	if flags == nil || said == nil {
		t.Fatalf("the Makefile has %q, the page %q", flags, said)
	}
	if string(flags[1]) != string(said[1]) {
		t.Errorf("make deploy has the flags %s, and the page says that it does what %s does", flags[1], said[1])
	}
}

// TestImageIsOfItsPlatform holds the Containerfile to building for the platform that the image is for. BuildKit and
// podman say it in ARGs that have no default: one would win over the platform. A builder that says none has Go build for
// the machine that it runs on, and may not be given an empty --platform.
func TestImageIsOfItsPlatform(t *testing.T) {
	text := must.Get(os.ReadFile("../Containerfile"))(t)
	for _, name := range []string{"TARGETOS", "TARGETARCH"} {
		arg := regexp.MustCompile(`(?m)^ARG ` + name + `(.*)$`).FindSubmatch(text)
		if arg == nil || len(arg[1]) > 0 {
			t.Errorf("ARG %s is missing, or has a default: %q", name, arg)
		}
	}
	if !regexp.MustCompile(`(?m)^RUN .*GOOS=\$TARGETOS GOARCH=\$TARGETARCH go build `).Match(text) {
		t.Error("the platform is not what is built for")
	}
	for _, from := range regexp.MustCompile(`(?m)^FROM --platform=(\S+)`).FindAllSubmatch(text, -1) {
		if string(from[1]) != "${BUILDPLATFORM:-linux}" {
			t.Errorf("a stage is of the platform %s", from[1])
		}
	}
}
