package ignition

import (
	"bytes"
	"compress/gzip"
	"crypto/sha256"
	"crypto/sha512"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/coreos/ignition/v2/config/v3_6/types"
	"github.com/coreos/vcontext/path"
	"github.com/coreos/vcontext/report"
	"github.com/vincent-petithory/dataurl"
)

// maxContent bounds what the content of one file is decompressed to, in bytes.
const maxContent = 64 << 20

// resource is content that a config brings or points at, and where it says so.
type resource struct {
	types.Resource
	at     path.ContextPath
	name   string // the file that is made of it; empty for others
	config bool   // it is itself a config
}

func resources(config types.Config) []resource {
	var all []resource
	add := func(r types.Resource, name string, isConfig bool, at ...any) {
		all = append(all, resource{Resource: r, at: path.New("json", at...), name: name, config: isConfig})
	}
	add(config.Ignition.Config.Replace, "", true, "ignition", "config", "replace")
	for i, r := range config.Ignition.Config.Merge {
		add(r, "", true, "ignition", "config", "merge", i)
	}
	for i, r := range config.Ignition.Security.TLS.CertificateAuthorities {
		add(r, "", false, "ignition", "security", "tls", "certificateAuthorities", i)
	}
	for i, f := range config.Storage.Files {
		add(f.Contents, f.Path, false, "storage", "files", i, "contents")
		for j, r := range f.Append {
			add(r, f.Path, false, "storage", "files", i, "append", j)
		}
	}
	for i, l := range config.Storage.Luks {
		add(l.KeyFile, "", false, "storage", "luks", i, "keyFile")
	}
	return all
}

// checkResources reads what the config carries within itself: it must decompress,
// be what its hash says, and be a config where it is used as one.
func checkResources(config types.Config, depth int, found *report.Report) {
	for _, r := range resources(config) {
		content, carried, err := r.content()
		if err != nil {
			found.AddOnError(r.at.Append("source"), err)
			continue
		}
		if !carried {
			continue
		}
		if err := r.checkHash(content); err != nil {
			found.AddOnError(r.at.Append("verification", "hash"), err)
		}
		if r.config && depth < maxNested {
			nested, err := validate("the config within", content, depth+1)
			if err != nil {
				found.AddOnError(r.at.Append("source"), err)
			}
			for _, warning := range nested.Warnings() {
				found.AddOnWarn(r.at.Append("source"), errors.New(warning))
			}
		}
	}
}

// content decodes what a data URL carries; carried is false where there is
// nothing, or something to be fetched.
func (r resource) content() (content []byte, carried bool, err error) {
	if r.Source == nil || !strings.HasPrefix(*r.Source, "data:") {
		return nil, false, nil
	}
	decoded, err := dataurl.DecodeString(*r.Source)
	if err != nil {
		return nil, false, fmt.Errorf("decode the data URL: %w", err)
	}
	if r.Compression == nil || *r.Compression != "gzip" {
		return decoded.Data, true, nil
	}
	z, err := gzip.NewReader(bytes.NewReader(decoded.Data))
	if err != nil {
		return nil, false, fmt.Errorf("decompress: %w", err)
	}
	content, err = io.ReadAll(io.LimitReader(z, maxContent+1))
	if err != nil {
		return nil, false, fmt.Errorf("decompress: %w", err)
	}
	if len(content) > maxContent {
		return nil, false, fmt.Errorf("it decompresses to more than %d bytes", maxContent)
	}
	return content, true, nil
}

// checkHash compares with the hash of the decompressed content, FUNCTION-SUM. What
// has another form is left to the rules of the specification.
func (r resource) checkHash(content []byte) error {
	if r.Verification.Hash == nil {
		return nil
	}
	function, want, _ := strings.Cut(*r.Verification.Hash, "-")
	var have []byte
	switch function {
	case "sha256":
		sum := sha256.Sum256(content)
		have = sum[:]
	case "sha512":
		sum := sha512.Sum512(content)
		have = sum[:]
	default:
		return nil
	}
	if hex.EncodeToString(have) != strings.ToLower(want) {
		return fmt.Errorf("the content has %s %x", function, have)
	}
	return nil
}
