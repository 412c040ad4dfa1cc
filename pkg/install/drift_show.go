package install

import (
	"maps"
	"net/url"
	"slices"
	"strings"

	"github.com/oaictl/oaictl/internal/redact"
)

// change is what a person is shown of a difference.
func (d difference) change(prefix string) Change {
	if strings.HasPrefix(string(d.setting), "spec.") || d.setting == SetApproved {
		prefix = "" // not relative to the object, or no field of the file
	}
	change := Change{Field: prefix + string(d.setting), From: d.have.show(d.setting), To: d.want.show(d.setting)}
	return change
}

// show is the value for a person, without secrets.
func (v Value) show(setting Setting) string {
	switch {
	case v == "":
		return ""
	case setting == SetProxy:
		var proxy Proxy
		if v.Decode(&proxy) != nil {
			return "[redacted]"
		}
		return string(ValueOf(Proxy{HTTP: withoutPassword(proxy.HTTP), HTTPS: withoutPassword(proxy.HTTPS), No: proxy.No}))
	case setting == SetDiskEncrypt:
		var encryption DiskEncryption
		if v.Decode(&encryption) != nil {
			return "[redacted]"
		}
		for i := range encryption.Tang {
			encryption.Tang[i].URL = withoutPassword(encryption.Tang[i].URL)
		}
		return string(ValueOf(encryption))
	case setting == SetIgnition || setting == SetDiscIgnition || setting == SetInstallConfig:
		// Such documents carry password hashes, keys and registry credentials.
		return "[" + sizeText(len(v.Text())) + "]"
	case setting == SetHostExtra || setting == SetEndpointHeaders:
		var fields map[string]any
		if v.Decode(&fields) != nil {
			return "[redacted]"
		}
		return strings.Join(slices.Sorted(maps.Keys(fields)), ", ") // the values may be secrets
	case setting == SetBundles:
		var bundles []BundleChoice
		if v.Decode(&bundles) == nil {
			return strings.Join(bundleTexts(bundles), ", ")
		}
	case setting == SetClassified:
		var list []Classification
		if v.Decode(&list) == nil {
			texts := make([]string, 0, len(list))
			for _, c := range list {
				texts = append(texts, c.Label+"="+c.Value)
			}
			return strings.Join(texts, ", ")
		}
	case setting == SetStaticNetwork:
		var networks []StaticNetwork
		if v.Decode(&networks) == nil {
			macs := make([]string, 0, len(networks))
			for _, n := range networks {
				macs = append(macs, firstMAC(n))
			}
			return few(macs)
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

func bundleTexts(bundles []BundleChoice) []string {
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
