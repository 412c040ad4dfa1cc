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
	"net/url"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/oaictl/oaictl/internal/shared/clock"
	"github.com/oaictl/oaictl/internal/shared/isowriter"
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
	Updated    time.Time
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
}

// Service answers for the media. It is safe for concurrent use.
type Service struct {
	config  Config
	secret  string       // is mixed into every ByToken link's key
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
	return &Service{config: config, secret: rand.Text(), lives: map[liveKey]*live{}}, nil
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

func (l *live) personal(source Source, rootfsURL string) (*isowriter.Sparse, error) {
	config := source.Ignition
	if l.minimal {
		config = source.MinimalIgnition
	}
	archive := isowriter.IgnitionArchive(config)
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
	initrd.Append(isowriter.IgnitionArchive(source.NetbootIgnition))
	if len(source.StaticNetwork) > 0 {
		initrd.Pad(4)
		initrd.Append(source.StaticNetwork)
	}
	return initrd.Reader()
}

// Access is how a link proves that its bearer may have an infra-env's media.
type Access string

const (
	// ByID links name the infra-env and nothing else (authentication none).
	ByID Access = "byid"
	// ByToken links carry an HS256 token that ends after LinkLifetime (rhsso).
	ByToken Access = "bytoken"
	// ByAPIKey links carry an ES256 token without an end (local authentication).
	ByAPIKey Access = "byapikey"
)

// LinkLifetime is how long a ByToken link opens (IMAGE_EXPIRATION_TIME).
const LinkLifetime = 4 * time.Hour

// Link says what a URL is to lead to.
type Link struct {
	// Base is where the image service is reached, such as "http://127.0.0.1:8090".
	Base       string
	InfraEnvID string
	// Version is the infra-env's openshift_version, "4.21".
	Version string
	// Arch is x86_64, arm64, ppc64le or s390x.
	Arch string
	// Type is full-iso, minimal-iso or disconnected-iso.
	Type string
	// SigningKey is the infra-env's Source.SigningKey.
	SigningKey []byte
}

type claims struct {
	Subject    string `json:"sub,omitempty"`
	InfraEnvID string `json:"infra_env_id,omitempty"`
	Expires    int64  `json:"exp,omitempty"` // seconds since 1970
	Generation int64  `json:"gen,omitempty"`
}

// URL makes a link to an infra-env's ISO (download_url) and tells when it ends; the zero time is never.
func (s *Service) URL(link Link) (string, time.Time, error) {
	file, ok := strings.CutSuffix(link.Type, "-iso")
	if !ok || !isoTypes(file) {
		return "", time.Time{}, fmt.Errorf("making an image link: no image is of type %q", link.Type)
	}
	proof, expires, err := s.proof(link)
	if err != nil {
		return "", time.Time{}, err
	}
	address, err := url.JoinPath(link.Base, string(s.config.Access), proof, link.Version, link.Arch, file+".iso")
	return address, expires, err
}

// ArtifactURL makes a link to a boot artefact, which anyone may have: kernel, rootfs or ins-file.
func ArtifactURL(link Link, artifact string) (string, error) {
	address, err := url.JoinPath(link.Base, "boot-artifacts", artifact)
	return address + "?" + url.Values{"arch": {link.Arch}, "version": {link.Version}}.Encode(), err
}

// proof is the part of a link that opens the infra-env.
func (s *Service) proof(link Link) (string, time.Time, error) {
	var (
		token   string
		expires time.Time
		err     error
	)
	switch s.config.Access {
	case ByToken:
		expires = s.config.Clock.Now().Add(LinkLifetime).Truncate(time.Second)
		token, err = jwt.Sign(s.tokenKey(link.InfraEnvID, link.SigningKey), "", claims{
			Subject: link.InfraEnvID, Expires: expires.Unix(), Generation: s.revoked.Load(),
		})
	case ByAPIKey:
		token, err = jwt.Sign(s.config.APIKey, "", claims{InfraEnvID: link.InfraEnvID})
	default:
		return link.InfraEnvID, time.Time{}, nil
	}
	if err != nil {
		return "", time.Time{}, fmt.Errorf("making an image link: %w", err)
	}
	return token, expires, nil
}

func (s *Service) tokenKey(infraEnvID string, signingKey []byte) jwt.Key {
	secret := fmt.Sprintf("%s %s %x", s.secret, infraEnvID, signingKey)
	return jwt.HS256([]byte(secret))
}

func isoTypes(file string) bool { return file == "full" || file == "minimal" || file == "disconnected" }

func (s *Service) open(r *http.Request, access Access, proof string) (string, Source, error) {
	if access != s.config.Access {
		return "", Source{}, &httpError{http.StatusUnauthorized, "this image service does not open links " + string(access)}
	}
	id, key := proof, s.config.APIKey
	var unverified claims
	if access != ByID {
		if err := jwt.Unverified(proof, &unverified); err != nil {
			return "", Source{}, &httpError{http.StatusUnauthorized, err.Error()}
		}
		id = unverified.Subject + unverified.InfraEnvID
	}
	source, ok := s.config.Lookup(r.Context(), id)
	if !ok {
		return "", Source{}, &httpError{http.StatusNotFound, "infra-env was not found"}
	}
	switch access {
	case ByID:
		return id, source, nil
	case ByToken:
		key = s.tokenKey(id, source.SigningKey)
	}
	if err := s.checkToken(proof, key); err != nil {
		return "", Source{}, &httpError{http.StatusUnauthorized, err.Error()}
	}
	return id, source, nil
}

func (s *Service) checkToken(token string, key jwt.Key) error {
	var c claims
	if err := jwt.Verify(token, key, &c); err != nil {
		return err
	}
	if c.Expires == 0 { // made to last
		return nil
	}
	if s.config.Clock.Now().Unix() >= c.Expires || c.Generation < s.revoked.Load() {
		return errors.New("token is expired")
	}
	return nil
}
