package cli

import (
	"context"
	"errors"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/oaictl/oaictl/internal/cli/app"
	"github.com/oaictl/oaictl/internal/cli/streams"
	"github.com/oaictl/oaictl/internal/shared/check"
	"github.com/oaictl/oaictl/internal/shared/escape"
	"github.com/oaictl/oaictl/pkg/install"
	"github.com/oaictl/oaictl/pkg/install/hub/machinecause"
	"github.com/oaictl/oaictl/pkg/install/model"
)

// completed is what a shell is offered for a line, without descriptions; the
// last word is begun.
func completed(t *testing.T, service install.Backend, line ...string) (offers []string, directive string) {
	t.Helper()
	got := run(t, service, "", append([]string{"__complete"}, line...)...)
	if got.code != 0 {
		t.Fatalf("code %d, %s", got.code, got.errors)
	}
	for _, offer := range strings.Split(strings.TrimSpace(got.out), "\n") {
		if strings.HasPrefix(offer, ":") {
			directive = offer
			continue
		}
		word, _, _ := strings.Cut(offer, "\t")
		offers = append(offers, word)
	}
	return offers, directive
}

// The directives of a shell: no files, and no space after it.
const (
	anyFile        = ":0"
	noFiles        = ":4"
	noFilesNoSpace = ":6"
	byExtension    = ":8"
	onlyFolders    = ":16"
)

func TestCompletion(t *testing.T) {
	clusters, hosts, images := []string{"lab", "other"}, []string{"node-1", "node-10"}, []string{"lab", "pool"}
	tests := []struct {
		line      string
		want      []string
		directive string
	}{
		{"get clusters _", clusters, noFiles},
		{"get clusters l", []string{"lab"}, noFiles},
		{"get clusters lab _", nil, noFiles},
		{"get clusters -f x.yaml _", nil, noFiles},
		{"get cluster c", []string{"c1", "c2"}, noFiles}, // ids, once one is begun
		{"get hosts _", clusters, noFiles},
		{"get hosts --infra-env _", images, noFiles},
		{"get machines _", clusters, noFiles},
		{"get infraenvs _", images, noFiles},
		{"get infraenvs --cluster o", []string{"other"}, noFiles},
		{"get events _", clusters, noFiles},
		{"get events --host _", hosts, noFiles},
		{"get events --severity w", []string{"warning"}, noFiles},
		{"get validations _", clusters, noFiles},
		{"describe cluster _", clusters, noFiles},
		{"describe _", append(slices.Clone(clusters), "cluster", "host"), noFiles},
		{"describe host node-10", []string{"node-10"}, noFiles},
		{"delete cluster _", clusters, noFiles},
		{"delete infraenv p", []string{"pool"}, noFiles},
		{"delete host _", hosts, noFiles},
		{"cancel _", []string{"lab", "other", "cluster"}, noFiles},
		{"cancel cluster _", clusters, noFiles},
		{"reset l", []string{"lab"}, noFiles},
		{"wait cluster _", clusters, noFiles},
		{"wait cluster lab --for _", []string{"installed", "ready", "hosts="}, noFiles},
		{"wait cluster lab --for h", []string{"hosts="}, noFilesNoSpace},
		{"why _", []string{"lab", "other", "cluster", "host", "machine"}, noFiles},
		{"why machine _", []string{"w-1"}, noFiles},
		{"why host _", hosts, noFiles},
		{"logs host node-1", hosts, noFiles},
		{"download iso _", clusters, noFiles},
		{"download kubeconfig _", clusters, noFiles},
		{"kubeconfig merge _", clusters, noFiles},
		{"kubeconfig merge --from _", nil, anyFile},
		{"kubeconfig merge --into _", nil, anyFile},
		{"kubeconfig refresh -f x.yaml _", nil, noFiles},
		{"kubeconfig refresh --cluster-kubeconfig _", nil, anyFile},
		{"convert --from z", []string{"ztp"}, noFiles},
		{"download ignition --host _", hosts, noFiles},
		{"download ignition --discovery _", images, noFiles},
		{"download manifests _", clusters, noFiles},
		{"create cluster --adopt _", []string{"c2"}, noFiles},
		{"create cluster _", nil, noFiles},
		{"create cluster -f _", []string{"yaml", "yml"}, byExtension},
		{"create cluster --scenario _", []string{"yaml", "yml"}, byExtension},
		{"create cluster --dir _", nil, onlyFolders},
		{"plan -o j", []string{"json", "jsonpath="}, noFiles},
		{"plan -o jsonp", []string{"jsonpath="}, noFilesNoSpace},
		{"plan --progress p", []string{"plain"}, noFiles},
		{"plan --backend _", []string{"rest", "hub"}, noFiles},
		{"simulator hosts --boot _", []string{"day1", "day2"}, noFiles},
		{"completion z", []string{"zsh"}, noFiles},
	}
	for _, tt := range tests {
		t.Run(tt.line, func(t *testing.T) {
			words := strings.Fields(tt.line)
			if last := len(words) - 1; words[last] == "_" {
				words[last] = ""
			}
			service := lab()
			service.machines = []machinecause.Machine{machineOf("w-1", nil)}
			offers, directive := completed(t, service, words...)
			if diff := cmp.Diff(tt.want, offers); diff != "" || directive != tt.directive {
				t.Errorf("directive %s\n%s", directive, diff)
			}
		})
	}
}

// TestCompletionOfNamesThatAreNone offers ids for what cannot be named.
func TestCompletionOfNamesThatAreNone(t *testing.T) {
	service := lab()
	service.hosts = append(service.hosts, model.Host{ID: "h2", InfraEnvID: "e1", Hostname: "node-1"}, model.Host{ID: "h3", InfraEnvID: "e1"}, model.Host{ID: "h4", InfraEnvID: "e1", Hostname: "$(reboot)\n"})
	offers, _ := completed(t, service, "describe", "host", "")
	check.Same(t, []string{"h1", "node-10", "h2", "h3", "h4"}, offers)
	got := run(t, service, "", "__complete", "describe", "host", "h1")
	check.Contains(t, got.out, "h1\tnode-1, Blocked\n", "an id does not say whose it is")
}

// TestCompletionIsSilent completes where nothing can be asked.
func TestCompletionIsSilent(t *testing.T) {
	tests := map[string]struct {
		Env     streams.Env
		connect func(context.Context, app.ClientConfig) (install.Backend, error)
		flags   []string
	}{
		"no service is given": {streams.Env{}, nil, nil},
		"a hub":               {streams.Env{"OAICTL_BACKEND": "hub"}, refusing, nil},
		"a broken setting":    {streams.Env{"OAICTL_SERVICE_URL": "http://fake"}, nil, []string{"--progress", "loud"}},
		"not certified":       {streams.Env{"OAICTL_SERVICE_URL": "http://fake"}, refusing, []string{"--insecure", "-vv"}},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			var out, problems strings.Builder
			typed := append(append([]string{"oaictl", "__complete"}, tt.flags...), "get", "clusters", "")
			a := app.New(app.Identify(typed), streams.Streams{In: strings.NewReader(""), Out: &out, Err: &problems}, tt.Env)
			a.Connect = func(ctx context.Context, to app.ClientConfig) (install.Backend, error) {
				if tt.connect == nil {
					t.Errorf("a service was asked")
					return nil, errors.New("nobody")
				}
				return tt.connect(ctx, to)
			}
			if code := execute(t.Context(), a); code != 0 || out.String() != ":4\n" {
				t.Errorf("code %d, %q", code, out.String())
			}
			check.Equal(t, problems.String(), "Completion ended with directive: ShellCompDirectiveNoFileComp\n", "it is not silent")
		})
	}
}

// TestCompletionWaitsNoLonger holds a service that never answers to the
// deadline.
func TestCompletionWaitsNoLonger(t *testing.T) {
	service := &slow{fake: lab()}
	if offers, _ := completed(t, service, "get", "clusters", ""); offers != nil || !service.limited {
		t.Errorf("offers %v, limited %v", offers, service.limited)
	}
}

type slow struct {
	*fake
	limited bool
}

func (s *slow) ListClusters(ctx context.Context) ([]model.Cluster, error) {
	_, s.limited = ctx.Deadline()
	return nil, context.DeadlineExceeded
}

func refusing(context.Context, app.ClientConfig) (install.Backend, error) {
	return nil, errors.New("503")
}

// TestHostileChoices steer no shell: what a service calls its things stands there as
// escapes, and only what can be typed is a choice.
func TestHostileChoices(t *testing.T) {
	for _, choice := range choices([]candidate{{id: "c1", note: hostile}, {id: hostile, name: hostile, note: hostile}}, "") {
		id, note, _ := strings.Cut(choice, "\t")
		if escape.Needed(id) || escape.Needed(note) {
			t.Errorf("%q", choice)
		}
	}
}
