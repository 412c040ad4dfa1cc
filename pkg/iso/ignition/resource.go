package ignition

import (
	"bytes"
	"cmp"
	"compress/gzip"
	"crypto/sha256"
	"crypto/sha512"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"regexp"
	"slices"
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

// content decodes what a data URL carries; carried is false where there is none.
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
	if err == nil {
		content, err = io.ReadAll(io.LimitReader(z, maxContent+1))
	}
	if err != nil {
		return nil, false, fmt.Errorf("decompress: %w", err)
	}
	if len(content) > maxContent {
		return nil, false, fmt.Errorf("it decompresses to more than %d bytes", maxContent)
	}
	return content, true, nil
}

// checkHash compares the decompressed content with FUNCTION-SUM. Another form is left
// to the rules of the specification.
func (r resource) checkHash(content []byte) error {
	if r.Verification.Hash == nil {
		return nil
	}
	function, want, _ := strings.Cut(*r.Verification.Hash, "-")
	have := ""
	switch function {
	case "sha256":
		have = fmt.Sprintf("%x", sha256.Sum256(content))
	case "sha512":
		have = fmt.Sprintf("%x", sha512.Sum512(content))
	default:
		return nil
	}
	if have != strings.ToLower(want) {
		return fmt.Errorf("the content has %s %s", function, have)
	}
	return nil
}

// File is a file that a config brings itself.
type File struct {
	Path    string
	Content []byte
}

// Files are the files whose contents a config carries. A file with appended contents comes once for each of its parts.
func Files(config []byte) []File {
	var parsed types.Config
	if json.Unmarshal(config, &parsed) != nil {
		return nil
	}
	var files []File
	for _, r := range resources(parsed) {
		if content, carried, err := r.content(); r.name != "" && carried && err == nil {
			files = append(files, File{r.name, content})
		}
	}
	return files
}

// Secret is a place in a config with something that not every user may read, although each user can who gets the image.
// The secret itself is not included.
type Secret struct {
	// Path is the file, the unit, "user NAME", or as in "ignition.config.merge[0]".
	Path string
	// Kind is one of the Kind… constants.
	Kind string
}

// The kinds of secrets.
const (
	KindPullSecret      = "pull-secret"      // credentials of container registries
	KindPrivateKey      = "private-key"      // a key in PEM form
	KindKubeconfig      = "kubeconfig"       // a client key or token of a cluster
	KindPasswordHash    = "password-hash"    // as in shadow(5)
	KindToken           = "token"            // a JSON web token
	KindPassword        = "password"         // a variable or setting that is called a password, token or secret
	KindURLCredentials  = "url-credentials"  // a password within a URL
	KindAuthorization   = "authorization"    // a header that is sent when content is fetched
	KindDiskKey         = "disk-key"         // the key of an encrypted disk
	KindNetworkPassword = "network-password" // in a NetworkManager keyfile
)

// patterns recognise kinds by content. Registry credentials are JSON, possibly within a JSON string, or the base64 of
// {"auths": as Kubernetes secrets have it.
var patterns = []struct {
	kind    string
	pattern *regexp.Regexp
}{
	{KindPullSecret, regexp.MustCompile(`\\?"auth\\?"\s*:\s*\\?"[^"\\]|\beyJhdXRocyI6`)},
	{KindPrivateKey, regexp.MustCompile(`-----BEGIN ([A-Z0-9]+ )*PRIVATE KEY-----`)},
	{KindKubeconfig, regexp.MustCompile(`(?m)^\s*"?(client-key-data|token)"?:\s*"?[A-Za-z0-9+/_.-]{16}`)},
	{KindPasswordHash, regexp.MustCompile(`(^|[\s:"'=])\$(1|5|6|y|7|gy|2[abxy])\$[./A-Za-z0-9$=,]{16}`)},
	{KindToken, regexp.MustCompile(`\beyJ[A-Za-z0-9_-]{8,}\.eyJ[A-Za-z0-9_-]{8,}\.[A-Za-z0-9_-]{8,}`)},
	{KindNetworkPassword, regexp.MustCompile(`(?ms)^\[connection\]\s*$.*` +
		`^\s*(psk|wep-key[0-3]|private-key-password|password|pin|leap-password)\s*=\s*\S`)},
	{KindPassword, regexp.MustCompile(`\b[A-Z0-9_]*(TOKEN|PASSWORD|PASSWD|SECRET|API_KEY)\s*=\s*["']?[^\s"'$/{<]{4}`)},
	{KindURLCredentials, regexp.MustCompile(`://[^/\s:@"']+:[^/\s@"'$]+@`)},
}

// Kinds lists which secrets a text holds, judged by its form, in a fixed order.
func Kinds(content []byte) []string {
	var kinds []string
	for _, p := range patterns {
		if p.pattern.Match(content) {
			kinds = append(kinds, p.kind)
		}
	}
	return kinds
}

// Secrets lists where a config holds secrets: in files of any encoding, units, users, URLs and headers, and in configs
// that it carries.
func Secrets(config []byte) []Secret {
	var f finder
	f.config(config, 0)
	return f.found
}

type finder struct{ found []Secret }

func (f *finder) add(path string, kinds ...string) {
	for _, kind := range kinds {
		if s := (Secret{Path: path, Kind: kind}); !slices.Contains(f.found, s) {
			f.found = append(f.found, s)
		}
	}
}

func (f *finder) config(data []byte, depth int) {
	var config types.Config
	if json.Unmarshal(data, &config) != nil {
		return
	}
	for _, r := range resources(config) {
		f.resource(r, depth)
	}
	for _, u := range config.Passwd.Users {
		if u.PasswordHash != nil && len(*u.PasswordHash) > 4 { // "*" and "!!" lock an account
			f.add("user "+u.Name, KindPasswordHash)
		}
	}
	for _, u := range config.Systemd.Units {
		f.text(u.Name, u.Contents)
		for _, d := range u.Dropins {
			f.text(u.Name+"/"+d.Name, d.Contents)
		}
	}
	for i, l := range config.Storage.Luks {
		if l.KeyFile.Source != nil {
			f.add(fmt.Sprintf("storage.luks[%d].keyFile", i), KindDiskKey)
		}
	}
	f.text("ignition.proxy.httpProxy", config.Ignition.Proxy.HTTPProxy)
	f.text("ignition.proxy.httpsProxy", config.Ignition.Proxy.HTTPSProxy)
}

func (f *finder) text(path string, content *string) {
	if content != nil {
		f.add(path, Kinds([]byte(*content))...)
	}
}

func (f *finder) resource(r resource, depth int) {
	path := cmp.Or(r.name, spell(r.at))
	for _, h := range r.HTTPHeaders {
		if h.Value != nil && *h.Value != "" {
			f.add(path, KindAuthorization)
		}
	}
	content, carried, err := r.content()
	switch {
	case err != nil:
	case !carried:
		f.text(path, r.Source)
	case r.config && depth < maxNested:
		f.config(content, depth+1)
	default:
		f.add(path, Kinds(content)...)
	}
}
