package release

import (
	"archive/tar"
	"bytes"
	"context"
	"encoding/base64"
	"encoding/pem"
	"fmt"
	"io"
	"log"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-containerregistry/pkg/authn"
	"github.com/google/go-containerregistry/pkg/name"
	"github.com/google/go-containerregistry/pkg/registry"
	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/empty"
	"github.com/google/go-containerregistry/pkg/v1/mutate"
	"github.com/google/go-containerregistry/pkg/v1/remote"
	"github.com/google/go-containerregistry/pkg/v1/tarball"

	"github.com/oaictl/oaictl/internal/shared/must"
	"github.com/oaictl/oaictl/pkg/install/spec"
)

// patient is a clock on which waiting takes no time.
type patient struct{ slept []time.Duration }

func (p *patient) Sleep(ctx context.Context, d time.Duration) error {
	p.slept = append(p.slept, d)
	return context.Cause(ctx)
}

func (p *patient) Wall(d time.Duration) time.Duration { return d }

func (p *patient) Now() time.Time { return time.Time{} }

// shelf is a registry with images, behind TLS and a login.
type shelf struct {
	*httptest.Server
	asked  atomic.Int64 // requests for manifests that were let in
	parts  atomic.Int64 // requests for configurations and layers that were let in
	broken atomic.Int64 // so many requests are answered with 503
}

const (
	user     = "puller"
	password = "open-sesame"
)

func newShelf(t *testing.T, secured bool) *shelf {
	t.Helper()
	s := &shelf{}
	images := registry.New(registry.Logger(log.New(io.Discard, "", 0)))
	s.Server = httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		given, secret, ok := r.BasicAuth()
		switch {
		case s.broken.Load() > 0:
			s.broken.Add(-1)
			w.WriteHeader(http.StatusServiceUnavailable)
			return
		case secured && (!ok || given != user || secret != password):
			w.Header().Set("WWW-Authenticate", `Basic realm="images"`)
			w.WriteHeader(http.StatusUnauthorized)
			return
		case strings.Contains(r.URL.Path, "/manifests/") && r.Method == http.MethodGet:
			s.asked.Add(1)
		case strings.Contains(r.URL.Path, "/blobs/") && r.Method == http.MethodGet:
			s.parts.Add(1)
		}
		images.ServeHTTP(w, r)
	}))
	s.Config.ErrorLog = log.New(io.Discard, "", 0)
	s.StartTLS()
	t.Cleanup(s.Close)
	return s
}

func (s *shelf) host() string { return s.Listener.Addr().String() }

func (s *shelf) ca() []byte {
	return pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: s.Certificate().Raw})
}

// login is a pull secret with an entry for each place.
func login(places ...string) spec.Secret {
	var entries []string
	for _, place := range places {
		entries = append(entries, fmt.Sprintf("%q:{\"auth\":%q}", place, base64.StdEncoding.EncodeToString([]byte(user+":"+password))))
	}
	return spec.NewSecret(`{"auths":{` + strings.Join(entries, ",") + `}}`)
}

func (s *shelf) put(t *testing.T, ref string, what remote.Taggable) {
	t.Helper()
	tag, err := name.ParseReference(s.host() + "/" + ref)
	if err != nil {
		t.Fatal(err)
	}
	options := []remote.Option{
		remote.WithTransport(s.Client().Transport), remote.WithAuth(&authn.Basic{Username: user, Password: password}), remote.WithContext(t.Context()),
	}
	switch what := what.(type) {
	case v1.ImageIndex:
		err = remote.WriteIndex(tag, what, options...)
	case v1.Image:
		err = remote.Write(tag, what, options...)
	default:
		err = remote.Put(tag, what, options...)
	}
	if err != nil {
		t.Fatal(err)
	}
	s.asked.Store(0)
}

// made is an image of a release.
type made struct {
	arch  string
	label string
	files []map[string]string // by layer
}

func (m made) image(t *testing.T) v1.Image {
	t.Helper()
	image := must.Get(mutate.ConfigFile(empty.Image, &v1.ConfigFile{Architecture: m.arch, OS: "linux"}))(t)
	if m.label != "" {
		image = must.Get(mutate.Config(image, v1.Config{Labels: map[string]string{"io.openshift.release": m.label}}))(t)
	}
	for _, files := range m.files {
		layer := must.Get(tarball.LayerFromOpener(func() (io.ReadCloser, error) { return io.NopCloser(archive(files)), nil }))(t)
		image = must.Get(mutate.AppendLayers(image, layer))(t)
	}
	return image
}

func archive(files map[string]string) io.Reader {
	var buffer bytes.Buffer
	out := tar.NewWriter(&buffer)
	for name, text := range files {
		_ = out.WriteHeader(&tar.Header{Name: name, Mode: 0o644, Size: int64(len(text))}) // a buffer takes everything
		_, _ = io.WriteString(out, text)
	}
	_ = out.Close()
	return &buffer
}

func list(t *testing.T, images ...made) v1.ImageIndex {
	t.Helper()
	index := v1.ImageIndex(empty.Index)
	for _, m := range images {
		index = mutate.AppendManifests(index, mutate.IndexAddendum{
			Add: m.image(t), Descriptor: v1.Descriptor{Platform: &v1.Platform{OS: "linux", Architecture: m.arch}},
		})
	}
	return index
}

func digestOf(t *testing.T, what interface{ Digest() (v1.Hash, error) }) string {
	t.Helper()
	digest := must.Get(what.Digest())(t)
	return digest.String()
}
