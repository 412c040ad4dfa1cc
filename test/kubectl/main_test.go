//go:build e2e

// Package kubectl tests oaictl as a plugin of kubectl: the real kubectl, a real API
// server, the built program under its plugin names, and the simulated operators of
// a hub that the program itself plays.
package kubectl

import (
	"bufio"
	"context"
	"errors"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/oaictl/oaictl/internal/kubetest"
	"github.com/oaictl/oaictl/internal/shared/must"
)

// hub is the API server of all tests of this package.
var hub kubetest.Shared

func TestMain(m *testing.M) {
	code := hub.Run(m)
	if err := plugins.remove(); err != nil && code == 0 {
		code = 1
	}
	os.Exit(code)
}

// plugins is the program under the names by which kubectl finds it, for all tests of
// this package.
var plugins installed

// installed is a folder with the program, built when it is first asked for.
type installed struct {
	once sync.Once
	dir  string
	err  error
}

func (i *installed) folder() (string, error) {
	i.once.Do(func() {
		if i.dir, i.err = os.MkdirTemp("", "oaictl-kubectl-"); i.err == nil {
			i.err = buildInto(i.dir)
		}
	})
	return i.dir, i.err
}

// remove removes the folder, if there is one.
func (i *installed) remove() error {
	if i.dir == "" {
		return nil
	}
	return os.RemoveAll(i.dir)
}

func buildInto(dir string) error {
	program := filepath.Join(dir, "oaictl")
	build := exec.Command("go", "build", "-o", program, "github.com/oaictl/oaictl/cmd/oaictl")
	if text, err := build.CombinedOutput(); err != nil {
		return errors.Join(err, errors.New(string(text)))
	}
	for _, name := range []string{"kubectl-oai", "kubectl_complete-oai"} {
		if err := os.Symlink(program, filepath.Join(dir, name)); err != nil {
			return err
		}
	}
	return nil
}

// desk is a user's: a kubeconfig, kubectl with the plugin, and a folder.
type desk struct {
	cluster    *kubetest.Cluster
	kubeconfig string
	dir        string
	plugins    string
}

func newDesk(t *testing.T) *desk {
	t.Helper()
	if testing.Short() {
		t.Skip("it runs a hub")
	}
	cluster := hub.Start(t)
	dir := must.Get(plugins.folder())(t)
	return &desk{cluster: cluster, kubeconfig: cluster.Kubeconfig(t), dir: t.TempDir(), plugins: dir}
}

// outcome is how a command ended.
type outcome struct {
	code        int
	out, errors string
}

// program is a command in the user's surroundings.
func (d *desk) program(ctx context.Context, name string, arguments ...string) *exec.Cmd {
	command := exec.CommandContext(ctx, name, arguments...)
	command.Dir = d.dir
	command.Env = []string{
		"PATH=" + d.plugins + string(filepath.ListSeparator) + os.Getenv("PATH"), "HOME=" + d.dir, "KUBECONFIG=" + d.kubeconfig, "TERM=dumb", "NO_PROXY=*",
	}
	return command
}

// kubectl runs kubectl.
func (d *desk) kubectl(t *testing.T, input string, arguments ...string) outcome {
	t.Helper()
	var out, problems strings.Builder
	command := d.program(t.Context(), d.cluster.Kubectl(), arguments...)
	command.Stdin, command.Stdout, command.Stderr = strings.NewReader(input), &out, &problems
	err := command.Run()
	var ended *exec.ExitError
	if err != nil && !errors.As(err, &ended) {
		t.Fatalf("kubectl %v: %v", arguments, err)
	}
	return outcome{command.ProcessState.ExitCode(), out.String(), problems.String()}
}

// oai runs `kubectl oai` and expects it to end with a code.
func (d *desk) oai(t *testing.T, code int, arguments ...string) outcome {
	t.Helper()
	got := d.kubectl(t, "", append([]string{"oai"}, arguments...)...)
	if got.code != code {
		t.Fatalf("kubectl oai %s ends with %d, not %d:\n%s%s", strings.Join(arguments, " "), got.code, code, got.out, got.errors)
	}
	return got
}

// must runs kubectl, which has to succeed.
func (d *desk) must(t *testing.T, input string, arguments ...string) string {
	t.Helper()
	got := d.kubectl(t, input, arguments...)
	if got.code != 0 {
		t.Fatalf("kubectl %s: %s", strings.Join(arguments, " "), got.errors)
	}
	return got.out
}

// play runs `simulator hub` until the test is over.
func (d *desk) play(t *testing.T, arguments ...string) {
	t.Helper()
	if address := d.simulate(t, "hub", arguments...); !strings.HasPrefix(address, "http://") {
		t.Fatalf("simulator hub says %q", address)
	}
}

// simulate plays something on the API server until the test is over, and gives the first line that it prints.
func (d *desk) simulate(t *testing.T, what string, arguments ...string) string {
	t.Helper()
	ctx, stop := context.WithCancel(context.WithoutCancel(t.Context()))
	command := d.program(ctx, filepath.Join(d.plugins, "oaictl"), append([]string{"simulator", what, "--kubeconfig", d.kubeconfig, "-v"}, arguments...)...)
	command.Cancel = func() error { return command.Process.Signal(syscall.SIGTERM) }
	command.WaitDelay = 10 * time.Second
	problems := &strings.Builder{}
	command.Stderr = problems
	stdout := must.Get(command.StdoutPipe())(t)
	must.Do(t, command.Start())
	out := bufio.NewReader(stdout)
	t.Cleanup(func() {
		stop()
		_, _ = io.Copy(io.Discard, out)
		_ = command.Wait()
		if code := command.ProcessState.ExitCode(); code != 143 {
			t.Errorf("simulator %s ends with %d", what, code)
		}
		if t.Failed() {
			t.Logf("the simulated %s:\n%s", what, problems)
		}
	})
	line, err := out.ReadString('\n')
	if err != nil {
		t.Fatalf("simulator %s prints %q: %v\n%s", what, line, err, problems)
	}
	return strings.TrimSpace(line)
}

// example is the cluster.yaml of an example, under another name.
func (d *desk) example(t *testing.T, name, called string) string {
	t.Helper()
	text := must.Get(os.ReadFile(filepath.Join("..", "..", "examples", name, "cluster.yaml")))(t)
	shared := must.Get(filepath.Abs(filepath.Join("..", "..", "examples", "shared")))(t)
	changed := strings.NewReplacer("../shared/", shared+"/", "name: "+name+"\n", "name: "+called+"\n").Replace(string(text))
	file := filepath.Join(d.dir, called+".yaml")
	must.Do(t, os.WriteFile(file, []byte(changed), 0o600))
	return file
}

// imageSet is a release that the hub offers.
const imageSet = `apiVersion: hive.openshift.io/v1
kind: ClusterImageSet
metadata: {name: openshift-v4.20.3}
spec: {releaseImage: "quay.io/openshift-release-dev/ocp-release:4.20.3-x86_64"}
`
