package live_test

import (
	"bytes"
	"compress/gzip"
	"context"
	"encoding/base64"
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/klauspost/compress/zstd"
	"github.com/ulikunitz/xz"

	"github.com/oaictl/oaictl/internal/shared/clock"
	"github.com/oaictl/oaictl/internal/simulator/image"
	"github.com/oaictl/oaictl/internal/simulator/live"
)

// config runs an agent.
const config = `{"ignition": {"version": "3.1.0"}, "systemd": {"units": [{"name": "agent.service", "enabled": true,
"contents": "[Service]\nEnvironment=PULL_SECRET_TOKEN=t0ken\nExecStartPre=/bin/agent --url http://wrong\nExecStart=/bin/agent --url http://service:8090 --infra-env-id=ie-1 --insecure=false\n"}]}}`

func agent() live.Agent {
	return live.Agent{ServiceURL: "http://service:8090", InfraEnvID: "ie-1", Token: "t0ken"}
}

// made is an image as the simulated image service makes it, with a config in it.
func made(t testing.TB, arch, kind, ignition string) []byte {
	t.Helper()
	service, err := image.New(image.Config{Clock: clock.Real(), Lookup: func(context.Context, string) (image.Source, bool) {
		return image.Source{Ignition: []byte(ignition), MinimalIgnition: []byte(ignition)}, true
	}})
	if err != nil {
		t.Fatal(err)
	}
	address, _, err := service.URL(image.Link{Base: "http://i", InfraEnvID: "6f1f1ed2-0000-4000-8000-000000000001", Version: "4.20", Arch: arch, Type: kind})
	if err != nil {
		t.Fatal(err)
	}
	answer := httptest.NewRecorder()
	service.Handler().ServeHTTP(answer, httptest.NewRequest(http.MethodGet, address, nil))
	if answer.Code != http.StatusOK {
		t.Fatalf("%d %s", answer.Code, answer.Body)
	}
	return answer.Body.Bytes()
}

func read(iso []byte) (live.Agent, error) {
	config, err := live.Ignition(bytes.NewReader(iso), int64(len(iso)))
	if err != nil {
		return live.Agent{}, err
	}
	return live.AgentIn(config)
}

func TestReadAgentOfEveryImage(t *testing.T) {
	for _, arch := range []string{"x86_64", "arm64", "ppc64le", "s390x"} {
		for _, kind := range []string{"full-iso", "minimal-iso"} {
			got, err := read(made(t, arch, kind, config))
			if diff := cmp.Diff(agent(), got); diff != "" || err != nil {
				t.Errorf("%s %s: %v\n%s", arch, kind, err, diff)
			}
		}
	}
}

// cpio is a newc archive of one file.
func cpio(name, content string) []byte {
	var out bytes.Buffer
	for _, m := range []struct{ name, content string }{{name, content}, {"TRAILER!!!", ""}} {
		fmt.Fprintf(&out, "070701%08x%08x%08x%08x%08x%08x%08x%08x%08x%08x%08x%08x%08x%s\x00", 0, 0o100600, 0, 0, 1, 0, len(m.content), 0, 0, 0, 0, len(m.name)+1, 0, m.name)
		pad(&out)
		out.WriteString(m.content)
		pad(&out)
	}
	return out.Bytes()
}

func pad(out *bytes.Buffer) {
	for out.Len()%4 != 0 {
		out.WriteByte(0)
	}
}

// packed is data as one of the compressors leaves it.
func packed(t testing.TB, with string, data []byte) []byte {
	t.Helper()
	var out bytes.Buffer
	var w io.WriteCloser
	var err error
	switch with {
	case "":
		return data
	case "gzip":
		w = gzip.NewWriter(&out)
	case "xz":
		w, err = xz.WriterConfig{CheckSum: xz.CRC32}.NewWriter(&out)
	case "zstd":
		w, err = zstd.NewWriter(&out)
	}
	if err != nil {
		t.Fatal(err)
	}
	if _, err := w.Write(data); err != nil {
		t.Fatal(err)
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return out.Bytes()
}

// hungry is an xz archive that asks for much memory, with the right check.
func hungry(archive []byte) []byte {
	header := archive[12 : 12+4*(int(archive[12])+1)]
	header[bytes.Index(header, []byte{0x21, 1})+2] = 39
	binary.LittleEndian.PutUint32(header[len(header)-4:], crc32.ChecksumIEEE(header[:len(header)-4]))
	return archive
}

// empty is an image, and where its Ignition area of 256 KiB begins.
func empty(t testing.TB) (iso []byte, at int) {
	t.Helper()
	iso = made(t, "x86_64", "full-iso", config)
	if at = bytes.Index(iso, packed(t, "gzip", nil)[:10]); at < 0 {
		t.Fatal("there is no archive in the image")
	}
	return iso, at
}

// with is that image with these bytes in its area instead.
func with(iso []byte, at int, area []byte) []byte {
	clear(iso[at : at+(256<<10)])
	copy(iso[at:at+(256<<10)], area)
	return iso
}

func TestArchives(t *testing.T) {
	other := `{"ignition": {"version": "3.1.0"}}`
	nested := `{"ignition": {"version": "3.1.0", "config": {"merge": [{"source": "data:;base64,` + base64.StdEncoding.EncodeToString([]byte(config)) + `"}]}}}`
	zeros := make([]byte, 512)
	iso, at := empty(t)
	join := func(parts ...[]byte) []byte { return bytes.Join(parts, nil) }
	for _, tc := range []struct {
		name string
		area []byte
		err  error // nil is an agent that runs
		any  bool  // some error
	}{
		{"uncompressed", cpio("config.ign", config), nil, false},
		{"gzip", packed(t, "gzip", cpio("config.ign", config)), nil, false},
		{"xz", packed(t, "xz", cpio("config.ign", config)), nil, false},
		{"zstd", packed(t, "zstd", cpio("config.ign", config)), nil, false},
		{"with a slash", packed(t, "gzip", cpio("/config.ign", config)), nil, false},
		{"the last one counts", join(packed(t, "gzip", cpio("config.ign", other)), zeros, packed(t, "xz", cpio("config.ign", config))), nil, false},
		{"the last one counts, and has no agent", join(packed(t, "gzip", cpio("config.ign", config)), packed(t, "gzip", cpio("config.ign", other))), live.ErrNoAgent, false},
		{"two in one", packed(t, "gzip", join(cpio("a", "b"), zeros, cpio("config.ign", config))), nil, false},
		{"merged from within", packed(t, "gzip", cpio("config.ign", nested)), nil, false},
		{"nothing", nil, live.ErrNoIgnition, false},
		{"another file", packed(t, "gzip", cpio("etc/hostname", "h")), live.ErrNoIgnition, false},
		{"no agent", packed(t, "gzip", cpio("config.ign", other)), live.ErrNoAgent, false},
		{"an agent that is not started", packed(t, "gzip", cpio("config.ign", string(bytes.Replace([]byte(config), []byte("true"), []byte("false"), 1)))), live.ErrNoAgent, false},
		{"no JSON", packed(t, "gzip", cpio("config.ign", "{")), nil, true},
		{"no archive", []byte("something else"), nil, true},
		{"a dictionary of 3 GiB", hungry(packed(t, "xz", cpio("config.ign", config))), nil, true},
		{"cut short", packed(t, "gzip", cpio("config.ign", config)[:150]), nil, true},
	} {
		t.Run(tc.name, func(t *testing.T) {
			got, err := read(with(iso, at, tc.area))
			switch {
			case tc.any:
				if err == nil {
					t.Errorf("it runs %+v", got)
				}
			case !errors.Is(err, tc.err):
				t.Errorf("%v, want %v", err, tc.err)
			case tc.err == nil && got != agent():
				t.Errorf("it runs %+v", got)
			}
		})
	}
}

func TestNoImage(t *testing.T) {
	iso := made(t, "x86_64", "full-iso", config)
	for name, spoiled := range map[string][]byte{
		"empty": nil, "zeros": make([]byte, 1<<20), "cut in the area": iso[:20*2048], "cut in the descriptor": iso[:17*2048-1],
	} {
		if got, err := read(spoiled); err == nil {
			t.Errorf("%s: it runs %+v", name, got)
		}
	}
}

// FuzzReadAgent writes into the structures at the start of an image, and into its
// Ignition area.
func FuzzReadAgent(f *testing.F) {
	iso := made(f, "x86_64", "full-iso", config)
	f.Add(uint32(16*2048+156), []byte{34, 0, 0xff, 0xff})
	f.Add(uint32(20*2048), []byte{0})
	f.Add(uint32(20*2048+33), []byte{255, 255})
	f.Fuzz(func(t *testing.T, at uint32, data []byte) {
		spoiled := bytes.Clone(iso)
		copy(spoiled[int(at)%len(spoiled):], data)
		_, _ = read(spoiled)
		_, _ = live.Root(bytes.NewReader(spoiled), int64(len(spoiled)))
	})
}

// FuzzArchive reads anything as an Ignition area.
func FuzzArchive(f *testing.F) {
	f.Add(cpio("config.ign", config))
	f.Add(packed(f, "gzip", cpio("config.ign", config)))
	f.Add(packed(f, "xz", cpio("config.ign", config)))
	iso, at := empty(f)
	f.Fuzz(func(t *testing.T, area []byte) { _, _ = read(with(iso, at, area)) })
}

func TestRoot(t *testing.T) {
	for _, arch := range []string{"x86_64", "arm64", "ppc64le", "s390x"} {
		iso := made(t, arch, "full-iso", config)
		if url, err := live.Root(bytes.NewReader(iso), int64(len(iso))); url != "" || err != nil {
			t.Errorf("%s full: %q %v", arch, url, err)
		}
		renamed := bytes.ReplaceAll(iso, []byte("coreos.liveiso="), []byte("coreos.liveXXX="))
		if _, err := live.Root(bytes.NewReader(renamed), int64(len(renamed))); !errors.Is(err, live.ErrNoRoot) {
			t.Errorf("%s without coreos.liveiso: %v", arch, err)
		}
		copy(iso[16*2048+40:], "another-name")
		if _, err := live.Root(bytes.NewReader(iso), int64(len(iso))); !errors.Is(err, live.ErrNoRoot) {
			t.Errorf("%s of another name: %v", arch, err)
		}
		iso = made(t, arch, "minimal-iso", config)
		if url, err := live.Root(bytes.NewReader(iso), int64(len(iso))); !strings.HasPrefix(url, "http://") || !strings.Contains(url, "/boot-artifacts/rootfs?") || err != nil {
			t.Errorf("%s minimal: %q %v", arch, url, err)
		}
	}
}
