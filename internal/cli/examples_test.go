package cli

import (
	"context"
	"os"
	"strings"
	"testing"

	"github.com/spf13/cobra"

	"github.com/oaictl/oaictl/internal/cli/app"
	"github.com/oaictl/oaictl/internal/cli/streams"
	"github.com/oaictl/oaictl/internal/shared/check"
	"github.com/oaictl/oaictl/internal/shared/must"
	"github.com/oaictl/oaictl/internal/simulator"
	"github.com/oaictl/oaictl/pkg/install"
	"github.com/oaictl/oaictl/pkg/install/hub/machinecause"
	"github.com/oaictl/oaictl/pkg/install/model"
)

// leaves are the commands that do something.
func leaves(command *cobra.Command) []*cobra.Command {
	var out []*cobra.Command
	for _, sub := range command.Commands() {
		switch {
		case sub.HasSubCommands():
			if !app.IsGroup(sub) {
				out = append(out, sub)
			}
			out = append(out, leaves(sub)...)
		case sub.IsAvailableCommand() && sub.Name() != "help":
			out = append(out, sub)
		}
	}
	return out
}

// exampleService is one in which every name of the examples is found.
func exampleService() *fake {
	service := lab()
	const id = "6f1c7d2e-0d8b-4c3b-9d53-5d1d6a3d2f10"
	for _, name := range []string{"cp-0", "worker-3", id} {
		host := service.hosts[0]
		host.ID, host.Hostname = name, name
		service.hosts = append(service.hosts, host)
	}
	pooled := service.hosts[0]
	pooled.ID, pooled.Hostname, pooled.InfraEnvID = "h20", "spare", "e2"
	service.hosts = append(service.hosts, pooled)
	service.machines = []machinecause.Machine{machineOf("lab-workers-7xk2p", nil)}
	service.infraEnvs = append(service.infraEnvs, model.InfraEnv{ID: id, Name: "another"})
	return service
}

// TestExamples runs every example of every command, as far as a shell leaves it
// alone.
func TestExamples(t *testing.T) {
	here(t)
	exampleImages(t)
	examples := 0
	for _, command := range leaves(Tree()) {
		lines := strings.Split(strings.TrimSpace(command.Example), "\n")
		if len(lines) < 2 {
			t.Errorf("%s has %d examples, not two", command.CommandPath(), len(lines))
		}
		for _, line := range lines {
			examples++
			t.Run(strings.TrimSpace(line), func(t *testing.T) { runExample(t, command, line) })
		}
	}
	if examples < 50 {
		t.Errorf("only %d examples were found", examples)
	}
}

func runExample(t *testing.T, command *cobra.Command, text string) {
	words := shellWords(text)
	found, rest, err := Tree().Find(words[1:])
	if err != nil || found.CommandPath() != command.CommandPath() {
		t.Fatalf("is no example of %s: %v %v", command.CommandPath(), found.CommandPath(), err)
	}
	if !runsAlone(found, text) {
		check.Do(t, found.ParseFlags(rest))
		return
	}
	ctx, stop := context.WithCancelCause(t.Context())
	defer stop(nil)
	service := exampleService()
	want := 0
	if found.Parent().Name() == "kubeconfig" {
		service.kubeconfigs = map[string][]byte{"c1": labKubeconfig(t, noon().AddDate(10, 0, 0))}
		soon := labKubeconfig(t, noon().AddDate(0, 0, 3))
		put(t, "lab.kubeconfig", soon)
		put(t, "lab/auth/kubeconfig", soon)
		put(t, "lab/auth/.cluster", []byte("c1\n"))
	}
	switch {
	case found.Name() == "add-node", found.Name() == "wait", found.Name() == "cluster" && found.Parent().Name() == "create":
		service.looks = looksOf(model.ClusterInstalled)
		service.looks[0].Hosts = append(service.looks[0].Hosts, model.Host{ID: "b", State: model.HostInstalled}, model.Host{ID: "c", State: model.HostInstalled})
	case strings.HasSuffix(text, " -w"):
		stop(&install.Interrupt{Signal: "interrupt", Code: model.CodeInterrupted})
		want = 130
	}
	input := must.Get(os.Open("cluster.yaml"))(t)
	defer func() { _ = input.Close() }()
	var out, problems strings.Builder
	a := app.New(app.Identify(words), streams.Streams{In: input, Out: &out, Err: &problems}, streams.Env{"AI_URL": "http://fake", "HOME": "home"})
	a.Clock = &frozen{now: noon()}
	a.Connect = func(context.Context, app.ClientConfig) (install.Backend, error) { return service, nil }
	a.StartSimulator = func(context.Context, simulator.Config) (app.Simulated, error) {
		return app.Simulated{URL: "http://fake", Stop: func() error { return nil }}, nil
	}
	if code := execute(ctx, a); code != want {
		t.Errorf("ends with %d, not %d:\n%s", code, want, problems.String())
	}
	if want == 0 && out.Len() == 0 && !strings.Contains(text, "--to") {
		t.Error("prints nothing")
	}
}

// runsAlone reports whether an example ends by itself, and needs nothing but what is in the folder and the fake
// service.
func runsAlone(command *cobra.Command, text string) bool {
	path := command.CommandPath()
	return command.Parent().Name() != "simulator" && command.Parent().Name() != "agent" && path != "oaictl iso serve" && path != "oaictl create images" &&
		path != "oaictl approve" && path != "oaictl remove-node" && path != "oaictl replace-node" && path != "oaictl import cluster" && path != "oaictl upgrade cluster" && // which needs the installed cluster
		path != "oaictl controller" && path != "oaictl controller check" && // which need a management cluster
		!strings.Contains(text, "https://mirror.")
}

// shellWords splits a line at its blanks, with "quotes", and ends it where a
// shell would pipe or redirect.
func shellWords(text string) []string {
	var words []string
	quoted := false
	fields := strings.FieldsFunc(strings.TrimSpace(text), func(r rune) bool {
		if r == '"' {
			quoted = !quoted
		}
		return r == ' ' && !quoted
	})
	for _, word := range fields {
		if word == "|" || word == ">" || word == "<" {
			break
		}
		words = append(words, strings.ReplaceAll(word, `"`, ""))
	}
	return words
}

// TestHelpTouchesNothing has help and version read no configuration, no service, and no catalogue of explanations.
func TestHelpTouchesNothing(t *testing.T) {
	for _, text := range []string{"--help", "version", "help environment", "create cluster --help", "completion fish"} {
		var out, problems strings.Builder
		a := app.New(app.Identify(append([]string{"oaictl"}, strings.Fields(text)...)), streams.Streams{Out: &out, Err: &problems},
			streams.Env{"OAICTL_CONFIG": t.TempDir()}) // a folder cannot be read as a file
		a.Connect = func(context.Context, app.ClientConfig) (install.Backend, error) {
			t.Errorf("%s reaches for the service", text)
			return nil, context.Canceled
		}
		if code := execute(t.Context(), a); code != 0 || out.Len() == 0 {
			t.Errorf("%s ends with %d:\n%s", text, code, problems.String())
		}
	}
}
