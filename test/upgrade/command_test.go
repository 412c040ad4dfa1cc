//go:build e2e

package upgrade

import (
	"bytes"
	"context"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/oaictl/oaictl/internal/cli"
	"github.com/oaictl/oaictl/internal/cli/streams"
	"github.com/oaictl/oaictl/internal/shared/clock"
)

// commandSpeed is how fast service and machines are while a command runs, which lives by
// the computer's own clock.
const commandSpeed = 600

// TestCommandsAfterUpgrade gives the commands of a person, and not the library's calls, in
// three states that an earlier build left: before the installation starts, once the cluster
// is installed, and once hosts are added.
func TestCommandsAfterUpgrade(t *testing.T) {
	if *update {
		return
	}
	c := testCase{name: "late-worker", late: "worker-1"}
	var requests []request
	var stops []stop
	c.read(t, "requests.json", &requests)
	c.read(t, "states.json", &stops)
	for _, left := range stops {
		commands, given := map[string][]string{
			"ready":          {"plan", "create cluster", "wait", "create cluster"},
			"installed":      {"plan", "wait", "create cluster"},
			"adding, 0 sent": {"add-node", "add-node", "create cluster"},
		}[left.Name]
		if !given {
			continue
		}
		t.Run(left.Name, func(t *testing.T) {
			t.Parallel()
			inTime(t, c, clock.Scaled(commandSpeed), func(t *testing.T, s *site) { c.command(t, s, requests, left, commands) })
		})
	}
}

// command brings a service into a state, and gives commands. They send once what the
// earlier build would have sent.
func (c testCase) command(t *testing.T, s *site, requests []request, left stop, commands []string) {
	s.reach(t, requests, left)
	dir := t.TempDir()
	if left.installed() {
		c.leaveResults(t, s, dir)
	}
	server := httptest.NewServer(s)
	defer server.Close()
	for _, verb := range commands {
		said, code := c.give(t.Context(), verb, server.URL, dir)
		if code != 0 {
			t.Fatalf("%s ends with %d:\n%s", verb, code, said)
		}
		if verb == "plan" {
			if written := s.written(); len(written) > 0 {
				t.Errorf("plan writes %v", written)
			}
		}
	}
	if diff := cmp.Diff(left.Then, texts(s.written(), request.summary)); diff != "" {
		t.Errorf("writes (-earlier build +present build):\n%s", diff)
	}
	if left.installed() && rewritten(t, dir, ".cluster", "kubeconfig", "kubeconfig-noingress", "kubeadmin-password") {
		t.Error("the results are written anew")
	}
}

// give gives one command, and returns what it said and its exit code.
func (c testCase) give(ctx context.Context, verb, url, dir string) (string, int) {
	cluster := c.path("cluster.yaml")
	arguments := append([]string{"oaictl"}, strings.Fields(verb)...)
	switch verb {
	case "wait":
		arguments = append(arguments, "cluster", "ha", "--for", "installed", "--poll-interval", "50ms")
	case "plan":
		arguments = append(arguments, "-f", cluster, "--dir", dir)
	default:
		arguments = append(arguments, "-f", cluster, "--dir", dir, "--poll-interval", "50ms", "--progress", "plain")
	}
	if verb == "add-node" { // its earlier build ended there; the cluster itself is not played
		arguments = append(arguments, "--until", "added")
	}
	var said bytes.Buffer
	io := streams.Streams{In: strings.NewReader(""), Out: &said, Err: &said}
	code := cli.Main(ctx, append(arguments, "--service-url", url), io, []string{"HOME=" + dir, "XDG_CACHE_HOME=" + dir, "XDG_CONFIG_HOME=" + dir})
	return said.String(), code
}

// ServeHTTP hands a request of a command to the service, as RoundTrip does.
func (s *site) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	in := r.Clone(r.Context())
	in.URL.Scheme, in.URL.Host = "http", r.Host
	response, err := s.RoundTrip(in)
	if err != nil {
		w.WriteHeader(http.StatusBadGateway)
		return
	}
	for name, values := range response.Header {
		w.Header()[name] = values
	}
	w.WriteHeader(response.StatusCode)
	_, _ = io.Copy(w, response.Body)
}
