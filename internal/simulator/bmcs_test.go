package simulator_test

import (
	"bytes"
	"crypto/tls"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"sync/atomic"
	"testing"
	"time"

	"github.com/oaictl/oaictl/internal/shared/clock"
	"github.com/oaictl/oaictl/internal/simulator"
	"github.com/oaictl/oaictl/pkg/install/spec"
)

// withBMCs is an example whose machines are booted through BMCs at these addresses.
func withBMCs(t *testing.T, example string, addresses ...string) *spec.Cluster {
	t.Helper()
	cluster := exampleOf(t, example)
	for i, address := range addresses {
		cluster.Spec.Hosts[i].BMC = &spec.BMC{Address: address, Insecure: true, Credentials: spec.CredentialsOf("admin", spec.NewSecret("calvin"))}
	}
	cluster.Spec.Boot.Method = spec.BootRedfish
	return cluster
}

// bench is a simulator with BMCs, and a client that reaches them by its proxy.
type bench struct {
	t   *testing.T
	s   *simulator.Simulator
	now clock.Clock // of the service and the machines
	api string
	bmc *http.Client
}

func newBench(t *testing.T, cluster *spec.Cluster) *bench {
	t.Helper()
	now := clock.Scaled(speed / 4)
	s := start(t, simulator.Config{Clock: now, Seed: 1, Cluster: cluster, Logf: t.Logf})
	proxy, err := url.Parse(s.BMCProxy())
	if err != nil || proxy.Host == "" {
		t.Fatalf("the BMCs are at %q: %v", s.BMCProxy(), err)
	}
	transport := &http.Transport{Proxy: http.ProxyURL(proxy), TLSClientConfig: &tls.Config{InsecureSkipVerify: true}} //nolint:gosec // made by the test
	t.Cleanup(transport.CloseIdleConnections)
	return &bench{t: t, s: s, now: now, api: s.URL() + "/api/assisted-install/v2", bmc: &http.Client{Transport: transport}}
}

// create registers the cluster and its InfraEnv, and returns their ids and the
// image's URL.
func (b *bench) create(cluster *spec.Cluster) (id, infraEnv, image string) {
	b.t.Helper()
	id = call(b.t, http.MethodPost, b.api+"/clusters", map[string]any{
		"name": cluster.Metadata.Name, "base_dns_domain": cluster.Spec.BaseDomain, "openshift_version": "4.20",
		"control_plane_count": len(cluster.Spec.Hosts), "pull_secret": cluster.PullSecret().Reveal(),
	})["id"].(string)
	made := call(b.t, http.MethodPost, b.api+"/infra-envs", map[string]any{
		"name": cluster.Metadata.Name, "cluster_id": id, "openshift_version": "4.20", "pull_secret": cluster.PullSecret().Reveal(),
	})
	return id, made["id"].(string), made["download_url"].(string)
}

// redfish sends a request to a BMC and wants it to be accepted.
func (b *bench) redfish(method, address string, body any) {
	b.t.Helper()
	data, err := json.Marshal(body)
	if err != nil {
		b.t.Fatal(err)
	}
	request, err := http.NewRequestWithContext(b.t.Context(), method, address, bytes.NewReader(data))
	if err != nil {
		b.t.Fatal(err)
	}
	request.SetBasicAuth("admin", "calvin")
	response, err := b.bmc.Do(request)
	if err != nil {
		b.t.Fatal(err)
	}
	defer func() { _ = response.Body.Close() }()
	if text, _ := io.ReadAll(response.Body); response.StatusCode >= 300 {
		b.t.Fatalf("%s %s: %s %s", method, address, response.Status, text)
	}
}

// tell has an iDRAC at an address boot its machine from an image.
func (b *bench) tell(address, image string) {
	b.t.Helper()
	system := address + "/redfish/v1/Systems/System.Embedded.1"
	b.redfish(http.MethodPost, system+"/VirtualMedia/1/Actions/VirtualMedia.InsertMedia", map[string]any{"Image": image})
	b.redfish(http.MethodPatch, system, map[string]any{"Boot": map[string]any{"BootSourceOverrideTarget": "Cd", "BootSourceOverrideEnabled": "Once"}})
	b.redfish(http.MethodPost, system+"/Actions/ComputerSystem.Reset", map[string]any{"ResetType": "On"})
}

// hosts are the names and states of the hosts that have registered.
func (b *bench) hosts(infraEnv string) map[string]string {
	b.t.Helper()
	response, err := http.Get(b.api + "/infra-envs/" + infraEnv + "/hosts")
	if err != nil {
		b.t.Fatal(err)
	}
	defer func() { _ = response.Body.Close() }()
	var list []struct {
		ID     string `json:"id"`
		Status string `json:"status"`
	}
	if err := json.NewDecoder(response.Body).Decode(&list); err != nil {
		b.t.Fatal(err)
	}
	states := map[string]string{}
	for _, h := range list {
		states[h.ID] = h.Status
	}
	return states
}

// until waits for something to be so.
func (b *bench) until(what string, so func() bool) {
	b.t.Helper()
	for deadline := time.Now().Add(30 * time.Second); !so(); time.Sleep(10 * time.Millisecond) {
		if time.Now().After(deadline) {
			b.t.Fatalf("never: %s", what)
		}
	}
}

// pass lets time pass for the machines, in which something is not to happen.
func (b *bench) pass(d time.Duration) {
	b.t.Helper()
	if err := b.now.Sleep(b.t.Context(), d); err != nil {
		b.t.Fatal(err)
	}
}

func TestMachinesBootOnlyWhenTold(t *testing.T) {
	cluster := withBMCs(t, "compact",
		"idrac-virtualmedia://192.0.2.10/redfish/v1/Systems/System.Embedded.1", "https://192.0.2.11/redfish/v1/Systems/System.Embedded.1", "http://bmc-2.example.com:8000/redfish/v1/Systems/System.Embedded.1")
	b := newBench(t, cluster)
	_, infraEnv, image := b.create(cluster)
	b.tell("https://192.0.2.10", image)
	b.tell("http://bmc-2.example.com:8000", image)
	b.until("two hosts register", func() bool { return len(b.hosts(infraEnv)) == 2 })
	b.pass(10 * time.Minute)
	if hosts := b.hosts(infraEnv); len(hosts) != 2 {
		t.Errorf("a machine that nobody switched on registers: %v", hosts)
	}
}

// TestInstallThroughBMC installs a single node whose machine is told to boot: it
// reads the image once, and reboots from its disk.
func TestInstallThroughBMC(t *testing.T) {
	cluster := withBMCs(t, "sno", "https://192.0.2.10/redfish/v1/Systems/System.Embedded.1")
	b := newBench(t, cluster)
	id, infraEnv, image := b.create(cluster)
	var started atomic.Int64
	media := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Header.Get("Range") == "bytes=0-65535" {
			started.Add(1)
		}
		passOn(w, r, image)
	}))
	defer media.Close()
	b.tell("https://192.0.2.10", media.URL+"/i/1.iso")
	b.until("it registers", func() bool { return len(b.hosts(infraEnv)) == 1 })
	b.until("it is ready", func() bool { return call(t, http.MethodGet, b.api+"/clusters/"+id, nil)["status"] == "ready" })
	call(t, http.MethodPost, b.api+"/clusters/"+id+"/actions/install", nil)
	b.until("it is installed", func() bool { return call(t, http.MethodGet, b.api+"/clusters/"+id, nil)["status"] == "installed" })
	if n := started.Load(); n != 1 {
		t.Errorf("the image was booted %d times", n)
	}
}

// passOn answers as another URL does.
func passOn(w http.ResponseWriter, r *http.Request, address string) {
	request, err := http.NewRequestWithContext(r.Context(), r.Method, address, nil)
	if err != nil {
		http.Error(w, err.Error(), http.StatusInternalServerError)
		return
	}
	request.Header = r.Header.Clone()
	response, err := http.DefaultTransport.RoundTrip(request)
	if err != nil {
		http.Error(w, err.Error(), http.StatusBadGateway)
		return
	}
	defer func() { _ = response.Body.Close() }()
	for key, values := range response.Header {
		w.Header()[key] = values
	}
	w.WriteHeader(response.StatusCode)
	_, _ = io.Copy(w, response.Body)
}

func TestWrongMediaNeverRegister(t *testing.T) {
	cluster := withBMCs(t, "sno", "https://192.0.2.10/redfish/v1/Systems/System.Embedded.1")
	b := newBench(t, cluster)
	_, infraEnv, image := b.create(cluster)
	for name, spoil := range map[string]func([]byte){
		"no image":    func(iso []byte) { clear(iso) },
		"no Ignition": func(iso []byte) { blank(iso, []byte{0x1f, 0x8b, 8, 0, 0, 0, 0, 0, 0, 0xff}) },
	} {
		iso := download(t, image)
		spoil(iso)
		var read atomic.Int64
		media := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			counted := &counter{ResponseWriter: w}
			http.ServeContent(counted, r, "1.iso", time.Time{}, bytes.NewReader(iso))
			read.Add(counted.n)
		}))
		defer media.Close()
		b.tell("https://192.0.2.10", media.URL+"/i/1.iso")
		b.until(name+": the media are read", func() bool { return read.Load() == int64(len(iso)) })
		b.pass(10 * time.Minute)
		if hosts := b.hosts(infraEnv); len(hosts) != 0 {
			t.Fatalf("%s: it registers all the same: %v", name, hosts)
		}
		system := "https://192.0.2.10/redfish/v1/Systems/System.Embedded.1"
		b.redfish(http.MethodPost, system+"/Actions/ComputerSystem.Reset", map[string]any{"ResetType": "ForceOff"})
		b.redfish(http.MethodPost, system+"/VirtualMedia/1/Actions/VirtualMedia.EjectMedia", map[string]any{})
	}
	b.tell("https://192.0.2.10", image)
	b.until("it registers with the right media", func() bool { return len(b.hosts(infraEnv)) == 1 })
}

type counter struct {
	http.ResponseWriter
	n int64
}

func (c *counter) Write(p []byte) (int, error) {
	c.n += int64(len(p))
	return c.ResponseWriter.Write(p)
}

func download(t *testing.T, address string) []byte {
	t.Helper()
	response, err := http.Get(address)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = response.Body.Close() }()
	data, err := io.ReadAll(response.Body)
	if err != nil || response.StatusCode != http.StatusOK {
		t.Fatal(fmt.Errorf("GET %s: %s %w", address, response.Status, err))
	}
	return data
}

// blank makes zeros of the first archive in an image, which is its Ignition: the
// initrd, an archive too, stands behind it.
func blank(iso, magic []byte) {
	if at := bytes.Index(iso, magic); at >= 0 {
		clear(iso[at:min(at+(256<<10), len(iso))])
	}
}
