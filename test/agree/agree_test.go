// Package agree compares what several places say of one cluster: what is valid is taken by the service, by a hub's
// objects and by every format, and what comes out of a format is valid. An input is a file of testdata, an example, a
// sample, or one that is made.
package agree_test

import (
	"context"
	"errors"
	"flag"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"golang.org/x/tools/txtar"

	"github.com/oaictl/oaictl/internal/shared/clock"
	"github.com/oaictl/oaictl/internal/simulator"
	"github.com/oaictl/oaictl/pkg/install"
	"github.com/oaictl/oaictl/pkg/install/boot"
	"github.com/oaictl/oaictl/pkg/install/convert"
	"github.com/oaictl/oaictl/pkg/install/model"
	"github.com/oaictl/oaictl/pkg/install/render"
	"github.com/oaictl/oaictl/pkg/install/rest"
	"github.com/oaictl/oaictl/pkg/install/spec"
	"github.com/oaictl/oaictl/test/sample"
)

var seeds = flag.Int("clusters", 12, "how many clusters are made")

// input is a cluster in any format, as it is read.
type input struct {
	name    string
	refused string // the error where it is not valid
	read    func(t *testing.T) (*spec.Cluster, error)
}

// inputs are all that there are.
func inputs(t *testing.T) []input {
	t.Helper()
	var list []input
	files, err := filepath.Glob("testdata/*.txtar")
	if err != nil || len(files) < 10 {
		t.Fatalf("%d inputs: %v", len(files), err)
	}
	for _, file := range files {
		list = append(list, inputOf(t, file))
	}
	for _, example := range folders(t, "../../examples/*/cluster.yaml") {
		list = append(list, input{name: "example-" + filepath.Base(filepath.Dir(example)), read: func(t *testing.T) (*spec.Cluster, error) {
			return spec.Load(t.Context(), example, sample.Env())
		}})
	}
	for name, text := range sample.Clusters() {
		list = append(list, input{name: "sample-" + name, read: func(t *testing.T) (*spec.Cluster, error) {
			return spec.Parse(t.Context(), "cluster.yaml", []byte(text), sample.Env())
		}})
	}
	for _, folder := range folders(t, "../../pkg/install/convert/testdata/read/*/in") {
		list = append(list, input{name: "format-" + filepath.Base(filepath.Dir(folder)), read: func(t *testing.T) (*spec.Cluster, error) {
			o := convert.Options{AcceptUnknownHosts: true}
			if strings.Contains(folder, "/agent-") {
				o.Version = "4.20" // which this format does not say
			}
			return read(t, folder, o)
		}})
	}
	return append(list, made(*seeds)...)
}

func folders(t *testing.T, pattern string) []string {
	t.Helper()
	list, err := filepath.Glob(pattern)
	if err != nil || len(list) == 0 {
		t.Fatalf("%s: %v", pattern, err)
	}
	return list
}

// inputOf is an archive of files. The lines before them are comments, except "read: PATH", which is the file or folder
// to read, "version: VERSION" and "refused: TEXT".
func inputOf(t *testing.T, path string) input {
	t.Helper()
	archive, err := txtar.ParseFile(path)
	if err != nil {
		t.Fatal(err)
	}
	said := map[string]string{"read": "."}
	for line := range strings.Lines(string(archive.Comment)) {
		if key, value, found := strings.Cut(strings.TrimSpace(line), ": "); found {
			said[key] = value
		}
	}
	name := strings.TrimSuffix(filepath.Base(path), ".txtar")
	return input{name: name, refused: said["refused"], read: func(t *testing.T) (*spec.Cluster, error) {
		dir := t.TempDir()
		for _, file := range append(shared(t), archive.Files...) {
			target := filepath.Join(dir, file.Name)
			if err := os.MkdirAll(filepath.Dir(target), 0o700); err != nil {
				t.Fatal(err)
			}
			if err := os.WriteFile(target, file.Data, 0o600); err != nil {
				t.Fatal(err)
			}
		}
		return read(t, filepath.Join(dir, said["read"]), convert.Options{Version: said["version"]})
	}}
}

// shared are the files that inputs refer to.
func shared(t *testing.T) []txtar.File {
	t.Helper()
	secret, err := os.ReadFile("../../examples/shared/pull-secret.json")
	if err != nil {
		t.Fatal(err)
	}
	return []txtar.File{{Name: "pull-secret.json", Data: secret}, {Name: "bmc-password", Data: []byte("admin:password\n")}}
}

// read reads any format, as the command line does.
func read(t *testing.T, path string, o convert.Options) (*spec.Cluster, error) {
	t.Helper()
	o.Env = sample.Env()
	if params := filepath.Join(path, "params.yml"); exists(params) {
		path = params
	}
	converted, err := convert.Read(t.Context(), path, o)
	if errors.Is(err, convert.ErrIsCluster) {
		env := o.Env
		env.Nodes = true
		return spec.Load(t.Context(), path, env)
	}
	if err != nil {
		return nil, err
	}
	return converted.Cluster, nil
}

func exists(path string) bool {
	_, err := os.Stat(path)
	return err == nil
}

// valid reads an input as validate does: nil for one that is to be refused, and is.
func (in input) valid(t *testing.T) *spec.Cluster {
	t.Helper()
	c, err := in.read(t)
	if err == nil {
		_, err = boot.CheckNetworks(c)
	}
	switch {
	case in.refused == "" && err != nil:
		t.Fatal(err)
	case in.refused == "":
		return c
	case err == nil || !strings.Contains(err.Error(), in.refused):
		t.Errorf("got %v, want %s", err, in.refused)
	}
	return nil
}

// TestValidIsTaken installs every valid input on a simulated service, up to the call that
// starts the installation: no request is refused.
func TestValidIsTaken(t *testing.T) {
	for _, in := range inputs(t) {
		t.Run(in.name, func(t *testing.T) {
			t.Parallel()
			if c := in.valid(t); c != nil {
				taken(t, c)
			}
		})
	}
}

// TestValidIsRendered makes a hub's objects of every valid input, or refuses it before anything is
// asked of a hub: with the secrets, as for GitOps, and as validate looks at it.
func TestValidIsRendered(t *testing.T) {
	for _, in := range inputs(t) {
		t.Run(in.name, func(t *testing.T) {
			c := in.valid(t)
			if c == nil || c.OnlyAdds() {
				return
			}
			_, looked := render.Hub(c, render.Options{Later: true})
			_, rendered := render.Hub(c, render.Options{Secrets: true})
			if looked == nil && rendered != nil {
				t.Errorf("validate takes what render refuses: %v", rendered)
			}
		})
	}
}

// TestWrittenIsValid writes every valid input in every format that is written. What is written whole is valid when it
// is read, and the service takes it; what is reported as left behind may be missing.
func TestWrittenIsValid(t *testing.T) {
	formats := []convert.Format{convert.FormatAgent, convert.FormatZTP, convert.FormatClusterInstance}
	for n, in := range inputs(t) {
		for m, format := range formats {
			t.Run(in.name+"/"+string(format), func(t *testing.T) {
				t.Parallel()
				c := in.valid(t)
				if c == nil || c.OnlyAdds() || c.Imported() {
					return
				}
				files, lost, err := convert.Write(c, format, convert.Options{Secrets: true})
				if err != nil {
					if _, told := errors.AsType[*spec.Problems](err); !told {
						t.Errorf("it is refused without a place: %v", err)
					}
					return
				}
				dir := filepath.Join(t.TempDir(), "out")
				if err := convert.WriteFiles(dir, files); err != nil {
					t.Fatal(err)
				}
				again, err := read(t, dir, convert.Options{Version: c.Spec.OpenShift.Version, AcceptUnknownHosts: true})
				if err == nil {
					_, err = boot.CheckNetworks(again)
				}
				switch {
				case err != nil && len(lost) == 0:
					t.Error(err)
				case err == nil && len(lost) == 0 && n%len(formats) == m: // one of them for each input: that takes a while
					taken(t, again)
				}
			})
		}
	}
}

// recorder keeps what the service answers to writes.
type recorder struct {
	install.Service
	mu     sync.Mutex
	wrote  map[string]bool
	errors []error
}

func (r *recorder) Act(ctx context.Context, desired *model.Desired, action model.Action) error {
	err := r.Service.Act(ctx, desired, action)
	r.mu.Lock()
	defer r.mu.Unlock()
	r.wrote[action.Key] = true
	if fault, is := errors.AsType[*model.Fault](err); is && fault.Permanent {
		r.errors = append(r.errors, err)
	}
	return err
}

func (r *recorder) done() (started bool, refused error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.wrote["cluster/install"], errors.Join(r.errors...)
}

// taken installs a cluster on a simulated service until the installation is started.
func taken(t *testing.T, c *spec.Cluster) {
	t.Helper()
	if why := onlyOnHub(c); why != "" {
		return
	}
	c.Spec.Boot.Method, c.Spec.Hold = "", false // the machines boot by themselves, and start at once
	c.Spec.OpenShift.ReleaseImage = ""          // which release images a service has, no file says
	for i := range c.Spec.Hosts {
		c.Spec.Hosts[i].BMC = nil
	}
	scaled := clock.Scaled(1200)
	s, err := simulator.Start(t.Context(), simulator.Config{Clock: scaled, Seed: 1, Cluster: c})
	if err != nil {
		t.Fatal(err)
	}
	defer func() {
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	}()
	plane, err := rest.New(rest.Config{URL: s.URL(), Clock: scaled})
	if err != nil {
		t.Fatal(err)
	}
	service := &recorder{Service: plane, wrote: map[string]bool{}}
	client, deadline := install.New(service, install.Config{Clock: scaled}), scaled.Now().Add(3*time.Hour)
	for {
		result, err := client.Detach(t.Context(), &model.Desired{Spec: c, Options: model.Options{Run: "agree"}})
		started, refused := service.done()
		switch {
		case refused != nil:
			t.Fatalf("the service refuses what is valid: %v", refused)
		case err != nil:
			t.Fatal(err)
		case started:
			return
		case scaled.Now().After(deadline) && !slices.ContainsFunc(result.Plan.Blockers, ofTheFile):
			return // it waits for machines that the file counts and does not name, or for their disks: nothing is refused
		case scaled.Now().After(deadline):
			t.Fatalf("not started: %s %+v", result.Plan.Message, result.Plan.Blockers)
		}
		_ = scaled.Sleep(t.Context(), 20*time.Second)
	}
}

// ofTheFile reports whether a blocker may be for a reason that the file shows. The simulated machines lack the second
// disk that an operator wants.
func ofTheFile(b model.Blocker) bool { return b.Key != "validation/host/lvm-requirements-satisfied" }

// onlyOnHub is why a cluster is no matter of a REST service, or of one that installs it.
func onlyOnHub(c *spec.Cluster) string {
	switch {
	case c.OnlyAdds() || c.Imported():
		return "it is installed already"
	case c.Spec.PullSecret.SecretRef != nil:
		return "its pull secret stands on the hub"
	case c.Spec.OpenShift.Version == "":
		return "its version is that of a ClusterImageSet"
	case c.Spec.Boot.Method == spec.BootMetal3:
		return "a hub boots its machines"
	}
	return ""
}
