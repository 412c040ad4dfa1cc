// Package clustersettings knows the settings of clusters, InfraEnvs and hosts by the cluster.yaml
// fields they come from: the shapes of their values, how two of them are compared, and
// how they are shown without their secrets.
package clustersettings

import (
	"cmp"
	"encoding/json"
	"strings"

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

// CanonicalWord is the word of cluster.yaml that text means, as other tools or the service spell it; text itself where it is
// none.
func CanonicalWord[T ~string](text string) T {
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
