package image

import (
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"time"

	"github.com/oaictl/oaictl/internal/simulator/auth/jwt"
)

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

// InitrdURL makes a link to an infra-env's netboot initrd, which its iPXE script names.
func (s *Service) InitrdURL(link Link) (string, time.Time, error) {
	proof, expires, err := s.proof(link)
	if err != nil {
		return "", time.Time{}, err
	}
	address, err := url.JoinPath(link.Base, "images", link.InfraEnvID, "pxe-initrd")
	query := url.Values{"arch": {link.Arch}, "version": {link.Version}}
	switch s.config.Access {
	case ByToken:
		query.Set("image_token", proof)
	case ByAPIKey:
		query.Set("api_key", proof)
	}
	return address + "?" + query.Encode(), expires, err
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
	secret := fmt.Sprintf("%x %s %x", s.config.Secret, infraEnvID, signingKey)
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
