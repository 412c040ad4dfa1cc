package setting

import (
	"encoding/json"
	"maps"
	"net/url"
	"slices"
	"strings"

	"github.com/oaictl/oaictl/internal/bytesize"
	"github.com/oaictl/oaictl/internal/names"
	"github.com/oaictl/oaictl/internal/redact"
	"github.com/oaictl/oaictl/pkg/install/spec"
)

// Show is the value for a person, without secrets.
func (v Value) Show(setting Name) string {
	switch {
	case v == "":
		return ""
	case setting == Proxy:
		var proxy proxyJSON
		if json.Unmarshal([]byte(v), &proxy) != nil {
			return "[redacted]"
		}
		return string(ValueOf(proxyJSON{HTTP: withoutPassword(proxy.HTTP), HTTPS: withoutPassword(proxy.HTTPS), No: proxy.No}))
	case setting == DiskEncrypt:
		var encryption spec.DiskEncryption
		if v.Decode(&encryption) != nil {
			return "[redacted]"
		}
		for i := range encryption.Tang {
			encryption.Tang[i].URL = withoutPassword(encryption.Tang[i].URL)
		}
		return string(ValueOf(encryption))
	case setting == Ignition || setting == DiscIgnition || setting == InstallConfig:
		// Such documents carry password hashes, keys and registry credentials.
		return "[" + bytesize.Rough(int64(len(v.Text()))) + "]"
	case setting == HostExtra || setting == EndpointHeaders:
		var fields map[string]any
		if v.Decode(&fields) != nil {
			return "[redacted]"
		}
		return strings.Join(slices.Sorted(maps.Keys(fields)), ", ") // the values may be secrets
	case setting == Bundles:
		var bundles []spec.Bundle
		if v.Decode(&bundles) == nil {
			return strings.Join(bundleTexts(bundles), ", ")
		}
	case setting == Classified:
		var list []spec.Classification
		if v.Decode(&list) == nil {
			texts := make([]string, 0, len(list))
			for _, c := range list {
				texts = append(texts, c.Label+"="+c.Value)
			}
			return strings.Join(texts, ", ")
		}
	case setting == StaticNetworks:
		var networks []StaticNetwork
		if v.Decode(&networks) == nil {
			macs := make([]string, 0, len(networks))
			for _, n := range networks {
				macs = append(macs, FirstMAC(n))
			}
			return names.Few(macs)
		}
	}
	var list []string
	if strings.HasPrefix(string(v), "[") && v.Decode(&list) == nil {
		return redact.Text(strings.Join(list, ", "))
	}
	return redact.Text(strings.TrimSpace(v.Text()))
}

func withoutPassword(address string) string {
	if address == "" {
		return ""
	}
	parsed, err := url.Parse(address)
	if err != nil {
		return "[redacted]"
	}
	return parsed.Redacted()
}

func bundleTexts(bundles []spec.Bundle) []string {
	texts := make([]string, 0, len(bundles))
	for _, b := range bundles {
		text := b.ID
		if len(b.Optional) > 0 {
			text += " with " + strings.Join(b.Optional, " and ")
		}
		texts = append(texts, text)
	}
	return texts
}

// FirstMAC is the MAC address by which a machine's network is known; without any, the
// network itself.
func FirstMAC(n StaticNetwork) string {
	if len(n.MACs) == 0 {
		return n.YAML
	}
	return n.MACs[0].MAC
}

// MAC is a MAC address as it is compared.
func MAC(text string) string {
	return strings.ReplaceAll(strings.ToLower(strings.TrimSpace(text)), "-", ":")
}
