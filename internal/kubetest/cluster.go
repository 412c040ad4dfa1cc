// Package kubetest runs a real hub for tests: etcd, kube-apiserver and
// kube-controller-manager on loopback, with the CustomResourceDefinitions that an
// assisted-service works on, and kubectl beside them. A Management is such a hub with the
// core of Cluster API, and clusterctl.
//
// The programs are built from Go modules (test/tools/kubernetes), once for each
// version of them and of Go, and kept outside the tree. Building them takes seven
// minutes and more on two cores; `go run ./internal/kubetest/build` does it ahead
// of the tests, and `go run ./internal/kubetest/serve` starts a hub to try things out.
package kubetest

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/url"
	"os"
	"path/filepath"
	"strconv"
	"testing"
	"time"

	"github.com/go-logr/logr"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/envtest"
	ctrllog "sigs.k8s.io/controller-runtime/pkg/log"

	"github.com/oaictl/oaictl/internal/kubetest/tcpport"
	"github.com/oaictl/oaictl/internal/shared/clock"
)

// Cluster is a hub without nodes: an API server with the kinds of a hub, and the
// controllers that collect garbage, empty namespaces, sign certificates, count disruptions and add up ClusterRoles.
type Cluster struct {
	// Config is an administrator's. It is not slowed down.
	Config *rest.Config
	// Client is Config's, for Kubernetes' own kinds.
	Client kubernetes.Interface

	assets
	env         *envtest.Environment
	authority   *authority
	controllers *process
	scratch     *scratch
	ports       *tcpport.Reservation
}

// Programs that are named in more than one place.
const (
	apiServer   = "kube-apiserver"
	coreManager = "cluster-api"
	clusterctl  = "clusterctl"
)

// startTimeout is how long one program may take until it answers, on a machine with other work.
const startTimeout = 2 * time.Minute

// Start starts a hub of the test's own, which is stopped after the test. Where its
// programs cannot be built, and with -short, the test is skipped, with the reason.
func Start(t testing.TB) *Cluster {
	t.Helper()
	c, err := start(t)
	if err != nil {
		giveUp(t, err)
	}
	t.Cleanup(func() {
		if err := c.Close(); err != nil {
			t.Errorf("stopping the hub: %v", err)
		}
	})
	return c
}

// errShort is why there is no hub with -short, as with the race detector, which sees nothing of its processes.
var errShort = errors.New("a hub takes too long for go test -short")

// giveUp skips or fails a test that has no hub.
func giveUp(t testing.TB, err error) {
	t.Helper()
	switch {
	case errors.Is(err, context.DeadlineExceeded):
		t.Skipf("etcd and Kubernetes are not built yet, and the time of these tests is too short for it (go test -tags e2e -timeout 50m). "+
			"The next run continues from here, or run `go run ./internal/kubetest/build` first: %v", err)
	case errors.Is(err, ErrUnavailable), errors.Is(err, errShort):
		t.Skip(err)
	default:
		t.Fatalf("starting a hub: %v", err)
	}
}

func start(t testing.TB) (*Cluster, error) {
	if testing.Short() {
		return nil, errShort
	}
	ctx, cancel := beforeDeadline(t)
	defer cancel()
	from, err := built(ctx, t.Output())
	if err != nil {
		return nil, err
	}
	return run(t.Context(), from)
}

// Open starts a hub outside tests, to try things out on. What is built for it goes to log.
func Open(ctx context.Context, log io.Writer) (*Cluster, error) {
	from, err := built(ctx, log)
	if err != nil {
		return nil, err
	}
	return run(ctx, from)
}

// OpenFrom is Open with programs of a folder that has them (WriteAssets, or Build).
func OpenFrom(ctx context.Context, folder string) (*Cluster, error) {
	from, err := ready(ctx, folder)
	if err != nil {
		return nil, err
	}
	return run(ctx, from)
}

func run(ctx context.Context, from assets) (*Cluster, error) {
	scratch, err := newScratch(os.TempDir())
	if err != nil {
		return nil, err
	}
	c := &Cluster{assets: from, scratch: scratch, ports: tcpport.New()}
	if err := c.start(ctx); err != nil {
		return nil, errors.Join(err, c.Close())
	}
	return c, nil
}

// beforeDeadline leaves the other tests of a package a third of the time that is left, or three minutes.
func beforeDeadline(t testing.TB) (context.Context, context.CancelFunc) {
	if timed, ok := t.(interface{ Deadline() (time.Time, bool) }); ok {
		if deadline, ok := timed.Deadline(); ok {
			left := deadline.Sub(clock.Real().Now())
			return context.WithDeadline(t.Context(), deadline.Add(-min(3*time.Minute, left/3)))
		}
	}
	return context.WithCancel(t.Context())
}

func (c *Cluster) start(ctx context.Context) error {
	// Its own log says once, with a stack trace, that no logger is set.
	ctrllog.SetLogger(logr.Discard())
	var err error
	c.env, err = c.environment(ctx, filepath.Join(c.crds, "manifests"))
	if err != nil {
		return err
	}
	if c.Config, err = c.env.Start(); err != nil {
		return err
	}
	if c.Client, err = kubernetes.NewForConfig(c.Config); err != nil {
		return err
	}
	if err := c.startControllers(ctx); err != nil {
		return err
	}
	return c.controlled(ctx)
}

func (c *Cluster) environment(ctx context.Context, crds string) (*envtest.Environment, error) {
	etcd, err := c.program(ctx, "etcd", filepath.Join(c.programs, "etcd"))
	if err != nil {
		return nil, err
	}
	server, err := c.program(ctx, apiServer, filepath.Join(c.programs, apiServer))
	if err != nil {
		return nil, err
	}
	env := &envtest.Environment{
		CRDDirectoryPaths:        []string{crds},
		ErrorIfCRDPathMissing:    true,
		ControlPlaneStartTimeout: startTimeout,
		ControlPlaneStopTimeout:  startTimeout,
	}
	data := filepath.Join(c.scratch.folder, "data")
	if err := os.MkdirAll(data, 0o700); err != nil {
		return nil, err
	}
	store, err := c.ports.Address(ctx)
	if err != nil {
		return nil, err
	}
	env.ControlPlane.Etcd = &envtest.Etcd{Path: etcd, DataDir: data, URL: &url.URL{Scheme: "http", Host: store}}
	env.ControlPlane.KubectlPath = c.Kubectl()
	api := env.ControlPlane.GetAPIServer()
	api.Path = server
	port, err := c.Port(ctx)
	if err != nil {
		return nil, err
	}
	api.SecureServing.Address, api.SecureServing.Port = "127.0.0.1", strconv.Itoa(port)
	// A folder of ours outlives the process, so that a server that is started again
	// still knows its users and is known by them.
	api.CertDir = filepath.Join(c.scratch.folder, "apiserver")
	if err := os.MkdirAll(api.CertDir, 0o700); err != nil {
		return nil, err
	}
	if c.authority, err = newAuthority(c.scratch.folder); err != nil {
		return nil, err
	}
	api.Authn = c.authority
	// Without a default route, as in a network namespace, it finds no address.
	api.Configure().Append("advertise-address", "127.0.0.1")
	return env, nil
}

// Port reserves a TCP port until the cluster is closed, for a program or a server that can only be given
// a number.
func (c *Cluster) Port(ctx context.Context) (int, error) { return c.ports.Port(ctx) }

// Kubectl is the path of kubectl.
func (c *Cluster) Kubectl() string { return filepath.Join(c.programs, "kubectl") }

// Down kills the API server, until Up starts it again on the same address and with the
// same data and users. Watches break; what asks meanwhile is refused.
func (c *Cluster) Down(t testing.TB) {
	t.Helper()
	if err := c.kill(apiServer); err != nil {
		t.Fatalf("killing the API server: %v", err)
	}
	// envtest has to notice, before it starts another.
	if err := poll(t.Context(), "the API server's end", func(context.Context) error {
		return c.env.ControlPlane.GetAPIServer().Stop()
	}); err != nil {
		t.Fatal(err)
	}
}

// Up starts an API server that Down stopped.
func (c *Cluster) Up(t testing.TB) {
	t.Helper()
	if err := c.env.ControlPlane.GetAPIServer().Start(); err != nil {
		t.Fatalf("starting the API server: %v", err)
	}
	if err := poll(t.Context(), "the API server", func(ctx context.Context) error {
		return c.Client.CoreV1().RESTClient().Get().AbsPath("/readyz").Do(ctx).Error()
	}); err != nil {
		t.Fatal(err)
	}
}

// Close ends a hub that Open started, and removes what it wrote.
func (c *Cluster) Close() error {
	var problems []error
	if c.controllers != nil {
		problems = append(problems, c.controllers.stop())
	}
	if c.env != nil {
		problems = append(problems, c.kill(apiServer), c.env.Stop())
	}
	return errors.Join(append(problems, c.ports.Release(), c.scratch.remove())...)
}

func poll(ctx context.Context, what string, ask func(context.Context) error) error {
	var err error
	if wait.PollUntilContextTimeout(ctx, 20*time.Millisecond, startTimeout, true, func(ctx context.Context) (bool, error) {
		err = ask(ctx)
		return err == nil, nil
	}) != nil {
		return fmt.Errorf("waiting for %s: %w", what, err)
	}
	return nil
}

//go:generate ../../test/crds/generate
