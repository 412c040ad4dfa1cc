//go:build e2e

package e2e

import (
	"context"
	"fmt"
	"net/http"
	"net/http/httputil"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/oaictl/oaictl/internal/shared/must"
	"github.com/oaictl/oaictl/pkg/install/bmc"
	"github.com/oaictl/oaictl/pkg/install/model"
	"github.com/oaictl/oaictl/pkg/install/spec"
	"github.com/oaictl/oaictl/test/fixture"
)

// TestKilledAtEveryWriteToABMC kills a real oaictl before and after everything
// that it asks of a machine's BMC. The next run finishes the install, and leaves
// nothing in the machine's drive.
func TestKilledAtEveryWriteToABMC(t *testing.T) {
	binary, file := build(t), singleRedfish(t)
	lab := newBMCLab(t, file)
	if output, err := lab.create(t.Context(), binary, t.TempDir()).CombinedOutput(); err != nil {
		t.Fatalf("oaictl, which nobody killed: %v\n%s", err, output)
	}
	writes := 0
	for _, c := range lab.bmcs.noted() {
		if c.writes() && !strings.Contains(c.path, "/Sessions") {
			writes++
		}
	}
	if writes != 5 { // insert, boot from it, on, boot from the disk again, eject
		t.Errorf("the BMC is written to %d times: %v", writes, writesOf(lab.bmcs.noted()))
	}
	clean(t, lab.file, lab.bmcs.URL)
	for n := range writes {
		for _, when := range []string{"before", "after"} {
			t.Run(fmt.Sprintf("%s write %d", when, n), func(t *testing.T) {
				t.Parallel()
				lab, dir := newBMCLab(t, file), t.TempDir()
				kill(t, lab.bmcs, lab.create(t.Context(), binary, dir), n, when)
				if output, err := lab.create(t.Context(), binary, dir).CombinedOutput(); err != nil {
					t.Fatalf("the run after the kill: %v\n%s", err, output)
				}
				once(t, lab.service, lab.calls.noted())
				clean(t, lab.file, lab.bmcs.URL)
			})
		}
	}
}

// bmcLab is a service and its machines, with a wire to the service and one to
// the BMCs.
type bmcLab struct {
	service, file, media string
	calls, bmcs          *wire
}

func newBMCLab(t *testing.T, file string) bmcLab {
	t.Helper()
	s := simulateFile(t, file, crashSpeed)
	proxy := must.Get(url.Parse(s.BMCProxy()))(t)
	bmcs := newWireThrough(t, &httputil.ReverseProxy{
		Rewrite:   func(*httputil.ProxyRequest) {}, // requests to a proxy name their target themselves
		Transport: &http.Transport{Proxy: http.ProxyURL(proxy)},
	})
	bmcs.counts = func(r *http.Request) bool { return !strings.Contains(r.URL.Path, "/Sessions") }
	return bmcLab{service: s.URL(), file: file, media: fixture.Address(t), calls: newWire(t, s.URL()), bmcs: bmcs}
}

func (l *bmcLab) create(ctx context.Context, binary, dir string) *exec.Cmd {
	command := createCluster(ctx, binary, l.calls.URL, l.file, dir)
	command.Args = append(command.Args, "--bmc-proxy", l.bmcs.URL, "--media-listen", l.media)
	return command
}

// clean checks that the machines' drives are empty, and their boot order is
// their own.
func clean(t *testing.T, file, bmcs string) {
	t.Helper()
	cluster := must.Get(spec.Load(t.Context(), file, spec.OSEnv()))(t)
	proxy := must.Get(url.Parse(bmcs))(t)
	plane := bmc.New(bmc.Config{Media: nobodys{}, Proxy: proxy})
	names := []string{}
	for _, host := range cluster.BootedByBMC() {
		names = append(names, host.Name)
	}
	states, err := plane.Observe(t.Context(), &model.Desired{Spec: cluster}, nil, names)
	if err != nil || len(states) == 0 {
		t.Fatal(states, err)
	}
	for host, state := range states {
		if state.Trouble != "" || state.Media != "" || state.BootOnce || state.Power != model.PowerIsOn {
			t.Errorf("%s is left as %+v", host, state)
		}
	}
}

// nobodys are the media of a client that only looks.
type nobodys struct{}

func (nobodys) URL(string) (string, error)            { return "http://192.0.2.254/nobodys.iso", nil }
func (nobodys) Fetched(string) model.Fetched          { return model.Fetched{} }
func (nobodys) Prepare(context.Context, string) error { return nil }

// singleRedfish is the example of a single node with a BMC, which is reached
// without TLS: what is asked of it is to be seen.
func singleRedfish(t *testing.T) string {
	t.Helper()
	examples := must.Get(filepath.Abs(filepath.Join("..", "..", "examples")))(t)
	data := must.Get(os.ReadFile(filepath.Join(examples, "sno", "cluster.yaml")))(t)
	text := strings.ReplaceAll(string(data), "../shared", filepath.Join(examples, "shared"))
	bmc := fmt.Sprintf("    bmc: {address: redfish-virtualmedia+http://192.0.2.10/redfish/v1/Systems/1, credentials: {file: %s}}\n", filepath.Join(examples, "shared", "bmc-password"))
	file := filepath.Join(t.TempDir(), "cluster.yaml")
	must.Do(t, os.WriteFile(file, []byte(strings.TrimRight(text, "\n")+"\n"+bmc), 0o600))
	return file
}
