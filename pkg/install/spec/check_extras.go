package spec

import (
	"encoding/json"
	"fmt"
	"net/netip"
	"net/url"
	"regexp"
	"slices"
	"strings"

	"github.com/oaictl/oaictl/internal/yamltree"
)

var (
	repository   = regexp.MustCompile(`^[a-z0-9][a-z0-9.-]*(:[0-9]+)?(/[a-z0-9._-]+)*$`)
	manifestName = regexp.MustCompile(`^[^/\s]*\.(json|ya?ml(\.patch_?[A-Za-z0-9_]*)?)$`)
	plainName    = regexp.MustCompile(`^[a-z0-9]([a-z0-9-]*[a-z0-9])?$`)
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
		if k.required(field+".source", mirror.Source, "write what is mirrored, such as quay.io/openshift-release-dev/ocp-release") {
			k.repository(field+".source", mirror.Source)
		}
		if len(mirror.Mirrors) == 0 {
			k.report(field+".mirrors", "is missing", "list where to pull from instead")
		}
		for j, target := range mirror.Mirrors {
			k.repository(fmt.Sprintf("%s.mirrors[%d]", field, j), target)
		}
		for _, other := range mirrors[:i] {
			if other.Source == mirror.Source && mirror.Source != "" {
				k.report(field+".source", fmt.Sprintf("%s stands here twice", mirror.Source), "write one entry with all its mirrors")
			}
		}
	}
}

func (k *checker) repository(field, text string) {
	if repository.MatchString(text) {
		return
	}
	remedy := "write registry/repository, without a scheme, a tag and a digest"
	if _, rest, ok := strings.Cut(text, "://"); ok && repository.MatchString(rest) {
		remedy = fmt.Sprintf("write %q", rest)
	}
	k.report(field, fmt.Sprintf("%q is not a place in a registry", text), remedy)
}

func (k *checker) manifests() {
	seen := map[string]bool{}
	for _, m := range k.cluster.ManifestFiles() {
		id := string(m.Folder) + "/" + m.Name
		switch {
		case !manifestName.MatchString(m.Name):
			k.report(m.Field, fmt.Sprintf("%q cannot be the name of a manifest", m.Name), "it ends in .yaml, .yml or .json, and has no spaces")
		case seen[id]:
			k.report(m.Field, fmt.Sprintf("there is another manifest %s", id), "the second would replace the first; give it another name")
		case len(m.Content) > maxManifestSize:
			k.report(m.Field, fmt.Sprintf("the manifest %s is larger than 1 MiB", m.Name), "")
		default:
			if message := manifestError(m); message != "" {
				k.report(m.Field, fmt.Sprintf("the manifest %s %s", m.Name, message), "")
			}
		}
		seen[id] = true
	}
}

// manifestError says why a manifest cannot be read. A patch is a list of
// operations (RFC 6902).
func manifestError(m Manifest) string {
	if strings.HasSuffix(m.Name, ".json") {
		var any any
		if err := json.Unmarshal([]byte(m.Content), &any); err != nil {
			return "cannot be read: " + jsonError(err).Error()
		}
		return ""
	}
	docs, problems := yamltree.Parse([]byte(m.Content))
	if len(problems) > 0 {
		return fmt.Sprintf("cannot be read: line %d %s", problems[0].At.Line, problems[0].Message)
	}
	if strings.Contains(m.Name, ".patch") && (len(docs) != 1 || docs[0].Kind != yamltree.List) {
		return "is not a list of JSON patch operations"
	}
	return ""
}

func (k *checker) extras() {
	s := k.cluster.Spec
	k.proxies(s.Proxy)
	k.encryption(s.DiskEncryption)
	k.roles("spec.hyperthreading", s.Hyperthreading)
	k.operators()
	for i, argument := range s.Discovery.KernelArgs {
		if !kernelArgument.MatchString(argument) {
			k.report(fmt.Sprintf("spec.discovery.kernelArgs[%d]", i), fmt.Sprintf("%q is not one kernel argument", argument), "write each argument as an entry of its own, such as console=ttyS0; spaces stand in double quotes")
		}
	}
	k.ignored("spec.ignoreValidations.cluster", s.IgnoreValidations.Cluster, []string{"api-vips-defined", "ingress-vips-defined", "all-hosts-are-ready-to-install", "sufficient-masters-count", "pull-secret-set"})
	k.ignored("spec.ignoreValidations.hosts", s.IgnoreValidations.Hosts, []string{"connected", "has-inventory", "inventory-not-fully-truncated", "machine-cidr-defined", "hostname-unique", "hostname-valid"})
	k.overrides("spec.overrides.installConfig", s.Overrides.InstallConfig, "pullSecret")
	k.overrides("spec.overrides.infraEnv", s.Overrides.InfraEnv, "pull_secret")
	k.overrides("spec.overrides.host", s.Overrides.Host, "fencing_credentials", "ignition_endpoint_token")
	if s.Boot.Method == BootRedfish && len(s.Hosts) == 0 {
		k.report("spec.boot.method", "is redfish, but no hosts are listed", "list the hosts with their BMCs")
	}
	if s.Boot.Method == BootMetal3 && !slices.ContainsFunc(s.Hosts, func(h Host) bool { return h.BMC != nil }) {
		k.report("spec.boot.method", "is metal3, but no host has a bmc", "write the BMCs of the hosts that the hub is to boot")
	}
	if e := s.IgnitionEndpoint; e != nil && k.required("spec.ignitionEndpoint.url", e.URL, "write the address of the machine config server") {
		k.url("spec.ignitionEndpoint.url", e.URL, "http", "https")
	}
}

func (k *checker) overrides(field string, values map[string]any, secrets ...string) {
	for _, name := range secrets {
		if _, has := values[name]; has {
			k.report(join(field, name), "a secret never stands in the file itself", "use the field that this format has for it")
		}
	}
	if _, err := marshal(values); err != nil {
		k.report(field, "holds a number that JSON has no notation for", "")
	}
}

// ignored checks ids of validations, and that the service lets them be ignored.
func (k *checker) ignored(field string, ids, never []string) {
	for i, id := range ids {
		at := fmt.Sprintf("%s[%d]", field, i)
		switch {
		case !plainName.MatchString(id):
			k.report(at, fmt.Sprintf("%q cannot be the id of a validation", id), "")
		case slices.Contains(never, id):
			k.report(at, fmt.Sprintf("the service does not let %s be ignored", id), "")
		}
	}
}

func (k *checker) proxies(p Proxy) {
	if p.HTTP != "" {
		k.url("spec.proxy.http", p.HTTP.Reveal(), "http")
	}
	if p.HTTPS != "" {
		k.url("spec.proxy.https", p.HTTPS.Reveal(), "http", "https")
	}
	for i, text := range p.No {
		if !isNoProxy(text) {
			field := fmt.Sprintf("spec.proxy.no[%d]", i)
			k.report(field, fmt.Sprintf("%q is neither a host, a .domain, an address nor a network", text), "")
		}
	}
}

func isNoProxy(text string) bool {
	if text == "*" || isDomain(strings.TrimPrefix(strings.ToLower(text), ".")) {
		return true
	}
	if _, err := netip.ParsePrefix(text); err == nil {
		return true
	}
	_, err := netip.ParseAddr(text)
	return err == nil
}

// url checks an address without repeating it: it may hold a password.
func (k *checker) url(field, text string, schemes ...string) {
	parsed, err := url.Parse(text)
	switch {
	case err != nil || parsed.Host == "" || parsed.Hostname() == "":
		k.report(field, "is not a URL", fmt.Sprintf("write it as %s://HOST:PORT", schemes[0]))
	case !slices.Contains(schemes, parsed.Scheme):
		k.report(field, fmt.Sprintf("the scheme %q cannot be used here", parsed.Scheme), "use "+strings.Join(schemes, " or "))
	}
}

func (k *checker) encryption(e *DiskEncryption) {
	if e == nil {
		return
	}
	const field = "spec.diskEncryption"
	k.required(field+".mode", string(e.Mode), "write tpm, or tang")
	k.roles(field+".on", e.On)
	switch {
	case e.Mode == Tang && len(e.Tang) == 0:
		k.report(field+".tang", "is missing", "list the Tang servers")
	case e.Mode == TPM && len(e.Tang) > 0:
		k.report(field+".tang", "goes with mode tang, but the mode is tpm", "")
	}
	for i, server := range e.Tang {
		at := fmt.Sprintf("%s.tang[%d]", field, i)
		if k.required(at+".url", server.URL, "write the address of the Tang server") {
			k.url(at+".url", server.URL, "http", "https")
		}
		if k.required(at+".thumbprint", server.Thumbprint, "write the thumbprint as tang-show-keys prints it") && !thumbprint.MatchString(server.Thumbprint) {
			k.report(at+".thumbprint", fmt.Sprintf("%q is not a thumbprint", server.Thumbprint), "write it as tang-show-keys prints it")
		}
	}
}

func (k *checker) roles(field string, set RoleSet) {
	if _, unknown := set.normalise(); len(unknown) > 0 {
		k.report(field, fmt.Sprintf("%q is not a role", unknown[0]), "use all, none, or some of control-plane, worker and arbiter")
		return
	}
	if len(set) > 1 && (slices.Contains(set, AllRoles) || slices.Contains(set, NoRoles)) {
		k.report(field, "all and none stand alone", "")
	}
}

func (k *checker) operators() {
	var names, ids []string
	for i, operator := range k.cluster.Spec.Operators {
		field := fmt.Sprintf("spec.operators[%d]", i)
		if k.required(field+".name", operator.Name, "name the operator") {
			k.listed(field+".name", "an operator", operator.Name, names)
			names = append(names, operator.Name)
		}
		k.overrides(field+".properties", operator.Properties)
	}
	for i, bundle := range k.cluster.Spec.Bundles {
		field := fmt.Sprintf("spec.bundles[%d]", i)
		if k.required(field+".id", bundle.ID, "name the bundle") {
			k.listed(field+".id", "a bundle", bundle.ID, ids)
			ids = append(ids, bundle.ID)
		}
		for j, name := range bundle.Optional {
			k.listed(fmt.Sprintf("%s.optional[%d]", field, j), "an operator", name, bundle.Optional[:j])
		}
	}
}

func (k *checker) listed(field, what, name string, before []string) {
	switch {
	case !plainName.MatchString(name):
		k.report(field, fmt.Sprintf("%q cannot be the name of %s", name, what), "use lower-case letters, digits and dashes")
	case slices.Contains(before, name):
		k.report(field, fmt.Sprintf("%s stands here twice", name), "")
	}
}
