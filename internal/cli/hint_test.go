package cli

import (
	"context"
	"encoding/json"
	"io"
	"strings"
	"testing"

	"github.com/oaictl/oaictl/internal/cli/app"
	"github.com/oaictl/oaictl/internal/cli/streams"
	"github.com/oaictl/oaictl/internal/shared/check"
	"github.com/oaictl/oaictl/internal/shared/must"
	"github.com/oaictl/oaictl/internal/simulator"
	"github.com/oaictl/oaictl/pkg/install"
	"github.com/oaictl/oaictl/pkg/install/model"
)

func TestHint(t *testing.T) {
	const flags = "--service-url http://x --token-file 'my token' --offline-token-file o --ca-file ca.pem --insecure"
	tests := []struct {
		name, line string
		hint       model.Advice
		want       string
	}{
		{"typed", flags, "{logs lab}", "oaictl " + flags + " logs lab"},
		{"two commands", "--service-url http://x", "{logs lab}, then {reset cluster lab}", "oaictl --service-url http://x logs lab, then oaictl --service-url http://x reset cluster lab"},
		{"quoted in a sentence", "--insecure", "power it off and `{delete host 1 --yes}`", "power it off and `oaictl --insecure delete host 1 --yes`"},
		{"after a sentence", "--insecure", "boot cp-0: {download iso lab}", "boot cp-0: oaictl --insecure download iso lab"},
		{"in brackets", "--insecure", "{reset lab} (on a hub: {delete cluster lab})", "oaictl --insecure reset lab (on a hub: oaictl --insecure delete cluster lab)"},
		{"a second sentence", "--insecure", "On the host: chronyc sources. {describe host cp-0} lists them", "On the host: chronyc sources. oaictl --insecure describe host cp-0 lists them"},
		{"a dollar", "--ca-file $1", "{get hosts}", "oaictl --ca-file '$1' get hosts"},
		{"a step of media", "--service-url http://x", "{agent status}", "oaictl --service-url http://x agent status"},
		{"no service needed", flags, "{explain validation ntp-synced}", "oaictl explain validation ntp-synced"},
		{"an update", "--service-url http://x", "{upgrade cluster lab --to 4.20.5}", "oaictl --service-url http://x upgrade cluster lab --to 4.20.5"},
		{"another of those", flags, "{validate -f FILE}", "oaictl validate -f FILE"},
		{"prose", flags, "cure what oaictl why lists", "cure what oaictl why lists"},
		{"nothing typed", "", "{logs lab}", "oaictl logs lab"},
		{"this very line", "--insecure", "oaictl get clusters --insecure", "oaictl get clusters --insecure"},
		{"no hint", flags, "", ""},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			words := append([]string{"oaictl", "get", "clusters"}, strings.Fields(strings.ReplaceAll(tt.line, "'my token'", "my%20token"))...)
			for i := range words {
				words[i] = strings.ReplaceAll(words[i], "%20", " ")
			}
			// Of the environment nothing is repeated.
			a := app.New(app.Identify(words), streams.Streams{In: strings.NewReader(""), Out: io.Discard, Err: io.Discard}, streams.Env{"OAICTL_SERVICE_URL": "http://environment", "OAICTL_CA_FILE": "environment.pem"})
			command, _, err := rootCommand(a).Find(words[1:])
			if err != nil {
				t.Fatal(err)
			}
			must.Do(t, command.ParseFlags(words[3:]))
			must.Do(t, a.Prepare(command))
			check.Equal(t, a.Hint(tt.hint), tt.want)
		})
	}
}

// TestHintsReachTheSameCluster: by the flags that were typed, and by the name.
func TestHintsReachTheSameCluster(t *testing.T) {
	const approve, nodes = "{approve w-1 --request csr-1}", "{get nodes lab}"
	for line, test := range map[string]struct {
		hint model.Advice
		want string
	}{
		"approve w-1 --cluster lab --cluster-kubeconfig k":     {approve, "oaictl approve w-1 --request csr-1 --cluster lab --cluster-kubeconfig k"},
		"approve w-1 --allow-address w-1=192.0.2.7 --dir out":  {approve, "oaictl approve w-1 --request csr-1 --dir out --allow-address w-1=192.0.2.7"},
		"approve w-1 --insecure":                               {approve, "oaictl --insecure approve w-1 --request csr-1"},
		"why lab --cluster-kubeconfig k":                       {approve, "oaictl approve w-1 --request csr-1 --cluster lab --cluster-kubeconfig k"},
		"why cluster lab":                                      {approve, "oaictl approve w-1 --request csr-1 --cluster lab"},
		"why host w-1 --cluster lab":                           {approve, "oaictl approve w-1 --request csr-1 --cluster lab"},
		"get nodes lab":                                        {"{approve w-1 --cluster other}", "oaictl approve w-1 --cluster other"},
		"add-node -f nodes.yaml --cluster-kubeconfig k":        {approve, "oaictl approve w-1 --request csr-1 -f nodes.yaml --cluster-kubeconfig k"},
		"remove-node w-1 --cluster lab --cluster-kubeconfig k": {nodes, "oaictl get nodes lab --cluster-kubeconfig k"},
		"remove-node w-1 --cluster lab --dir out":              {"{why cluster lab}", "oaictl why cluster lab"},
	} {
		words := append([]string{"oaictl"}, strings.Fields(line)...)
		a := app.New(app.Identify(words), streams.Streams{In: strings.NewReader(""), Out: io.Discard, Err: io.Discard}, streams.Env{})
		command, rest, err := rootCommand(a).Find(words[1:])
		if err == nil {
			err = command.ParseFlags(rest)
		}
		if err == nil {
			err = a.Prepare(command)
		}
		if err != nil {
			t.Fatal(err)
		}
		check.Equal(t, a.Hint(test.hint), test.want, line)
	}
}

// TestNextCommandsReachTheSameService follows hints of each origin to standard
// error and to JSON.
func TestNextCommandsReachTheSameService(t *testing.T) {
	here(t)
	typed := []string{"--service-url", "http://typed", "--insecure"}
	const want = "oaictl --service-url http://typed --insecure "
	for line, hint := range map[string]string{
		"describe cluster nowhere":                         "get clusters",
		"cancel lab --yes":                                 "reset cluster lab",
		"wait cluster other --for hosts=9 --timeout 1s":    "",
		"create cluster -f cluster.yaml":                   "reset cluster lab",
		"create cluster -f cluster.yaml -o json":           "reset cluster lab",
		"create cluster -f cluster.yaml --progress json":   "reset cluster lab",
		"wait cluster lab --for installed -o json":         "reset cluster lab",
		"wait cluster lab --for installed --progress json": "reset cluster lab",
		"plan -f cluster.yaml -o json":                     "reset cluster lab",
	} {
		service := lab()
		if strings.Contains(line, "cluster.yaml") || strings.HasPrefix(line, "wait cluster lab") {
			service.looks = looksOf(model.ClusterCancelled)
		}
		got := run(t, service, "", append(strings.Fields(line), typed...)...)
		if hint == "" {
			if strings.Count(got.errors, "--service-url") != 1 {
				t.Errorf("%s: its own flags are doubled:\n%s", line, got.errors)
			}
			continue
		}
		text := got.errors
		if strings.Contains(line, "json") {
			text = got.out
		}
		if !strings.Contains(text, want+hint) || strings.Contains(text, "oaictl "+hint) {
			t.Errorf("%s does not end in %q:\n%s\n%s", line, want+hint, got.out, got.errors)
		}
	}
}

// TestSimulatedHintsNeedNoService checks that the hints after --simulate name only commands that can work.
func TestSimulatedHintsNeedNoService(t *testing.T) {
	here(t)
	service := lab()
	service.looks = looksOf(model.ClusterDiscovering, model.ClusterInstalling, model.ClusterFailed)
	service.looks[0].Hosts = nil
	var out, problems strings.Builder
	a := app.New(app.Identify(strings.Fields("oaictl create cluster -f cluster.yaml --simulate -o json")), streams.Streams{In: strings.NewReader(""), Out: &out, Err: &problems}, nil)
	a.Clock = &frozen{now: noon()}
	a.StartSimulator = func(context.Context, simulator.Config) (app.Simulated, error) {
		return app.Simulated{URL: "http://127.0.0.1:1", Stop: func() error { return nil }}, nil
	}
	a.Connect = func(context.Context, app.ClientConfig) (install.Backend, error) { return service, nil }
	if code := execute(t.Context(), a); code != 7 {
		t.Fatalf("code %d: %s", code, problems.String())
	}
	var result struct{ Next string }
	must.Do(t, json.Unmarshal([]byte(out.String()), &result))
	const around = "to look around in a simulated cluster: oaictl simulator lab -f cluster.yaml --without-nodes"
	if strings.Count(problems.String(), around) != 1 {
		t.Errorf("it is not said once how to look around:\n%s", problems.String())
	}
	if result.Next != around || !strings.Contains(problems.String(), "Next: "+around+"\n") || strings.Contains(problems.String(), "oaictl logs") {
		t.Errorf("next %q\n%s", result.Next, problems.String())
	}
	if !strings.HasPrefix(problems.String(), "Simulation: ") || !strings.Contains(problems.String(), "300 times faster than real time") {
		t.Errorf("it is not said at the start that it is simulated:\n%s", problems.String())
	}
}
