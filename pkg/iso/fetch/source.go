package fetch

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"net/url"
	"path/filepath"
	"regexp"
	"strings"
)

// Source says where an image is to be had.
type Source struct {
	// Location is a path, a file:// URL, or an http:// or https:// URL.
	Location string
	// SHA256 is the digest that the content must have, in hexadecimal; empty if
	// it is not known. Content of a known digest is found in the cache without
	// asking a server.
	SHA256 string
	// Name tells one content from another where the URL does not, as where its
	// query holds a token that changes; empty means the URL itself.
	Name string
	// Version names what the content is made of, where that is known: what the cache
	// has of the same Name and Version is used without asking a server, and what it
	// has of an older Version is dropped once the new one is there. Empty means that
	// the server is asked.
	Version string
	// Owner is what the content is kept for: [Cache.ForgetOf] removes all of an owner.
	Owner string
}

// origin is a Source that was understood: exactly one of path and url is set.
type origin struct {
	path    string
	url     *url.URL
	digest  string // lower case, "" if not known
	key     string // names the URL's files in the cache
	version string
	owner   string
}

// Check says what about a source cannot be understood, before anything is read:
// a location that is none, or a digest that is no SHA-256.
func (s Source) Check() error {
	_, err := s.parse()
	return err
}

func (s Source) parse() (origin, error) {
	digest := strings.ToLower(s.SHA256)
	if raw, err := hex.DecodeString(digest); digest != "" && (err != nil || len(raw) != sha256.Size) {
		return origin{}, fmt.Errorf("read the checksum of %s: %q is not a SHA-256 of 64 hexadecimal digits", Redact(s.Location), s.SHA256)
	}
	if s.Location == "" {
		return origin{}, fmt.Errorf("find the base image: neither a path nor a URL is given")
	}
	if !strings.Contains(s.Location, "://") {
		return origin{path: s.Location, digest: digest}, nil
	}
	u, err := url.Parse(s.Location)
	if err != nil {
		// What url.Parse complains about may be part of a secret.
		return origin{}, fmt.Errorf("read the URL %s: it is not a URL", Redact(s.Location))
	}
	switch u.Scheme {
	case "file":
		if u.Host != "" && u.Host != "localhost" {
			return origin{}, fmt.Errorf("read the URL %s: a file on another host (%s) can't be opened", Redact(s.Location), u.Host)
		}
		if u.Path == "" {
			return origin{}, fmt.Errorf("read the URL %s: it names no file", Redact(s.Location))
		}
		return origin{path: filepath.FromSlash(u.Path), digest: digest}, nil
	case "http", "https":
		if u.Host == "" {
			return origin{}, fmt.Errorf("read the URL %s: it names no host", Redact(s.Location))
		}
	default:
		return origin{}, fmt.Errorf("read the URL %s: its scheme %q is none of http, https and file", Redact(s.Location), u.Scheme)
	}
	name := s.Name
	if name == "" {
		name = s.Location
	}
	sum := sha256.Sum256([]byte(name))
	return origin{url: u, digest: digest, key: hex.EncodeToString(sum[:16]), version: s.Version, owner: s.Owner}, nil
}

// token matches what grants access inside a path: a JSON web token, as in
// the image service's /byapikey/TOKEN/….
var token = regexp.MustCompile(`[A-Za-z0-9_-]{8,}\.[A-Za-z0-9_-]{8,}\.[A-Za-z0-9_-]{8,}`)

// Redact is a location without what may grant access to it: user and password,
// query, fragment, and tokens in the path. A path of this machine is returned
// as it is.
func Redact(location string) string {
	scheme, rest, isURL := strings.Cut(location, "://")
	if !isURL {
		return location
	}
	rest, _, _ = strings.Cut(rest, "#")
	rest, _, hasQuery := strings.Cut(rest, "?")
	host, path, hasPath := strings.Cut(rest, "/")
	if at := strings.LastIndexByte(host, '@'); at >= 0 {
		host = host[at+1:]
	}
	out := scheme + "://" + host
	if hasPath {
		out += "/" + token.ReplaceAllString(path, "…")
	}
	if hasQuery {
		out += "?…"
	}
	return out
}
