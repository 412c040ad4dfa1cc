package spec

import (
	"fmt"
	"maps"
	"reflect"
	"regexp"
	"slices"
	"strings"

	"github.com/oaictl/oaictl/internal/shared/installcfg"
	"github.com/oaictl/oaictl/internal/shared/spelling"
	"github.com/oaictl/oaictl/pkg/install/spec/internal/values"
)

type checker struct {
	*values.Checker
	cluster  *Cluster
	problems *Problems
	astray   []astray // defaults that do not do for hosts
}

func newChecker(c *Cluster, problems *Problems, failed map[string]bool) *checker {
	report := func(field, message, remedy string) {
		problems.List = append(problems.List, c.Problem(field, message, remedy))
	}
	return &checker{Checker: &values.Checker{Failed: failed, Add: report}, cluster: c, problems: problems}
}

func hostField(i int, name string) string { return fmt.Sprintf("spec.hosts[%d].%s", i, name) }

// all runs every check, even if others have found problems.
func (k *checker) all() {
	k.words()
	switch {
	case k.cluster.nodes:
		k.nodes()
		k.networkDefaults()
	case k.cluster.Imported():
		k.identity()
		k.openshift()
		k.imported()
		k.networkDefaults()
	default:
		k.identity()
		k.openshift()
		k.platform()
		k.topology()
		k.networks()
		k.vips()
	}
	k.hosts()
	k.hostNetworks()
	k.defaultsAstray()
	k.contents()
	k.registry()
	k.manifests()
	k.extras()
	k.hub()
	k.discoveryImage()
}

func (k *checker) words() {
	walk(reflect.ValueOf(k.cluster).Elem(), "", func(v reflect.Value, field string) bool {
		if !mayBeWord(v) {
			return true
		}
		values, spellings := Words(v.Interface())
		if _, known := canonical(v.Interface(), v.String()); known || values == nil || v.String() == "" {
			return true
		}
		remedy := "it is one of " + strings.Join(values, ", ")
		if best := spelling.Nearest(v.String(), append(slices.Sorted(maps.Keys(spellings)), values...)); best != "" {
			best, _ = canonical(v.Interface(), best)
			remedy = fmt.Sprintf("did you mean %q?", best)
		}
		k.Report(field, fmt.Sprintf("%q is not known here", v.String()), remedy)
		return true
	})
}

// mayBeWord rules out values that cannot be one of the words that fields may have, without a closer check: structs,
// which would be copied, and plain texts are most of a file.
func mayBeWord(v reflect.Value) bool {
	switch v.Kind() {
	case reflect.String:
		return v.Type() != reflect.TypeFor[string]()
	case reflect.Slice:
		return !v.IsNil()
	}
	return false
}

// contents checks what was read. No message repeats any of it.
func (k *checker) contents() {
	k.pullSecret()
	s := k.cluster.Spec
	k.publicKeys("spec.sshKeys", s.SSHKeys)
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
		k.ReportIf(!k.cluster.nodes, field, "is missing",
			"get one from https://console.redhat.com/openshift/install/pull-secret and write pullSecret: {file: PATH}")
		return
	}
	k.pullSecretContent(field, source)
}

func (k *checker) pullSecretContent(field string, source *Source) {
	if source.Secret().IsZero() {
		return // a secretRef, or reported already
	}
	if err := values.PullSecretError(source.Secret().Reveal()); err != nil {
		k.Report(field, "is not a pull secret: "+err.Error(),
			`it is JSON of the form {"auths": {REGISTRY: {"auth": …}}}, as console.redhat.com gives it out`)
	}
}

func (k *checker) publicKey(field string, source *PublicSource) {
	text := source.Text()
	if text == "" {
		return
	}
	if strings.Contains(text, "PRIVATE KEY") {
		k.Report(field, "is a private key", "give the public one; its file ends in .pub")
		return
	}
	lines := values.KeyLines(text)
	k.ReportIf(len(lines) == 0, field, "holds no key", "")
	for _, line := range lines {
		if err := values.KeyError(line); err != nil {
			k.Report(field, err.Error(), "give a public key as ssh-keygen makes it: ssh-ed25519 AAAA…")
			return
		}
	}
}

func (k *checker) certificates(field string, source *PublicSource) {
	k.certificateText(field, source.Text())
}

func (k *checker) certificateText(field, text string) {
	if text = strings.TrimSpace(text); text == "" {
		return
	}
	if err := values.CertificatesError(text); err != nil {
		k.Report(field, err.Error(), "give certificates in PEM form: -----BEGIN CERTIFICATE-----")
	}
}

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
		k.Report(field, "is not Ignition of version 3", `write ignition: {version: "3.1.0"} in it; convert Butane to Ignition first`)
	case version != "3.1.0" && version != "3.2.0":
		k.Report(field, "is Ignition of version "+version+", but the service only accepts 3.1.0 and 3.2.0",
			`write ignition: {version: "3.2.0"} in it, and remove the fields of later versions`)
	}
}

var (
	manifestName = regexp.MustCompile(`^[^/\s]*\.(json|ya?ml(\.patch_?[A-Za-z0-9_]*)?)$`)
	thumbprint   = regexp.MustCompile(`^[A-Za-z0-9_-]{20,}$`)
	// kernelArgument is text without spaces, save in double quotes.
	kernelArgument = regexp.MustCompile(`^([^\s"]|"[^"\n\r]*")+$`)
)

// maxManifestSize is what the service takes, in bytes.
const maxManifestSize = 1 << 20

func (k *checker) registry() {
	mirrors := k.cluster.Spec.Registry.Mirrors
	for i, mirror := range mirrors {
		field := fmt.Sprintf("spec.registry.mirrors[%d]", i)
		if k.Required(field+".source", mirror.Source, "write what is mirrored, such as quay.io/openshift-release-dev/ocp-release") {
			k.Repository(field+".source", mirror.Source)
		}
		k.ReportIf(len(mirror.Mirrors) == 0, field+".mirrors", "is missing", "list the mirrors to pull from")
		for j, target := range mirror.Mirrors {
			k.Repository(fmt.Sprintf("%s.mirrors[%d]", field, j), target)
		}
		for _, other := range mirrors[:i] {
			if other.Source == mirror.Source && mirror.Source != "" {
				k.Report(field+".source", fmt.Sprintf("%s appears here twice", mirror.Source), "write one entry with all its mirrors")
			}
		}
	}
}

func (k *checker) manifests() {
	seen := map[string]bool{}
	for _, m := range k.cluster.ManifestFiles() {
		id := string(m.Folder) + "/" + m.Name
		switch {
		case !manifestName.MatchString(m.Name):
			k.Report(m.Field, fmt.Sprintf("%q cannot be the name of a manifest", m.Name), "it ends in .yaml, .yml or .json, and has no spaces")
		case seen[id]:
			k.Report(m.Field, fmt.Sprintf("there is another manifest %s", id), "the second would replace the first; give it another name")
		case len(m.Content) > maxManifestSize:
			k.Report(m.Field, fmt.Sprintf("the manifest %s is larger than 1 MiB", m.Name), "")
		default:
			if message := values.ManifestError(m.Name, m.Content); message != "" {
				k.Report(m.Field, fmt.Sprintf("the manifest %s %s", m.Name, message), "")
			}
		}
		seen[id] = true
	}
}

func (k *checker) extras() {
	s := k.cluster.Spec
	k.proxy("spec.proxy", s.Proxy)
	k.encryption(s.DiskEncryption)
	k.roleSets()
	k.operators()
	k.kernelArgs("spec.discovery.kernelArgs", s.Discovery.KernelArgs)
	k.Ignored("spec.ignoreValidations.cluster", s.IgnoreValidations.Cluster,
		[]string{"api-vips-defined", "ingress-vips-defined", "all-hosts-are-ready-to-install", "sufficient-masters-count", "pull-secret-set"})
	k.Ignored("spec.ignoreValidations.hosts", s.IgnoreValidations.Hosts,
		[]string{"connected", "has-inventory", "inventory-not-fully-truncated", "machine-cidr-defined", "hostname-unique", "hostname-valid"})
	k.Overrides("spec.overrides.installConfig", s.Overrides.InstallConfig, "pullSecret")
	for _, p := range installcfg.Check(s.Overrides.InstallConfig) {
		k.Report("spec.overrides.installConfig."+p.Path, p.Message, "omit it, or use a manifest: spec.manifests")
	}
	bundle, _ := s.Overrides.InstallConfig["additionalTrustBundle"].(string)
	k.certificateText("spec.overrides.installConfig.additionalTrustBundle", bundle)
	k.Overrides("spec.overrides.infraEnv", s.Overrides.InfraEnv, "pull_secret")
	k.Overrides("spec.overrides.host", s.Overrides.Host, "fencing_credentials", "ignition_endpoint_token")
	if s.Boot.Method == BootRedfish && len(s.Hosts) == 0 {
		k.Report("spec.boot.method", "is redfish, but no hosts are listed", "list the hosts with their BMCs")
	}
	if s.Boot.Method == BootMetal3 && !slices.ContainsFunc(s.Hosts, func(h Host) bool { return h.BMC != nil }) {
		k.Report("spec.boot.method", "is metal3, but no host has a bmc", "write the BMCs of the hosts that the hub must boot")
	}
	if e := s.IgnitionEndpoint; e != nil {
		k.Required("spec.ignitionEndpoint.url", e.URL, "write the address of the machine config server")
		k.URL("spec.ignitionEndpoint.url", e.URL, "http", "https")
	}
}

func (k *checker) proxy(field string, p Proxy) {
	k.URL(field+".http", p.HTTP.Reveal(), "http")
	k.URL(field+".https", p.HTTPS.Reveal(), "http", "https")
	k.NoProxy(field+".noProxy", p.No)
}

func (k *checker) kernelArgs(field string, args []string) {
	k.EachValid(field, args, kernelArgument.MatchString, "%q is not one kernel argument",
		"write each argument as a separate entry, such as console=ttyS0; put values with spaces in double quotes")
}

func (k *checker) encryption(e *DiskEncryption) {
	if e == nil {
		return
	}
	const field = "spec.diskEncryption"
	k.Required(field+".mode", string(e.Mode), "write tpm, or tang")
	switch {
	case e.Mode == Tang && len(e.Tang) == 0:
		k.Report(field+".tang", "is missing", "list the Tang servers")
	case e.Mode == TPM && len(e.Tang) > 0:
		k.Report(field+".tang", "goes with mode tang, but the mode is tpm", "")
	}
	for i, server := range e.Tang {
		at := fmt.Sprintf("%s.tang[%d]", field, i)
		k.Required(at+".url", server.URL, "write the address of the Tang server")
		k.URL(at+".url", server.URL, "http", "https")
		k.Required(at+".thumbprint", server.Thumbprint, "write the thumbprint as tang-show-keys prints it")
		k.Valid(at+".thumbprint", server.Thumbprint, thumbprint.MatchString, "%q is not a thumbprint", "write it as tang-show-keys prints it")
	}
}

func (k *checker) roleSets() {
	walk(reflect.ValueOf(k.cluster).Elem(), "", func(v reflect.Value, field string) bool {
		if v.Type() == reflect.TypeFor[RoleSet]() {
			k.roles(field, v.Interface().(RoleSet))
		}
		return field != "spec.hosts"
	})
}

func (k *checker) roles(field string, set RoleSet) {
	if _, unknown := set.Normalise(); len(unknown) > 0 {
		k.Report(field, fmt.Sprintf("%q is not a role", unknown[0]), "use all, none, or some of control-plane, worker and arbiter")
		return
	}
	k.ReportIf(len(set) > 1 && (slices.Contains(set, AllRoles) || slices.Contains(set, NoRoles)), field,
		"all and none cannot be combined with other values", "")
}

func (k *checker) operators() {
	var names, ids []string
	for i, operator := range k.cluster.Spec.Operators {
		field := fmt.Sprintf("spec.operators[%d]", i)
		if k.Required(field+".name", operator.Name, "name the operator") {
			k.Listed(field+".name", "an operator", operator.Name, names)
			names = append(names, operator.Name)
		}
		k.Overrides(field+".properties", operator.Properties)
	}
	for i, bundle := range k.cluster.Spec.Bundles {
		field := fmt.Sprintf("spec.bundles[%d]", i)
		if k.Required(field+".id", bundle.ID, "name the bundle") {
			k.Listed(field+".id", "a bundle", bundle.ID, ids)
			ids = append(ids, bundle.ID)
		}
		for j, name := range bundle.Optional {
			k.Listed(fmt.Sprintf("%s.optional[%d]", field, j), "an operator", name, bundle.Optional[:j])
		}
	}
}
