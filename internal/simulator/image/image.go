// Package image is the simulated image service: discovery media, netboot
// artefacts and the links to them. The media are real in form and tiny in size:
// a live ISO that the package makes itself, with a stand-in for the operating
// system in it, into which each infra-env's Ignition, kernel arguments and
// network files are written as they are read.
package image

import (
	"cmp"
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/oaictl/oaictl/internal/clock"
	"github.com/oaictl/oaictl/internal/isowriter"
	"github.com/oaictl/oaictl/internal/simulator/auth/jwt"
	"github.com/oaictl/oaictl/internal/simulator/versions"
)

// Source is what an infra-env puts into its media.
type Source struct {
	// Ignition configs of full images, of minimal ones, and of network boot.
	Ignition, MinimalIgnition, NetbootIgnition []byte
	// KernelArguments are appended to the kernel's own, in order.
	KernelArguments []string
	// StaticNetwork is the compressed archive of /downloads/minimal-initrd, empty
	// where there is none. Only minimal images and netboot carry it: full images
	// have the same files in their Ignition.
	StaticNetwork []byte
	// SigningKey is the infra-env's own secret: links made with another one are refused. It may be empty.
	SigningKey []byte
	// Updated is when any of this last changed.
	Updated time.Time
}

// Config is what a Service is made of. Clock and Lookup are required.
type Config struct {
	Clock clock.Clock
	// Lookup finds an infra-env's Source; not ok is a 404.
	Lookup func(ctx context.Context, infraEnvID string) (Source, bool)
	// Access says which kind of link opens the media; empty is ByID.
	Access Access
	// APIKey signs and checks ByAPIKey links; required for them.
	APIKey jwt.Key
	// Secret is mixed into every ByToken link's key. Nil makes one.
	Secret []byte
	// BaseURL is the service's, without a trailing slash, for minimal images. Empty is the request's host.
	BaseURL string
}

// Service answers for the media. It is safe for concurrent use.
type Service struct {
	config  Config
	revoked atomic.Int64 // links of a lower generation are expired

	mu    sync.Mutex
	lives map[liveKey]*live
}

// liveKey names a live image before anyone's configuration.
type liveKey struct {
	line, arch string
	minimal    bool
}

// New makes a Service. No image is made before it is first asked for.
func New(config Config) (*Service, error) {
	config.Access = cmp.Or(config.Access, ByID)
	switch {
	case config.Clock == nil || config.Lookup == nil:
		return nil, errors.New("making the image service: it needs a clock and a way to look up infra-envs")
	case config.Access != ByID && config.Access != ByToken && config.Access != ByAPIKey:
		return nil, fmt.Errorf("making the image service: no kind of link is called %q", config.Access)
	case config.Access == ByAPIKey && config.APIKey.IsZero():
		return nil, errors.New("making the image service: links by API key need its key")
	}
	if config.Secret == nil {
		config.Secret = []byte(rand.Text())
	}
	return &Service{config: config, lives: map[liveKey]*live{}}, nil
}

// ExpireAll makes every ByToken link that was handed out so far expired. Other links never expire.
func (s *Service) ExpireAll() { s.revoked.Add(1) }

// live is the image of a version and architecture, made once.
func (s *Service) live(version, arch string, minimal bool) (*live, error) {
	if arch == "aarch64" {
		arch = versions.ARM
	}
	if version == "" {
		return nil, &httpError{http.StatusBadRequest, "version is missing"}
	}
	os, err := versions.OSImageFor(version, arch)
	if err != nil {
		return nil, &httpError{http.StatusBadRequest, fmt.Sprintf("version for %s %s, not found", version, cmp.Or(arch, versions.X86))}
	}
	key := liveKey{os.OpenshiftVersion, os.CPUArchitecture, minimal}
	s.mu.Lock()
	defer s.mu.Unlock()
	if made, ok := s.lives[key]; ok {
		return made, nil
	}
	made, err := newLive(os, minimal)
	if err != nil {
		return nil, err
	}
	s.lives[key] = made
	return made, nil
}

// httpError is an answer instead of an image. The image service says it in plain text, unlike the API.
type httpError struct {
	code    int
	message string
}

func (e *httpError) Error() string { return e.message }

// personal is an image with a source written into it.
func (l *live) personal(source Source, rootfsURL string) (*isowriter.Sparse, error) {
	config := source.Ignition
	if l.minimal {
		config = source.MinimalIgnition
	}
	archive := ignitionArchive(config)
	if int64(len(archive)) > l.ignition.length {
		return nil, &httpError{http.StatusInternalServerError,
			fmt.Sprintf("content length (%d) exceeds embed area size (%d)", len(archive), l.ignition.length)}
	}
	patches := []isowriter.Part{{At: l.ignition.at, Data: archive}}
	if l.extra.length > 0 && len(source.StaticNetwork) > 0 {
		if int64(len(source.StaticNetwork)) > l.extra.length {
			return nil, &httpError{http.StatusInternalServerError,
				fmt.Sprintf("content length (%d) exceeds embed area size (%d)", len(source.StaticNetwork), l.extra.length)}
		}
		patches = append(patches, isowriter.Part{At: l.extra.at, Data: source.StaticNetwork})
	}
	arguments := source.KernelArguments
	if l.minimal {
		arguments = append([]string{`coreos.live.rootfs_url="` + rootfsURL + `"`}, arguments...)
	}
	more, err := l.kargs.patch(arguments)
	if err != nil {
		return nil, err
	}
	return l.iso.With(append(patches, more...)...), nil
}

// patch writes the original arguments and further ones into every area.
func (k kernelArguments) patch(more []string) ([]isowriter.Part, error) {
	if len(more) == 0 {
		return nil, nil
	}
	text := k.original + " " + strings.Join(more, " ")
	var parts []isowriter.Part
	for _, a := range k.areas {
		if int64(len(text)) >= a.length {
			return nil, &httpError{http.StatusInternalServerError,
				fmt.Sprintf("kernel arguments of length %d exceed their area's size (%d)", len(text), a.length)}
		}
		content := append([]byte(text), k.end)
		for int64(len(content)) < a.length {
			content = append(content, k.pad)
		}
		parts = append(parts, isowriter.Part{At: a.at, Data: content})
	}
	return parts, nil
}

// netboot is a network boot's one initrd: the live image's own, the Ignition, and the network files.
func (l *live) netboot(source Source) io.ReadSeeker {
	initrd := l.initrd.With()
	initrd.Append(ignitionArchive(source.NetbootIgnition))
	if len(source.StaticNetwork) > 0 {
		initrd.Pad(4)
		initrd.Append(source.StaticNetwork)
	}
	return initrd.Reader()
}
