package cli

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/oaictl/oaictl/internal/cli/app"
	"github.com/oaictl/oaictl/internal/cli/output"
	"github.com/oaictl/oaictl/internal/cli/streams"
	"github.com/oaictl/oaictl/internal/shared/check"
	"github.com/oaictl/oaictl/internal/shared/clock"
	"github.com/oaictl/oaictl/internal/shared/must"
	"github.com/oaictl/oaictl/pkg/install"
	"github.com/oaictl/oaictl/pkg/install/model"
	"github.com/oaictl/oaictl/pkg/iso"
)

// staticExample is the example whose hosts have static networks.
const staticExample = "../../examples/static-network/cluster.yaml"

// registered is a service that knows the cluster of the static example, and a
// folder with a live image, which is the current one from now on.
func registered(t *testing.T) (service live, file string) {
	t.Helper()
	file = must.Get(filepath.Abs(staticExample))(t)
	return registeredAs(t, file), file
}

// registeredAs is the same of the cluster of another file.
func registeredAs(t *testing.T, file string) live {
	t.Helper()
	service := newLive(t)
	t.Chdir(t.TempDir())
	base := must.Get(filepath.Abs("base.iso"))(t)
	must.Do(t, makeFixture("x86_64-2023-07", base))
	early := runLive(t, service.URL, "", false, "create", "images", "-f", file, "--base", "base.iso", "-d", "early")
	if early.code != 5 || !strings.Contains(early.errors, "Next: oaictl create cluster -f "+file+" --detach") {
		t.Fatalf("a cluster that is not registered ends with %d:\n%s", early.code, early.errors)
	}
	if _, err := os.Stat("early"); err == nil {
		t.Error("and leaves a folder behind")
	}
	if got := runLive(t, service.URL, "", false, "create", "cluster", "-f", file, "--detach"); got.code != 0 {
		t.Fatalf("registering the cluster ends with %d:\n%s", got.code, got.errors)
	}
	return service
}

// discovered is the Ignition that an image carries.
func discovered(t *testing.T, image []byte) string {
	t.Helper()
	base := must.Get(iso.OpenReader("the image", bytes.NewReader(image), int64(len(image))))(t)
	config := must.Get(base.Ignition())(t)
	return string(config)
}

func TestCreateImages(t *testing.T) {
	service, file := registered(t)
	got := runLive(t, service.URL, "", false, "create", "images", "-f", file, "--base", "base.iso", "-d", "images")
	if want := "images/cp-0.iso\nimages/cp-1.iso\nimages/cp-2.iso\n"; got.code != 0 || got.out != want || got.errors != "" {
		t.Fatalf("ends with %d:\n%s\n%s", got.code, got.out, got.errors)
	}
	image := must.Get(os.ReadFile("images/cp-1.iso"))(t)
	if config := discovered(t, image); !strings.Contains(config, "agent.service") || !strings.Contains(config, "/etc/assisted/network/") {
		t.Errorf("the image does not carry what the service says:\n%s", config)
	}
	for _, base := range []string{"missing.iso", "images", "base.iso/x.iso"} {
		if got := runLive(t, service.URL, "", false, "create", "images", "-f", file, "--base", base, "-d", "none"); got.code != 3 || !strings.Contains(got.errors, base) {
			t.Errorf("--base %s ends with %d:\n%s", base, got.code, got.errors)
		}
	}
	again := runLive(t, service.URL, "", false, "create", "images", "-f", file, "-d", "images", "-o", "json", "--sha256", strings.Repeat("0", 64))
	check.Equal(t, again.code, 2, "--sha256 without --base ends with")
	wrong := runLive(t, service.URL, "", false, "create", "images", "-f", file, "-d", "none", "--base", "base.iso", "--sha256", strings.Repeat("0", 64))
	if _, err := os.Stat("none"); wrong.code != 1 || err == nil || !strings.Contains(wrong.errors, "base.iso") {
		t.Errorf("another checksum ends with %d, %v:\n%s", wrong.code, err, wrong.errors)
	}
}

// TestCreateImagesOfASingleNode makes none for its workers, since these cannot boot yet.
func TestCreateImagesOfASingleNode(t *testing.T) {
	text := must.Get(os.ReadFile("../../examples/sno/cluster.yaml"))(t)
	shared := must.Get(filepath.Abs("../../examples/shared"))(t)
	file := filepath.Join(t.TempDir(), "cluster.yaml")
	grown := strings.NewReplacer("../shared", shared, "  hosts:", "  topology: {required: {workers: 0}}\n  hosts:\n  - {name: worker-0, role: worker, match: {serial: W0}}\n#").Replace(string(text))
	must.Do(t, os.WriteFile(file, []byte(grown), 0o600))
	service := registeredAs(t, file)
	if got := runLive(t, service.URL, "", false, "create", "images", "-f", file, "--base", "base.iso", "-d", "images"); got.code != 0 || got.out != "images/cp-0.iso\n" {
		t.Errorf("ends with %d:\n%s\n%s", got.code, got.out, got.errors)
	}
}

func TestCreateImagesForTheNetwork(t *testing.T) {
	service, file := registered(t)
	got := runLive(t, service.URL, "", false, "create", "images", "-f", file, "--base", "base.iso", "-d", "images", "--netboot", "--url", "http://192.0.2.1/lab/")
	if got.code != 0 || len(strings.Split(got.out, "\n")) != 3*3+1+1 {
		t.Fatalf("ends with %d:\n%s\n%s", got.code, got.out, got.errors)
	}
	script := must.Get(os.ReadFile("images/cp-2/ipxe"))(t)
	for _, want := range []string{"#!ipxe\n", "http://192.0.2.1/lab/cp-2/kernel ", "http://192.0.2.1/lab/cp-2/initrd\n", "coreos.live.rootfs_url=http://192.0.2.1/lab/rootfs.img "} {
		if !strings.Contains(string(script), want) {
			t.Errorf("the script lacks %q:\n%s", want, script)
		}
	}
	check.Do(t, check.Err(os.Stat("images/rootfs.img")))
	if got := runLive(t, service.URL, "", false, "create", "images", "-f", file, "--base", "base.iso", "-d", "images", "--netboot", "--url", "tftp://192.0.2.1"); got.code != 2 {
		t.Errorf("tftp ends with %d", got.code)
	}
	// The initrd's network and the service's have to agree.
	text := must.Get(os.ReadFile(file))(t)
	there := strings.ReplaceAll(string(text), "../shared", filepath.Join(filepath.Dir(filepath.Dir(file)), "shared"))
	moved := strings.Replace(there, "52:54:00:00:05:00", "52:54:00:00:05:99", 1)
	if moved == there {
		t.Fatal("the example has other MAC addresses now")
	}
	must.Do(t, os.WriteFile("changed.yaml", []byte(moved), 0o600))
	other := runLive(t, service.URL, "", false, "create", "images", "-f", "changed.yaml", "--base", "base.iso", "-d", "other", "--netboot")
	if other.code == 0 || !strings.Contains(other.errors, "52:54:00:00:05:99") {
		t.Errorf("another network than the service's ends with %d:\n%s", other.code, other.errors)
	}
	// Not only the MAC addresses are compared: a host with the same MAC address gets one address in the initrd, and the
	// same in the live system.
	elsewhere := strings.Replace(there, "192.168.127.10/24", "192.168.127.77/24", 1)
	if err := os.WriteFile("address.yaml", []byte(elsewhere), 0o600); err != nil || elsewhere == there {
		t.Fatal("the example has other addresses now", err)
	}
	address := runLive(t, service.URL, "", false, "create", "images", "-f", "address.yaml", "--base", "base.iso", "-d", "other", "--netboot")
	if address.code != 1 || !strings.Contains(address.errors, "the static network for nic0 (52:54:00:00:05:00) in the service differs from the file") {
		t.Errorf("another address than the service's ends with %d:\n%s", address.code, address.errors)
	}
	// Images for a drive are served all the same.
	items, stop := serving(t, service, "-f", "changed.yaml", "--base", "base.iso", "--listen", "127.0.0.1:0")
	if told := stop().errors; items[0].IPXE != "" || items[1].IPXE == "" || strings.Count(told, "warning: cp-0 cannot boot over the network: ") != 1 || strings.Contains(told, "cp-1 cannot") || !strings.Contains(told, "Next: `oaictl plan -f changed.yaml") {
		t.Errorf("served as %+v, with:\n%s", items, told)
	}
}

// TestCachedImages keeps the service's image, which holds the pull secret, for its owner
// alone, fetches it once as long as the InfraEnv stays as it is, and removes it with the
// cluster.
func TestCachedImages(t *testing.T) {
	service, file := registered(t) // by go run, with the cache of this machine
	cache := t.TempDir()
	t.Setenv("XDG_CACHE_HOME", cache)
	var fetched atomic.Int32
	next := service.Config.Handler
	service.Config.Handler = http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if strings.HasSuffix(r.URL.Path, ".iso") {
			fetched.Add(1)
		}
		next.ServeHTTP(w, r)
	})
	kept := func() []string {
		t.Helper()
		return must.Get(filepath.Glob(filepath.Join(cache, "oaictl", "images", "*.iso")))(t)
	}
	for range 2 {
		if got := runLive(t, service.URL, "", false, "create", "images", "-f", file, "-d", "images"); got.code != 0 {
			t.Fatalf("ends with %d:\n%s", got.code, got.errors)
		}
	}
	if list := kept(); fetched.Load() != 1 || len(list) != 1 {
		t.Fatalf("%d requests for the image, kept as %v", fetched.Load(), list)
	}
	for _, image := range append(kept(), "images/cp-0.iso") {
		check.Equal(t, must.Get(os.Stat(image))(t).Mode().Perm(), 0o600, image)
	}
	before := t.TempDir()
	must.Do(t, os.CopyFS(before, os.DirFS(cache)))
	if got := runLive(t, service.URL, "", false, "delete", "cluster", "-f", file, "--yes"); got.code != 0 {
		t.Fatalf("delete cluster ends with %d:\n%s", got.code, got.errors)
	}
	if list := kept(); len(list) > 0 {
		t.Errorf("the images of a cluster that is deleted: %v", list)
	}
	// The same where another client has deleted it.
	if err := errors.Join(os.RemoveAll(filepath.Join(cache, "oaictl")), os.CopyFS(cache, os.DirFS(before))); err != nil || len(kept()) != 1 {
		t.Fatal(kept(), err)
	}
	if got := runLive(t, service.URL, "", false, "delete", "cluster", "-f", file, "--yes"); got.code != int(model.CodeNotFound) || len(kept()) > 0 {
		t.Errorf("delete cluster ends with %d and leaves %v:\n%s", got.code, kept(), got.errors)
	}
}

// minimalStatic is the static example with minimal images: the service leaves the networks out of the Ignition unless
// it is asked for with the type of the image.
func minimalStatic(t *testing.T) string {
	t.Helper()
	text := must.Get(os.ReadFile(staticExample))(t)
	shared := must.Get(filepath.Abs("../../examples/shared"))(t)
	file := filepath.Join(t.TempDir(), "cluster.yaml")
	minimal := strings.NewReplacer("../shared", shared, "  hosts:\n", "  boot: {image: minimal}\n  hosts:\n").Replace(string(text))
	must.Do(t, os.WriteFile(file, []byte(minimal), 0o600))
	return file
}

// TestMinimalImagesWithStaticNetworks makes every image of a cluster of minimal ones,
// each with its host's network in the Ignition too: the host needs it there once it
// has left its initrd.
func TestMinimalImagesWithStaticNetworks(t *testing.T) {
	file := minimalStatic(t)
	service := registeredAs(t, file)
	netboot := runLive(t, service.URL, "", false, "create", "images", "-f", file, "--base", "base.iso", "-d", "images", "--netboot")
	if netboot.code != 0 {
		t.Fatalf("create images --netboot ends with %d:\n%s", netboot.code, netboot.errors)
	}
	items, stop := serving(t, service, "-f", file, "--base", "base.iso", "--listen", "127.0.0.1:0")
	code, image := httpGet(t, items[0].ISO)
	// A server that is stopped at once may not have seen yet that all was read.
	told := stop().errors
	if code != 200 || len(items) != 3 || strings.Contains(strings.ReplaceAll(told, "warning: interrupted while they read", ""), "warning") {
		t.Fatalf("%d images are served, the first answers %d, with:\n%s", len(items), code, told)
	}
	if config := discovered(t, image); !strings.Contains(config, "/etc/assisted/network/host0/") {
		t.Errorf("the minimal image's Ignition has no network:\n%s", config)
	}
	if got := runLive(t, service.URL, "", false, "download", "ignition", "--discovery", "static", "--to", "discovery.ign"); got.code != 0 {
		t.Fatalf("download ignition ends with %d:\n%s", got.code, got.errors)
	}
	check.Contains(t, string(must.Get(os.ReadFile("discovery.ign"))(t)), "/etc/assisted/network/host0/", "the downloaded Ignition has no network")
}

// printedOnce hands over what was written to standard output, once it is there.
type printedOnce struct {
	mu   sync.Mutex
	text strings.Builder
	full chan string
}

func (p *printedOnce) Write(data []byte) (int, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.text.Write(data)
	select {
	case p.full <- p.text.String():
	default:
	}
	return len(data), nil
}

// serving runs `iso serve` until stop, which returns how it ended.
func serving(t *testing.T, service live, arguments ...string) (items []output.Media, stop func() outcome) {
	t.Helper()
	return servingAt(t, clock.Real(), io.Discard, service, arguments...)
}

// servingAt is serving with a clock, and a reader of what is reported.
func servingAt(t *testing.T, at clock.Clock, along io.Writer, service live, arguments ...string) (items []output.Media, stop func() outcome) {
	t.Helper()
	out := &printedOnce{full: make(chan string, 1)}
	var problems bytes.Buffer
	ctx, cancel := context.WithCancelCause(t.Context())
	a := app.New(app.Identify(append([]string{"oaictl", "iso", "serve", "-o", "json"}, arguments...)), streams.Streams{Out: out, Err: io.MultiWriter(&problems, along)}, streams.Env{"OAICTL_SERVICE_URL": service.URL})
	a.Clock = at
	ended := make(chan int, 1)
	go func() { ended <- execute(ctx, a) }()
	select {
	case text := <-out.full:
		var list output.Items[output.Media]
		if err := json.Unmarshal([]byte(text), &list); err != nil {
			t.Fatalf("%v in %s", err, text)
		}
		items = list.Items
	case code := <-ended:
		t.Fatalf("ends with %d:\n%s", code, problems.String())
	}
	return items, func() outcome {
		cancel(&install.Interrupt{Signal: "interrupt", Code: model.CodeInterrupted})
		return outcome{code: <-ended, errors: problems.String()}
	}
}

func httpGet(t *testing.T, url string) (int, []byte) {
	t.Helper()
	response := must.Get(http.Get(url))(t)
	body, err := io.ReadAll(response.Body)
	must.Do(t, errors.Join(err, response.Body.Close()))
	return response.StatusCode, body
}

// TestBootURL gives a host's script to a client that knows the URL for DHCP, and not to one that only knows a MAC
// address.
func TestBootURL(t *testing.T) {
	service, file := registered(t)
	items, stop := serving(t, service, "-f", file, "--base", "base.iso", "--listen", "127.0.0.1:0", "-v")
	root, mac := items[0].ISO[:strings.Index(items[0].ISO, "/i/")], "?mac=52:54:00:00:05:00"
	if code, script := httpGet(t, root+"/ipxe"+mac); code != 404 {
		t.Errorf("who knows a MAC address alone gets %d:\n%s", code, script)
	}
	_, told, _ := strings.Cut(stop().errors, "for DHCP, to all machines: "+root)
	path, _, _ := strings.Cut(told, "\n")
	items, stop = serving(t, service, "-f", file, "--base", "base.iso", "--listen", "127.0.0.1:0")
	defer stop()
	root = items[0].ISO[:strings.Index(items[0].ISO, "/i/")]
	if code, script := httpGet(t, root+path+mac); path == "" || code != 200 || !strings.Contains(string(script), strings.TrimSuffix(items[0].IPXE, "ipxe")) {
		t.Errorf("the script for a MAC address at %q is %d:\n%s", path, code, script)
	}
}

func TestISOServe(t *testing.T) {
	service, file := registered(t)
	items, stop := serving(t, service, "-f", file, "--base", "base.iso", "--listen", "127.0.0.1:0")
	if len(items) != 3 || items[0].Host != "cp-0" {
		t.Fatalf("%+v", items)
	}
	code, image := httpGet(t, items[0].ISO)
	if config := discovered(t, image); code != 200 || !strings.Contains(config, "agent.service") {
		t.Errorf("%s answers %d with\n%s", items[0].ISO, code, config)
	}
	check.Do(t, check.Err(os.Stat("static/media.key")))
	root := items[0].ISO[:strings.Index(items[0].ISO, "/i/")]
	if _, numbers := httpGet(t, root+"/metrics"); !strings.Contains(string(numbers), `oaictl_media_host_fetched_bytes{host="cp-0"} `+strconv.Itoa(len(image))+"\n") {
		t.Errorf("no numbers of cp-0 in\n%s", numbers)
	}
	ended := stop()
	if ended.code != 130 || !strings.Contains(ended.errors, "cp-0 has fetched 1 MB of") {
		t.Errorf("ends with %d:\n%s", ended.code, ended.errors)
	}
	// Another time the same images are at the same paths.
	again, stop := serving(t, service, "-f", file, "--base", "base.iso", "--listen", "127.0.0.1:0", "--url", "http://media.example.com")
	defer stop()
	if want := "http://media.example.com" + items[2].ISO[len(root):]; again[2].ISO != want {
		t.Errorf("%s has become %s", items[2].ISO, again[2].ISO)
	}
}

// What no machine has begun to read follows the service; what one reads stays.
func TestISOServeFollowsTheService(t *testing.T) {
	service, file := registered(t)
	told := &printedOnce{full: make(chan string, 100)}
	items, stop := servingAt(t, clock.Scaled(600), told, service, "-f", file, "--base", "base.iso", "--listen", "127.0.0.1:0")
	defer stop()
	_, before := httpGet(t, items[0].ISO)

	var envs []struct{ ID string }
	if _, body := httpGet(t, service.URL+"/api/assisted-install/v2/infra-envs"); json.Unmarshal(body, &envs) != nil || len(envs) != 1 {
		t.Fatalf("the InfraEnvs are %s", body)
	}
	change := must.Get(http.NewRequestWithContext(t.Context(), http.MethodPatch, service.URL+"/api/assisted-install/v2/infra-envs/"+envs[0].ID,
		strings.NewReader(`{"ssh_authorized_key": "ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIAABAgMEBQYHCAkKCwwNDg8QERITFBUWFxgZGhscHR4f later"}`)))(t)
	change.Header.Set("Content-Type", "application/json")
	answer, err := http.DefaultClient.Do(change)
	if err != nil || answer.StatusCode >= 400 {
		t.Fatalf("%v, %v", answer, err)
	}
	_ = answer.Body.Close()
	for text := ""; !strings.Contains(text, "get the old one: cp-0. To serve them the new image"); {
		select {
		case text = <-told.full:
		case <-time.After(20 * time.Second):
			t.Fatal("nobody tells of the change")
		}
	}
	if _, after := httpGet(t, items[0].ISO); !bytes.Equal(before, after) {
		t.Error("an image has changed that was being read")
	}
	if _, image := httpGet(t, items[1].ISO); !strings.Contains(discovered(t, image), " later") {
		t.Errorf("another image has not followed:\n%s", discovered(t, image))
	}
}

// A minimal image fetches its root filesystem from the server that it came from.
func TestISOServeMinimal(t *testing.T) {
	service, file := registered(t)
	text := must.Get(os.ReadFile(file))(t)
	there := strings.ReplaceAll(string(text), "../shared", filepath.Join(filepath.Dir(filepath.Dir(file)), "shared"))
	must.Do(t, os.WriteFile("minimal.yaml", []byte(strings.Replace(there, "spec:\n", "spec:\n  boot: {image: minimal}\n", 1)), 0o600))
	alone := runLive(t, service.URL, "", false, "create", "images", "-f", "minimal.yaml", "--base", "base.iso", "-d", "images")
	if alone.code != 1 || !strings.Contains(alone.errors, "oaictl iso serve") {
		t.Errorf("files of minimal images end with %d:\n%s", alone.code, alone.errors)
	}
	must.Do(t, os.WriteFile("service.ign", []byte(`{"ignition": {"version": "3.2.0"}}`), 0o600))
	// What a service gives out holds its Ignition and arguments.
	if got := runLive(t, "", "", false, "iso", "customize", "base.iso", "-o", "service.iso", "--ignition", "service.ign", "--append-karg", "quiet"); got.code != 0 {
		t.Fatal(got.errors)
	}
	for _, of := range []string{"base.iso", "service.iso"} {
		items, stop := serving(t, service, "-f", "minimal.yaml", "--listen", "127.0.0.1:0", "--base", of)
		code, image := httpGet(t, items[1].ISO)
		base, err := iso.OpenReader("the image", bytes.NewReader(image), int64(len(image)))
		if err != nil {
			stop()
			t.Fatalf("%s: %d, %v", of, code, err)
		}
		_, rootfs, found := strings.Cut(base.Kargs(), "coreos.live.rootfs_url=")
		if code, data := httpGet(t, strings.Fields(rootfs + " none")[0]); !found || code != 200 || len(data) == 0 {
			t.Errorf("%s: the root filesystem of %q is %d, %d bytes", of, base.Kargs(), code, len(data))
		}
		keyfiles, err := base.Keyfiles()
		if err != nil || len(keyfiles) == 0 {
			t.Errorf("%s: the initrd has no network: %v", of, err)
		}
		stop()
	}
}

// An LPAR of s390x reads generic.ins, and then what that names, from beside it.
func TestNetworkBootOfS390X(t *testing.T) {
	service := newLive(t)
	text := must.Get(os.ReadFile(staticExample))(t)
	shared := must.Get(filepath.Abs(filepath.Dir(staticExample) + "/../shared"))(t)
	t.Chdir(t.TempDir())
	base := must.Get(filepath.Abs("base.iso"))(t)
	must.Do(t, makeFixture("s390x-2023-07", base))
	z := strings.NewReplacer("../shared", shared, "    version: \"4.20\"\n", "    version: \"4.20\"\n    arch: s390x\n",
		"    vips:\n      api: [192.168.127.100]\n      ingress: [192.168.127.101]\n", "").Replace(string(text))
	must.Do(t, os.WriteFile("z.yaml", []byte(z), 0o600))
	if got := runLive(t, service.URL, "", false, "create", "cluster", "-f", "z.yaml", "--detach"); got.code != 0 {
		t.Fatalf("registering the cluster ends with %d:\n%s", got.code, got.errors)
	}
	if got := runLive(t, service.URL, "", false, "create", "images", "-f", "z.yaml", "--base", "base.iso", "-d", "images", "--netboot", "--url", "http://192.0.2.1/z"); got.code != 0 {
		t.Fatalf("images end with %d:\n%s", got.code, got.errors)
	}
	insNames(t, "http://192.0.2.1/z/rootfs.img", func(name string) ([]byte, error) { return os.ReadFile("images/cp-1/" + name) })

	items, stop := serving(t, service, "-f", "z.yaml", "--base", "base.iso", "--listen", "127.0.0.1:0")
	defer stop()
	if items[1].IPXE != "" || !strings.HasSuffix(items[1].Ins, "/generic.ins") {
		t.Fatalf("%+v", items[1])
	}
	folder := strings.TrimSuffix(items[1].Ins, "generic.ins")
	insNames(t, folder+"rootfs", func(name string) ([]byte, error) {
		code, data := httpGet(t, folder+name)
		if code != http.StatusOK {
			return nil, fmt.Errorf("%s%s answers %d", folder, name, code)
		}
		return data, nil
	})
	if code, data := httpGet(t, folder+"rootfs"); code != http.StatusOK || len(data) == 0 {
		t.Errorf("the root filesystem is %d, %d bytes", code, len(data))
	}
}

// insNames reads what generic.ins names, and looks for the root filesystem's URL
// among the kernel's arguments.
func insNames(t *testing.T, rootfs string, read func(name string) ([]byte, error)) {
	t.Helper()
	ins, err := read("generic.ins")
	if err != nil {
		t.Fatal(err)
	}
	files := map[string][]byte{}
	for line := range strings.Lines(string(ins)) {
		name, _, places := strings.Cut(line, " 0x")
		if !places {
			continue
		}
		if files[name], err = read(name); err != nil || len(files[name]) == 0 {
			t.Errorf("%s has %d bytes: %v", name, len(files[name]), err)
		}
	}
	if args := strings.Fields(string(files["generic.prm"])); len(files) != 4 || !slices.Contains(args, "coreos.live.rootfs_url="+rootfs) || !slices.Contains(args, "ignition.firstboot") {
		t.Errorf("of %d files, generic.prm is %q", len(files), files["generic.prm"])
	}
}

func TestISOServeRefuses(t *testing.T) {
	service, file := registered(t)
	must.Do(t, os.WriteFile("empty.pem", nil, 0o600))
	for _, test := range []struct {
		arguments string
		code      int
		says      string
	}{
		{"", 2, "needs -f FILE"},
		{"-f FILE --tls-cert empty.pem", 2, "--tls-cert and --tls-key go together"},
		{"-f FILE --tls-cert empty.pem --tls-key empty.pem", 2, "use --tls-cert and --tls-key"},
		{"-f FILE --expire -1h", 2, "--expire is a time, or 0"},
		{"-f FILE --url media.example.com", 2, "--url is not"},
		{"-f FILE --listen nowhere:1:2", 2, "--listen \"nowhere:1:2\" is not"},
		{"-f FILE --listen :0 --base base.iso", 2, "give it with --url"},
		{"-f FILE --listen 127.0.0.1:0 --base missing.iso", 3, "missing.iso"},
		{"-f FILE --listen 127.0.0.1:0 --base .", 3, "is a directory"},
		{"-f FILE --listen 192.0.2.1:0 --base base.iso", 1, "Next: give --listen an address of this machine"},
		{"-f FILE --listen 127.0.0.1:0 --base FILE", 3, "cluster.yaml"},
		{"-f FILE --listen 127.0.0.1:0 --base " + service.URL + "/base.iso", 1, "fetch " + service.URL + "/base.iso: the server answers 404"},
	} {
		t.Run(test.arguments, func(t *testing.T) {
			arguments := strings.Fields(strings.ReplaceAll(test.arguments, "FILE", file))
			got := runLive(t, service.URL, "", false, append([]string{"iso", "serve"}, arguments...)...)
			if got.code != test.code || !strings.Contains(got.errors, test.says) || got.out != "" {
				t.Errorf("ends with %d:\n%s\n%s", got.code, got.out, got.errors)
			}
		})
	}
}
