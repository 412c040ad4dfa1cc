// Package values checks single values: names, addresses, keys, certificates,
// references.
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
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/oaictl/oaictl/internal/shared/yamltree"
)

// Checker reports what single values cannot be.
type Checker struct {
	Failed map[string]bool                     // fields whose value could not be taken
	Add    func(field, message, remedy string) // records a problem
}

// Report records a problem with a field, unless the field could not even be read.
func (k *Checker) Report(field, message, remedy string) {
	if !k.IsFailed(field) {
		k.Add(field, message, remedy)
	}
}

// ReportIf reports what is wrong with a field, if it is.
func (k *Checker) ReportIf(wrong bool, field, message, remedy string) {
	if wrong {
		k.Report(field, message, remedy)
	}
}

// IsFailed reports whether the field, or one around or below it, could not be taken: what else would be said of it is a
// consequence.
func (k *Checker) IsFailed(field string) bool {
	if k.Failed[field] {
		return true
	}
	for failed := range k.Failed {
		if within(field, failed) || within(failed, field) {
			return true
		}
	}
	return false
}

func within(inner, outer string) bool {
	return len(inner) > len(outer) && strings.HasPrefix(inner, outer) && (inner[len(outer)] == '.' || inner[len(outer)] == '[')
}

// Required reports a field that is empty. It says whether the field is there.
func (k *Checker) Required(field, value, remedy string) bool {
	if value != "" {
		return true
	}
	k.Report(field, "is missing", remedy)
	return false
}

// Valid reports a text that is there and not valid. The message may quote it by %q.
func (k *Checker) Valid(field, text string, valid func(string) bool, message, remedy string) {
	k.ReportIf(text != "" && !valid(text), field, strings.ReplaceAll(message, "%q", strconv.Quote(text)), remedy)
}

// EachValid reports the texts of a list that are not valid.
func (k *Checker) EachValid(field string, texts []string, valid func(string) bool, message, remedy string) {
	for i, text := range texts {
		k.ReportIf(!valid(text), fmt.Sprintf("%s[%d]", field, i), fmt.Sprintf(message, text), remedy)
	}
}

// Join is the path of a key below a field.
func Join(field, key string) string {
	if field == "" {
		return key
	}
	return field + "." + key
}

const maxLabel = 63 // characters

// IsLabel reports whether text is one part of a DNS name, in lower case.
func IsLabel(text string) bool { return len(text) <= maxLabel && plainName.MatchString(text) }

// IsDomain reports whether text is DNS labels joined by dots, in lower case.
func IsDomain(text string) bool {
	if text == "" || len(text) > 253 {
		return false
	}
	for label := range strings.SplitSeq(text, ".") {
		if !IsLabel(label) {
			return false
		}
	}
	return true
}

// LowerRemedy says what to do about a name that is only wrong in its case.
func LowerRemedy(text string, valid func(string) bool) string {
	if lower := strings.ToLower(text); lower != text && valid(lower) {
		return fmt.Sprintf("write %q", lower)
	}
	return "use lower-case letters, digits and dashes"
}

var repository = regexp.MustCompile(`^[a-z0-9][a-z0-9.-]*(:[0-9]+)?(/[a-z0-9._-]+)*$`)

// Repository checks a place in a registry.
func (k *Checker) Repository(field, text string) {
	if repository.MatchString(text) {
		return
	}
	remedy := "write registry/repository, without a scheme, a tag and a digest"
	if _, rest, ok := strings.Cut(text, "://"); ok && repository.MatchString(rest) {
		remedy = fmt.Sprintf("write %q", rest)
	}
	k.Report(field, fmt.Sprintf("%q is not a place in a registry", text), remedy)
}

var plainName = regexp.MustCompile(`^[a-z0-9]([a-z0-9-]*[a-z0-9])?$`)

// Ignored checks ids of validations, and that the service lets them be ignored.
func (k *Checker) Ignored(field string, ids, never []string) {
	for i, id := range ids {
		at := fmt.Sprintf("%s[%d]", field, i)
		switch {
		case !plainName.MatchString(id):
			k.Report(at, fmt.Sprintf("%q cannot be the id of a validation", id), "")
		case slices.Contains(never, id):
			k.Report(at, fmt.Sprintf("the service does not let %s be ignored", id), "")
		}
	}
}

// Listed checks a name that stands in a list once.
func (k *Checker) Listed(field, what, name string, before []string) {
	switch {
	case !plainName.MatchString(name):
		k.Report(field, fmt.Sprintf("%q cannot be the name of %s", name, what), "use lower-case letters, digits and dashes")
	case slices.Contains(before, name):
		k.Report(field, fmt.Sprintf("%s appears here twice", name), "")
	}
}

var labelName = regexp.MustCompile(`^[A-Za-z0-9]([A-Za-z0-9_.-]*[A-Za-z0-9])?$`)

// IsLabelName reports whether text can be the name, or the value, of a Kubernetes label.
func IsLabelName(text string) bool { return len(text) <= maxLabel && labelName.MatchString(text) }

// Labels checks the syntax of Kubernetes labels.
func (k *Checker) Labels(field string, labels map[string]string) {
	for key, value := range labels {
		k.LabelKey(Join(field, key), "a label", key)
		k.LabelValue(Join(field, key), "a label", value)
	}
}

// LabelKey checks the key of a label, or of something that is written like one.
func (k *Checker) LabelKey(field, of, key string) {
	prefix, name, found := strings.Cut(key, "/")
	if !found {
		prefix, name = "", key
	}
	if !IsLabelName(name) || found && !IsDomain(prefix) {
		k.Report(field, fmt.Sprintf("%q cannot be the key of %s", key, of),
			"use letters, digits, dashes, dots and underscores, with a DNS domain and a slash before them if wanted")
	}
}

// LabelValue checks the value of a label, or of something that is written like one. It
// may be empty.
func (k *Checker) LabelValue(field, of, value string) {
	if value != "" && !IsLabelName(value) {
		k.Report(field, fmt.Sprintf("%q cannot be the value of %s", value, of), "use at most 63 letters, digits, dashes, dots and underscores")
	}
}

const ownDomain = "oaictl.io/"

// AgentLabels checks labels of objects, among which oaictl has some of its own.
func (k *Checker) AgentLabels(field string, labels map[string]string) {
	k.Labels(field, labels)
	for key := range labels {
		k.ReportIf(strings.HasPrefix(key, ownDomain), Join(field, key), "is a label that oaictl uses to find its objects", "use another key")
	}
}

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
		which := fmt.Sprintf("entry number %[2]d (in alphabetical order) of its %[1]d auths", len(secret.Auths), i+1)
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
		return fmt.Errorf("it has an unexpected %s at byte %d", kind.Value, kind.Offset)
	default:
		return errors.New("it is not JSON")
	}
}

var keyTypes = []string{"ssh-rsa", "ssh-ed25519", "ecdsa-sha2-nistp256", "ecdsa-sha2-nistp384", "ecdsa-sha2-nistp521"}

// KeyError is what is wrong with a public key: its type stands once more in it (RFC
// 4253).
func KeyError(line string) error {
	parts := strings.Fields(line)
	if !slices.Contains(keyTypes, parts[0]) {
		if len(parts) > 1 && len(parts[0]) < 40 {
			return errors.New("is not a public key of a type that the service accepts (" + strings.Join(keyTypes, ", ") + ")")
		}
		return errors.New("is not a public key")
	}
	if len(parts) < 2 {
		return fmt.Errorf("has the type %s, but no key", parts[0])
	}
	blob, err := base64.StdEncoding.DecodeString(parts[1])
	if err != nil || len(blob) < 4 {
		return errors.New("is not a public key: the text after its type is not base64")
	}
	size := binary.BigEndian.Uint32(blob)
	if uint64(size) > uint64(len(blob)-4) || string(blob[4:4+size]) != parts[0] {
		return fmt.Errorf("is truncated or damaged: its type is %s, but its content is different", parts[0])
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
			return fmt.Errorf("certificate number %d is truncated or damaged", n)
		case strings.Contains(block.Type, "PRIVATE KEY"):
			return errors.New("holds a private key")
		case block.Type != "CERTIFICATE":
			return fmt.Errorf("block number %d is not a certificate", n)
		}
		if _, err := x509.ParseCertificate(block.Bytes); err != nil {
			return fmt.Errorf("certificate number %d cannot be read", n)
		}
		rest = after
	}
	return nil
}

// ManifestError is why a manifest cannot be read. A patch is a list (RFC 6902).
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
			k.Report(Join(field, name), "a secret must not be in the file itself", "use the field that this format has for it")
		}
	}
	if _, err := Marshal(values); err != nil {
		k.Report(field, "contains a number that JSON cannot represent", "")
	}
}

// KeyLines is the keys in a file, without empty lines and comments.
func KeyLines(text string) []string {
	var keys []string
	for line := range strings.Lines(text) {
		if line = strings.TrimSpace(line); line != "" && !strings.HasPrefix(line, "#") {
			keys = append(keys, line)
		}
	}
	return keys
}

// Marshal is compact JSON with its keys sorted.
func Marshal(value any) (string, error) {
	text, err := json.Marshal(value)
	if err != nil {
		return "", fmt.Errorf("writing JSON: %w", err)
	}
	return string(text), nil
}

// Merge is base with over on top: maps are merged, everything else is replaced.
func Merge(base, over map[string]any) map[string]any {
	result := make(map[string]any, len(base)+len(over))
	maps.Copy(result, base)
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
