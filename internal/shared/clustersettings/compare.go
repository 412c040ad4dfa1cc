package clustersettings

import (
	"bytes"
	"cmp"
	"encoding/json"
	"maps"
	"net/netip"
	"slices"
	"strings"

	"github.com/goccy/go-yaml"

	"github.com/oaictl/oaictl/pkg/install/model"
	"github.com/oaictl/oaictl/pkg/install/spec"
)

// by compares values of one type. Values that are not of it are the same where their texts are.
func by[T any](same func(want, have T) bool) func(want, have model.Value) bool {
	return func(want, have model.Value) bool {
		var w, h T
		if want.Decode(&w) != nil || have.Decode(&h) != nil {
			return want == have
		}
		return same(w, h)
	}
}

// Difference is a setting that the file and the service do not agree on.
type Difference struct {
	Setting model.Setting
	Want    model.Value
	Have    model.Value
	Known   bool // the service says what it holds
}

// Differences compares by meaning what is wanted with what is there. What the
// file leaves out, and what the service does not say, is left alone.
func Differences(want, have model.Settings) []Difference {
	var out []Difference
	want = withoutRivals(want, have)
	for setting, value := range want {
		now, known := have[setting]
		if known && Same(setting, value, now) {
			continue
		}
		if !known && Empty(value) {
			continue
		}
		out = append(out, Difference{Setting: setting, Want: value, Have: now, Known: known})
	}
	slices.SortFunc(out, func(a, b Difference) int { return strings.Compare(string(a.Setting), string(b.Setting)) })
	return out
}

// Same reports whether two values of a setting mean the same to a service.
func Same(setting model.Setting, want, have model.Value) bool {
	return RuleOf(setting).same(want, have)
}

// TakesAway reports whether what is there is emptied, or of a proxy a part of it.
func (d Difference) TakesAway() bool {
	if d.Setting != model.SettingProxy {
		return Empty(d.Want)
	}
	var want, have spec.Proxy
	if d.Want.Decode(&want) != nil || d.Have.Decode(&have) != nil {
		return false
	}
	return want.HTTP == "" && have.HTTP != "" || want.HTTPS == "" && have.HTTPS != "" || len(want.No) == 0 && len(have.No) > 0
}

// withoutRivals wants what excludes another setting to take its place: the service has
// no object with both.
func withoutRivals(want, have model.Settings) model.Settings {
	for _, setting := range []model.Setting{model.SettingNTP, model.SettingExtraNTP} {
		rival := RivalOf(setting)
		if _, spoken := want[rival]; !spoken && !Empty(have[rival]) && !Empty(want[setting]) {
			want = maps.Clone(want)
			want[rival] = model.ValueOf([]string{})
		}
	}
	return want
}

// RivalOf is the setting that excludes another, "" for none.
func RivalOf(setting model.Setting) model.Setting {
	switch setting {
	case model.SettingNTP:
		return model.SettingExtraNTP
	case model.SettingExtraNTP:
		return model.SettingNTP
	}
	return ""
}

// WorthWriting leaves out differences that exist only because the service does not return a setting: it is not known
// whether they are differences. With any other difference they are written, too, as at the first time.
func WorthWriting(all []Difference) []Difference {
	other := slices.ContainsFunc(all, func(d Difference) bool { return d.Known || RuleOf(d.Setting).Host != model.KeptHidden })
	if !other {
		return nil
	}
	return all
}

// Empty reports whether a value says that there is nothing.
func Empty(v model.Value) bool {
	switch v {
	case "", `""`, "[]", "{}", "null", "false", "0":
		return true
	}
	return false
}

func sameJSON(want, have model.Value) bool {
	return want == have || canonical(string(want)) == canonical(string(have))
}

// canonical is a JSON text with sorted keys and no spaces, or the text itself
// where it is none.
func canonical(text string) string {
	decoder := json.NewDecoder(strings.NewReader(text))
	decoder.UseNumber()
	var v any
	if decoder.Decode(&v) != nil {
		return text
	}
	var out bytes.Buffer
	encoder := json.NewEncoder(&out)
	encoder.SetEscapeHTML(false)
	if encoder.Encode(v) != nil {
		return text
	}
	return strings.TrimSpace(out.String())
}

// sameDocument compares JSON documents that stand in strings; no document and
// an empty one are the same.
func sameDocument(want, have model.Value) bool {
	blank := func(v model.Value) string {
		text := canonical(v.Text())
		if text == "{}" {
			return ""
		}
		return text
	}
	return blank(want) == blank(have)
}

// SameVersion takes "4.20" for satisfied by any 4.20.z, of one architecture
// or of several.
func SameVersion(want, have model.Value) bool {
	w, h := strings.TrimSuffix(want.Text(), "-multi"), strings.TrimSuffix(have.Text(), "-multi")
	return h == w || strings.HasPrefix(h, w+".")
}

func sameLines(want, have model.Value) bool {
	lines := func(v model.Value) []string {
		var out []string
		for line := range strings.Lines(v.Text()) {
			if line = strings.TrimSpace(line); line != "" {
				out = append(out, line)
			}
		}
		return out
	}
	return slices.Equal(lines(want), lines(have))
}

// Texts are the entries of a list, or the text itself.
func Texts(v model.Value) []string {
	var list []string
	if v.Decode(&list) != nil {
		return []string{v.Text()}
	}
	return list
}

func sameSet(want, have model.Value) bool {
	w, h := Texts(want), Texts(have)
	slices.Sort(w)
	slices.Sort(h)
	return slices.Equal(slices.Compact(w), slices.Compact(h))
}

func sameAddresses(want, have model.Value) bool {
	read := func(v model.Value) []string {
		list := Texts(v)
		for i, text := range list {
			if address, err := netip.ParseAddr(text); err == nil {
				list[i] = address.Unmap().String()
			}
		}
		slices.Sort(list)
		return list
	}
	return slices.Equal(read(want), read(have))
}

// Prefix is a network as it is compared, without the bits of a host.
func Prefix(text string) string {
	prefix, err := netip.ParsePrefix(text)
	if err != nil {
		return text
	}
	return prefix.Masked().String()
}

func samePrefixes(want, have model.Value) bool {
	w, h := Texts(want), Texts(have)
	return slices.EqualFunc(w, h, func(a, b string) bool { return Prefix(a) == Prefix(b) })
}

func sameClusterNetworks(w, h []spec.ClusterNetwork) bool {
	return slices.EqualFunc(w, h, func(a, b spec.ClusterNetwork) bool {
		return Prefix(a.CIDR) == Prefix(b.CIDR) && (a.HostPrefix == 0 || a.HostPrefix == b.HostPrefix)
	})
}

func sameProxy(w, h spec.Proxy) bool {
	no := func(proxy spec.Proxy) model.Value { return model.ValueOf(strings.Fields(strings.Join(proxy.No, " "))) }
	return w.HTTP == h.HTTP && w.HTTPS == h.HTTPS && sameSet(no(w), no(h))
}

// operatorsIncluded is satisfied by more operators than asked for: the service
// adds what an operator depends on.
func operatorsIncluded(w, h []spec.Operator) bool {
	there := map[string]map[string]any{}
	for _, o := range h {
		there[o.Name] = o.Properties
	}
	for _, o := range w {
		properties, ok := there[o.Name]
		if !ok || len(o.Properties) > 0 && properties != nil && canonical(PropertiesText(o.Properties)) != canonical(PropertiesText(properties)) {
			return false
		}
	}
	return true
}

// sameBundles compares ids, which is what the service gives back.
func sameBundles(w, h []spec.Bundle) bool {
	ids := func(bundles []spec.Bundle) model.Value {
		list := make([]string, 0, len(bundles))
		for _, b := range bundles {
			list = append(list, b.ID)
		}
		return model.ValueOf(list)
	}
	return sameSet(ids(w), ids(h))
}

func sameEncryption(w, h spec.DiskEncryption) bool {
	same := maps.Equal(Roles(w.On), Roles(h.On))
	w.On, h.On = nil, nil
	return same && sameJSON(model.ValueOf(w), model.ValueOf(h))
}

func sameRoles(w, h spec.RoleSet) bool {
	return maps.Equal(Roles(w), Roles(h))
}

// Roles are the members of a set of roles; those of "all" one by one.
func Roles(set spec.RoleSet) map[string]bool {
	out := map[string]bool{}
	for _, role := range set {
		switch role {
		case spec.NoRoles:
		case spec.AllRoles:
			out[string(spec.ControlPlane)], out[string(spec.Arbiter)], out[string(spec.Worker)] = true, true, true
		default:
			out[role] = true
		}
	}
	return out
}

// EncryptionWord is where a key is kept, as the service writes it.
func EncryptionWord(mode spec.EncryptionMode) string {
	if mode == spec.TPM {
		return tpm
	}
	return string(mode)
}

const tpm = "tpmv2"

// RolesOf is a set of roles from how the service writes it: "all", "none", or roles with
// commas between them.
func RolesOf(words string) spec.RoleSet {
	set, unknown := spec.RoleSet(Commas(words)).Normalise()
	if len(set)+len(unknown) == 0 && words != "" {
		unknown = []string{words} // a word that is no role, and not nothing
	}
	return slices.Concat(spec.RoleSet{}, set, unknown)
}

func sameStaticNetworks(w, h []model.StaticNetwork) bool {
	return len(w) == len(h) && (slices.Equal(networkKeys(w, strings.TrimSpace), networkKeys(h, strings.TrimSpace)) ||
		slices.Equal(networkKeys(w, yamlMeaning), networkKeys(h, yamlMeaning)))
}

// networkKeys are texts that are equal for equal networks, given how to read the
// document of one.
func networkKeys(networks []model.StaticNetwork, read func(string) string) []string {
	keys := make([]string, 0, len(networks))
	for _, n := range networks {
		macs := make([]string, 0, len(n.MACs))
		for _, m := range n.MACs {
			macs = append(macs, MAC(m.MAC)+"="+m.Name)
		}
		slices.Sort(macs)
		keys = append(keys, strings.Join(macs, ",")+"\n"+read(n.YAML))
	}
	slices.Sort(keys)
	return keys
}

// yamlMeaning is a YAML document as JSON: a hub keeps the fields of one, and not
// how they were written. It is the text itself where that is no YAML.
func yamlMeaning(text string) string {
	if strings.HasPrefix(text, "{") && json.Valid([]byte(text)) {
		return canonical(text) // JSON is YAML; this reads it many times quicker
	}
	data, err := yaml.YAMLToJSON([]byte(text))
	if err != nil {
		return strings.TrimSpace(text)
	}
	return canonical(string(data))
}

// sameIronic compares what is said. Controllers of the hub say the rest.
func sameIronic(w, h spec.Ironic) bool {
	return (!w.Agent || h.Agent) && (w.Image == "" || w.Image == h.Image) &&
		(w.IPFamilies == nil || sameSet(model.ValueOf(w.IPFamilies), model.ValueOf(h.IPFamilies)))
}

func sameIgnored(w, h spec.IgnoreValidations) bool {
	return sameSet(model.ValueOf(w.Cluster), model.ValueOf(h.Cluster)) && sameSet(model.ValueOf(w.Hosts), model.ValueOf(h.Hosts))
}

// SortedClassifications are classifications in the order in which they are compared.
func SortedClassifications(list []spec.Classification) []spec.Classification {
	sorted := append([]spec.Classification{}, list...)
	slices.SortFunc(sorted, func(a, b spec.Classification) int {
		return cmp.Or(cmp.Compare(a.Label, b.Label), cmp.Compare(a.Value, b.Value))
	})
	return sorted
}

// sameRole takes any role for auto, which leaves the choice to the service.
func sameRole(want, have model.Value) bool { return want == have || want.Text() == string(spec.Auto) }
