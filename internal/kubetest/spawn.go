package kubetest

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// process is a program that runs beside the API server until it is stopped.
type process struct {
	name    string
	command *exec.Cmd
	log     string        // file
	ended   chan struct{} // closed when the process has
}

// spawn starts a program, whose output goes to a file of the cluster's folder.
func (c *Cluster) spawn(ctx context.Context, name, path string, args ...string) (*process, error) {
	program, err := c.program(ctx, name, path)
	if err != nil {
		return nil, err
	}
	p := &process{name: name, log: filepath.Join(c.scratch.folder, name+".log"), ended: make(chan struct{})}
	log, err := os.Create(p.log)
	if err != nil {
		return nil, err
	}
	defer log.Close()
	p.command = exec.Command(program, args...) //nolint:noctx // it outlives the test that starts it; stop ends it
	p.command.Stdout, p.command.Stderr = log, log
	if err := p.command.Start(); err != nil {
		return nil, fmt.Errorf("start %s: %w", name, err)
	}
	go func() {
		_ = p.command.Wait()
		close(p.ended)
	}()
	return p, nil
}

// running is an error once the process has ended, with the last of what it said.
func (p *process) running() error {
	select {
	case <-p.ended:
		said, _ := os.ReadFile(p.log)
		return fmt.Errorf("%s ended: %s", p.name, said[max(0, len(said)-2000):])
	default:
		return nil
	}
}

// stop ends the process at once: those that run here keep nothing that they would have to write.
func (p *process) stop() error {
	err := p.command.Process.Kill()
	<-p.ended
	if errors.Is(err, os.ErrProcessDone) {
		return nil
	}
	return err
}

// await waits until a process does what ask finds, and no longer than it runs.
func (p *process) await(ctx context.Context, ask func(context.Context) error) error {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	err := poll(ctx, p.name, func(ctx context.Context) error {
		if err := p.running(); err != nil {
			cancel(err)
			return err
		}
		return ask(ctx)
	})
	if ended := p.running(); ended != nil {
		return ended
	}
	return err
}

// startControllers starts kube-controller-manager.
func (c *Cluster) startControllers(ctx context.Context) error {
	const name = "kube-controller-manager"
	kubeconfig := filepath.Join(c.scratch.folder, "controllers.kubeconfig")
	if err := writeKubeconfig(kubeconfig, c.Config); err != nil {
		return err
	}
	var err error
	c.controllers, err = c.spawn(ctx, name, filepath.Join(c.programs, name),
		"--kubeconfig="+kubeconfig, "--bind-address=127.0.0.1", "--secure-port=0", "--leader-elect=false",
		"--cluster-signing-cert-file="+c.authority.certFile, "--cluster-signing-key-file="+c.authority.keyFile,
		"--controllers="+strings.Join([]string{
			"garbage-collector-controller", "namespace-controller", "serviceaccount-controller",
			"root-ca-certificate-publisher-controller", "certificatesigningrequest-signing-controller",
			"certificatesigningrequest-approving-controller", "certificatesigningrequest-cleaner-controller",
			"disruption-controller", "clusterrole-aggregation-controller",
		}, ","))
	return err
}

// controlled waits for the first thing that the controllers do.
func (c *Cluster) controlled(ctx context.Context) error {
	return c.controllers.await(ctx, func(ctx context.Context) error {
		_, err := c.Client.CoreV1().ServiceAccounts("default").Get(ctx, "default", metav1.GetOptions{})
		return err
	})
}

// answers is an error while nothing at an address answers with 200.
func answers(ctx context.Context, url string) error {
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, url, nil)
	if err != nil {
		return err
	}
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		return err
	}
	defer response.Body.Close()
	if response.StatusCode != http.StatusOK {
		return fmt.Errorf("%s answers %s", url, response.Status)
	}
	return nil
}
