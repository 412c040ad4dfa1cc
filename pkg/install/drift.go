package install

import (
	"bytes"
	"encoding/json"
	"maps"
	"net/netip"
	"slices"
	"strings"

	"github.com/goccy/go-yaml"
)

// Keeping is what a service does with a setting that it was given, in the phase
// that the cluster is in.
type Keeping string

// What services do with settings. The drift table says what all of them do; a
// plane reports in [Cluster.Keeping] where its service does something else.
const (
	Kept    Keeping = ""        // it holds what was written last, and shows it
	Derived Keeping = "derived" // it works it out by itself, and takes it from nobody
	Cleared Keeping = "cleared" // it has emptied it, and works it out later
	Hidden  Keeping = "hidden"  // it holds it, and need not show it
	Frozen  Keeping = "frozen"  // it takes no other value any more
	NotYet  Keeping = "not yet" // it takes another value only once the hosts show that it fits
)

// rule is one row of the drift table: how a setting is compared, and what becomes
// of it in a cluster, an InfraEnv or a host before an install.
type rule struct {
	cluster, infraEnv Keeping
	// host is Hidden where the service need not give it back. Where it does not,
	// it is sent along with what else is to be written and not by itself, since
	// every run would send it again.
	host   Keeping
	same   func(want, have Value) bool
	secret bool // never shown
}

// rules is the drift table, field by field.
func rules(setting Setting) rule {
	switch setting {
	case SetVersion:
		return rule{cluster: Frozen, infraEnv: Frozen, same: sameVersion}
	case SetReleaseImage, SetArch, SetControlPlane:
		return rule{cluster: Frozen, infraEnv: Frozen, same: sameJSON}
	case SetBundles:
		return rule{cluster: Frozen, same: sameBundles}
	case SetSSHKeys, SetTrustBundle:
		return rule{same: sameLines}
	case SetTags, SetKeepDisks:
		return rule{same: sameSet}
	case SetMachineNet, SetServiceNet:
		return rule{same: samePrefixes}
	case SetClusterNet:
		return rule{same: sameClusterNetworks}
	case SetAPIVIPs, SetIngressVIPs:
		return rule{same: sameAddresses}
	case SetExtraNTP, SetNTP:
		return rule{same: sameSet}
	case SetProxy:
		return rule{same: sameProxy, secret: true}
	case SetOperators:
		return rule{same: operatorsIncluded}
	case SetInstallConfig, SetDiscIgnition, SetIgnition:
		return rule{same: sameDocument}
	case SetStaticNetwork:
		return rule{same: sameStaticNetworks}
	case SetOSVersion:
		return rule{same: sameVersion}
	case SetIronic:
		return rule{same: sameIronic}
	case SetImageType, SetKernelArgs, SetNetworkDelay, SetAgentLabels, SetIPXE:
		return rule{same: sameJSON}
	case SetHyperthreads:
		return rule{same: func(want, have Value) bool { return maps.Equal(serviceRoles(want), serviceRoles(have)) }}
	case SetFencing, SetEndpointHeaders, SetHostExtra:
		return rule{same: sameJSON, secret: true, host: Hidden}
	case SetIgnored:
		return rule{same: sameIgnored}
	case SetRole:
		return rule{same: func(want, have Value) bool { return want == have || want.Text() == string(RoleAuto) }}
	default:
		return rule{same: sameJSON}
	}
}

// difference is a setting that the file and the service do not agree on.
type difference struct {
	setting Setting
	want    Value
	have    Value
	known   bool // the service says what it holds
}

// differences compares by meaning what is wanted with what is there. What the
// file leaves out, and what the service does not say, is left alone.
func differences(want, have Settings) []difference {
	var out []difference
	want = withoutRivals(want, have)
	for setting, value := range want {
		now, known := have[setting]
		if known && Same(setting, value, now) {
			continue
		}
		if !known && empty(value) {
			continue
		}
		out = append(out, difference{setting: setting, want: value, have: now, known: known})
	}
	slices.SortFunc(out, func(a, b difference) int { return strings.Compare(string(a.setting), string(b.setting)) })
	return out
}

// Same says whether two values of a setting mean the same to a service.
func Same(setting Setting, want, have Value) bool { return rules(setting).same(want, have) }

// takesAway says whether what is there is emptied, or of a proxy a part of it.
func (d difference) takesAway() bool {
	if d.setting != SetProxy {
		return empty(d.want)
	}
	var want, have Proxy
	if d.want.Decode(&want) != nil || d.have.Decode(&have) != nil {
		return false
	}
	return want.HTTP == "" && have.HTTP != "" || want.HTTPS == "" && have.HTTPS != "" || want.No == "" && have.No != ""
}

// withoutRivals wants what excludes another setting to take its place: the service has
// no object with both.
func withoutRivals(want, have Settings) Settings {
	for _, setting := range []Setting{SetNTP, SetExtraNTP} {
		rival := rivalOf(setting)
		if _, spoken := want[rival]; !spoken && !empty(have[rival]) && !empty(want[setting]) {
			want = maps.Clone(want)
			want[rival] = ValueOf([]string{})
		}
	}
	return want
}

// rivalOf is the setting that excludes another, "" for none.
func rivalOf(setting Setting) Setting {
	switch setting {
	case SetNTP:
		return SetExtraNTP
	case SetExtraNTP:
		return SetNTP
	}
	return ""
}

// worthWriting leaves out differences that are only what the service does not
// give back: it cannot be told whether they are differences. With any other
// difference they are written too, as at the first time.
func worthWriting(all []difference) []difference {
	other := slices.ContainsFunc(all, func(d difference) bool { return d.known || rules(d.setting).host != Hidden })
	if !other {
		return nil
	}
	return all
}

func empty(v Value) bool {
	switch v {
	case "", `""`, "[]", "{}", "null", "false", "0":
		return true
	}
	return false
}

func sameJSON(want, have Value) bool {
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
func sameDocument(want, have Value) bool {
	blank := func(v Value) string {
		text := canonical(v.Text())
		if text == "{}" {
			return ""
		}
		return text
	}
	return blank(want) == blank(have)
}

// sameVersion takes "4.20" for satisfied by any 4.20.z, of one architecture
// or of several.
func sameVersion(want, have Value) bool {
	w, h := strings.TrimSuffix(want.Text(), "-multi"), strings.TrimSuffix(have.Text(), "-multi")
	return h == w || strings.HasPrefix(h, w+".")
}

func sameLines(want, have Value) bool {
	lines := func(v Value) []string {
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

func texts(v Value) []string {
	var list []string
	if v.Decode(&list) != nil {
		return []string{v.Text()}
	}
	return list
}

func sameSet(want, have Value) bool {
	w, h := texts(want), texts(have)
	slices.Sort(w)
	slices.Sort(h)
	return slices.Equal(slices.Compact(w), slices.Compact(h))
}

func sameAddresses(want, have Value) bool {
	read := func(v Value) []string {
		list := texts(v)
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

func prefixText(text string) string {
	prefix, err := netip.ParsePrefix(text)
	if err != nil {
		return text
	}
	return prefix.Masked().String()
}

func samePrefixes(want, have Value) bool {
	w, h := texts(want), texts(have)
	return slices.EqualFunc(w, h, func(a, b string) bool { return prefixText(a) == prefixText(b) })
}

func sameClusterNetworks(want, have Value) bool {
	var w, h []ClusterNetwork
	if want.Decode(&w) != nil || have.Decode(&h) != nil {
		return want == have
	}
	return slices.EqualFunc(w, h, func(a, b ClusterNetwork) bool {
		return prefixText(a.CIDR) == prefixText(b.CIDR) && (a.HostPrefix == 0 || a.HostPrefix == b.HostPrefix)
	})
}

func sameProxy(want, have Value) bool {
	var w, h Proxy
	if want.Decode(&w) != nil || have.Decode(&h) != nil {
		return want == have
	}
	no := func(text string) Value {
		return ValueOf(strings.FieldsFunc(text, func(r rune) bool { return r == ',' || r == ' ' }))
	}
	return w.HTTP == h.HTTP && w.HTTPS == h.HTTPS && sameSet(no(w.No), no(h.No))
}

// operatorsIncluded is satisfied by more operators than asked for: the service
// adds what an operator depends on.
func operatorsIncluded(want, have Value) bool {
	var w, h []OperatorChoice
	if want.Decode(&w) != nil || have.Decode(&h) != nil {
		return want == have
	}
	there := map[string]string{}
	for _, o := range h {
		there[o.Name] = o.Properties
	}
	for _, o := range w {
		properties, ok := there[o.Name]
		if !ok || (o.Properties != "" && properties != "" && canonical(o.Properties) != canonical(properties)) {
			return false
		}
	}
	return true
}

// sameBundles compares ids, which is what the service gives back.
func sameBundles(want, have Value) bool {
	var w, h []BundleChoice
	if want.Decode(&w) != nil || have.Decode(&h) != nil {
		return want == have
	}
	ids := func(bundles []BundleChoice) Value {
		list := make([]string, 0, len(bundles))
		for _, b := range bundles {
			list = append(list, b.ID)
		}
		return ValueOf(list)
	}
	return sameSet(ids(w), ids(h))
}

// The service's words for a set of roles (models.Cluster, hyperthreading).
const (
	masters  = "masters"
	arbiters = "arbiters"
	workers  = "workers"
)

// serviceRoles is a set of roles as the service writes it, taken apart: "all",
// "none", or roles with commas between them.
func serviceRoles(v Value) map[string]bool {
	set := map[string]bool{}
	for word := range strings.SplitSeq(v.Text(), ",") {
		switch word = strings.TrimSpace(word); word {
		case "", "none":
		case "all":
			set[masters], set[arbiters], set[workers] = true, true, true
		default:
			set[word] = true
		}
	}
	return set
}

func sameStaticNetworks(want, have Value) bool {
	var w, h []StaticNetwork
	if want.Decode(&w) != nil || have.Decode(&h) != nil {
		return want == have
	}
	return len(w) == len(h) && (slices.Equal(networkKeys(w, strings.TrimSpace), networkKeys(h, strings.TrimSpace)) ||
		slices.Equal(networkKeys(w, yamlMeaning), networkKeys(h, yamlMeaning)))
}

// networkKeys are texts that are equal for equal networks, given how to read the
// document of one.
func networkKeys(networks []StaticNetwork, read func(string) string) []string {
	keys := make([]string, 0, len(networks))
	for _, n := range networks {
		macs := make([]string, 0, len(n.MACs))
		for _, m := range n.MACs {
			macs = append(macs, normaliseMAC(m.MAC)+"="+m.Name)
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
func sameIronic(want, have Value) bool {
	var w, h Ironic
	if want.Decode(&w) != nil || have.Decode(&h) != nil {
		return want == have
	}
	return (!w.Agent || h.Agent) && (w.Image == "" || w.Image == h.Image) && (w.IPFamilies == nil || sameSet(ValueOf(w.IPFamilies), ValueOf(h.IPFamilies)))
}

func sameIgnored(want, have Value) bool {
	var w, h IgnoredValidations
	if want.Decode(&w) != nil || have.Decode(&h) != nil {
		return want == have
	}
	return sameSet(ValueOf(w.Cluster), ValueOf(h.Cluster)) && sameSet(ValueOf(w.Hosts), ValueOf(h.Hosts))
}
