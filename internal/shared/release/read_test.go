package release

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/empty"

	"github.com/oaictl/oaictl/pkg/install/model"
	"github.com/oaictl/oaictl/pkg/install/spec"
)

func metadata(version string) map[string]string {
	return map[string]string{"release-manifests/release-metadata": `{"kind":"cincinnati-metadata-v0","version":"` + version + `","previous":[]}`}
}

func TestReadKindsOfImage(t *testing.T) {
	tests := []struct {
		name  string
		image made
		want  Info
	}{
		{"a label", made{arch: "amd64", label: "4.20.33"}, Info{Version: "4.20.33", Arch: []string{"x86_64"}}},
		{"metadata in a layer", made{arch: "arm64", files: []map[string]string{metadata("4.21.1")}}, Info{Version: "4.21.1", Arch: []string{"arm64"}}},
		{"the last layer counts", made{arch: "s390x", files: []map[string]string{metadata("4.20.1"), metadata("4.20.2"), {"etc/motd": "hello"}}},
			Info{Version: "4.20.2", Arch: []string{"s390x"}}},
		{"a leading dot in names", made{arch: "ppc64le", files: []map[string]string{{"./release-manifests/release-metadata": `{"version":"4.19.0-rc.1"}`}}},
			Info{Version: "4.19.0-rc.1", Arch: []string{"ppc64le"}}},
		{"the list of images", made{arch: "amd64", files: []map[string]string{{"release-manifests/image-references": `{"kind":"ImageStream","metadata":{"name":"4.22.0"}}`}}},
			Info{Version: "4.22.0", Arch: []string{"x86_64"}}},
	}
	shelf := newShelf(t, true)
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			image := tt.image.image(t)
			shelf.put(t, "openshift/release:one", image)
			tt.want.Digest = digestOf(t, image)
			for _, ref := range []string{shelf.host() + "/openshift/release:one", shelf.host() + "/openshift/release@" + tt.want.Digest} {
				got, err := Read(t.Context(), ref, Options{PullSecret: login(shelf.host()), CA: shelf.ca(), Clock: &patient{}})
				if err != nil {
					t.Fatal(err)
				}
				if diff := cmp.Diff(tt.want, got); diff != "" {
					t.Errorf("%s (-want +got):\n%s", ref, diff)
				}
			}
		})
	}
}

// TestReadKubernetes reads the version of Kubernetes where it is asked for, and no layer where it is not.
func TestReadKubernetes(t *testing.T) {
	images := func(annotations ...string) map[string]string {
		tags := []string{`{"name":"pod"}`}
		for _, versions := range annotations {
			tags = append(tags, `{"name":"hyperkube","annotations":{"io.openshift.build.versions":"`+versions+`"}}`)
		}
		return map[string]string{imagesFile: `{"kind":"ImageStream","metadata":{"name":"4.20.33"},"spec":{"tags":[` + strings.Join(tags, ",") + `]}}`}
	}
	tests := []struct {
		name  string
		files []map[string]string
		want  string
	}{
		{"one image says it", []map[string]string{images("kubernetes=1.33.5")}, "1.33.5"},
		{"beside other versions", []map[string]string{images("machine-os=9.6.20251201-1", " kubectl=1.33.4, kubernetes=1.33.5")}, "1.33.5"},
		{"several images say the same", []map[string]string{images("kubernetes=1.33.5", "kubernetes=1.33.5")}, "1.33.5"},
		{"several images say several", []map[string]string{images("kubernetes=1.33.5", "kubernetes=1.33.4")}, ""},
		{"no image says it", []map[string]string{images("kubectl=1.33.5")}, ""},
		{"the last layer counts", []map[string]string{images("kubernetes=1.33.4"), images("kubernetes=1.33.5"), {"etc/motd": "hello"}}, "1.33.5"},
		{"there is no list of images", []map[string]string{{"etc/motd": "hello"}}, ""},
	}
	shelf := newShelf(t, true)
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			shelf.put(t, "openshift/release:one", made{arch: "amd64", label: "4.20.33", files: tt.files}.image(t))
			o := Options{PullSecret: login(shelf.host()), CA: shelf.ca(), Clock: &patient{}}
			for _, asked := range []bool{false, true} {
				o.Kubernetes = asked
				shelf.parts.Store(0)
				got, err := Read(t.Context(), shelf.host()+"/openshift/release:one", o)
				if err != nil {
					t.Fatal(err)
				}
				want := Info{Version: "4.20.33", Arch: []string{"x86_64"}, Digest: got.Digest}
				if asked {
					want.Kubernetes = tt.want
				}
				if diff := cmp.Diff(want, got); diff != "" {
					t.Errorf("asked for Kubernetes: %v (-want +got):\n%s", asked, diff)
				}
				if parts := shelf.parts.Load(); !asked && parts != 1 {
					t.Errorf("%d parts of the image were read, and its configuration says all", parts)
				}
			}
		})
	}
}

func TestReadArchitecturesOfAList(t *testing.T) {
	shelf := newShelf(t, true)
	several := list(t, made{arch: "ppc64le", label: "4.20.33"}, made{arch: "amd64", label: "4.20.33"}, made{arch: "arm64", label: "4.20.33"})
	shelf.put(t, "openshift/release:several", several)
	one := list(t, made{arch: "arm64", label: "4.20.33"})
	shelf.put(t, "openshift/release:one", one)
	o := Options{PullSecret: login(shelf.host()), CA: shelf.ca(), Clock: &patient{}}
	for tag, want := range map[string]struct {
		index v1.ImageIndex
		arch  []string
		word  string
	}{
		"several": {several, []string{"arm64", "ppc64le", "x86_64"}, "multi"},
		"one":     {one, []string{"arm64"}, "arm64"},
	} {
		got, err := Read(t.Context(), shelf.host()+"/openshift/release:"+tag, o)
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(Info{Version: "4.20.33", Arch: want.arch, Digest: digestOf(t, want.index)}, got); diff != "" {
			t.Errorf("%s (-want +got):\n%s", tag, diff)
		}
		if got.Architecture() != want.word {
			t.Errorf("%s is for %s, want %s", tag, got.Architecture(), want.word)
		}
	}
}

func TestReadFromMirrors(t *testing.T) {
	source, mirror := newShelf(t, true), newShelf(t, true)
	image := made{arch: "amd64", label: "4.20.33"}.image(t)
	mirror.put(t, "mirrored/release:4.20.33", image)
	source.put(t, "openshift/release:4.20.33", made{arch: "amd64", label: "4.20.1"}.image(t))
	digest := digestOf(t, image)
	conf := func(extra string) string {
		return "[[registry]]\nlocation = \"" + source.host() + "/openshift\"\n" + extra + "[[registry.mirror]]\nlocation = \"" + mirror.host() + "/mirrored\"\n"
	}
	both := append(source.ca(), mirror.ca()...)
	tests := []struct {
		name, ref, conf, mirror, version string
		asked                            *shelf
	}{
		{"by tag", "/openshift/release:4.20.33", conf(""), "", "4.20.33", mirror},
		{"by digest", "/openshift/release@" + digest, conf("mirror-by-digest-only = true\n"), "", "4.20.33", mirror},
		{"mirrors for digests only", "/openshift/release:4.20.33", conf("mirror-by-digest-only = true\n"), "", "4.20.1", source},
		{"a mirror for digests only", "/openshift/release:4.20.33", conf("") + "pull-from-mirror = \"digest-only\"\n", "", "4.20.1", source},
		{"a mirror for tags only", "/openshift/release:4.20.33", conf("") + "pull-from-mirror = \"tag-only\"\n", "", "4.20.33", mirror},
		{"the image itself", "/openshift/release:4.20.33", "", mirror.host() + "/mirrored/release:4.20.33", "4.20.33", mirror},
		{"the image itself, without a tag", "/openshift/release:4.20.33", "", mirror.host() + "/mirrored/release", "4.20.33", mirror},
		{"another path", "/openshift/release:4.20.33", strings.Replace(conf(""), "/openshift", "/open", 1), "", "4.20.1", source},
		{"a blocked source", "/openshift/release:4.20.33", conf("blocked = true\n"), "", "4.20.33", mirror},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			source.asked.Store(0)
			mirror.asked.Store(0)
			registries, err := ParseRegistries([]byte(tt.conf))
			if err != nil {
				t.Fatal(err)
			}
			o := Options{PullSecret: login(source.host(), mirror.host()), CA: both, Registries: registries, Mirror: tt.mirror, Clock: &patient{}}
			got, err := Read(t.Context(), source.host()+tt.ref, o)
			if err != nil {
				t.Fatal(err)
			}
			if got.Version != tt.version {
				t.Errorf("version %s, want %s", got.Version, tt.version)
			}
			for _, s := range []*shelf{source, mirror} {
				if asked := s.asked.Load() > 0; asked != (s == tt.asked) {
					t.Errorf("%s was asked: %v", s.host(), asked)
				}
			}
		})
	}
}

// TestReadGoesOnToTheSource has a mirror without the image, one that cannot be reached, and the source.
func TestReadGoesOnToTheSource(t *testing.T) {
	source, bare := newShelf(t, true), newShelf(t, true)
	source.put(t, "openshift/release:4.20.33", made{arch: "amd64", label: "4.20.33"}.image(t))
	clock := &patient{}
	o := Options{
		PullSecret: login(source.host(), bare.host()), CA: append(source.ca(), bare.ca()...), Clock: clock,
		Registries: []Registry{{Prefix: source.host(), Location: source.host(), Mirrors: []Mirror{{Location: bare.host()}, {Location: "127.0.0.1:1/images"}}}},
	}
	got, err := Read(t.Context(), source.host()+"/openshift/release:4.20.33", o)
	if err != nil || got.Version != "4.20.33" {
		t.Fatalf("%+v, %v", got, err)
	}
	if want := []time.Duration{time.Second, 2 * time.Second}; !cmp.Equal(clock.slept, want) {
		t.Errorf("slept %v, want %v", clock.slept, want)
	}
}

func TestReadAnInsecureMirror(t *testing.T) {
	mirror := newShelf(t, false)
	mirror.put(t, "ocp/release:4.20.33", made{arch: "amd64", label: "4.20.33"}.image(t))
	registries := []Registry{{Prefix: "registry.example.com", Mirrors: []Mirror{{Location: mirror.host(), Insecure: true}}}}
	got, err := Read(t.Context(), "registry.example.com/ocp/release:4.20.33", Options{Registries: registries, Clock: &patient{}})
	if err != nil || got.Version != "4.20.33" {
		t.Fatalf("%+v, %v", got, err)
	}
}

func TestReadAgain(t *testing.T) {
	shelf := newShelf(t, false)
	shelf.put(t, "ocp/release:4.20.33", made{arch: "amd64", label: "4.20.33"}.image(t))
	shelf.broken.Store(2)
	clock := &patient{}
	got, err := Read(t.Context(), shelf.host()+"/ocp/release:4.20.33", Options{CA: shelf.ca(), Clock: clock})
	if err != nil || got.Version != "4.20.33" {
		t.Fatalf("%+v, %v", got, err)
	}
	if len(clock.slept) != 2 {
		t.Errorf("slept %v, want twice", clock.slept)
	}
}

func TestReadRefusals(t *testing.T) {
	shelf := newShelf(t, true)
	shelf.put(t, "ocp/release:none", made{arch: "amd64", files: []map[string]string{{"etc/motd": "hello"}}}.image(t))
	shelf.put(t, "ocp/release:broken", made{arch: "amd64", files: []map[string]string{{metadataFile: "{"}}}.image(t))
	shelf.put(t, "ocp/release:images", made{arch: "amd64", label: "4.20.33", files: []map[string]string{{imagesFile: `{"spec":{"tags":{}}}`}}}.image(t))
	shelf.put(t, "ocp/release:silent", made{label: "4.20.33"}.image(t))
	shelf.put(t, "ocp/release:empty", empty.Index)
	good := login(shelf.host())
	tests := []struct {
		name, ref string
		o         Options
		code      model.Code
		says      string
	}{
		{"no reference", "", Options{}, model.CodeInput, "it is empty"},
		{"no registry", "ocp/release:1", Options{}, model.CodeInput, "names no registry"},
		{"no reference at all", "quay.io/Ocp/Release", Options{}, model.CodeInput, "could not parse reference"},
		{"a pull secret that is none", "quay.io/a/b:1", Options{PullSecret: spec.NewSecret(`{"auths": `)}, model.CodeInput, "pull secret is not JSON"},
		{"an entry that is none", "quay.io/a/b:1", Options{PullSecret: spec.NewSecret(`{"auths":{"quay.io":{"auth":"%%"}}}`)}, model.CodeInput, "entry for quay.io"},
		{"certificates that are none", "quay.io/a/b:1", Options{CA: []byte("hello")}, model.CodeInput, "no PEM"},
		{"no login", "/ocp/release:none", Options{CA: shelf.ca()}, model.CodeAuth, "Unauthorized"},
		{"another login", "/ocp/release:none", Options{CA: shelf.ca(), PullSecret: login("quay.io")}, model.CodeAuth, "Unauthorized"},
		{"an unknown certificate", "/ocp/release:none", Options{PullSecret: good}, model.CodeFailure, "certificate"},
		{"no image", "/ocp/release:gone", Options{CA: shelf.ca(), PullSecret: good}, model.CodeNotFound, "Not Found"},
		{"no release", "/ocp/release:none", Options{CA: shelf.ca(), PullSecret: good}, model.CodeFailure, "it is no OpenShift release"},
		{"broken metadata", "/ocp/release:broken", Options{CA: shelf.ca(), PullSecret: good}, model.CodeFailure, "read release-manifests/release-metadata"},
		{"broken images", "/ocp/release:images", Options{CA: shelf.ca(), PullSecret: good, Kubernetes: true}, model.CodeFailure, "read release-manifests/image-references"},
		{"no architecture", "/ocp/release:silent", Options{CA: shelf.ca(), PullSecret: good}, model.CodeFailure, "no architecture"},
		{"an empty list", "/ocp/release:empty", Options{CA: shelf.ca(), PullSecret: good}, model.CodeFailure, "no image for linux"},
		{"all blocked", "quay.io/a/b:1", Options{Registries: []Registry{{Prefix: "quay.io", Blocked: true}}}, model.CodeInput, "blocks quay.io"},
		{"nobody there", "127.0.0.1:1/a/b:1", Options{}, model.CodeFailure, "connection refused"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			tt.o.Clock = &patient{}
			ref := tt.ref
			if strings.HasPrefix(ref, "/") {
				ref = shelf.host() + ref
			}
			_, err := Read(t.Context(), ref, tt.o)
			if err == nil || model.FaultOf(err).Code != tt.code || !strings.Contains(err.Error(), tt.says) {
				t.Fatalf("got code %d: %v; want %d and %q", model.FaultOf(err).Code, err, tt.code, tt.says)
			}
			if strings.Contains(err.Error(), password) {
				t.Errorf("the error holds the password: %v", err)
			}
		})
	}
}

// TestUnknownCertificate shows why a registry at a private address is not read: the
// library asks such places without TLS, too.
func TestUnknownCertificate(t *testing.T) {
	shelf := newShelf(t, false)
	_, err := Read(t.Context(), shelf.host()+"/ocp/release:1", Options{Clock: &patient{}})
	if err == nil || !strings.Contains(err.Error(), "certificate signed by unknown authority") || strings.Contains(err.Error(), "without TLS") {
		t.Errorf("got %v", err)
	}
	if next := model.FaultOf(err).Next; !strings.Contains(next.String(), "--registry-ca-file") {
		t.Errorf("next is %q", next)
	}
}

func TestReadIsBounded(t *testing.T) {
	shelf := newShelf(t, false)
	huge := make([]byte, largestAnswer+1)
	shelf.Config.Handler = http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if strings.Contains(r.URL.Path, "/manifests/") {
			w.Header().Set("Content-Type", "application/vnd.oci.image.manifest.v1+json")
			w.(http.Flusher).Flush() // without a length
			_, _ = w.Write(huge)
		}
	})
	_, err := Read(t.Context(), shelf.host()+"/ocp/release:1", Options{CA: shelf.ca(), Clock: &patient{}})
	if err == nil || !strings.Contains(err.Error(), "larger than a release needs") {
		t.Fatalf("got %v", err)
	}
}

func TestReadEndsWithItsContext(t *testing.T) {
	shelf := newShelf(t, false)
	shelf.broken.Store(1 << 30)
	ctx, cancel := context.WithCancelCause(t.Context())
	over := errors.New("enough")
	cancel(over)
	if _, err := Read(ctx, shelf.host()+"/ocp/release:1", Options{CA: shelf.ca(), Clock: &patient{}}); !errors.Is(err, over) {
		t.Fatalf("got %v", err)
	}
}

func TestReadByOC(t *testing.T) {
	folder := t.TempDir()
	oc := filepath.Join(folder, "oc")
	script := `#!/bin/sh
echo "$@" >>"$0.log"
config=
while [ $# -gt 0 ]; do [ "$1" = --registry-config ] && { config=$2; stat -c %a "$2" >>"$0.log"; cat "$2" >"$0.seen"; }; verb="$verb $1"; shift; done
case "$verb" in
*missing*) echo "error: no such release" >&2; exit 1 ;;
*"image info"*) echo '[{"config":{"architecture":"amd64"}},{"config":{"architecture":"arm64"}}]' ;;
*multi*) echo '{"digest":"sha256:one","listDigest":"sha256:list","config":{"architecture":"amd64"},"metadata":{"version":"4.20.33","metadata":{"release.openshift.io/architecture":"multi"}}}' ;;
*) echo '{"digest":"sha256:one","config":{"architecture":"amd64"},"metadata":{"version":"4.20.33"},"displayVersions":{"kubernetes":{"Version":"1.33.5","DisplayName":""}}}' ;;
esac
`
	if err := os.WriteFile(oc, []byte(script), 0o700); err != nil {
		t.Fatal(err)
	}
	t.Setenv("TMPDIR", t.TempDir()) // where no other test leaves anything
	secret := login("127.0.0.1:1")
	o := Options{PullSecret: secret, OC: oc, Clock: &patient{}, Kubernetes: true}
	for ref, want := range map[string]Info{
		"127.0.0.1:1/ocp/release:one":   {Version: "4.20.33", Arch: []string{"x86_64"}, Digest: "sha256:one", Kubernetes: "1.33.5"},
		"127.0.0.1:1/ocp/release:multi": {Version: "4.20.33", Arch: []string{"arm64", "x86_64"}, Digest: "sha256:list"},
	} {
		got, err := Read(t.Context(), ref, o)
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%s (-want +got):\n%s", ref, diff)
		}
	}
	_, err := Read(t.Context(), "127.0.0.1:1/ocp/release:missing", o)
	if err == nil || !strings.Contains(err.Error(), "no such release") || !strings.Contains(err.Error(), "connection refused") {
		t.Errorf("got %v; want what oc and what the registry said", err)
	}
	seen, err := os.ReadFile(oc + ".seen")
	if err != nil || string(seen) != secret.Reveal() {
		t.Errorf("oc was shown another pull secret (%v)", err)
	}
	log, err := os.ReadFile(oc + ".log")
	if err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(string(log)) {
		if strings.Contains(line, "auths") || strings.Contains(line, password) {
			t.Errorf("the arguments hold the secret: %s", line)
		}
		if mode := strings.TrimSpace(line); len(mode) == 3 && mode != "600" {
			t.Errorf("the pull secret's file has mode %s", mode)
		}
	}
	left, err := filepath.Glob(filepath.Join(os.TempDir(), "oaictl-release-*"))
	if err != nil || len(left) > 0 {
		t.Errorf("the pull secret was left in %v (%v)", left, err)
	}
}

// TestOCTrustsWhatWeTrust has oc find the certificates that the registry is
// trusted by, beside those that it trusts anyway.
func TestOCTrustsWhatWeTrust(t *testing.T) {
	oc := filepath.Join(t.TempDir(), "oc")
	script := "#!/bin/sh\necho \"$SSL_CERT_DIR\" >\"$0.folders\"\ncat \"${SSL_CERT_DIR%%:*}\"/* >\"$0.ca\"\n" +
		`echo '{"digest":"sha256:one","config":{"architecture":"amd64"},"metadata":{"version":"4.20.33"}}'` + "\n"
	if err := os.WriteFile(oc, []byte(script), 0o700); err != nil {
		t.Fatal(err)
	}
	ca := newShelf(t, false).ca()
	for own, want := range map[string]string{"": certificateFolders, "/own/certs": "/own/certs"} {
		t.Setenv("SSL_CERT_DIR", own)
		if _, err := Read(t.Context(), "127.0.0.1:1/ocp/release:one", Options{CA: ca, OC: oc, Clock: &patient{}}); err != nil {
			t.Fatal(err)
		}
		shown, err := os.ReadFile(oc + ".ca")
		if err != nil || !bytes.Equal(shown, ca) {
			t.Errorf("oc trusts %q (%v)", shown, err)
		}
		folders, err := os.ReadFile(oc + ".folders")
		if err != nil || !strings.HasSuffix(strings.TrimSpace(string(folders)), ":"+want) {
			t.Errorf("oc looks into %s (%v)", folders, err)
		}
	}
}

// TestOCIsNotWaitedForForever has oc hang in a program that it has started.
func TestOCIsNotWaitedForForever(t *testing.T) {
	oc := filepath.Join(t.TempDir(), "oc")
	if err := os.WriteFile(oc, []byte("#!/bin/sh\nsleep 20\necho '{}'\n"), 0o700); err != nil {
		t.Fatal(err)
	}
	call := &ocCall{program: oc, wait: 50 * time.Millisecond}
	began := time.Now()
	_, err := call.describe(t.Context(), source{image: "quay.io/ocp/release:1"})
	if err == nil || !strings.Contains(err.Error(), "not answered within 50ms") {
		t.Errorf("got %v", err)
	}
	if took := time.Since(began); took > 10*time.Second {
		t.Errorf("it took %s", took)
	}
}

// TestPlainKeepsSignaturesBack has a registry send to a store by a signed address
// that does not answer.
func TestPlainKeepsSignaturesBack(t *testing.T) {
	cause := &url.Error{Op: "Get", URL: "https://store.example.com/layer?signature=" + password, Err: errors.New("connection refused")}
	got := plain(fmt.Errorf("quay.io/ocp/release:1: %w", cause))
	if want := `quay.io/ocp/release:1: Get "https://store.example.com/layer": connection refused`; got != want {
		t.Errorf("got %s\nwant %s", got, want)
	}
}

// FuzzFiles reads layers of any content: what they say of a release is returned, or refused.
func FuzzFiles(f *testing.F) {
	for _, files := range []map[string]string{
		metadata("4.20.33"),
		{imagesFile: `{"metadata":{"name":"4.20.33"},"spec":{"tags":[{"annotations":{"io.openshift.build.versions":"kubernetes=1.33.5,kubectl=1.33.5"}}]}}`},
		{imagesFile: `{"spec":{"tags":[{"annotations":null},null]}}`},
		{"etc/motd": "hello"},
	} {
		layer, err := io.ReadAll(archive(files))
		if err != nil {
			f.Fatal(err)
		}
		f.Add(layer)
		f.Add(layer[:len(layer)/2])
	}
	f.Add([]byte{0x1f, 0x8b})
	f.Add([]byte{0x28, 0xb5, 0x2f, 0xfd})
	f.Fuzz(func(t *testing.T, layer []byte) {
		if said, err := filesIn(layer); err != nil && said != (files{}) {
			t.Errorf("it is refused (%v), and says %+v", err, said)
		}
	})
}
