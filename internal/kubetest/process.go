package kubetest

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/client-go/kubernetes"

	"github.com/oaictl/oaictl/internal/filelock"
)

// program is the path of a script that starts a program and leaves its process id
// behind. A test that is killed, or runs into its timeout, cannot stop what it
// started; where setpriv (util-linux) is at hand, the kernel does it then.
func (c *Cluster) program(ctx context.Context, name string) (string, error) {
	path := "'" + filepath.Join(c.programs, name) + "'"
	if setpriv, err := exec.LookPath("setpriv"); err == nil && exec.CommandContext(ctx, setpriv, "--pdeathsig", "KILL", "true").Run() == nil {
		path = setpriv + " --pdeathsig KILL " + path
	}
	script := filepath.Join(c.scratch.folder, name)
	content := fmt.Sprintf("#!/bin/sh\necho $$ >'%s.pid'\nexec %s \"$@\"\n", script, path)
	return script, os.WriteFile(script, []byte(content), 0o700)
}

// kill ends a program at once. An API server that is asked to end takes a minute if
// somebody watches, and its controllers always do.
func (c *Cluster) kill(name string) error {
	file := filepath.Join(c.scratch.folder, name+".pid")
	content, err := os.ReadFile(file)
	if errors.Is(err, os.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	pid, err := strconv.Atoi(strings.TrimSpace(string(content)))
	if err != nil {
		return fmt.Errorf("the process id of %s: %w", name, err)
	}
	process, err := os.FindProcess(pid)
	if err != nil {
		return err
	}
	if err := process.Kill(); err != nil && !errors.Is(err, os.ErrProcessDone) {
		return err
	}
	return os.Remove(file)
}

// root is the folder of oaictl's go.mod, at or above the working folder.
func root(ctx context.Context) (string, error) {
	out, err := exec.CommandContext(ctx, "go", "env", "GOMOD").Output()
	if err != nil {
		return "", fmt.Errorf("%w: go env GOMOD: %w", ErrUnavailable, err)
	}
	file := strings.TrimSpace(string(out))
	if filepath.Base(file) != "go.mod" {
		return "", errors.New("not inside of oaictl's source tree")
	}
	return filepath.Dir(file), nil
}

// scratch is the folder of a hub's data, certificates and logs: some hundred
// megabytes. A test that is killed cannot remove it; the next one does, which knows
// by a lock that its owner is gone.
type scratch struct {
	folder string
	owner  *os.File // locked as long as the process lives
}

const (
	scratchName = "oaictl-kubetest-"
	ownerName   = "owner"
)

// newScratch makes a folder within another, and removes those that were left behind there.
func newScratch(within string) (*scratch, error) {
	abandoned, err := filepath.Glob(filepath.Join(within, scratchName+"*", ownerName))
	if err != nil {
		return nil, err
	}
	for _, owner := range abandoned {
		if err := removeAbandoned(owner); err != nil {
			return nil, err
		}
	}
	folder, err := os.MkdirTemp(within, scratchName)
	if err != nil {
		return nil, err
	}
	s := &scratch{folder: folder}
	if err := s.own(); err != nil {
		return nil, errors.Join(err, s.remove())
	}
	return s, nil
}

// own locks the folder. The lock has its name only once it is held: others look for those that are not.
func (s *scratch) own() error {
	var err error
	if s.owner, err = os.CreateTemp(s.folder, ownerName+"-"); err != nil {
		return err
	}
	if _, err := filelock.Try(s.owner, true); err != nil {
		return err
	}
	return os.Rename(s.owner.Name(), filepath.Join(s.folder, ownerName))
}

func (s *scratch) remove() error {
	err := os.RemoveAll(s.folder)
	if s.owner != nil {
		err = errors.Join(err, s.owner.Close())
	}
	return err
}

// removeAbandoned removes a folder that nobody has locked, unless it is another user's or is being removed.
func removeAbandoned(owner string) error {
	file, err := os.Open(owner)
	if errors.Is(err, os.ErrNotExist) || errors.Is(err, os.ErrPermission) {
		return nil
	}
	if err != nil {
		return err
	}
	defer file.Close()
	if free, err := filelock.Try(file, true); err != nil || !free {
		return err
	}
	return os.RemoveAll(filepath.Dir(owner))
}

// lock waits for the lock of a file, which the kernel takes back when a process ends, however it ends.
func lock(ctx context.Context, name string) (func(), error) {
	file, err := os.OpenFile(name, os.O_RDWR|os.O_CREATE, 0o644)
	if err != nil {
		return nil, err
	}
	const pause = 200 * time.Millisecond
	if err := wait.PollUntilContextCancel(ctx, pause, true, func(context.Context) (bool, error) { return filelock.Try(file, true) }); err != nil {
		return nil, errors.Join(err, file.Close())
	}
	return func() { file.Close() }, nil
}

type controllers struct {
	command *exec.Cmd
	log     string        // file
	ended   chan struct{} // closed when the process has
}

func startControllers(ctx context.Context, c *Cluster) (*controllers, error) {
	kubeconfig := filepath.Join(c.scratch.folder, "controllers.kubeconfig")
	if err := writeKubeconfig(kubeconfig, c.Config); err != nil {
		return nil, err
	}
	program, err := c.program(ctx, "kube-controller-manager")
	if err != nil {
		return nil, err
	}
	k := &controllers{log: filepath.Join(c.scratch.folder, "controllers.log"), ended: make(chan struct{})}
	log, err := os.Create(k.log)
	if err != nil {
		return nil, err
	}
	defer log.Close()
	k.command = exec.Command(program, //nolint:noctx // it outlives the test that starts it; stop ends it
		"--kubeconfig="+kubeconfig, "--bind-address=127.0.0.1", "--secure-port=0", "--leader-elect=false",
		"--cluster-signing-cert-file="+c.authority.certFile, "--cluster-signing-key-file="+c.authority.keyFile,
		"--controllers="+strings.Join([]string{
			"garbage-collector-controller", "namespace-controller", "serviceaccount-controller",
			"root-ca-certificate-publisher-controller", "certificatesigningrequest-signing-controller",
			"certificatesigningrequest-approving-controller", "certificatesigningrequest-cleaner-controller",
			"disruption-controller",
		}, ","))
	k.command.Stdout, k.command.Stderr = log, log
	if err := k.command.Start(); err != nil {
		return nil, err
	}
	go func() {
		_ = k.command.Wait()
		close(k.ended)
	}()
	return k, nil
}

// ready waits for the first thing that the controllers do.
func (k *controllers) ready(ctx context.Context, client kubernetes.Interface) error {
	return poll(ctx, "the controllers", func(ctx context.Context) error {
		select {
		case <-k.ended:
			said, _ := os.ReadFile(k.log)
			return fmt.Errorf("kube-controller-manager ended: %s", said[max(0, len(said)-2000):])
		default:
		}
		_, err := client.CoreV1().ServiceAccounts("default").Get(ctx, "default", metav1.GetOptions{})
		return err
	})
}

// stop ends the controllers at once: they keep nothing that they would have to write.
func (k *controllers) stop() error {
	err := k.command.Process.Kill()
	<-k.ended
	if errors.Is(err, os.ErrProcessDone) {
		return nil
	}
	return err
}
