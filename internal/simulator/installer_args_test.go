package simulator_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/oaictl/oaictl/internal/shared/clock"
	"github.com/oaictl/oaictl/internal/simulator"
	"github.com/oaictl/oaictl/pkg/install"
	"github.com/oaictl/oaictl/pkg/install/model"
	"github.com/oaictl/oaictl/pkg/install/rest"
	"github.com/oaictl/oaictl/pkg/install/spec"
)

// TestInstallerArgs reads what the agents of two installs are told to install
// with: a host with a static network takes its profiles along, and a host without
// one asks for a lease on the card that it was found by.
func TestInstallerArgs(t *testing.T) {
	lease := regexp.MustCompile(`^ip=([0-9a-f]{2}-){5}[0-9a-f]{2}:dhcp`)
	for example, static := range map[string]bool{"static-network": true, "compact": false} {
		t.Run(example, func(t *testing.T) {
			t.Parallel()
			cluster, err := spec.Load(t.Context(), filepath.Join("..", "..", "examples", example, "cluster.yaml"), spec.OSEnv())
			if err != nil {
				t.Fatal(err)
			}
			told := installSteps(t, cluster)
			if len(told) != 3 {
				t.Fatalf("%d hosts were told to install, not 3: %v", len(told), told)
			}
			for id, args := range told {
				copies, leases := slices.Contains(args, "--copy-network"), slices.ContainsFunc(args, lease.MatchString)
				if copies != static || leases == static {
					t.Errorf("the host %s is told to install with %q", id, args)
				}
			}
		})
	}
}

// installSteps installs a cluster and gives the installer arguments of the
// install step of each host, as its agent was sent them.
func installSteps(t *testing.T, cluster *spec.Cluster) map[string][]string {
	t.Helper()
	time := clock.Scaled(1200)
	var address string
	service, err := simulator.NewService(simulator.ServiceConfig{Clock: time, Seed: 1, PublicURL: func() string { return address }}, "")
	if err != nil {
		t.Fatal(err)
	}
	w := &wiretap{service: service, args: map[string][]string{}}
	server := httptest.NewServer(w)
	address = server.URL
	ctx, stop := context.WithCancel(t.Context())
	var running sync.WaitGroup
	defer func() { stop(); server.Close(); running.Wait() }()
	running.Go(func() { _ = service.Run(ctx) })
	running.Go(func() {
		_ = simulator.Boot(ctx, simulator.BootConfig{ServiceURL: address, Clock: time, Seed: 1, Cluster: cluster})
	})
	plane, err := rest.New(rest.Config{URL: address, Clock: time})
	if err != nil {
		t.Fatal(err)
	}
	_, err = install.New(plane, install.Config{Clock: time, Files: install.Directory(t.TempDir())}).
		Run(t.Context(), &model.Desired{Spec: cluster, Options: model.Options{Run: "abc123"}})
	if err != nil {
		t.Fatal(err)
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.broken != nil {
		t.Fatal(w.broken)
	}
	return w.args
}

// wiretap stands before the service and reads the steps that agents are sent.
type wiretap struct {
	service http.Handler
	mu      sync.Mutex
	args    map[string][]string // installer arguments by host
	broken  error
}

func (w *wiretap) ServeHTTP(out http.ResponseWriter, r *http.Request) {
	if r.Method != http.MethodGet || !strings.HasSuffix(r.URL.Path, "/instructions") {
		w.service.ServeHTTP(out, r)
		return
	}
	copied := &tapped{ResponseWriter: out}
	w.service.ServeHTTP(copied, r)
	var sent struct {
		Instructions []struct {
			Type string   `json:"step_type"`
			Args []string `json:"args"`
		} `json:"instructions"`
	}
	if json.Unmarshal(copied.body.Bytes(), &sent) != nil {
		return // an error, and no steps
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, step := range sent.Instructions {
		if step.Type == "install" {
			w.read(step.Args[0])
		}
	}
}

func (w *wiretap) read(argument string) {
	var request struct {
		Host string `json:"host_id"`
		Args string `json:"installer_args"`
	}
	args := []string{}
	err := json.Unmarshal([]byte(argument), &request)
	if err == nil && request.Args != "" {
		err = json.Unmarshal([]byte(request.Args), &args)
	}
	w.args[request.Host], w.broken = args, errors.Join(w.broken, err)
}

// tapped is a response that is kept as well.
type tapped struct {
	http.ResponseWriter
	body bytes.Buffer
}

func (t *tapped) Write(p []byte) (int, error) {
	t.body.Write(p)
	return t.ResponseWriter.Write(p)
}
