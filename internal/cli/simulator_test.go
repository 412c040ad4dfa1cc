package cli

import (
	"context"
	"net"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/oaictl/oaictl/internal/cli/app"
	"github.com/oaictl/oaictl/internal/cli/streams"
	"github.com/oaictl/oaictl/internal/shared/must"
	"github.com/oaictl/oaictl/pkg/install"
	"github.com/oaictl/oaictl/pkg/install/model"
)

// spoken is what a command that still runs has said.
type spoken struct {
	mu   sync.Mutex
	text strings.Builder
}

func (s *spoken) Write(data []byte) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.text.Write(data)
}

func (s *spoken) String() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.text.String()
}

// until waits for something to be said.
func (s *spoken) until(t *testing.T, words string) {
	t.Helper()
	for end := time.Now().Add(20 * time.Second); !strings.Contains(s.String(), words); time.Sleep(5 * time.Millisecond) {
		if time.Now().After(end) {
			t.Fatalf("never said %q:\n%s", words, s)
		}
	}
}

// begin runs a command line until it is terminated; end says how it ended.
func begin(t *testing.T, arguments ...string) (out, problems *spoken, end func() int) {
	t.Helper()
	out, problems = &spoken{}, &spoken{}
	ctx, stop := context.WithCancelCause(t.Context())
	a := app.New(app.Identify(append([]string{"oaictl"}, arguments...)), streams.Streams{In: strings.NewReader(""), Out: out, Err: problems}, streams.Env{"TERM": "dumb"})
	ended := make(chan int, 1)
	go func() { ended <- execute(ctx, a) }()
	end = sync.OnceValue(func() int {
		stop(&install.Interrupt{Signal: "terminated", Code: model.CodeTerminated})
		return <-ended
	})
	t.Cleanup(func() { end() })
	return out, problems, end
}

// The command line that serve gives with its tokens is one that works.
func TestServeSaysHowToBeLetIn(t *testing.T) {
	t.Parallel() // with another that waits
	for _, mode := range []string{"rhsso", "agent-installer-local"} {
		dir := t.TempDir()
		out, problems, _ := begin(t, "simulator", "serve", "--listen", "127.0.0.1:0", "--auth", mode, "--token-dir", dir, "--speed", "1000")
		out.until(t, "\n")
		files, err := os.ReadDir(dir)
		if err != nil || len(files) < 3 {
			t.Fatalf("%s: %v, %v", mode, files, err)
		}
		for _, file := range files {
			if !strings.Contains(problems.String(), filepath.Join(dir, file.Name())+": ") {
				t.Errorf("%s: %s is not named:\n%s", mode, file.Name(), problems)
			}
		}
		_, line, found := strings.Cut(problems.String(), "Next: oaictl ")
		if !found {
			t.Fatalf("%s: no command line:\n%s", mode, problems)
		}
		letIn := func() {
			t.Helper()
			if got := runLive(t, "", "", false, strings.Fields(line)...); got.code != 0 || got.errors != "no clusters\n" {
				t.Errorf("%s: %s: %+v", mode, line, got)
			}
		}
		letIn()
		if mode == "rhsso" { // its access token ends after 15 minutes of the service's time
			address, _, _ := strings.Cut(out.String(), "\n")
			turnedAway(t, "get", "clusters", "--service-url", address, "--token-file", filepath.Join(dir, "token"))
			letIn()
		}
	}
}

// turnedAway waits until a command line is not let in any more.
func turnedAway(t *testing.T, line ...string) {
	t.Helper()
	for end := time.Now().Add(20 * time.Second); ; {
		got := runLive(t, "", "", false, line...)
		switch {
		case got.code == int(model.CodeAuth):
			return
		case time.Now().After(end):
			t.Fatalf("still let in: %+v", got)
		}
	}
}

// A certificate that cannot be used is reported before an address is.
func TestServeChecksItsCertificate(t *testing.T) {
	taken := must.Get(net.Listen("tcp", "127.0.0.1:0"))(t)
	defer taken.Close()
	var out, problems strings.Builder
	arguments := []string{"oaictl", "simulator", "serve", "--listen", taken.Addr().String(), "--tls-cert", "nowhere.pem", "--tls-key", "nowhere.key"}
	a := app.New(app.Identify(arguments), streams.Streams{In: strings.NewReader(""), Out: &out, Err: &problems}, streams.Env{})
	if code := execute(t.Context(), a); code != 2 || !strings.Contains(problems.String(), "nowhere.pem: no such file") || out.String() != "" {
		t.Errorf("code %d, said %q and %q", code, out.String(), problems.String())
	}
}

// Each mistake of a scenario has a line of its own.
func TestScenarioMistakesHaveLines(t *testing.T) {
	t.Chdir(t.TempDir())
	must.Do(t, os.WriteFile("trouble.yaml", []byte("hosts: []\n"), 0o600))
	got := runLive(t, "", "", false, "simulator", "serve", "--scenario", "trouble.yaml")
	if got.code != int(model.CodeInput) || !strings.Contains(got.errors, "\ntrouble.yaml:1:1: kind is missing") {
		t.Errorf("code %d:\n%s", got.code, got.errors)
	}
}

// Machines say what they wait for, once, and again when it is another thing;
// and end with a plain word.
func TestHostsSayWhatTheyWaitFor(t *testing.T) {
	t.Parallel() // with another that waits
	service := newLive(t)
	_, problems, end := begin(t, "simulator", "hosts", "--service-url", service.URL, "--infra-env", "nosuch", "--count", "1", "--speed", "100")
	problems.until(t, "Waiting for an InfraEnv nosuch; the service has none\n")
	service.post(t, "infra-envs", map[string]any{"name": "pool", "openshift_version": "4.20", "cpu_architecture": "x86_64"})
	problems.until(t, "Waiting for an InfraEnv nosuch; the service has pool\n")
	service.Close()
	problems.until(t, "Waiting for the service at "+service.URL+" to answer (")
	if code := end(); code != 143 || !strings.HasSuffix(problems.String(), "oaictl: simulator hosts: stopped by signal: terminated\n") || strings.Count(problems.String(), "Waiting") != 3 {
		t.Errorf("code %d:\n%s", code, problems)
	}
}

// Machines say how far they have come, without being asked for every detail.
func TestHostsSayHowFarTheyAre(t *testing.T) {
	t.Parallel() // with others that wait
	service := newLive(t)
	service.post(t, "infra-envs", map[string]any{"name": "pool", "openshift_version": "4.20", "cpu_architecture": "x86_64"})
	script := filepath.Join(t.TempDir(), "trouble.yaml")
	must.Do(t, os.WriteFile(script, []byte("apiVersion: oaictl.io/v1alpha1\nkind: Scenario\nspec:\n  hosts:\n  - {match: {index: 0}, do: never-boot}\n"), 0o600))
	_, problems, end := begin(t, "simulator", "hosts", "--service-url", service.URL, "--infra-env", "pool", "--count", "3", "--speed", "100", "--scenario", script)
	problems.until(t, "Found the InfraEnv pool: 3 machines boot its image\n")
	problems.until(t, " never boots\n")
	problems.until(t, "2 machines are registered, of 3\n")
	if code := end(); code != 143 {
		t.Errorf("code %d:\n%s", code, problems)
	}
}

// The BMCs of the machines answer at the proxy that is printed.
func TestHostsHaveBMCs(t *testing.T) {
	t.Parallel() // with others that wait
	example := must.Get(os.ReadFile(filepath.Join("..", "..", "examples", "sno", "cluster.yaml")))(t)
	dir := t.TempDir()
	secret := must.Get(filepath.Abs(filepath.Join("..", "..", "examples", "shared")))(t)
	file, password := filepath.Join(dir, "cluster.yaml"), filepath.Join(dir, "bmc")
	text := strings.ReplaceAll(string(example), "../shared", secret)
	text = strings.Replace(text, "  - name: ", "  - bmc: {address: https://192.0.2.10, insecure: true, credentials: {file: "+password+"}}\n    name: ", 1)
	for path, content := range map[string]string{file: text, password: "admin:calvin\n"} {
		must.Do(t, os.WriteFile(path, []byte(content), 0o600))
	}
	out, problems, _ := begin(t, "simulator", "hosts", "--service-url", "http://127.0.0.1:1", "-f", file, "--bmc-listen", "127.0.0.1:0")
	out.until(t, "\n")
	proxy, err := url.Parse(strings.TrimSpace(out.String()))
	if err != nil {
		t.Fatalf("%v\n%s", err, problems)
	}
	transport := &http.Transport{Proxy: http.ProxyURL(proxy)}
	defer transport.CloseIdleConnections()
	response := must.Get((&http.Client{Transport: transport}).Get("http://192.0.2.10/redfish/v1/"))(t)
	defer func() { _ = response.Body.Close() }()
	if response.StatusCode != http.StatusOK {
		t.Errorf("the BMC answers %s", response.Status)
	}
}
