package machine_test

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/oaictl/oaictl/internal/clock"
	"github.com/oaictl/oaictl/internal/simulator"
	"github.com/oaictl/oaictl/pkg/install"
	"github.com/oaictl/oaictl/pkg/install/machine"
	"github.com/oaictl/oaictl/pkg/install/rest"
	"github.com/oaictl/oaictl/pkg/install/spec"
)

// relay gives every host an address of its own for the service's image, and
// counts what is read.
type relay struct {
	*httptest.Server
	service string

	mu   sync.Mutex
	read map[string]install.Fetched
}

func newRelay(t *testing.T, service string) *relay {
	r := &relay{service: service, read: map[string]install.Fetched{}}
	r.Server = httptest.NewServer(http.HandlerFunc(r.serve))
	t.Cleanup(r.Server.Close)
	return r
}

func (r *relay) URL(host string) (string, error) { return r.Server.URL + "/i/" + host + ".iso", nil }

func (r *relay) Prepare(context.Context, string) error { return nil }

func (r *relay) Fetched(host string) install.Fetched {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.read[host]
}

func (r *relay) serve(w http.ResponseWriter, request *http.Request) {
	image, err := r.image()
	if err != nil {
		http.Error(w, err.Error(), http.StatusBadGateway)
		return
	}
	ask, _ := http.NewRequestWithContext(request.Context(), request.Method, image, nil)
	ask.Header = request.Header.Clone()
	answer, err := http.DefaultTransport.RoundTrip(ask)
	if err != nil {
		http.Error(w, err.Error(), http.StatusBadGateway)
		return
	}
	defer answer.Body.Close()
	for key, values := range answer.Header {
		w.Header()[key] = values
	}
	w.WriteHeader(answer.StatusCode)
	n, _ := io.Copy(w, answer.Body)
	host := strings.TrimSuffix(path.Base(request.URL.Path), ".iso")
	r.mu.Lock()
	defer r.mu.Unlock()
	read := r.read[host]
	read.Requests, read.Bytes = read.Requests+1, read.Bytes+n
	r.read[host] = read
}

// image is the URL of the service's only image.
func (r *relay) image() (string, error) {
	response, err := http.Get(r.service + "/api/assisted-install/v2/infra-envs")
	if err != nil {
		return "", err
	}
	defer response.Body.Close()
	var list []struct {
		URL string `json:"download_url"`
	}
	if err := json.NewDecoder(response.Body).Decode(&list); err != nil || len(list) != 1 {
		return "", fmt.Errorf("%d images (%w)", len(list), err)
	}
	return list[0].URL, nil
}

// TestInstall installs three machines of different makers, off and with nothing
// in their drives, from the first request to the last, without a person. Then
// the images are out of the drives, and a second run writes nothing.
func TestInstall(t *testing.T) {
	if testing.Short() {
		t.Skip("takes ten seconds")
	}
	cluster, err := spec.Load(t.Context(), filepath.Join("..", "..", "..", "examples", "compact", "cluster.yaml"), spec.OSEnv())
	if err != nil {
		t.Fatal(err)
	}
	for i, address := range []string{"idrac-virtualmedia://192.0.2.10/redfish/v1/Systems/System.Embedded.1", "ilo5-virtualmedia://192.0.2.11/redfish/v1/Systems/1", "http://192.0.2.12:8000"} {
		cluster.Spec.Hosts[i].BMC = &spec.BMC{Address: address, Insecure: true, Credentials: spec.CredentialsOf("admin", spec.NewSecret("calvin"))}
	}
	cluster.Spec.Boot.Method = spec.BootRedfish
	time := clock.Scaled(300)
	s, err := simulator.Start(t.Context(), simulator.Config{Clock: time, Seed: 1, Cluster: cluster})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = s.Close() })
	proxy, err := url.Parse(s.BMCProxy())
	if err != nil {
		t.Fatal(err)
	}
	service, err := rest.New(rest.Config{URL: s.URL(), Clock: time})
	if err != nil {
		t.Fatal(err)
	}
	plane := machine.New(machine.Config{Media: newRelay(t, s.URL()), Clock: time, Proxy: proxy})
	desired := &install.Desired{Spec: cluster, Options: install.Options{Run: "abc123"}}
	files := install.NewFiles(t.TempDir())
	run := func() (done map[string]int) {
		done = map[string]int{}
		_, err := install.New(service, install.WithMachines(plane), install.WithClock(time), install.WithFiles(files), install.WithEvents(func(e install.Event) {
			if e.Type == install.EventAction && e.State == "done" {
				done[e.Reason]++
			}
			if e.Type == install.EventAction || e.Severity != install.SeverityInfo || strings.HasSuffix(e.Key, "/boot") {
				t.Logf("%s %s %s %s %s", e.Time.Format("15:04:05"), e.Type, e.Host, e.Reason, e.Message)
			}
		})).Run(t.Context(), desired)
		if err != nil {
			t.Fatal(err)
		}
		return done
	}
	done := run()
	for _, kind := range []install.Kind{install.InsertMedia, install.SetBootOnce, install.PowerOn, install.EjectMedia} {
		if done[string(kind)] != 3 {
			t.Errorf("%s was done %d times", kind, done[string(kind)])
		}
	}
	names := []string{}
	for _, h := range cluster.Spec.Hosts {
		names = append(names, h.Name)
	}
	states, err := plane.Observe(t.Context(), desired, nil, names)
	if err != nil || len(states) != 3 {
		t.Fatal(states, err)
	}
	for _, name := range slices.Sorted(slices.Values(names)) {
		if state := states[name]; state.Trouble != "" || state.OurMedia || state.BootOnce || state.Power != install.PowerIsOn {
			t.Errorf("%s in the end: %+v", name, state)
		}
	}
	if again := run(); len(again) > 0 {
		t.Errorf("a second run does %v", again)
	}
}
