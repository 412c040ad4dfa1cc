package settings

import (
	"fmt"

	"github.com/oaictl/oaictl/internal/setting"
	"github.com/oaictl/oaictl/pkg/install/convert/internal/source"
	"github.com/oaictl/oaictl/pkg/install/spec"
)

// Proxy carries a proxy over, which all formats but aicli's write alike.
func (r *Reader) Proxy(n *source.Node) {
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
func (r *Reader) NoProxy(n *source.Node) {
	list := append(spec.StringList{}, setting.Commas(n.Peek())...)
	source.Carry(r.Account, "spec.proxy.no", &r.Cluster.Spec.Proxy.No, n, list)
}

// Networking carries the networks over. Formats differ in how they write service
// networks: as texts, or as maps with a cidr.
func (r *Reader) Networking(n *source.Node) {
	if n = r.MapOf(n); n == nil {
		return
	}
	net := &r.Cluster.Spec.Network
	source.SetText(r.Account, "spec.network.type", &net.Type, n.Get("networkType"))
	r.CIDRs("spec.network.machine", &net.Machine, n.Get("machineNetwork"))
	r.CIDRs("spec.network.service", &net.Service, n.Get("serviceNetwork"))
	r.clusterNetworks(n.Get("clusterNetwork"))
	r.SetNumber("spec.network.mtu", &net.MTU, n.Get("clusterNetworkMTU"))
	r.Override(n.Get("ovnKubernetesConfig"), "networking", "ovnKubernetesConfig")
}

// CIDRs carries networks over.
func (r *Reader) CIDRs(field string, to *[]string, n *source.Node) {
	if n == nil {
		return
	}
	list := []string{}
	for i, item := range r.ListOf(n) {
		cidr := item
		if item.Kind == source.MapNode {
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

func (r *Reader) clusterNetworks(n *source.Node) {
	if n == nil {
		return
	}
	to := &r.Cluster.Spec.Network.Cluster
	*to = []spec.ClusterNetwork{}
	r.From("spec.network.cluster", n)
	for i, item := range r.ListOf(n) {
		if item = r.MapOf(item); item == nil {
			continue
		}
		field := fmt.Sprintf("spec.network.cluster[%d]", i)
		r.From(field, item)
		var network spec.ClusterNetwork
		source.SetText(r.Account, field+".cidr", &network.CIDR, item.Get("cidr"))
		r.SetNumber(field+".hostPrefix", &network.HostPrefix, item.Get("hostPrefix"))
		*to = append(*to, network)
	}
}

// VIPs carries virtual addresses over, each as a list or, formerly, as one.
func (r *Reader) VIPs(n *source.Node) {
	to := &r.Cluster.Spec.Network.VIPs
	source.SetTexts(r.Account, "spec.network.vips.api", &to.API, n.Get("apiVIPs"))
	source.SetTexts(r.Account, "spec.network.vips.ingress", &to.Ingress, n.Get("ingressVIPs"))
	r.oneVIP("spec.network.vips.api", &to.API, n.Get("apiVIP"))
	r.oneVIP("spec.network.vips.ingress", &to.Ingress, n.Get("ingressVIP"))
}

func (r *Reader) oneVIP(field string, to *[]string, n *source.Node) {
	switch {
	case n == nil:
	case len(*to) == 0 && n.Peek() == "":
		r.Text(n)
	case len(*to) == 0:
		*to = []string{r.Text(n)}
		r.From(field, n)
	case (*to)[0] == n.Peek():
		r.Text(n)
	default:
		r.Second(field, n)
	}
}

// Balancer carries over who balances the load.
func (r *Reader) Balancer(n *source.Node) {
	if n == nil {
		return
	}
	const field = "spec.network.loadBalancer"
	to := &r.Cluster.Spec.Network.LoadBalancer
	switch word := r.Text(n); word {
	case "UserManaged":
		*to = spec.UserManaged
	case "ClusterManaged", "OpenShiftManagedDefault":
		*to = spec.ClusterManaged
	default:
		r.Wrong(n, fmt.Sprintf("%q is not known here", word), "write ClusterManaged or UserManaged")
	}
	r.From(field, n)
}
