package image

import (
	"bytes"
	"compress/gzip"
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"io"
	"net/http"
	"net/http/httptest"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/oaictl/oaictl/internal/shared/isowriter"
	"github.com/oaictl/oaictl/internal/simulator/auth/jwt"
)

// manual is a clock that a test turns by hand.
type manual struct{ now time.Time }

func (m *manual) Now() time.Time                             { return m.now }
func (m *manual) Wall(d time.Duration) time.Duration         { return d }
func (m *manual) Sleep(context.Context, time.Duration) error { return nil }

const infraEnv = "3fa85f64-5717-4562-b3fc-2c963f66afa6"

// fixture is an image service with one infra-env.
type fixture struct {
	*Service
	clock  *manual
	source Source
	link   Link
}

func newFixture(t testing.TB, access Access) *fixture {
	t.Helper()
	f := &fixture{
		clock: &manual{time.Date(2026, 8, 1, 12, 0, 0, 0, time.UTC)},
		source: Source{
			Ignition: []byte(`{"ignition":{"version":"3.1.0"}}`), MinimalIgnition: []byte(`{"ignition":{"version":"3.2.0"}}`), NetbootIgnition: []byte(`{"ignition":{"version":"3.3.0"}}`), SigningKey: []byte("first"),
			Updated: time.Date(2026, 8, 1, 11, 0, 0, 0, time.UTC),
		},
		link: Link{Base: "http://images.example", InfraEnvID: infraEnv, Version: "4.21", Arch: "x86_64", Type: "full-iso", SigningKey: []byte("first")},
	}
	pair, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	key, err := jwt.ES256(pair)
	if err != nil {
		t.Fatal(err)
	}
	f.Service, err = New(Config{
		Clock: f.clock, Access: access, APIKey: key,
		Lookup: func(_ context.Context, id string) (Source, bool) { return f.source, id == infraEnv },
	})
	if err != nil {
		t.Fatal(err)
	}
	return f
}

// get asks for an address; headers are "Name: value".
func (f *fixture) get(t testing.TB, method, address string, headers ...string) *httptest.ResponseRecorder {
	t.Helper()
	request := httptest.NewRequest(method, address, nil)
	for _, header := range headers {
		name, value, _ := strings.Cut(header, ": ")
		request.Header.Set(name, value)
	}
	recorder := httptest.NewRecorder()
	f.Handler().ServeHTTP(recorder, request)
	return recorder
}

func (f *fixture) iso(t testing.TB) []byte {
	t.Helper()
	address, _, err := f.URL(f.link)
	if err != nil {
		t.Fatal(err)
	}
	answer := f.get(t, http.MethodGet, address)
	if answer.Code != http.StatusOK {
		t.Fatalf("%s: %d %s", address, answer.Code, answer.Body)
	}
	return answer.Body.Bytes()
}

// unpack reads a newc archive.
func unpack(t testing.TB, archive []byte) map[string]string {
	t.Helper()
	members := map[string]string{}
	for {
		if len(archive) < 110 || string(archive[:6]) != "070701" {
			t.Fatalf("no archive member at %.20q", archive)
		}
		field := func(i int) int {
			n, err := strconv.ParseUint(string(archive[6+8*i:14+8*i]), 16, 32)
			if err != nil {
				t.Fatal(err)
			}
			return int(n)
		}
		round := func(n int) int { return (n + 3) / 4 * 4 }
		name := string(archive[110 : 110+field(11)-1])
		start := round(110 + field(11))
		if name == "TRAILER!!!" {
			return members
		}
		members[name] = string(archive[start : start+field(6)])
		archive = archive[round(start+field(6)):]
	}
}

func gunzip(t testing.TB, data []byte) []byte {
	t.Helper()
	zip, err := gzip.NewReader(bytes.NewReader(data))
	if err != nil {
		t.Fatal(err)
	}
	zip.Multistream(false)
	plain, err := io.ReadAll(zip)
	if err != nil {
		t.Fatal(err)
	}
	return plain
}

func TestDiscoveryImage(t *testing.T) {
	f := newFixture(t, ByID)
	f.source.KernelArguments = []string{"rd.net.timeout.carrier=60", "console=ttyS0,115200"}
	iso := f.iso(t)
	files := readISO(t, iso)
	at := files[ignitionPath].at
	if got := unpack(t, gunzip(t, iso[at:at+ignitionSize]))["config.ign"]; got != string(f.source.Ignition) {
		t.Errorf("config.ign = %q", got)
	}
	for _, menu := range []string{"EFI/redhat/grub.cfg", "isolinux/isolinux.cfg"} {
		text := string(iso[files[menu].at : files[menu].at+files[menu].size])
		want := " coreos.liveiso=rhcos-9.6.20251212-1 ignition.firstboot ignition.platform.id=metal rd.net.timeout.carrier=60 console=ttyS0,115200\n###"
		if !strings.Contains(text, want) {
			t.Errorf("%s lacks the arguments:\n%s", menu, text)
		}
		if strings.Count(text, "COREOS_KARG_EMBED_AREA\n") != 1 {
			t.Errorf("%s lost its marker:\n%s", menu, text)
		}
	}
	if again := f.iso(t); !bytes.Equal(iso, again) {
		t.Error("the same infra-env has another image")
	}
	pristine := liveFor(t, "4.21", "x86_64", false).iso.Bytes()
	if len(pristine) != len(iso) || bytes.Equal(pristine, iso) {
		t.Error("the image is not the live image with something written into it")
	}
	f.source = Source{Ignition: f.source.Ignition}
	if shared := f.iso(t); bytes.Contains(shared, []byte("console=ttyS0")) {
		t.Error("one request's arguments are in another's image")
	}
}

func TestMinimalImage(t *testing.T) {
	f := newFixture(t, ByID)
	f.link.Type = "minimal-iso"
	f.source.StaticNetwork = isowriter.Gzip(isowriter.Archive(isowriter.Member{Name: "etc/assisted/network/host0/eth0.nmconnection", Mode: isowriter.ModeFile | 0o600, Data: isowriter.BytesOf([]byte("[ipv4]"))}).Bytes())
	iso := f.iso(t)
	files := readISO(t, iso)
	if _, ok := files[rootfsPath]; ok {
		t.Error("a minimal image carries the root file system")
	}
	grub := string(iso[files["EFI/redhat/grub.cfg"].at:][:files["EFI/redhat/grub.cfg"].size])
	if want := `coreos.live.rootfs_url="http://images.example/boot-artifacts/rootfs?arch=x86_64&version=4.21"`; !strings.Contains(grub, want) {
		t.Errorf("no %s in\n%s", want, grub)
	}
	if strings.Contains(grub, "coreos.liveiso") || !strings.Contains(grub, "initrd /"+initrdPath+" /"+ignitionPath+" /"+extraPath) {
		t.Errorf("menu:\n%s", grub)
	}
	at := files[extraPath].at
	if got := unpack(t, gunzip(t, iso[at:at+extraSize])); got["etc/assisted/network/host0/eth0.nmconnection"] != "[ipv4]" {
		t.Errorf("network files: %v", got)
	}
	if got := unpack(t, gunzip(t, iso[files[ignitionPath].at:][:ignitionSize]))["config.ign"]; got != string(f.source.MinimalIgnition) {
		t.Errorf("config.ign = %q", got)
	}
}

func TestMainframeImage(t *testing.T) {
	f := newFixture(t, ByID)
	f.link.Arch = "s390x"
	iso := f.iso(t)
	made := liveFor(t, "4.21", "s390x", false)
	if got := unpack(t, gunzip(t, iso[made.ignition.at:made.ignition.at+made.ignition.length]))["config.ign"]; got != string(f.source.Ignition) {
		t.Errorf("config.ign = %q", got)
	}
	f.source.KernelArguments = []string{"a=b"}
	address, _, _ := f.URL(f.link)
	if answer := f.get(t, "GET", address); answer.Code != 400 {
		t.Errorf("kernel arguments on s390x: %d", answer.Code)
	}
	initrd, _, _ := f.initrdURL(f.link)
	addressed := f.get(t, "GET", strings.Replace(initrd, "pxe-initrd", "s390x-initrd-addrsize", 1)).Body.Bytes()
	whole := f.get(t, "GET", initrd).Body.Len()
	if len(addressed) != 16 || int(addressed[12])<<24|int(addressed[13])<<16|int(addressed[14])<<8|int(addressed[15]) != whole {
		t.Errorf("the initrd of %d bytes is addressed by % x", whole, addressed)
	}
	if got := f.get(t, "GET", "/boot-artifacts/ins-file?arch=s390x&version=4.21"); got.Code != 200 || !strings.Contains(got.Body.String(), initrdPath) {
		t.Errorf("ins-file: %d %s", got.Code, got.Body)
	}
}

func TestNetboot(t *testing.T) {
	f := newFixture(t, ByID)
	f.source.StaticNetwork = isowriter.Gzip(isowriter.Archive(isowriter.Member{Name: "etc/assisted/x", Mode: isowriter.ModeFile | 0o600, Data: isowriter.BytesOf([]byte("n"))}).Bytes())
	address, _, err := f.initrdURL(f.link)
	if err != nil {
		t.Fatal(err)
	}
	got := f.get(t, "GET", address).Body.Bytes()
	base := liveFor(t, "4.21", "x86_64", false).initrd.Bytes()
	if !bytes.HasPrefix(got, base) {
		t.Fatal("the live image's initrd is not first")
	}
	rest := got[len(base):]
	if config := unpack(t, gunzip(t, rest))["config.ign"]; config != string(f.source.NetbootIgnition) {
		t.Errorf("config.ign = %q", config)
	}
	if !bytes.HasSuffix(rest, f.source.StaticNetwork) {
		t.Error("the network files are not last")
	}
	for artifact, code := range map[string]int{"kernel": 200, "rootfs": 200, "ins-file": 400, "zzz": 404} {
		address, err := ArtifactURL(f.link, artifact)
		if err != nil {
			t.Fatal(err)
		}
		if answer := f.get(t, "GET", address); answer.Code != code {
			t.Errorf("%s: %d, want %d", artifact, answer.Code, code)
		}
	}
	if answer := f.get(t, "GET", "/boot-artifacts/kernel?version=4.21"); answer.Code != 200 || !strings.HasPrefix(answer.Body.String(), "MZ") {
		t.Errorf("a kernel without an architecture: %d", answer.Code)
	}
}

func TestRanges(t *testing.T) {
	f := newFixture(t, ByID)
	address, _, err := f.URL(f.link)
	if err != nil {
		t.Fatal(err)
	}
	whole := f.get(t, "GET", address)
	tag := whole.Header().Get("ETag")
	head := f.get(t, "HEAD", address)
	if head.Code != 200 || head.Body.Len() != 0 || head.Header().Get("Content-Length") != strconv.Itoa(whole.Body.Len()) || head.Header().Get("ETag") != tag {
		t.Errorf("HEAD: %d %v", head.Code, head.Header())
	}
	if got := head.Header().Get("Content-Disposition"); got != "attachment; filename="+infraEnv+"-discovery.iso" {
		t.Errorf("Content-Disposition: %s", got)
	}
	if got := head.Header().Get("Last-Modified"); got != "Sat, 01 Aug 2026 11:00:00 GMT" {
		t.Errorf("Last-Modified: %s", got)
	}
	tests := []struct {
		headers  []string
		code     int
		from, to int
	}{
		{[]string{"Range: bytes=32768-32800"}, 206, 32768, 32801},
		{[]string{"Range: bytes=-100"}, 206, whole.Body.Len() - 100, whole.Body.Len()},
		{[]string{"Range: bytes=0-99", "If-Range: " + tag}, 206, 0, 100},
		{[]string{"Range: bytes=0-99", `If-Range: "other"`}, 200, 0, whole.Body.Len()},
		{[]string{"Range: bytes=999999999-"}, 416, 0, 0},
		{[]string{"If-None-Match: " + tag}, 304, 0, 0},
	}
	for _, tt := range tests {
		answer := f.get(t, "GET", address, tt.headers...)
		if answer.Code != tt.code {
			t.Errorf("%v: %d, want %d", tt.headers, answer.Code, tt.code)
			continue
		}
		if tt.to > 0 && !bytes.Equal(answer.Body.Bytes(), whole.Body.Bytes()[tt.from:tt.to]) {
			t.Errorf("%v: other bytes than %d to %d", tt.headers, tt.from, tt.to)
		}
	}
	f.source.Ignition = []byte(`{"ignition":{"version":"3.2.0"}}`)
	if changed := f.get(t, "HEAD", address).Header().Get("ETag"); changed == tag {
		t.Error("other content has the same ETag")
	}
}

func BenchmarkServe(b *testing.B) {
	f := newFixture(b, ByID)
	address, _, _ := f.URL(f.link)
	for b.Loop() {
		f.get(b, "GET", address)
	}
}
