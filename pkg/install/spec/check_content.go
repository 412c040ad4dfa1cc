package spec

import (
	"fmt"
	"strings"

	"github.com/oaictl/oaictl/pkg/install/spec/internal/values"
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
		k.Report(field, "is missing", "get one from https://console.redhat.com/openshift/install/pull-secret and write pullSecret: {file: PATH}")
		return
	}
	if source.Secret().IsZero() {
		return // a secretRef, or reported already
	}
	if err := values.PullSecretError(source.Secret().Reveal()); err != nil {
		k.Report(field, "is not a pull secret: "+err.Error(), `it is JSON of the form {"auths": {REGISTRY: {"auth": …}}}, as console.redhat.com gives it out`)
	}
}

func (k *checker) sshKeys() {
	for i := range k.cluster.Spec.SSHKeys {
		field := fmt.Sprintf("spec.sshKeys[%d]", i)
		source := &k.cluster.Spec.SSHKeys[i]
		text := source.Text()
		if text == "" {
			continue
		}
		if strings.Contains(text, "PRIVATE KEY") {
			k.Report(field, "is a private key", "give the public one; its file ends in .pub")
			continue
		}
		lines := values.KeyLines(text)
		if len(lines) == 0 {
			k.Report(field, "holds no key", "")
		}
		for _, line := range lines {
			if err := values.KeyError(line); err != nil {
				k.Report(field, err.Error(), "give a public key as ssh-keygen makes it: ssh-ed25519 AAAA…")
				break
			}
		}
	}
}

func (k *checker) certificates(field string, source *PublicSource) {
	text := strings.TrimSpace(source.Text())
	if text == "" {
		return
	}
	if err := values.CertificatesError(text); err != nil {
		k.Report(field, err.Error(), "give certificates in PEM form: -----BEGIN CERTIFICATE-----")
	}
}

// ignition checks that a document is Ignition of a version that the service
// takes.
func (k *checker) ignition(field string, d *Document) {
	if d.Text() == "" {
		return
	}
	object, err := d.object()
	if err != nil {
		k.Report(field, err.Error(), "")
		return
	}
	header, _ := object["ignition"].(map[string]any)
	version, _ := header["version"].(string)
	switch {
	case !strings.HasPrefix(version, "3."):
		k.Report(field, "is not Ignition of version 3", `write ignition: {version: "3.1.0"} in it; Butane has to be translated first`)
	case version != "3.1.0" && version != "3.2.0":
		k.Report(field, "is Ignition of version "+version+", of which the service takes 3.1.0 and 3.2.0 only",
			`write ignition: {version: "3.2.0"} in it, and leave out what only later versions know`)
	}
}
