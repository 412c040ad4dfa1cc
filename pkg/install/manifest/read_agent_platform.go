package manifest

import (
	"fmt"

	"github.com/oaictl/oaictl/pkg/install/spec"
)

// installPlatform carries the platform of install-config.yaml over: exactly one.
func (r *reader) installPlatform(n *node) {
	if n = r.mapOf(n); n == nil {
		return
	}
	if len(n.children) > 1 {
		r.wrong(n, fmt.Sprintf("names %d platforms", len(n.children)), "keep one")
		return
	}
	for _, p := range n.children {
		r.from("spec.platform", p)
		to := &r.cluster.Spec.Platform
		switch p.key {
		case "none":
			to.Type = spec.NoneType
			p.taken = p.taken || len(p.children) == 0
		case "external":
			to.Type = spec.External
			to.External = &spec.ExternalPlatform{}
			r.from("spec.platform.external", p)
			setText(r, "spec.platform.external.name", &to.External.Name, p.get("platformName"))
			setText(r, "spec.platform.external.cloudControllerManager", &to.External.CloudControllerManager, p.get("cloudControllerManager"))
			p.taken = p.taken || len(p.children) == 0
		case "baremetal":
			to.Type = spec.BareMetal
			p.taken = p.taken || len(p.children) == 0
			r.bareMetal(p)
		case "vsphere", "nutanix":
			to.Type = spec.PlatformType(p.key)
			p.taken = p.taken || len(p.children) == 0
			r.vips(p)
			for _, c := range p.children {
				if !c.taken && untouched(c) {
					r.override(c, "platform", p.key, c.key)
				}
			}
		default:
			r.wrong(p, "is a platform that the Assisted Installer does not install", "it is one of baremetal, none, external, vsphere and nutanix")
		}
	}
}

// vips carries virtual addresses over, each as a list or, formerly, as one.
func (r *reader) vips(n *node) {
	to := &r.cluster.Spec.Network.VIPs
	setTexts(r, "spec.network.vips.api", &to.API, n.get("apiVIPs"))
	setTexts(r, "spec.network.vips.ingress", &to.Ingress, n.get("ingressVIPs"))
	r.oneVIP("spec.network.vips.api", &to.API, n.get("apiVIP"))
	r.oneVIP("spec.network.vips.ingress", &to.Ingress, n.get("ingressVIP"))
}

func (r *reader) oneVIP(field string, to *[]string, n *node) {
	switch {
	case n == nil:
	case len(*to) == 0 && n.peek() == "":
		r.text(n)
	case len(*to) == 0:
		*to = []string{r.text(n)}
		r.from(field, n)
	case (*to)[0] == n.peek():
		r.text(n)
	default:
		r.second(field, n)
	}
}

// balancer carries over who balances the load.
func (r *reader) balancer(n *node) {
	if n == nil {
		return
	}
	const field = "spec.network.loadBalancer"
	to := &r.cluster.Spec.Network.LoadBalancer
	switch word := r.text(n); word {
	case "UserManaged":
		*to = spec.UserManaged
	case "ClusterManaged", "OpenShiftManagedDefault":
		*to = spec.ClusterManaged
	default:
		r.wrong(n, fmt.Sprintf("%q is not known here", word), "write ClusterManaged or UserManaged")
	}
	r.from(field, n)
}

// bareMetal carries platform.baremetal over. Provisioning goes to the
// install-config as it is, as the agent-based installer has it.
func (r *reader) bareMetal(n *node) {
	r.vips(n)
	r.balancer(n.get("loadBalancer", "type"))
	for _, item := range r.listOf(n.get("hosts")) {
		r.bareMetalHost(item)
	}
	ntp := n.get("additionalNTPServers")
	setTexts(r, "spec.network.defaults.ntp", &r.cluster.Spec.Network.Defaults.NTP, ntp)
	for _, key := range []string{"externalBridge", "provisioningBridge", "libvirtURI", "bootstrapProvisioningIP", "bootstrapExternalStaticIP", "bootstrapExternalStaticGateway", "bootstrapExternalStaticDNS", "defaultMachinePlatform"} {
		r.rest(n.get(key), "the agent-based installer ignores it, and so does oaictl")
	}
	for _, c := range n.children {
		if !c.taken && untouched(c) {
			r.override(c, "platform", "baremetal", c.key)
		}
	}
}

// bareMetalHost carries a machine of platform.baremetal.hosts over. One that has
// a BMC can be booted by oaictl.
func (r *reader) bareMetalHost(n *node) {
	if n = r.mapOf(n); n == nil {
		return
	}
	mac := n.get("bootMACAddress")
	i := r.hostWithMAC(mac.peek())
	if i < 0 {
		i = r.addHost(n)
	}
	h := r.host(i)
	setText(r, hostField(i, "name"), &h.Name, n.get("name"))
	r.role(i, n.get("role"))
	if mac != nil && sameMAC(mac.peek(), h.Match.MAC) {
		r.text(mac)
	}
	setText(r, hostField(i, "match.mac"), &h.Match.MAC, mac)
	r.hints(i, n.get("rootDeviceHints"))
	r.bmcOf(i, r.mapOf(n.get("bmc")))
	r.network(i, nil, n.get("networkConfig"))
	if r.host(i).Net != nil && len(r.host(i).Net.Interfaces) == 0 {
		r.nameInterface(i, mac)
	}
	r.meansIf(n.get("bootMode"), "is the default", "UEFI")
	r.rest(n.get("bootMode"), "the agent-based installer ignores it, and oaictl boots machines as they are set up")
}

// nameInterface ties the only interface of a network to the address that the
// machine boots from, where the network does not say so itself.
func (r *reader) nameInterface(i int, mac *node) {
	h := r.host(i)
	if h.Net.NMState == nil || mac == nil {
		return
	}
	list, _ := h.Net.NMState.Inline["interfaces"].([]any)
	name := ""
	for _, item := range list {
		nic, _ := item.(map[string]any)
		kind, _ := nic["type"].(string)
		if kind != "" && kind != "ethernet" {
			continue
		}
		if _, tied := nic["mac-address"]; tied || name != "" {
			return
		}
		name, _ = nic["name"].(string)
	}
	if name != "" {
		h.Net.Interfaces = []spec.NIC{{Name: name, MAC: mac.peek()}}
	}
}

// bmcOf carries a BMC over as install-config.yaml and agent-config.yaml write it.
func (r *reader) bmcOf(i int, n *node) {
	if n == nil || !r.bmc(i, n, n.get("address"), n.get("disableCertificateVerification")) {
		return
	}
	h := r.host(i)
	if h.BMC.Credentials.IsZero() {
		h.BMC.Credentials = r.login(hostField(i, "bmc.credentials"), r.bmcFile(i), n.get("username"), n.get("password"))
		return
	}
	r.rest(n, "the host has credentials already")
}

// bmcFile is the file for the password of a host's BMC.
func (r *reader) bmcFile(i int) string {
	name := r.host(i).Name
	if name == "" {
		name = fmt.Sprintf("host-%d", i)
	}
	return "bmc/" + fileName(name)
}

// fileName is a name without what a file's name cannot have.
func fileName(name string) string {
	safe := make([]rune, 0, len(name))
	for _, c := range name {
		if c != '.' && c != '-' && c != '_' && (c < '0' || c > '9') && (c < 'a' || c > 'z') && (c < 'A' || c > 'Z') || c == '.' && len(safe) == 0 {
			c = '-'
		}
		safe = append(safe, c)
	}
	return string(safe)
}

// agentConfig carries agent-config.yaml over.
func (r *reader) agentConfig(n *node) {
	version := n.get("apiVersion")
	if word := r.text(version); word != "v1alpha1" && word != "v1beta1" && version != nil {
		r.wrong(version, fmt.Sprintf("the version %q of the agent-config is not known", word), "write v1beta1")
	}
	r.text(n.get("kind"))
	r.sameName(n.get("metadata", "name"))
	r.namespace(n.get("metadata", "namespace"))
	r.means(n.get("rendezvousIP"), "says on which machine the service of the image runs: oaictl installs with a service that runs elsewhere")
	for _, key := range []string{"bootArtifactsBaseURL", "ipxeBaseURL"} {
		r.lose(n.get(key), "only an image that holds the service itself is put together with it: oaictl boots machines from the service's images")
	}
	setTexts(r, "spec.network.defaults.ntp", &r.cluster.Spec.Network.Defaults.NTP, n.get("additionalNTPSources"))
	if minimal := n.get("minimalISO"); isTrue(r.boolean(minimal)) {
		r.cluster.Spec.Boot.Image = spec.ImageMinimal
		r.from("spec.boot.image", minimal)
	}
	for _, item := range r.listOf(n.get("hosts")) {
		r.agentHost(item)
	}
	r.giveArches()
}

// sameName carries over a name that is said a second time.
func (r *reader) sameName(n *node) {
	if n != nil && n.peek() != r.cluster.Metadata.Name {
		r.second("metadata.name", n)
		return
	}
	r.text(n)
}

// agentHost carries a machine of agent-config.yaml over, into the one that
// install-config.yaml has already where it is the same.
func (r *reader) agentHost(n *node) {
	if n = r.mapOf(n); n == nil {
		return
	}
	var macs []string
	for _, nic := range n.get("interfaces").items() {
		macs = append(macs, nic.child("macAddress").peek())
	}
	hostname := n.get("hostname")
	i := r.hostWithMAC(macs...)
	if i < 0 {
		i = r.hostNamed(hostname.peek())
	}
	if i < 0 {
		i = r.addHost(n)
	}
	h := r.host(i)
	switch {
	case hostname == nil:
	case h.Name == "" || h.Name == hostname.peek():
		setText(r, hostField(i, "name"), &h.Name, hostname)
	default:
		setText(r, hostField(i, "hostname"), &h.Hostname, hostname)
	}
	r.role(i, n.get("role"))
	r.hints(i, n.get("rootDeviceHints"))
	r.network(i, n.get("interfaces"), n.get("networkConfig"))
	for _, key := range []string{"bmc", "BMC"} {
		r.bmcOf(i, r.mapOf(n.get(key)))
	}
}

// fencing carries over how two control plane machines power each other off.
func (r *reader) fencing(n *node) {
	for _, item := range r.listOf(n) {
		if item = r.mapOf(item); item == nil {
			continue
		}
		name, mac := first(item, "hostName", "hostname"), first(item, "macAddress", "macaddress")
		i := r.hostNamed(name.peek())
		if i < 0 {
			i = r.hostWithMAC(mac.peek())
		}
		if i < 0 {
			r.lose(item, "none of the hosts is the one that it is for")
			continue
		}
		r.text(name)
		r.text(mac)
		field := hostField(i, "fencing")
		r.from(field, item)
		f := &spec.Fencing{}
		setText(r, field+".address", &f.Address, item.get("address"))
		f.Credentials = r.login(field+".credentials", "fencing/"+fileName(r.host(i).Name), item.get("username"), item.get("password"))
		if verify := item.get("certificateVerification"); verify != nil {
			insecure := r.text(verify) == "Disabled"
			if !insecure && verify.text != "Enabled" {
				r.wrong(verify, fmt.Sprintf("%q is not known here", verify.text), "write Enabled or Disabled")
			}
			f.Insecure = &insecure
		}
		r.host(i).Fencing = f
	}
}

// first is the first of some keys that is there.
func first(n *node, keys ...string) *node {
	for _, key := range keys {
		if c := n.get(key); c != nil {
			return c
		}
	}
	return nil
}
