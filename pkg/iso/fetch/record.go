package fetch

import (
	"encoding/json"
	"errors"
	"io/fs"
	"net/http"
	"os"
	"strings"
)

// validators are what a server says about a version of a content, RFC 9110
// section 8.8.
type validators struct {
	ETag         string `json:"etag,omitempty"`
	LastModified string `json:"lastModified,omitempty"`
}

func validatorsOf(h http.Header) validators {
	return validators{ETag: h.Get("ETag"), LastModified: h.Get("Last-Modified")}
}

// condition asks for the content only if it is another than that of v.
func (v validators) condition(h http.Header) {
	if v.ETag != "" {
		h.Set("If-None-Match", v.ETag)
	} else if v.LastModified != "" {
		h.Set("If-Modified-Since", v.LastModified)
	}
}

// ifRange is what makes a range safe to ask for, "" if nothing does: a weak
// ETag does not tell that bytes are the same.
func (v validators) ifRange() string {
	if v.ETag != "" && !strings.HasPrefix(v.ETag, "W/") {
		return v.ETag
	}
	return v.LastModified
}

// record is what a URL gave last.
type record struct {
	validators
	URL    string `json:"url"` // redacted; for people who look into the directory
	Size   int64  `json:"size"`
	SHA256 string `json:"sha256"`
	// Version is what the content is made of, where that is known.
	Version string `json:"version,omitempty"`
	// Owner is what the content is kept for, where that is known.
	Owner string `json:"owner,omitempty"`
}

// begun is what the server said about a download that is not complete.
type begun struct {
	validators
	URL   string `json:"url"`
	Total int64  `json:"total"` // bytes, -1 if not known
	Owner string `json:"owner,omitempty"`
}

// readJSON reads a small file of the cache's own. One that is missing or
// damaged counts as absent: the cache can do without it.
func readJSON(path string, into any) bool {
	data, err := os.ReadFile(path)
	return err == nil && json.Unmarshal(data, into) == nil
}

func writeJSON(path string, from any) error {
	data, err := json.Marshal(from)
	if err != nil {
		return err
	}
	if err := os.WriteFile(path+".new", append(data, '\n'), 0o600); err != nil {
		return err
	}
	return os.Rename(path+".new", path)
}

func remove(paths ...string) error {
	var failed error
	for _, path := range paths {
		if err := os.Remove(path); err != nil && !errors.Is(err, fs.ErrNotExist) {
			failed = errors.Join(failed, err)
		}
	}
	return failed
}
