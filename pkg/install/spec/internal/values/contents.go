package values

import (
	"crypto/x509"
	"encoding/base64"
	"encoding/binary"
	"encoding/json"
	encpem "encoding/pem"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/oaictl/oaictl/internal/yamltree"
	"github.com/oaictl/oaictl/pkg/install/spec/internal/decode"
)

// PullSecretError is what is wrong with a pull secret, without any of it.
func PullSecretError(text string) error {
	var secret struct {
		Auths map[string]struct {
			Auth string `json:"auth"`
		} `json:"auths"`
	}
	if err := json.Unmarshal([]byte(text), &secret); err != nil {
		return jsonError(err)
	}
	if len(secret.Auths) == 0 {
		return errors.New("it has no auths")
	}
	for i, registry := range slices.Sorted(maps.Keys(secret.Auths)) {
		auth := secret.Auths[registry].Auth
		which := fmt.Sprintf("of its %d auths, number %d in alphabetical order", len(secret.Auths), i+1)
		login, err := base64.StdEncoding.DecodeString(auth)
		user, password, found := strings.Cut(string(login), ":")
		switch {
		case auth == "":
			return fmt.Errorf("%s has no auth", which)
		case err != nil:
			return fmt.Errorf("%s is not base64", which)
		case !found || user == "" || password == "":
			return fmt.Errorf("%s is not user:password in base64", which)
		}
	}
	return nil
}

func jsonError(err error) error {
	var syntax *json.SyntaxError
	var kind *json.UnmarshalTypeError
	switch {
	case errors.As(err, &syntax):
		return fmt.Errorf("it is not JSON, from byte %d on", syntax.Offset)
	case errors.As(err, &kind):
		return fmt.Errorf("it has a %s at byte %d, where something else belongs", kind.Value, kind.Offset)
	default:
		return errors.New("it is not JSON")
	}
}

var keyTypes = []string{"ssh-rsa", "ssh-ed25519", "ecdsa-sha2-nistp256", "ecdsa-sha2-nistp384", "ecdsa-sha2-nistp521"}

// KeyError says what is wrong with a line of a file of public keys: its type
// stands before the key and, by RFC 4253, once more in it.
func KeyError(line string) error {
	parts := strings.Fields(line)
	if !slices.Contains(keyTypes, parts[0]) {
		if len(parts) > 1 && len(parts[0]) < 40 {
			return errors.New("is not a public key of a type that the service takes (" + strings.Join(keyTypes, ", ") + ")")
		}
		return errors.New("is not a public key")
	}
	if len(parts) < 2 {
		return fmt.Errorf("has the type %s, but no key", parts[0])
	}
	blob, err := base64.StdEncoding.DecodeString(parts[1])
	if err != nil || len(blob) < 4 {
		return errors.New("is not a public key: what stands behind its type is not base64")
	}
	size := binary.BigEndian.Uint32(blob)
	if uint64(size) > uint64(len(blob)-4) || string(blob[4:4+size]) != parts[0] {
		return fmt.Errorf("is cut off or damaged: it says %s, but is something else", parts[0])
	}
	return nil
}

// CertificatesError is what is wrong with certificates in PEM form.
func CertificatesError(text string) error {
	rest := []byte(text)
	for n := 1; len(strings.TrimSpace(string(rest))) > 0; n++ {
		if !strings.Contains(string(rest), "-----BEGIN") {
			if n > 1 {
				return nil // text behind the last certificate is a comment
			}
			return errors.New("holds no certificate")
		}
		block, after := encpem.Decode(rest)
		switch {
		case block == nil:
			return fmt.Errorf("number %d of its certificates is cut off or damaged", n)
		case strings.Contains(block.Type, "PRIVATE KEY"):
			return errors.New("holds a private key")
		case block.Type != "CERTIFICATE":
			return fmt.Errorf("number %d of its blocks is no certificate", n)
		}
		if _, err := x509.ParseCertificate(block.Bytes); err != nil {
			return fmt.Errorf("number %d of its certificates cannot be read", n)
		}
		rest = after
	}
	return nil
}

// ManifestError says why a manifest cannot be read. A patch is a list of
// operations (RFC 6902).
func ManifestError(name, content string) string {
	if strings.HasSuffix(name, ".json") {
		var any any
		if err := json.Unmarshal([]byte(content), &any); err != nil {
			return "cannot be read: " + jsonError(err).Error()
		}
		return ""
	}
	docs, problems := yamltree.Parse([]byte(content))
	if len(problems) > 0 {
		return fmt.Sprintf("cannot be read: line %d %s", problems[0].At.Line, problems[0].Message)
	}
	if strings.Contains(name, ".patch") && (len(docs) != 1 || docs[0].Kind != yamltree.List) {
		return "is not a list of JSON patch operations"
	}
	return ""
}

// Overrides checks fields that are passed on as they are.
func (k *Checker) Overrides(field string, values map[string]any, secrets ...string) {
	for _, name := range secrets {
		if _, has := values[name]; has {
			k.Report(decode.Join(field, name), "a secret never stands in the file itself", "use the field that this format has for it")
		}
	}
	if _, err := Marshal(values); err != nil {
		k.Report(field, "holds a number that JSON has no notation for", "")
	}
}

// KeyLines is the keys in a file of public keys, without empty lines and
// comments.
func KeyLines(text string) []string {
	var keys []string
	for line := range strings.Lines(text) {
		if line = strings.TrimSpace(line); line != "" && !strings.HasPrefix(line, "#") {
			keys = append(keys, line)
		}
	}
	return keys
}

// Marshal is compact JSON with its keys sorted, so that equal values make equal
// text.
func Marshal(value any) (string, error) {
	text, err := json.Marshal(value)
	if err != nil {
		return "", fmt.Errorf("writing JSON: %w", err)
	}
	return string(text), nil
}

// Merge lays over on base: maps are merged, everything else is replaced.
// Neither is changed.
func Merge(base, over map[string]any) map[string]any {
	result := make(map[string]any, len(base)+len(over))
	for key, value := range base {
		result[key] = value
	}
	for key, value := range over {
		below, isMap := result[key].(map[string]any)
		above, overIsMap := value.(map[string]any)
		if isMap && overIsMap {
			result[key] = Merge(below, above)
		} else {
			result[key] = value
		}
	}
	return result
}
