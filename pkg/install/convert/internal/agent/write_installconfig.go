package agent

import (
	"encoding/json"
	"slices"

	"github.com/oaictl/oaictl/internal/objects"
	"github.com/oaictl/oaictl/pkg/install/convert/internal/loss"
	"github.com/oaictl/oaictl/pkg/install/convert/internal/target"
	"github.com/oaictl/oaictl/pkg/install/spec"
)

// installConfig is the cluster in the installer's words: our own fields, and the
// file's overrides on top.
func (w *writer) installConfig() {
	c := w.Maker.Cluster
	config := objects.Fields{
		"apiVersion": "v1",
		"metadata":   objects.Fields{"name": c.Metadata.Name},
		"baseDomain": c.Spec.BaseDomain,
		"networking": w.installNetworking(),
		"platform":   w.installPlatform(),
	}
	secret := w.PullSecretKnown()
	if secret {
		config["pullSecret"] = c.PullSecret().Reveal()
	}
	objects.Put(config, "sshKey", c.SSHKey())
	if bundle := c.TrustBundle(); bundle != "" {
		config["additionalTrustBundle"] = bundle
		config["additionalTrustBundlePolicy"] = "Always" // by default it needs a proxy
	}
	if proxy := objects.ProxyFields(c.Spec.Proxy); len(proxy) > 0 {
		config["proxy"] = proxy
		secret = secret || w.HasPassword()
	}
	w.pools(config)
	text, err := c.InstallConfigOverrides()
	var overrides objects.Fields
	if err == nil && text != "" {
		err = json.Unmarshal([]byte(text), &overrides)
	}
	if err != nil {
		w.Refuse("spec.overrides.installConfig", err.Error(), "")
		return
	}
	w.YAMLFile("install-config.yaml", secret || w.Secrets || overrides != nil, target.Over(config, overrides))
}

func (w *writer) installNetworking() objects.Fields {
	out := objects.Networking(w.Maker.Cluster)
	delete(out, "userManagedNetworking") // follows from the platform
	return out
}

// installPlatform is the platform with what it has of virtual addresses and
// machines.
func (w *writer) installPlatform() objects.Fields {
	c := w.Collector.Cluster
	p := c.Spec.Platform
	own := objects.Fields{}
	switch p.Type {
	case spec.NoneType, "":
		return objects.Fields{"none": own}
	case spec.External:
		objects.Put(own, "platformName", p.External.Name)
		objects.Put(own, "cloudControllerManager", p.External.CloudControllerManager)
		return objects.Fields{"external": own}
	}
	net := c.Spec.Network
	objects.PutAll(own, "apiVIPs", net.VIPs.API)
	objects.PutAll(own, "ingressVIPs", net.VIPs.Ingress)
	if balancer := objects.BalancerWord(net.LoadBalancer); balancer != "" {
		own["loadBalancer"] = objects.Fields{"type": balancer}
	}
	if p.Type != spec.BareMetal {
		w.Lose("spec.platform", string(p.Type), "install-config.yaml also wants where "+string(p.Type)+" is, which the cluster does not say: add it before openshift-install reads the file")
	} else if hosts := w.bmcHosts(); hosts != nil {
		own["hosts"] = hosts
	}
	return objects.Fields{string(p.Type): own}
}

// bmcHosts are the machines with their BMCs, by which the installed cluster looks
// after them.
func (w *writer) bmcHosts() []any {
	c := w.Collector.Cluster
	var list []any
	for i := range c.Spec.Hosts {
		host := &c.Spec.Hosts[i]
		if host.BMC == nil {
			continue
		}
		user, password, known := host.BMC.Credentials.Login()
		why := ""
		switch {
		case !known || password.IsZero():
			why = "the credentials stand in a Secret on a hub"
		case !w.Secrets:
			why = "secrets were not asked for"
		case host.Match.MAC == "":
			why = "install-config.yaml wants the MAC address of a machine with a BMC: write match.mac"
		}
		if why != "" {
			w.LoseHost(host, "bmc", loss.Plain(host.BMC), why)
			continue
		}
		bmc := objects.Fields{"address": w.AddressOrLoss(host), "username": user, "password": password.Reveal()}
		if host.BMC.Insecure {
			bmc["disableCertificateVerification"] = true
		}
		entry := objects.Fields{"name": target.HostnameOf(host), "bootMACAddress": host.Match.MAC, "bmc": bmc}
		if host.Role != spec.Auto {
			entry["role"] = objects.RoleWord(host.Role)
		}
		if hints := objects.HintFields(host.Disk.Hints); len(hints) > 0 {
			entry["rootDeviceHints"] = hints
		}
		list = append(list, entry)
	}
	return list
}

// pools are the machines by role.
func (w *writer) pools(config objects.Fields) {
	c := w.Collector.Cluster
	arch := w.poolArch()
	pool := func(name string, replicas int, role spec.Role) objects.Fields {
		out := objects.Fields{"name": name, "replicas": int64(replicas)}
		objects.Put(out, "architecture", arch)
		if roles := c.Spec.Hyperthreading; len(roles) > 0 {
			out["hyperthreading"] = objects.HyperthreadingWord(roles, role)
		}
		return out
	}
	master := pool("master", c.ControlPlaneCount(), spec.ControlPlane)
	if credentials := w.fencingCredentials(); credentials != nil {
		master["fencing"] = objects.Fields{"credentials": credentials}
	}
	config["controlPlane"] = master
	config["compute"] = []any{pool("worker", c.WorkerCount(), spec.Worker)}
	if c.ArbiterCount() > 0 {
		config["arbiter"] = pool("arbiter", c.ArbiterCount(), spec.Arbiter)
	}
	if roles := c.Spec.Hyperthreading; len(roles) > 0 && !slices.Contains(roles, spec.AllRoles) {
		w.Lose("spec.hyperthreading", objects.AnyList(roles), "stands in install-config.yaml, but the agent-based installer leaves hyperthreading on")
	}
}

func (w *writer) fencingCredentials() []any {
	var list []any
	for i := range w.Collector.Cluster.Spec.Hosts {
		host := &w.Collector.Cluster.Spec.Hosts[i]
		if entry, ok := w.FencingEntry(host); ok {
			entry["hostName"] = target.HostnameOf(host)
			list = append(list, entry)
		}
	}
	return list
}

// poolArch is the architecture in Go's words, which the installer uses; "" for
// the installer's own.
func (w *writer) poolArch() string {
	switch arch := w.Collector.Cluster.Spec.OpenShift.Arch; arch {
	case spec.X86:
		return "amd64"
	case spec.Multi:
		w.Lose("spec.openshift.arch", string(arch), "openshift-install makes an image for one architecture at a time: use a multi release, and one run for each")
		return ""
	default:
		return string(arch)
	}
}
