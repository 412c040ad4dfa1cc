package spec

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
)

// contents checks what was read: the pull secret, keys, certificates, Ignition.
// No message repeats any of it.
func (k *checker) contents() {
	k.pullSecret()
	k.sshKeys()
	s := k.cluster.Spec
	k.certificates("spec.registry.trustBundle", s.Registry.TrustBundle)
	if s.IgnitionEndpoint != nil {
		k.certificates("spec.ignitionEndpoint.ca", s.IgnitionEndpoint.CA)
	}
	k.ignition("spec.discovery.ignition", s.Discovery.Ignition)
	for i := range s.Hosts {
		k.ignition(hostField(i, "ignition"), s.Hosts[i].Ignition)
		if s.Hosts[i].BMC != nil {
			k.certificates(hostField(i, "bmc.ca"), s.Hosts[i].BMC.CA)
		}
	}
}

func (k *checker) pullSecret() {
	const field = "spec.pullSecret"
	source := &k.cluster.Spec.PullSecret
	if source.IsZero() && !k.cluster.Present(field) {
		k.report(field, "is missing", "get one from https://console.redhat.com/openshift/install/pull-secret and write pullSecret: {file: PATH}")
		return
	}
	if source.Secret().IsZero() {
		return // a secretRef, or reported already
	}
	if err := pullSecretError(source.Secret().Reveal()); err != nil {
		k.report(field, "is not a pull secret: "+err.Error(), `it is JSON of the form {"auths": {REGISTRY: {"auth": …}}}, as console.redhat.com gives it out`)
	}
}

func pullSecretError(text string) error {
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

// jsonError is what is wrong with JSON, without any of the JSON.
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

// keyTypes are the kinds of SSH keys that the service takes.
var keyTypes = []string{"ssh-rsa", "ssh-ed25519", "ecdsa-sha2-nistp256", "ecdsa-sha2-nistp384", "ecdsa-sha2-nistp521"}

func (k *checker) sshKeys() {
	for i := range k.cluster.Spec.SSHKeys {
		field := fmt.Sprintf("spec.sshKeys[%d]", i)
		source := &k.cluster.Spec.SSHKeys[i]
		text := source.Text()
		if text == "" {
			continue
		}
		if strings.Contains(text, "PRIVATE KEY") {
			k.report(field, "is a private key", "give the public one; its file ends in .pub")
			continue
		}
		lines := keyLines(text)
		if len(lines) == 0 {
			k.report(field, "holds no key", "")
		}
		for _, line := range lines {
			if err := keyError(line); err != nil {
				k.report(field, err.Error(), "give a public key as ssh-keygen makes it: ssh-ed25519 AAAA…")
				break
			}
		}
	}
}

// keyError says what is wrong with a line of a file of public keys: its type
// stands before the key and, by RFC 4253, once more in it.
func keyError(line string) error {
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

func (k *checker) certificates(field string, source *PublicSource) {
	text := strings.TrimSpace(source.Text())
	if text == "" {
		return
	}
	if err := certificatesError(text); err != nil {
		k.report(field, err.Error(), "give certificates in PEM form: -----BEGIN CERTIFICATE-----")
	}
}

func certificatesError(text string) error {
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

// ignition checks that a document is Ignition of a version that the service
// takes.
func (k *checker) ignition(field string, d *Document) {
	if d.Text() == "" {
		return
	}
	object, err := d.object()
	if err != nil {
		k.report(field, err.Error(), "")
		return
	}
	header, _ := object["ignition"].(map[string]any)
	version, _ := header["version"].(string)
	switch {
	case !strings.HasPrefix(version, "3."):
		k.report(field, "is not Ignition of version 3", `write ignition: {version: "3.1.0"} in it; Butane has to be translated first`)
	case version != "3.1.0" && version != "3.2.0":
		k.report(field, "is Ignition of version "+version+", of which the service takes 3.1.0 and 3.2.0 only",
			`write ignition: {version: "3.2.0"} in it, and leave out what only later versions know`)
	}
}
