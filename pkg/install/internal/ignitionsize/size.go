// Package ignitionsize estimates how much of a discovery image's Ignition the static networks
// of its hosts take.
package ignitionsize

import (
	"bytes"
	"compress/gzip"
	"crypto/sha256"
	"encoding/base64"
	"fmt"
	"slices"
	"strings"

	"github.com/oaictl/oaictl/internal/shared/clustersettings"
	"github.com/oaictl/oaictl/pkg/install/model"
)

// EmbedArea is how many bytes of compressed Ignition a live image has room for:
// /images/ignition.img of RHCOS, IgnitionImageSizePadding of assisted-service.
const EmbedArea = 256 << 10

// Packing is the Ignition of one InfraEnv while it is filled.
type Packing struct {
	pending []string // not yet compressed: often there is so little that it need not be
	Raw     int      // bytes of what was added
	out     counter
	zip     *gzip.Writer
}

type counter int

func (c *counter) Write(data []byte) (int, error) {
	*c += counter(len(data))
	return len(data), nil
}

// Add puts a text into it.
func (p *Packing) Add(text string) {
	p.pending = append(p.pending, text)
	p.Raw += len(text)
}

// Pending is how many texts were added since it was compressed.
func (p *Packing) Pending() int { return len(p.pending) }

// Within reports whether what was added fits.
func (p *Packing) Within(limit int) bool { return p.Raw <= limit || p.Compressed() <= limit }

// Compressed is how many bytes it takes.
func (p *Packing) Compressed() int {
	if p.zip == nil {
		p.zip = gzip.NewWriter(&p.out) // at the level of the service
	}
	for _, text := range p.pending {
		_, _ = p.zip.Write([]byte(text)) // a counter never fails
	}
	p.pending = nil
	_ = p.zip.Flush()
	return int(p.out)
}

// Profiles is what the service writes into the discovery Ignition for the machine at a
// place of its InfraEnv, as long and as hard to compress: MAC addresses by name, and a
// NetworkManager profile for every interface. From OpenShift 4.18 on it is a policy for
// every machine, which takes less.
func Profiles(place int, n *model.StaticNetwork) string {
	var out, pairs strings.Builder
	file := func(name, content string) {
		fmt.Fprintf(&out, `{"path":"/etc/assisted/network/host%d/%s","mode":384,"overwrite":true,"user":{"name":"root"},`+
			`"contents":{"source":"data:text/plain;charset=utf-8;base64,`, place, name)
		out.WriteString(base64.StdEncoding.EncodeToString([]byte(content)))
		out.WriteString(`"}},`)
	}
	for _, m := range n.MACs {
		pairs.WriteString(m.MAC + "=" + m.Name + "\n")
	}
	for _, p := range profilesOf(n) {
		file(p.name+".nmconnection", p.text.String())
	}
	file("mac_interface.ini", pairs.String())
	return out.String()
}

type profile struct {
	name string
	text bytes.Buffer
}

// profilesOf divides the words of an nmstate document, YAML or JSON, among its
// interfaces.
func profilesOf(n *model.StaticNetwork) []*profile {
	words := splitWords(n.YAML)
	joined := slices.ContainsFunc(words, func(w word) bool {
		return w.key == "type" && w.value != "ethernet" || w.key == "link-aggregation"
	})
	var all []*profile
	named := func(name, mac string) *profile {
		if i := slices.IndexFunc(all, func(p *profile) bool { return p.name == name }); i >= 0 {
			return all[i]
		}
		p := &profile{name: name}
		fmt.Fprintf(&p.text, "[connection]\nid=%[1]s\nuuid=%[2]s\ntype=ethernet\ninterface-name=%[1]s\nautoconnect=true\n"+
			"autoconnect-priority=1\n", name, uuidText(clustersettings.FirstMAC(*n), name))
		if joined && len(all) > 0 {
			fmt.Fprintf(&p.text, "master=%s\nslave-type=bond\n", uuidText(clustersettings.FirstMAC(*n), all[0].name))
		}
		p.text.WriteString("\n[ethernet]\n")
		if mac != "" {
			p.text.WriteString("mac-address=" + strings.ToUpper(mac) + "\n")
		}
		p.text.WriteString("\n[ipv4]\nmethod=manual\ndhcp-timeout=2147483647\n\n[ipv6]\nmethod=disabled\n")
		all = append(all, p)
		return p
	}
	for _, m := range n.MACs {
		named(m.Name, m.MAC)
	}
	var at *profile
	for i, w := range words {
		switch {
		case w.key == "name" || w.key == "next-hop-interface":
			at = named(w.value, "")
		case at == nil && len(all) > 0:
			at = all[0]
			fallthrough
		default:
			if at != nil {
				fmt.Fprintf(&at.text, "%s%d=%s\n", w.key, i, w.value)
			}
		}
	}
	return all
}

// word is a pair, or a value alone, of a document.
type word struct{ key, value string }

func splitWords(document string) []word {
	var words []word
	for text := range strings.FieldsFuncSeq(document, func(r rune) bool { return strings.ContainsRune("\n,{}[]", r) }) {
		text = strings.TrimSpace(strings.TrimPrefix(strings.TrimSpace(text), "- "))
		key, value, pair := strings.Cut(text, ":")
		if strings.HasPrefix(text, `"`) && !strings.Contains(text, `":`) || pair && value != "" && !strings.HasPrefix(value, " ") &&
			!strings.HasPrefix(key, `"`) {
			key, value, pair = "", text, false // an IPv6 address
		}
		if !pair {
			key, value = "", text
		}
		key, value = strings.Trim(key, `"' `), strings.Trim(value, `"' `)
		switch {
		case value == "" || strings.HasPrefix(text, "#"):
		case value == "true" || value == "false" || key == "state" || key == "mac-address": // which the interface has anyhow
		default:
			words = append(words, word{key, value})
		}
	}
	return words
}

// uuidText is a UUID as hard to guess as those that the service makes.
func uuidText(of, name string) string {
	sum := sha256.Sum256([]byte(of + "/" + name))
	return fmt.Sprintf("%x-%x-%x-%x-%x", sum[:4], sum[4:6], sum[6:8], sum[8:10], sum[10:16])
}
