// Package setting knows the settings of clusters, InfraEnvs and hosts by the cluster.yaml
// fields they come from: the shapes of their values, how two of them are compared, and
// how they are shown without their secrets.
package setting

import (
	"cmp"
	"encoding/json"
	"fmt"
	"maps"
	"net/url"
	"slices"
	"strings"

	"github.com/oaictl/oaictl/internal/bytesize"
	"github.com/oaictl/oaictl/internal/names"
	"github.com/oaictl/oaictl/internal/redact"
	"github.com/oaictl/oaictl/pkg/install/spec"
)

// Name is one thing that can be set on a cluster, an InfraEnv or a host
// by the cluster.yaml field it comes from.
type Name string

// The shapes of structured values that are not types of cluster.yaml.
type (
	// StaticNetwork is the network of one machine.
	StaticNetwork struct {
		YAML string     `json:"yaml"` // nmstate
		MACs []spec.NIC `json:"macs"`
	}
	// proxyJSON is a proxy with its passwords.
	proxyJSON struct {
		HTTP  string `json:"http"`
		HTTPS string `json:"https"`
		No    string `json:"no"`
	}
	// endpointJSON is an Ignition endpoint with the content of its certificate.
	endpointJSON struct {
		URL string `json:"url"`
		CA  string `json:"ca,omitempty"`
	}
)

// Value is a setting's value as canonical JSON: object keys sorted, no spaces.
type Value string

// Settings are values by setting. An absent key means: not said.
type Settings map[Name]Value

// String shows settings without their secrets, so that a plan can be printed.
func (s Settings) String() string {
	texts := make([]string, 0, len(s))
	for _, setting := range slices.Sorted(maps.Keys(s)) {
		texts = append(texts, string(setting)+"="+s[setting].Show(setting))
	}
	return "{" + strings.Join(texts, " ") + "}"
}

// GoString is String: %#v shows no secrets either.
func (s Settings) GoString() string { return s.String() }

// MarshalJSON writes each setting as it may be shown, a text, without secrets.
func (s Settings) MarshalJSON() ([]byte, error) {
	shown := make(map[string]string, len(s))
	for setting, value := range s {
		shown[string(setting)] = value.Show(setting)
	}
	return json.Marshal(shown)
}

// ValueOf encodes v, which must be encodable as JSON, with what of it is secret.
func ValueOf(v any) Value {
	switch typed := v.(type) {
	case spec.Proxy:
		v = proxyJSON{HTTP: typed.HTTP.Reveal(), HTTPS: typed.HTTPS.Reveal(), No: strings.Join(typed.No, ",")}
	case spec.IgnitionEndpoint:
		v = endpointJSON{URL: typed.URL, CA: typed.CA.Text()}
	}
	data, err := json.Marshal(v)
	if err != nil {
		panic(fmt.Sprintf("install: a setting of type %T cannot be JSON: %v", v, err))
	}
	return Value(data)
}

// Decode reads the value into the shape that the setting's constant names.
func (v Value) Decode(into any) error {
	var err error
	switch typed := into.(type) {
	case *spec.Proxy:
		var proxy proxyJSON
		err = json.Unmarshal([]byte(v), &proxy)
		*typed = spec.Proxy{HTTP: spec.ProxyURL(proxy.HTTP), HTTPS: spec.ProxyURL(proxy.HTTPS), No: Commas(proxy.No)}
	case *spec.IgnitionEndpoint:
		var endpoint endpointJSON
		err = json.Unmarshal([]byte(v), &endpoint)
		*typed = spec.IgnitionEndpoint{URL: endpoint.URL}
		if endpoint.CA != "" {
			typed.CA = &spec.PublicSource{Inline: endpoint.CA}
		}
	case *[]spec.Operator:
		err = unmarshal(string(v), typed)
	default:
		err = json.Unmarshal([]byte(v), into)
	}
	if err != nil {
		return fmt.Errorf("read setting value: %w", err)
	}
	return nil
}

// unmarshal keeps numbers as they are written.
func unmarshal(text string, into any) error {
	decoder := json.NewDecoder(strings.NewReader(text))
	decoder.UseNumber()
	return decoder.Decode(into)
}

// PropertiesOf are an operator's properties from the text that a service has of them. What is
// no JSON object, which a service takes too, stands under the empty key.
func PropertiesOf(text string) (properties map[string]any) {
	if text == "" {
		return nil
	}
	if !json.Valid([]byte(text)) || unmarshal(text, &properties) != nil || properties == nil {
		return map[string]any{"": text}
	}
	return properties
}

// PropertiesText is the text of an operator's properties.
func PropertiesText(properties map[string]any) string {
	if text, is := properties[""].(string); is && len(properties) == 1 {
		return text
	}
	return string(ValueOf(properties))
}

// Word is the word of cluster.yaml that text stands for, as other tools spell it, or the
// service; text itself where it is none.
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

// Commas takes a text with commas apart. It is nil for a text without anything in it.
func Commas(text string) []string {
	var out []string
	for part := range strings.SplitSeq(text, ",") {
		if part = strings.TrimSpace(part); part != "" {
			out = append(out, part)
		}
	}
	return out
}

// Text is the value of a string setting, or the JSON itself for another shape.
func (v Value) Text() string {
	if text := string(v); len(text) >= 2 && text[0] == '"' && !strings.ContainsRune(text, '\\') {
		return text[1 : len(text)-1] // nothing is escaped in most of them
	}
	var s string
	if json.Unmarshal([]byte(v), &s) == nil {
		return s
	}
	return string(v)
}

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
