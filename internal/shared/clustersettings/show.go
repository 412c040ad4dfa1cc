package clustersettings

import (
	"maps"
	"net/url"
	"slices"
	"strings"

	"github.com/oaictl/oaictl/internal/shared/bytesize"
	"github.com/oaictl/oaictl/internal/shared/listtext"
	"github.com/oaictl/oaictl/internal/shared/redact"
	"github.com/oaictl/oaictl/pkg/install/model"
	"github.com/oaictl/oaictl/pkg/install/spec"
)

const redacted = "[redacted]"

// Show is the value of a setting for a person, without secrets.
func Show(setting model.Setting, v model.Value) string {
	if v == "" {
		return ""
	}
	return RuleOf(setting).show(v)
}

// shown shows values of one type, and nothing of a value that is not of it.
func shown[T any](show func(T) string) func(model.Value) string {
	return func(v model.Value) string {
		var value T
		if v.Decode(&value) != nil {
			return redacted
		}
		return show(value)
	}
}

// showPlain shows the entries of a list, or the text itself.
func showPlain(v model.Value) string {
	var list []string
	if strings.HasPrefix(string(v), "[") && v.Decode(&list) == nil {
		return redact.Text(strings.Join(list, ", "))
	}
	return redact.Text(strings.TrimSpace(v.Text()))
}

// showSize shows how long a document is. Such documents carry password hashes, keys and registry credentials.
func showSize(v model.Value) string { return "[" + bytesize.Rough(int64(len(v.Text()))) + "]" }

// showNames shows the names of fields, whose values may be secrets.
func showNames(v model.Value) string {
	var fields map[string]any
	if v.Decode(&fields) != nil {
		return redacted
	}
	return strings.Join(slices.Sorted(maps.Keys(fields)), ", ")
}

func showProxy(proxy spec.Proxy) string {
	proxy.HTTP = spec.ProxyURL(withoutPassword(proxy.HTTP.Reveal()))
	proxy.HTTPS = spec.ProxyURL(withoutPassword(proxy.HTTPS.Reveal()))
	return string(model.ValueOf(proxy))
}

func showEncryption(encryption spec.DiskEncryption) string {
	for i := range encryption.Tang {
		encryption.Tang[i].URL = withoutPassword(encryption.Tang[i].URL)
	}
	return string(model.ValueOf(encryption))
}

func showBundles(bundles []spec.Bundle) string {
	texts := make([]string, 0, len(bundles))
	for _, b := range bundles {
		text := b.ID
		if len(b.Optional) > 0 {
			text += " with " + strings.Join(b.Optional, " and ")
		}
		texts = append(texts, text)
	}
	return strings.Join(texts, ", ")
}

func showClassifications(list []spec.Classification) string {
	texts := make([]string, 0, len(list))
	for _, c := range list {
		texts = append(texts, c.Label+"="+c.Value)
	}
	return strings.Join(texts, ", ")
}

func showStaticNetworks(networks []model.StaticNetwork) string {
	macs := make([]string, 0, len(networks))
	for _, n := range networks {
		macs = append(macs, FirstMAC(n))
	}
	return listtext.ListText(macs)
}

func withoutPassword(address string) string {
	if address == "" {
		return ""
	}
	parsed, err := url.Parse(address)
	if err != nil {
		return redacted
	}
	return parsed.Redacted()
}
