// Package request is what users ask the simulated service for: the bodies of
// requests, their checks in the words and the order of the service, and what they
// make of clusters, infra-envs and hosts.
package request

import (
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"net"
	"net/http"
	"net/netip"
	"net/url"
	"path"
	"regexp"
	"slices"
	"strings"

	"github.com/goccy/go-yaml"

	"github.com/oaictl/oaictl/internal/simulator/service/model"
	"github.com/oaictl/oaictl/internal/simulator/service/validate"
	"github.com/oaictl/oaictl/internal/simulator/service/wire"
	"github.com/oaictl/oaictl/internal/simulator/versions"
)

// The shapes of what users type. They are constants in all but name.
var (
	nameShape    = regexp.MustCompile(`^([a-z0-9]([-a-z0-9]*[a-z0-9])?)$`)
	dottedShape  = regexp.MustCompile(`^([a-z0-9]([-a-z0-9]*[a-z0-9])?)(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*$`)
	domainShape  = regexp.MustCompile(`^([a-z\d]([\-]*[a-z\d]+)*\.)+[a-z\d]+([\-]*[a-z\d]+)+$`)
	dottedDigits = regexp.MustCompile(`([\d]+\.){3}[\d]+`)
	sshShape     = regexp.MustCompile(`^(ssh-rsa AAAAB3NzaC1yc2|ssh-ed25519 AAAAC3NzaC1lZDI1NTE5|ecdsa-[-a-z0-9]+ AAAAE2VjZHNh)` +
		`[0-9A-Za-z+/]*={0,3}( .*)?$`)
	tagsShape = regexp.MustCompile(`^\w+( \w+)*(,\w+( \w+)*)*$`)
	ntpShape  = regexp.MustCompile(`^[a-z0-9][a-z0-9\-\.]*[a-z0-9]$`)
	hostShape = regexp.MustCompile(`^[a-zA-Z0-9]([-a-zA-Z0-9]*[a-zA-Z0-9])?(\.[a-zA-Z0-9]([-a-zA-Z0-9]*[a-zA-Z0-9])?)*$`)
)

func checkName(name, platform string) error {
	shape := nameShape
	if platform == model.PlatformNone {
		shape = dottedShape
	}
	if !shape.MatchString(name) {
		return wire.BadRequest("Cluster name format is not valid: '%s'. Name must start and end with either a letter or number and consist of "+
			"lower-case letters, numbers, and hyphens. Subdomains in cluster names are only valid with none platform.", name)
	}
	return nil
}

// CheckPullSecret refuses a pull secret that cannot be used.
func CheckPullSecret(text string) error {
	var secret model.PullSecret
	if err := json.Unmarshal([]byte(text), &secret); err != nil {
		return errors.New("pull secret must be a well-formed JSON")
	}
	if len(secret.Auths) == 0 {
		return errors.New("pull secret must contain 'auths' JSON-object field")
	}
	for _, registry := range slices.Sorted(maps.Keys(secret.Auths)) {
		entry := secret.Auths[registry]
		if entry.Auth == "" {
			return fmt.Errorf("invalid pull secret: %q JSON-object requires either 'auth' field", registry)
		}
		plain, err := base64.StdEncoding.DecodeString(entry.Auth)
		if err != nil {
			return fmt.Errorf("invalid pull secret: 'auth' fields of %s are not base64-encoded", registry)
		}
		if user, _, found := strings.Cut(string(plain), ":"); !found || user == "" {
			return fmt.Errorf("invalid pull secret: auth for %s has invalid format", registry)
		}
	}
	return nil
}

func checkSSHKeys(keys string) error {
	for line := range strings.SplitSeq(strings.TrimSpace(keys), "\n") {
		if line = strings.TrimSpace(line); line != "" && !sshShape.MatchString(line) {
			return wire.BadRequest("SSH key: %s does not match any supported type: ssh-rsa, ssh-ed25519, ecdsa-[VARIANT]", keys)
		}
	}
	return nil
}

// CheckDomain refuses what is no name of a domain.
func CheckDomain(name string) error {
	if !domainShape.MatchString(name) || dottedDigits.MatchString(name) || len(name) > 255 {
		return wire.BadRequest("DNS format mismatch: %s domain name is not valid. Must match regex [%s], be no more than 255 characters, and "+
			"not be in dotted decimal format (##.##.##.##)", name, domainShape)
	}
	return nil
}

func checkAnyDomain(name string) error {
	if name == "" {
		return nil
	}
	return CheckDomain(name)
}

func checkTags(tags string) error {
	if tags != "" && !tagsShape.MatchString(tags) {
		return wire.BadRequest("Invalid format for Tags: %s. Tags should be a comma-separated list (e.g. tag1,tag2,tag3). Each tag can consist "+
			"of the following characters: Alphanumeric (aA-zZ, 0-9), underscore (_) and white-spaces.", tags)
	}
	return nil
}

func checkNetworkType(kind, version string) error {
	if kind == "OpenShiftSDN" && versions.AtLeast(version, "4.15") {
		return wire.BadRequest("Openshift version %s is not supported for OpenShiftSDN NetworkType", version)
	}
	return nil
}

func checkProxies(plain, secure, none *string, version string) error {
	for _, p := range []struct {
		name    string
		text    *string
		schemes []string
	}{{"HTTP", plain, []string{"http"}}, {"HTTPS", secure, []string{"http", "https"}}} {
		text := model.Value(p.text)
		if text == "" {
			continue
		}
		u, err := url.Parse(text)
		if err != nil || u.Scheme == "" {
			return wire.BadRequest("Failed to validate %s Proxy: Proxy URL format is not valid: '%s'", p.name, text)
		}
		if !slices.Contains(p.schemes, u.Scheme) {
			return wire.BadRequest("Failed to validate %s Proxy: The URL scheme must be %s and specified in the URL: '%s'", p.name,
				strings.Join(p.schemes, " or "), text)
		}
	}
	return checkNoProxy(model.Value(none))
}

// checkNoProxy takes anything beside an asterisk, and nothing twice.
func checkNoProxy(list string) error {
	if list == "" || strings.Contains(list, "*") {
		return nil
	}
	seen := map[string]bool{}
	for part := range strings.SplitSeq(list, ",") {
		if seen[part] {
			return wire.BadRequest("duplicate no_proxy entry defined: %s", part)
		}
		seen[part] = true
		part = strings.TrimPrefix(part, ".")
		if _, err := netip.ParsePrefix(part); err == nil || net.ParseIP(part) != nil || hostShape.MatchString(part) {
			continue
		}
		return wire.BadRequest("NO Proxy is a comma-separated list of destination domain names, domains, IP addresses or other network CIDRs. "+
			"A domain can be prefaced with '.' to include all subdomains of that domain. Use '*' to bypass proxy for all destinations with "+
			"OpenShift 4.8 or later.: %s is not a valid no_proxy entry", part)
	}
	return nil
}

func checkNtpSources(list string) error {
	if list == "" {
		return nil
	}
	for source := range strings.SplitSeq(list, ",") {
		if net.ParseIP(source) == nil && (len(source) > 63 || !ntpShape.MatchString(source)) {
			return wire.BadRequest("Invalid NTP source: %s", list)
		}
	}
	return nil
}

func problem(format string, args ...any) error {
	return wire.BadRequest("%s", wire.Problems(fmt.Sprintf(format, args...)))
}

func checkVips(c *model.Cluster, api, ingress []model.VIP) error {
	if len(api)+len(ingress) == 0 {
		return nil
	}
	if c.UserManaged() {
		return wire.BadRequest("API VIPs cannot be set with User Managed Networking")
	}
	if c.AllocatesVips() {
		return wire.BadRequest("Setting API VIPs is forbidden when cluster is in vip-dhcp-allocation mode")
	}
	if len(api) != len(ingress) {
		return problem("configuration must include the same number of apiVIPs (got %d) and ingressVIPs (got %d)", len(api), len(ingress))
	}
	for _, list := range []struct {
		name string
		vips []model.VIP
	}{{"apiVIPs", api}, {"ingressVIPs", ingress}} {
		if err := checkFamilies(list.name, list.vips); err != nil {
			return err
		}
	}
	for i, a := range api {
		for _, b := range ingress {
			if a.IP == b.IP && !c.UserBalanced() {
				return problem("The IP address \"%s\" appears both in apiVIPs and ingressVIPs", a.IP)
			}
		}
		for _, v := range []struct{ name, ip string }{{"api-vip", a.IP}, {"ingress-vip", ingress[i].IP}} {
			if len(c.MachineNetworks) == 0 || validate.InAny(v.ip, c.MachineNetworks) {
				continue
			}
			if c.UserBalanced() {
				return wire.BadRequest("%s", validate.Elsewhere(v.name, v.ip, c.MachineNetworks))
			}
			return problem(
				"%s <%s> does not belong to machine-network-cidr <%s>", v.name, v.ip, c.MachineNetworks[min(i, len(c.MachineNetworks)-1)].CIDR,
			)
		}
	}
	return nil
}

func checkFamilies(name string, vips []model.VIP) error {
	var v4, v6 int
	for _, v := range vips {
		addr, err := netip.ParseAddr(v.IP)
		switch {
		case err != nil:
			return wire.BadRequest("Could not parse VIP ip %s", v.IP)
		case addr.Is4():
			v4++
		default:
			v6++
		}
	}
	switch {
	case len(vips) > 2:
		return problem("%s supports at most 2 addresses, got %d", name, len(vips))
	case len(vips) == 2 && v6 == 0:
		return wire.BadRequest("dual-stack %s must include exactly one IPv6 address", name)
	case len(vips) == 2 && v4 == 0:
		return wire.BadRequest("dual-stack %s must include exactly one IPv4 address", name)
	}
	return nil
}

func arbiterAllowed(c *model.Cluster) error {
	if !versions.AtLeast(c.OpenshiftVersion, "4.19") {
		return wire.BadRequest("cannot use TNA Clusters because it's not compatible with the %s architecture on version %s of OpenShift",
			c.CPUArchitecture, c.OpenshiftVersion)
	}
	return nil
}

var manifestShape = regexp.MustCompile(`^[^/]*\.(json|ya?ml(\.patch_?[a-zA-Z0-9_]*)?)$`)

const manifestPattern = `^[^\/]*\.(json|ya?ml(\.patch_?[a-zA-Z0-9_]*)?)$`

const maxManifest = 1 << 20

// CheckManifestName refuses what a manifest may not be called.
func CheckManifestName(field, name string) error {
	if !manifestShape.MatchString(name) {
		return wire.Malformed("%s in body should match '%s'", field, manifestPattern)
	}
	return nil
}

// ManifestContent decodes and checks a manifest.
func ManifestContent(c *model.Cluster, folder, name, encoded string) ([]byte, error) {
	if strings.ContainsRune(name, ' ') {
		return nil, wire.Refuse(http.StatusUnprocessableEntity, "Cluster manifest %s for cluster %s should not include a space in its name.",
			name, c.ID)
	}
	content, err := base64.StdEncoding.DecodeString(encoded)
	if err != nil {
		return nil, wire.BadRequest("failed to base64-decode cluster manifest content for cluster %s", c.ID)
	}
	if len(content) > maxManifest {
		return nil, wire.BadRequest("Manifest content of file %s/%s for cluster ID %s exceeds the maximum file size of 1MiB", folder, name, c.ID)
	}
	where := folder + "/" + name
	switch {
	case strings.Contains(path.Ext(name), ".patch"):
		return content, checkPatch(c, where, content)
	case path.Ext(name) == ".json":
		if !json.Valid(content) {
			return nil, wire.BadRequest("Manifest content of file %s for cluster ID %s has an illegal JSON format", where, c.ID)
		}
	default:
		if err := yaml.Unmarshal(content, new(any)); err != nil {
			return nil, wire.BadRequest("Manifest content of file %s for cluster ID %s has an invalid YAML format: yaml: %s", where, c.ID,
				yamlProblem(err))
		}
	}
	return content, nil
}

func checkPatch(c *model.Cluster, where string, content []byte) error {
	var patch any
	if err := yaml.Unmarshal(content, &patch); err != nil {
		return wire.BadRequest("Patch content of file %s for cluster ID %s is invalid: yaml: %s", where, c.ID, yamlProblem(err))
	}
	if list, ok := patch.([]any); !ok || len(list) == 0 {
		return wire.BadRequest("Patch content of file %s for cluster ID %s is invalid: yaml: unmarshal errors:\n  line 1: cannot unmarshal "+
			"!!map into yamlpatch.Patch", where, c.ID)
	}
	return nil
}

// yamlProblem puts a parser's complaint into the words of the usual YAML library.
func yamlProblem(err error) string {
	if strings.Contains(err.Error(), "map") {
		return "mapping values are not allowed in this context"
	}
	return wire.FirstLine(err.Error())
}
