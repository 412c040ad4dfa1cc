package fields

import (
	"fmt"
	"reflect"
	"regexp"
	"slices"
	"strings"

	"github.com/oaictl/oaictl/internal/shared/clustersettings"
	"github.com/oaictl/oaictl/internal/shared/hubobjects"
	"github.com/oaictl/oaictl/internal/shared/installcfg"
	"github.com/oaictl/oaictl/pkg/install/convert/internal/input"
	"github.com/oaictl/oaictl/pkg/install/convert/internal/losses"
	"github.com/oaictl/oaictl/pkg/install/model"
	"github.com/oaictl/oaictl/pkg/install/spec"
)

// Proxy carries a proxy over, which all formats but aicli's write alike.
func (r *Reader) Proxy(n *input.Node) {
	if n = r.MapOf(n); n == nil {
		return
	}
	to := &r.Cluster.Spec.Proxy
	r.From("spec.proxy", n)
	r.ProxyURL("spec.proxy.http", &to.HTTP, n.Get("httpProxy"))
	r.ProxyURL("spec.proxy.https", &to.HTTPS, n.Get("httpsProxy"))
	r.NoProxy(n.Get("noProxy"))
}

// NoProxy carries over what is reached without the proxy, a text with commas.
func (r *Reader) NoProxy(n *input.Node) {
	list := append(spec.StringList{}, clustersettings.Commas(n.Peek())...)
	input.Carry(r.Account, "spec.proxy.noProxy", &r.Cluster.Spec.Proxy.No, n, list)
}

// Networking carries the networks over; a service network is a text, or a map with a cidr.
func (r *Reader) Networking(n *input.Node) {
	if n = r.MapOf(n); n == nil {
		return
	}
	net := &r.Cluster.Spec.Network
	r.Set("spec.network.type", n.Get("networkType"))
	r.CIDRs("spec.network.machine", &net.Machine, n.Get("machineNetwork"))
	r.CIDRs("spec.network.service", &net.Service, n.Get("serviceNetwork"))
	r.Set("spec.network.cluster", n.Get("clusterNetwork"))
	r.Set("spec.network.mtu", n.Get("clusterNetworkMTU"))
	r.ovnConfig(n.Get("ovnKubernetesConfig"))
}

// CIDRs carries networks over.
func (r *Reader) CIDRs(field string, to *[]string, n *input.Node) {
	if n == nil {
		return
	}
	list := []string{}
	for i, item := range r.ListOf(n) {
		cidr := item
		if item.Kind == input.MapNode {
			cidr = item.Get("cidr")
		}
		if cidr == nil {
			continue
		}
		list = append(list, r.Text(cidr))
		r.From(fmt.Sprintf("%s[%d]", field, i), cidr)
	}
	*to = list
	r.From(field, n)
}

// VIPs carries virtual addresses over, each as a list or, formerly, as one.
func (r *Reader) VIPs(n *input.Node) {
	to := &r.Cluster.Spec.Network.VIPs
	r.vips("spec.network.vips.api", &to.API, n.Get("apiVIPs"), n.Get("apiVIP"))
	r.vips("spec.network.vips.ingress", &to.Ingress, n.Get("ingressVIPs"), n.Get("ingressVIP"))
}

func (r *Reader) vips(field string, to *[]string, list, one *input.Node) {
	r.Set(field, list)
	all := list.Items()
	isText := one != nil && one.Kind == input.TextNode && one.Text != ""
	if isText && len(all) > 0 && all[0].Peek() != one.Text {
		r.Second(field, one)
		return
	}
	r.Text(one)
	if isText && len(*to) == 0 {
		*to = []string{one.Text}
		r.From(field, one)
	}
}

// Balancer carries over who balances the load.
func (r *Reader) Balancer(n *input.Node) {
	if n == nil {
		return
	}
	word := r.Text(n)
	object := hubobjects.Fields{"spec": hubobjects.Fields{"loadBalancer": hubobjects.Fields{"type": word}}}
	value, _, err := hubobjects.Read[spec.LoadBalancer](hubobjects.InstallTable(), model.SettingLoadBalancer, object)
	switch {
	case word == "OpenShiftManagedDefault": // of an install-config
		value = spec.ClusterManaged
	case err != nil || word == "":
		r.Wrong(n, fmt.Sprintf("%q is not known here", word), "write ClusterManaged or UserManaged")
	}
	r.Cluster.Spec.Network.LoadBalancer = value
	r.From(string(model.SettingLoadBalancer), n)
}

// Override passes a value on to the install-config as it is, save for secrets and for what
// the service does not take there.
func (r *Reader) Override(n *input.Node, keys ...string) {
	if n == nil || n.Taken && len(n.Children) == 0 {
		return
	}
	if input.HoldsSecret(n) {
		r.Lose(n, "holds a secret, which must not be in cluster.yaml itself")
		return
	}
	if !r.overridable(n, keys) {
		return
	}
	all := &r.Cluster.Spec.Overrides.InstallConfig
	if *all == nil {
		*all = map[string]any{}
	}
	at := *all
	for _, key := range keys[:len(keys)-1] {
		below, is := at[key].(map[string]any)
		if !is {
			below = map[string]any{}
			at[key] = below
		}
		at = below
	}
	last := keys[len(keys)-1]
	field := "spec.overrides.installConfig." + strings.Join(keys, ".")
	if have, twice := at[last]; twice && !reflect.DeepEqual(have, n.Plain()) {
		r.Second(field, n)
		return
	}
	at[last] = n.Plain()
	r.From(field, n)
	n.Take()
}

// overridable loses what the service does not take at or below n; false where it takes
// nothing of it.
func (r *Reader) overridable(n *input.Node, keys []string) bool {
	if !installcfg.Has(keys...) {
		r.Lose(n, "the service does not take it in overrides of the install-config")
		return false
	}
	if len(n.Children) == 0 {
		return true
	}
	n.Children = slices.DeleteFunc(n.Children, func(c *input.Node) bool {
		below := keys
		if n.Kind == input.MapNode {
			below = append(slices.Clone(keys), c.Key)
		}
		return !r.overridable(c, below)
	})
	return len(n.Children) > 0
}

// InstallOverrides carries over a map with fields of the install-config, as own ones if
// possible.
func (r *Reader) InstallOverrides(n *input.Node) {
	for key, field := range formats().Same[InstallOverrides] {
		if value := n.Get(losses.Steps(key)...); value != nil && r.Fits(field, value) {
			r.Set(field, value)
		}
	}
	r.ovnConfig(n.Get("networking", "ovnKubernetesConfig"))
	r.Mirrors(n.Get("imageDigestSources"))
	r.Mirrors(n.Get("imageContentSources"))
	for _, entry := range n.All() {
		r.OverrideRest(entry, entry.Key)
	}
}

// RestOfFiles reports the files that were not read.
func (r *Reader) RestOfFiles(in *input.Input) {
	for name := range in.Raw {
		r.LoseFile(in, name, "is a file that is not read")
	}
}

// OverrideRest passes on what no field has taken: each of the largest subtrees from which nothing was taken.
func (r *Reader) OverrideRest(n *input.Node, keys ...string) {
	switch {
	case n.Taken && len(n.Children) == 0 || n.Kind == input.NullNode:
		n.Taken = true
	case input.Untouched(n):
		r.Override(n, keys...)
	case n.Kind == input.MapNode:
		for _, c := range n.Children {
			r.OverrideRest(c, append(slices.Clone(keys), c.Key)...)
		}
	}
}

// Operators carries operators over: names, and properties as a map or as JSON.
func (r *Reader) Operators(n *input.Node) {
	for _, item := range r.ListOf(n) {
		field := fmt.Sprintf("spec.operators[%d]", len(r.Cluster.Spec.Operators))
		var operator spec.Operator
		if item.Kind == input.TextNode {
			operator.Name = r.Text(item)
			r.From(field, item)
			r.Cluster.Spec.Operators = append(r.Cluster.Spec.Operators, operator)
			continue
		}
		if item = r.MapOf(item); item == nil {
			continue
		}
		r.From(field, item)
		r.SetIn(field+".name", &operator.Name, item.Get("name"))
		if properties := item.Get("properties"); properties != nil && !(properties.Kind == input.TextNode && properties.Text == "") {
			if properties = r.MapOf(r.Embed(properties)); properties != nil {
				operator.Properties, _ = properties.Plain().(map[string]any)
				r.From(field+".properties", properties)
				properties.Take()
			}
		} else {
			r.Text(properties)
		}
		r.Cluster.Spec.Operators = append(r.Cluster.Spec.Operators, operator)
	}
}

// Ignored carries ids of validations over, which stand in one text with commas.
func (r *Reader) Ignored(field string, to *[]string, n *input.Node) {
	if n == nil {
		return
	}
	list := []string{}
	// The service takes a JSON list too.
	if n.Kind == input.TextNode && strings.HasPrefix(strings.TrimSpace(n.Text), "[") {
		list = r.Texts(r.Embed(n))
	} else {
		list = append(list, clustersettings.Commas(r.Text(n))...)
	}
	*to = list
	r.From(field, n)
}

// tagWords is what the service takes for a tag. A label may hold more.
var tagWords = regexp.MustCompile(`^\w+( \w+)*$`)

// Tag carries the tag over that a label gives the cluster in the service.
func (r *Reader) Tag(n *input.Node) {
	if n == nil || n.Kind == input.TextNode && !tagWords.MatchString(n.Text) {
		r.Lose(n, "cannot be a tag, which has letters, digits and underscores only")
		return
	}
	r.Cluster.Metadata.Tags = []string{r.Text(n)}
	r.From("metadata.tags[0]", n)
}
