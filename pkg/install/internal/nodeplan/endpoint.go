package nodeplan

import (
	"fmt"
	"net/netip"
	"net/url"
	"slices"
	"strings"
	"time"

	"github.com/oaictl/oaictl/internal/shared/listtext"
	"github.com/oaictl/oaictl/pkg/install/internal/pemcerts"
	"github.com/oaictl/oaictl/pkg/install/model"
	"github.com/oaictl/oaictl/pkg/install/spec"
)

// The ports of a machine config server: with TLS, and without.
const (
	securePort = "22623"
	plainPort  = "22624"
)

// configIsServed blocks hosts that are still to be installed if the service sends them, for their config, to an address
// that the installed cluster does not serve: the service passes on what it was given, and does not compare it with the
// cluster.
func (a *obstacles) configIsServed(hosts []Host) {
	var wait []Host
	for _, h := range hosts {
		if !installStarted(h.Have) {
			wait = append(wait, h)
		}
	}
	if len(wait) == 0 {
		return
	}
	var endpoint spec.IgnitionEndpoint
	if value, said := a.Observed.Cluster.Settings[model.SettingIgnitionEndpoint]; !said || value.Decode(&endpoint) != nil {
		a.ownCA()
		return
	}
	at, err := url.Parse(endpoint.URL)
	if err != nil || at.Hostname() == "" {
		return // the service would have taken no such thing
	}
	if why := a.unserved(at); why != "" {
		a.blockEndpoint(wait, endpoint.URL, why, model.Advicef("%s", "https://"+a.serverName()+":"+securePort+"/config is the cluster's own"))
		return
	}
	if why := a.mistrusted(at, &endpoint); why != "" {
		a.blockEndpoint(slices.DeleteFunc(wait, bringsCA), endpoint.URL, why, a.whereCA())
	}
}

// serverName is what the machine config server is called inside the cluster.
func (a *obstacles) serverName() string {
	if hosts := a.spoke.ConfigServer.Hosts; len(hosts) > 0 {
		return hosts[0]
	}
	return "api-int." + a.Desired.FullName()
}

// unserved is why nothing is served at an address, "" where something may be. Nothing is known of an address outside of
// the cluster: that is only a warning.
func (a *obstacles) unserved(at *url.URL) string {
	host, outer := strings.TrimSuffix(strings.ToLower(at.Hostname()), "."), strings.ToLower(a.spoke.APIHost())
	own := slices.ContainsFunc(a.spoke.ConfigServer.Hosts, func(name string) bool { return sameAddress(name, host) })
	switch {
	case len(a.spoke.ConfigServer.Hosts) == 0:
		return ""
	case !own && host != outer && !slices.ContainsFunc(a.spoke.VIPs, func(vip netip.Addr) bool { return sameAddress(vip.String(), host) }):
		a.warn(model.Warning{
			Key: "cluster/ignition-endpoint", Scope: model.ScopeCluster, Reason: "OtherIgnitionEndpoint",
			Message: fmt.Sprintf("hosts fetch their config from %s, but the cluster's own machine config server is %s", host,
				listtext.ListText(a.spoke.ConfigServer.Hosts)),
			Next: "make sure that this address serves the config of this cluster",
		})
		return ""
	case at.Scheme == "https" && at.Port() == plainPort, at.Scheme == "http" && at.Port() == securePort:
		return fmt.Sprintf("the port %s is for https, %s for http", securePort, plainPort)
	case at.Port() != securePort && at.Port() != plainPort: // some balancer's
		return ""
	case strings.Trim(at.Path, "/") != "config":
		return "the machine config server has a pool's config at /config/POOL, and the service adds only the name of the pool to the URL"
	case at.Scheme == "https" && !own:
		return fmt.Sprintf("the certificate of the machine config server is for %s, not for %s",
			listtext.ListText(a.spoke.ConfigServer.Hosts),
			host)
	}
	return ""
}

// sameAddress reports whether two names, or two addresses however they are written, are one.
func sameAddress(x, y string) bool {
	p, err := netip.ParseAddr(x)
	q, err2 := netip.ParseAddr(y)
	if err == nil && err2 == nil {
		return p.Unmap() == q.Unmap()
	}
	return strings.EqualFold(x, y)
}

// mistrusted is why hosts will not trust the machine config server with the CA that the service
// gives them, "" where nothing speaks against it. Which CA a server elsewhere has is not known,
// and neither is one that the service keeps to itself.
func (a *obstacles) mistrusted(at *url.URL, endpoint *spec.IgnitionEndpoint) string {
	if at.Scheme != "https" || endpoint.CA == nil || endpoint.CA.Text() == "" {
		return ""
	}
	given, err := pemcerts.Parse([]byte(endpoint.CA.Text()))
	if err != nil {
		return "its CA cannot be used: " + err.Error()
	}
	valid := slices.DeleteFunc(slices.Clone(given), func(c model.Certificate) bool { return !c.ValidAt(a.Now) })
	if len(valid) == 0 {
		if a.Now.Before(given[0].From) {
			return fmt.Sprintf("its CA (%s) is valid from %s only", given[0].Subject, given[0].From.UTC().Format(time.RFC3339))
		}
		return fmt.Sprintf("its CA (%s) has expired at %s", given[0].Subject, given[0].Until.UTC().Format(time.RFC3339))
	}
	server := &a.spoke.ConfigServer
	own := slices.ContainsFunc(server.Hosts, func(name string) bool { return sameAddress(name, at.Hostname()) })
	if !own || len(server.CAs) == 0 {
		return ""
	}
	known := slices.ContainsFunc(valid, func(c model.Certificate) bool {
		return slices.ContainsFunc(server.CAs, func(o model.Certificate) bool { return o.Fingerprint == c.Fingerprint })
	})
	if known {
		return ""
	}
	return fmt.Sprintf("its CA is not the one that signs the cluster's machine config server (%s there, %s in %s)", short(valid[0]),
		short(server.CAs[0]), server.CAFrom)
}

func short(c model.Certificate) string {
	return "SHA-256 " + c.Fingerprint[:min(16, len(c.Fingerprint))]
}

// bringsCA reports whether a host has CAs of its own, which the service adds to the cluster's.
func bringsCA(h Host) bool {
	return h.Want != nil && strings.Contains(h.Want.Ignition.Text(), "certificateAuthorities")
}

// whereCA is how to read the CA that hosts need.
func (a *obstacles) whereCA() model.Advice {
	server := &a.spoke.ConfigServer
	if server.CAFrom == "" {
		return "the cluster's own CA is in the ConfigMap machine-config-server-ca of openshift-machine-config-operator, or else in " +
			"root-ca of kube-system"
	}
	namespace, name, _ := strings.Cut(server.CAFrom, "/")
	return model.Advicef("%s", fmt.Sprintf(`the cluster's own CA: kubectl get configmap -n %s %s -o jsonpath='{.data.%s}'`, namespace, name,
		strings.ReplaceAll(server.CAKey, ".", `\.`)))
}

func (a *obstacles) blockEndpoint(hosts []Host, at, why string, right model.Advice) {
	if len(hosts) == 0 {
		return
	}
	b := model.Blocker{
		Key: "cluster/ignition-endpoint", Scope: model.ScopeCluster, Reason: "IgnitionEndpoint", Cure: model.CureNow,
		Field:   "spec.ignitionEndpoint",
		Message: fmt.Sprintf("hosts cannot fetch their config from %s, the address that the service gives them: %s", at, why),
		Remedy: "correct it at the service (ignition_endpoint of the cluster over REST, spec.ignitionEndpoint of the " +
			"AgentClusterInstall on a hub); " + right,
	}
	for _, h := range hosts {
		b.Hosts = append(b.Hosts, h.Name)
	}
	a.block(b)
}

// ownCA warns where the CA of the machine config server has expired. A service that knows no
// endpoint may send hosts there with it or, without TLS, with none.
func (a *obstacles) ownCA() {
	cas := a.spoke.ConfigServer.CAs
	if len(cas) == 0 || slices.ContainsFunc(cas, func(c model.Certificate) bool { return c.ValidAt(a.Now) }) {
		return
	}
	a.warn(model.Warning{
		Key: "cluster/config-server-ca", Scope: model.ScopeCluster, Reason: "ConfigServerCAExpired",
		Message: fmt.Sprintf("the CA of the cluster's machine config server (%s) is valid until %s: hosts that fetch their config by "+
			"https cannot join", a.spoke.ConfigServer.CAFrom, cas[0].Until.UTC().Format(time.RFC3339)),
		Next: "kubectl get clusteroperator machine-config",
	})
}
