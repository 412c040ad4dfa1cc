// Package setting knows the settings of clusters, InfraEnvs and hosts by the cluster.yaml
// fields they come from: the shapes of their values, how two of them are compared, and
// how they are shown without their secrets.
package setting

import (
	"cmp"
	"encoding/json"
	"maps"
	"net/url"
	"slices"
	"strings"

	"github.com/oaictl/oaictl/internal/bytesize"
	"github.com/oaictl/oaictl/internal/names"
	"github.com/oaictl/oaictl/internal/redact"
	"github.com/oaictl/oaictl/pkg/install/model"
	"github.com/oaictl/oaictl/pkg/install/spec"
)

// PropertiesOf are an operator's properties from the text that a service has of them. What is
// no JSON object, which a service takes too, stands under the empty key.
func PropertiesOf(text string) (properties map[string]any) {
	if text == "" {
		return nil
	}
	decoder := json.NewDecoder(strings.NewReader(text))
	decoder.UseNumber() // they stay as they are written
	if !json.Valid([]byte(text)) || decoder.Decode(&properties) != nil || properties == nil {
		return map[string]any{"": text}
	}
	return properties
}

// PropertiesText is the text of an operator's properties.
func PropertiesText(properties map[string]any) string {
	if text, is := properties[""].(string); is && len(properties) == 1 {
		return text
	}
	return string(model.ValueOf(properties))
}

// Word is the word of cluster.yaml that text means, as other tools or the service spell it; text itself where it is
// none.
func Word[T ~string](text string) T {
	_, spellings := spec.Words(T(""))
	return T(cmp.Or(spellings[text], text))
}

// KernelArch is an architecture in the kernel's word, which releases, live images, metal3 and
// SiteConfig use.
func KernelArch(arch spec.Arch) string {
	if arch == spec.ARM {
		return "aarch64"
	}
	return string(arch)
}

// Show is the value of a setting for a person, without secrets.
func Show(setting model.Setting, v model.Value) string {
	switch {
	case v == "":
		return ""
	case setting == model.SettingProxy:
		var proxy spec.Proxy
		if v.Decode(&proxy) != nil {
			return "[redacted]"
		}
		proxy.HTTP = spec.ProxyURL(withoutPassword(proxy.HTTP.Reveal()))
		proxy.HTTPS = spec.ProxyURL(withoutPassword(proxy.HTTPS.Reveal()))
		return string(model.ValueOf(proxy))
	case setting == model.SettingDiskEncryption:
		var encryption spec.DiskEncryption
		if v.Decode(&encryption) != nil {
			return "[redacted]"
		}
		for i := range encryption.Tang {
			encryption.Tang[i].URL = withoutPassword(encryption.Tang[i].URL)
		}
		return string(model.ValueOf(encryption))
	case setting == model.SettingIgnition || setting == model.SettingDiscoveryIgnition || setting == model.SettingInstallConfigOverrides:
		// Such documents carry password hashes, keys and registry credentials.
		return "[" + bytesize.Rough(int64(len(v.Text()))) + "]"
	case setting == model.SettingHostExtra || setting == model.SettingEndpointHeaders:
		var fields map[string]any
		if v.Decode(&fields) != nil {
			return "[redacted]"
		}
		return strings.Join(slices.Sorted(maps.Keys(fields)), ", ") // the values may be secrets
	case setting == model.SettingBundles:
		var bundles []spec.Bundle
		if v.Decode(&bundles) == nil {
			return strings.Join(bundleTexts(bundles), ", ")
		}
	case setting == model.SettingClassifications:
		var list []spec.Classification
		if v.Decode(&list) == nil {
			texts := make([]string, 0, len(list))
			for _, c := range list {
				texts = append(texts, c.Label+"="+c.Value)
			}
			return strings.Join(texts, ", ")
		}
	case setting == model.SettingStaticNetworks:
		var networks []model.StaticNetwork
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
func FirstMAC(n model.StaticNetwork) string {
	if len(n.MACs) == 0 {
		return n.YAML
	}
	return n.MACs[0].MAC
}

// MAC is a MAC address as it is compared.
func MAC(text string) string {
	return strings.ReplaceAll(strings.ToLower(strings.TrimSpace(text)), "-", ":")
}

// Commas splits a text at its commas. It is nil for a text without anything in it.
func Commas(text string) []string {
	var out []string
	for part := range strings.SplitSeq(text, ",") {
		if part = strings.TrimSpace(part); part != "" {
			out = append(out, part)
		}
	}
	return out
}
