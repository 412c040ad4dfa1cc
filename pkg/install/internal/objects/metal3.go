package objects

import (
	"fmt"
	"net/url"
	"strings"

	"k8s.io/apimachinery/pkg/util/validation"

	"github.com/oaictl/oaictl/internal/hubapi"
	"github.com/oaictl/oaictl/pkg/install/spec"
)

// virtualMedia is metal3's scheme for booting over Redfish from an image that
// the BMC fetches itself, as oaictl's own way over Redfish does.
const virtualMedia = "redfish-virtualmedia"

// systemsPath is where Redfish (DSP0266) has its systems.
const systemsPath = "/redfish/v1/Systems/"

// Metal3Address is the address of a host's BMC as metal3 takes it: a URL whose
// scheme names the driver and whose path names the system.
func (h *Maker) Metal3Address(host *spec.Host) string {
	address := host.BMC.Address
	if !strings.Contains(address, "://") {
		address = virtualMedia + "://" + bracketed(address)
	}
	parsed, err := url.Parse(address)
	if err != nil {
		h.RefuseHost(host, "bmc.address", "is no address that metal3 takes", "write a URL such as redfish-virtualmedia://10.0.0.1/redfish/v1/Systems/1")
		return ""
	}
	switch parsed.Scheme {
	case "https":
		parsed.Scheme = virtualMedia
	case "http":
		parsed.Scheme = virtualMedia + "+http"
	}
	if strings.Trim(parsed.Path, "/") == "" || strings.Trim(parsed.Path, "/") == "redfish/v1" {
		if host.BMC.System == "" {
			h.RefuseHost(host, "bmc.address", "does not name the system, which metal3 does not look for by itself", fmt.Sprintf("write it with its path, such as %s://%s%s1, or write bmc.system", virtualMedia, parsed.Host, systemsPath))
			return ""
		}
		parsed.Path = systemsPath + host.BMC.System
	} else if host.BMC.System != "" && !strings.HasSuffix(strings.TrimRight(parsed.Path, "/"), "/"+host.BMC.System) {
		h.RefuseHost(host, "bmc.system", fmt.Sprintf("is %s, but the address names %s", host.BMC.System, parsed.Path), "keep one of them")
	}
	return parsed.String()
}

// bracketed is a host, with or without a port, as a URL has it: IPv6 stands in
// brackets.
func bracketed(host string) string {
	if strings.Count(host, ":") > 1 && !strings.HasPrefix(host, "[") {
		return "[" + host + "]"
	}
	return host
}

// Metal3Arch is a CPU architecture in metal3's word, which is SiteConfig's too.
func Metal3Arch(arch spec.Arch) string {
	if arch == spec.ARM {
		return "aarch64"
	}
	return string(arch)
}

// nodeLabels are the labels of a host's node as annotations, one each. The key
// of an annotation is short where the label's has no domain: the prefix of
// metal3 counts.
func (h *Maker) nodeLabels(host *spec.Host) map[string]string {
	notes := map[string]string{}
	for key, value := range host.Labels {
		name := hubapi.AnnotationBMACNodeLabelPrefix + key
		if len(validation.IsQualifiedName(strings.ToLower(name))) > 0 {
			h.RefuseHost(host, "labels."+key, "is too long a key for the annotation "+name+", by which a BareMetalHost has labels", "use a shorter key, or one with a domain: example.com/"+key)
			continue
		}
		notes[name] = value
	}
	return notes
}
