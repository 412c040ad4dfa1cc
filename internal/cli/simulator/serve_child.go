package simulator

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"time"

	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"

	"github.com/oaictl/oaictl/pkg/install/model"
)

// starter starts API servers by a program of the source tree, which a hub for tests is made of
// and this program is not: it comes with a folder of assets, or is built.
type starter struct {
	what    string // that is done with them, for errors
	program string
	assets  string
	scratch string // folder of what is gone in the end
	log     io.Writer

	running sync.WaitGroup
	fail    context.CancelCauseFunc // where a server ends by itself
}

const serveProgram = "serve" // kubetest.ServeName

// startsServers is printed before what takes long begins.
const startsServers = "Starting API servers for what is played. Their programs are built first where they are missing, which " +
	"takes some minutes."

func newStarter(ctx context.Context, what, assets string, log io.Writer) (*starter, error) {
	if runtime.GOOS == "windows" {
		return nil, &model.Fault{Code: model.CodeFailure, Op: what, Permanent: true, Err: errors.New("the API server does not run on Windows")}
	}
	s := &starter{what: what, log: log}
	var err error
	if s.scratch, err = os.MkdirTemp("", "oaictl-management-"); err != nil {
		return nil, err
	}
	if err := s.find(ctx, assets); err != nil {
		s.close()
		return nil, err
	}
	return s, nil
}

// find finds the program in a folder of assets, or builds it.
func (s *starter) find(ctx context.Context, assets string) error {
	if assets != "" {
		var err error
		if s.assets, err = filepath.Abs(assets); err != nil {
			return err
		}
		s.program = filepath.Join(s.assets, serveProgram)
		if _, err := os.Stat(s.program); err == nil {
			return nil
		}
	}
	tree, err := sourceTree()
	if err != nil {
		return err
	}
	if tree == "" {
		return &model.Fault{
			Code: model.CodeInput, Op: s.what, Permanent: true,
			Err: errors.New("API servers are built from the sources of oaictl, and this folder is not in them"),
			Next: "run it in the sources, with Go; or give --assets DIR, a folder that `go run ./internal/kubetest/build --assets " +
				"DIR` makes there " +
				"(some 7 minutes and 3 GB the first time)",
		}
	}
	return s.build(ctx, tree)
}

// build builds the program.
func (s *starter) build(ctx context.Context, tree string) error {
	s.program = filepath.Join(s.scratch, serveProgram)
	command := exec.CommandContext(ctx, "go", "build", "-o", s.program, "./internal/kubetest/serve")
	command.Dir = tree
	command.Env = append(command.Environ(), "CGO_ENABLED=0", "GOFLAGS=-buildvcs=false")
	out, err := command.CombinedOutput()
	if err == nil {
		return nil
	}
	return &model.Fault{
		Code: model.CodeFailure, Op: "build what runs API servers", Err: fmt.Errorf("go build: %w\n%s", err, out),
		Next: "install Go, or give --assets DIR",
	}
}

func (s *starter) close() {
	_ = os.RemoveAll(s.scratch) // what is left there is small, and in a folder for temporary files
}

// served is what the program says of an API server that is ready.
type served struct {
	Host, Kubeconfig, Kubectl, Clusterctl string

	WebhookPort    int
	WebhookCertDir string
}

// endTime is how long a server may take to end.
const endTime = time.Minute

// start starts an API server, and returns once it is ready. It runs until ctx ends, or this process does.
func (s *starter) start(ctx context.Context, kubeconfig string, args ...string) (served, *rest.Config, error) {
	fail := func(err error) (served, *rest.Config, error) {
		return served{}, nil, &model.Fault{Code: model.CodeFailure, Op: "start an API server", Err: err}
	}
	args = append([]string{"--kubeconfig", kubeconfig, "--json", "--attached"}, args...)
	if s.assets != "" {
		args = append(args, "--assets", s.assets)
	}
	command := exec.CommandContext(ctx, s.program, args...)
	command.Stderr = s.log
	command.Cancel = func() error { return command.Process.Signal(os.Interrupt) }
	command.WaitDelay = endTime
	if _, err := command.StdinPipe(); err != nil { // it is closed when the process ends, and this one by the kernel
		return fail(err)
	}
	out, err := command.StdoutPipe()
	if err != nil {
		return fail(err)
	}
	if err := command.Start(); err != nil {
		return fail(err)
	}
	said, config, err := readServed(out, kubeconfig)
	s.running.Go(func() {
		_ = command.Wait() // it says itself what goes wrong
		if err == nil {    // else that error is returned
			s.fail(fmt.Errorf("the API server of %s has ended by itself", kubeconfig))
		}
	})
	if err != nil {
		return fail(err)
	}
	return said, config, nil
}

// readServed waits until the program says that its API server is ready.
func readServed(out io.Reader, kubeconfig string) (served, *rest.Config, error) {
	var said served
	line, err := bufio.NewReader(out).ReadBytes('\n')
	if err == nil {
		err = json.Unmarshal(line, &said)
	}
	if errors.Is(err, io.EOF) {
		err = errors.New("it has ended, with the output above")
	}
	if err != nil {
		return served{}, nil, err
	}
	said.Host = strings.TrimSuffix(said.Host, "/")
	config, err := clientcmd.BuildConfigFromFlags("", kubeconfig)
	return said, config, err
}
