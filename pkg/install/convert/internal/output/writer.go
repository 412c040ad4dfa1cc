// Package output is what the writers of formats share: files, objects of a hub, and the account of what the format cannot
// express.
package output

import (
	"cmp"
	"fmt"
	"net/url"
	"path"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/util/validation"

	"github.com/oaictl/oaictl/internal/shared/hubobjects"
	"github.com/oaictl/oaictl/internal/shared/listtext"
	"github.com/oaictl/oaictl/pkg/install/convert/internal/losses"
	"github.com/oaictl/oaictl/pkg/install/render"
	"github.com/oaictl/oaictl/pkg/install/spec"
)

// Writer makes the files of a format. Its hub makes objects of a copy of the
// cluster from which what cannot be said is taken out.
type Writer struct {
	losses.Collector
	hubobjects.Maker
	Secrets bool // whether secrets are written
	files   []File
}

// New is a writer of a cluster as it is when it is installed.
func New(c *spec.Cluster, secrets bool) *Writer {
	whole := c
	c = c.AtInstall()
	shown := *c
	shown.Spec.Hub = spec.Hub{}
	w := &Writer{Collector: losses.Collector{Cluster: c}, Secrets: secrets}
	w.laterWorkers(whole)
	w.oneTag(&shown)
	w.publicProxy(&shown)
	w.Maker = hubobjects.Maker{Refusals: hubobjects.Refusals{Cluster: &shown}, Namespace: c.HubNamespace(), Secrets: secrets}
	switch {
	case c.Existing() != "":
		w.Refuse("kind", "is "+c.Kind+", and this format describes a cluster that is to be installed",
			strings.TrimSpace("add the hosts with oaictl add-node "+named(c)))
	case c.Imported():
		w.Refuse("spec.import", "is a cluster that is installed already, and this format describes one that is to be installed",
			"add its hosts with oaictl add-node, or have the objects of a hub rendered: oaictl render")
	}
	return w
}

// named is how a command takes the file that a cluster was read from; "" for none.
func named(c *spec.Cluster) string {
	if c.File() == "" {
		return ""
	}
	return "-f " + listtext.Quoted(c.File())
}

// laterWorkers loses the workers of a single node, which are added once it is installed.
func (w *Writer) laterWorkers(whole *spec.Cluster) {
	if whole == w.Collector.Cluster {
		return
	}
	const why = "a single node has no workers when it is installed: add them with `oaictl add-node` afterwards"
	if w.Said("spec.topology.workers") {
		w.Lose("spec.topology.workers", losses.Plain(whole.Spec.Topology.Workers), why)
	}
	for i := range whole.Spec.Hosts {
		if h := &whole.Spec.Hosts[i]; w.Collector.Cluster.Host(h.Name) == nil {
			w.Lose(whole.HostField(h, ""), losses.Plain(h), why)
		}
	}
}

// Result is the files and the losses in the order of cluster.yaml.
func (w *Writer) Result() ([]File, []losses.Loss, error) {
	if err := w.Maker.Err(); err != nil {
		return nil, nil, err
	}
	slices.SortStableFunc(w.Collector.List, func(a, b losses.Loss) int { return w.place(a.Path, b.Path) })
	return w.files, w.Collector.List, nil
}

func (w *Writer) place(a, b string) int {
	_, lineA, colA := w.Collector.Cluster.Position(a)
	_, lineB, colB := w.Collector.Cluster.Position(b)
	return cmp.Or(cmp.Compare(lineA, lineB), cmp.Compare(colA, colB), cmp.Compare(a, b))
}

func (w *Writer) oneTag(shown *spec.Cluster) {
	tags := shown.Metadata.Tags
	if len(tags) == 0 {
		return
	}
	shown.Metadata.Tags = nil
	for i, tag := range tags {
		if shown.Metadata.Tags == nil && len(validation.IsValidLabelValue(tag)) == 0 {
			shown.Metadata.Tags = []string{tag}
			continue
		}
		w.Lose(fmt.Sprintf("metadata.tags[%d]", i), tag, "the label that tags stand in holds one, without spaces")
	}
}

// publicProxy takes proxies with a password out, unless secrets are asked for.
func (w *Writer) publicProxy(shown *spec.Cluster) {
	if w.Secrets {
		return
	}
	for field, proxy := range map[string]*spec.ProxyURL{"spec.proxy.http": &shown.Spec.Proxy.HTTP,
		"spec.proxy.https": &shown.Spec.Proxy.HTTPS} {
		if parsed, err := url.Parse(proxy.Reveal()); err != nil || parsed.User != nil {
			w.Lose(field, proxy.String(), "holds a user or a password, and secrets were not asked for")
			*proxy = ""
		}
	}
}

// File adds a file.
func (w *Writer) File(path string, secret bool, content string) {
	w.files = append(w.files, File{Path: path, Content: []byte(content), Secret: secret})
}

// HasPassword says whether the objects have the proxy's password.
func (w *Writer) HasPassword() bool {
	proxy := w.Maker.Cluster.Spec.Proxy
	return strings.Contains(proxy.HTTP.Reveal()+proxy.HTTPS.Reveal(), "@")
}

// PullSecretKnown says whether the pull secret can be written; if not, it is lost.
func (w *Writer) PullSecretKnown() bool {
	c, why := w.Collector.Cluster, ""
	switch {
	case c.Spec.PullSecret.SecretRef != nil:
		why = "stands in a Secret on a hub"
	case !w.Secrets:
		why = "secrets were not asked for"
	default:
		return true
	}
	w.Lose("spec.pullSecret", losses.Plain(c.Spec.PullSecret), why)
	return false
}

// OpenShiftFolder writes the extra manifests, which all go into one folder. It is not known whether they hold secrets,
// as of all documents in another format: only the owner can read them.
func (w *Writer) OpenShiftFolder() {
	seen := map[string]bool{}
	for _, m := range w.Collector.Cluster.ManifestFiles() {
		if base, isJSON := strings.CutSuffix(m.Name, ".json"); isJSON {
			m.Name = base + ".yaml" // JSON is YAML, too, and the client looks at names
		}
		switch yaml, err := path.Match("*.y*ml", m.Name); {
		case err != nil || !yaml:
			w.Lose(m.Field, m.Name, "the agent-based installer takes manifests in YAML only")
			continue
		case seen[m.Name]:
			w.Lose(m.Field, m.Name, "the agent-based installer has one folder, in which there is a manifest of that name")
			continue
		case m.Folder != spec.FolderOpenShift && m.Field != "spec.network.mtu": // no user sets a folder for the MTU
			w.Lose(m.Field+".folder", string(m.Folder), "the agent-based installer has one folder, openshift: the manifest "+m.Name+" stands there")
		}
		seen[m.Name] = true
		w.File("openshift/"+m.Name, true, m.Content)
	}
}

// AddressOrLoss is the BMC's address for metal3, or as it is where it says too little.
func (w *Writer) AddressOrLoss(host *spec.Host) string {
	before := len(w.Maker.List)
	address := w.Metal3Address(host)
	for _, problem := range w.Maker.List[before:] {
		w.Lose(problem.Field, host.BMC.Address, problem.Message+"; "+problem.Remedy)
	}
	w.Maker.List = w.Maker.List[:before]
	return cmp.Or(address, host.BMC.Address)
}

// MACsOf are the MAC addresses of a host: that of match first, then those of its network.
func MACsOf(c *spec.Cluster, host *spec.Host) []string {
	var macs []string
	if host.Match.MAC != "" {
		macs = append(macs, host.Match.MAC)
	}
	if _, interfaces, ok := c.StaticNetwork(host); ok {
		for _, nic := range interfaces {
			if !slices.Contains(macs, nic.MAC) {
				macs = append(macs, nic.MAC)
			}
		}
	}
	return macs
}

// FencingEntry is how a host is powered off, without what says which host it is;
// ok is false for one that has no fencing, or whose credentials cannot be
// written, and are lost.
func (w *Writer) FencingEntry(host *spec.Host) (entry hubobjects.Fields, ok bool) {
	fencing := host.FencedBy()
	if fencing == nil {
		return nil, false
	}
	why := ""
	user, password, known := fencing.Credentials.Login()
	switch {
	case !known || password.IsZero():
		why = "the credentials stand in a Secret on a hub"
	case !w.Secrets:
		why = "secrets were not asked for"
	}
	if why != "" {
		w.LoseHost(host, "fencing", losses.Plain(host.Fencing), why)
		return nil, false
	}
	return hubobjects.Fields{
		"address": fencing.Address, "username": user, "password": password.Reveal(),
		"certificateVerification": hubobjects.FencingVerification(fencing),
	}, true
}

// File is convert.File.
type File struct {
	Path    string
	Content []byte
	Secret  bool
}

// Over lays a map on another, deeply; lists are replaced.
func Over(base, top hubobjects.Fields) hubobjects.Fields {
	for key, value := range top {
		below, isMap := base[key].(hubobjects.Fields)
		above, aboveIsMap := value.(hubobjects.Fields)
		if isMap && aboveIsMap {
			base[key] = Over(below, above)
		} else {
			base[key] = value
		}
	}
	return base
}

// ObjectFile writes objects as one file.
func (w *Writer) ObjectFile(path string, secret bool, objects ...*unstructured.Unstructured) {
	var text strings.Builder
	if err := (&render.Objects{Cluster: objects}).WriteYAML(&text); err != nil {
		w.Refuse("", err.Error(), "")
		return
	}
	w.File(path, secret, strings.TrimPrefix(text.String(), "---\n"))
}

// YAMLFile writes anything that is no object as one file.
func (w *Writer) YAMLFile(path string, secret bool, content any) {
	text, err := hubobjects.YAML(content)
	if err != nil {
		w.Refuse("", fmt.Sprintf("write %s as YAML: %v", path, err), "")
		return
	}
	w.File(path, secret, string(text))
}
