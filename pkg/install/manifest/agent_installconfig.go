package manifest

import (
	"encoding/json"
	"slices"

	"github.com/oaictl/oaictl/pkg/install/spec"
)

// installConfig is the cluster in the installer's words: our own fields, and the
// file's overrides on top.
func (w *writer) installConfig() {
	c := w.hub.cluster
	config := fields{
		"apiVersion": "v1",
		"metadata":   fields{"name": c.Metadata.Name},
		"baseDomain": c.Spec.BaseDomain,
		"networking": w.installNetworking(),
		"platform":   w.installPlatform(),
	}
	secret := w.pullSecretKnown()
	if secret {
		config["pullSecret"] = c.PullSecret().Reveal()
	}
	put(config, "sshKey", c.SSHKey())
	if bundle := c.TrustBundle(); bundle != "" {
		config["additionalTrustBundle"] = bundle
		config["additionalTrustBundlePolicy"] = "Always" // by default it needs a proxy
	}
	if proxy := proxyFields(c.Spec.Proxy); len(proxy) > 0 {
		config["proxy"] = proxy
		secret = secret || w.hasPassword()
	}
	w.pools(config)
	text, err := c.InstallConfigOverrides()
	var overrides fields
	if err == nil && text != "" {
		err = json.Unmarshal([]byte(text), &overrides)
	}
	if err != nil {
		w.refuse("spec.overrides.installConfig", err.Error(), "")
		return
	}
	w.yamlFile("install-config.yaml", secret || w.secrets || overrides != nil, over(config, overrides))
}

// over lays a map on another, deeply; lists are replaced.
func over(base, top fields) fields {
	for key, value := range top {
		below, isMap := base[key].(fields)
		above, aboveIsMap := value.(fields)
		if isMap && aboveIsMap {
			base[key] = over(below, above)
		} else {
			base[key] = value
		}
	}
	return base
}

func (w *writer) installNetworking() fields {
	out := networking(w.hub.cluster)
	delete(out, "userManagedNetworking") // follows from the platform
	return out
}

// installPlatform is the platform with what it has of virtual addresses and
// machines.
func (w *writer) installPlatform() fields {
	c := w.losses.cluster
	p := c.Spec.Platform
	own := fields{}
	switch p.Type {
	case spec.NoneType, "":
		return fields{"none": own}
	case spec.External:
		put(own, "platformName", p.External.Name)
		put(own, "cloudControllerManager", p.External.CloudControllerManager)
		return fields{"external": own}
	}
	net := c.Spec.Network
	putAll(own, "apiVIPs", net.VIPs.API)
	putAll(own, "ingressVIPs", net.VIPs.Ingress)
	if balancer := balancerWord(net.LoadBalancer); balancer != "" {
		own["loadBalancer"] = fields{"type": balancer}
	}
	if p.Type != spec.BareMetal {
		w.lose("spec.platform", string(p.Type), "install-config.yaml also wants where "+string(p.Type)+" is, which the cluster does not say: add it before openshift-install reads the file")
	} else if hosts := w.bmcHosts(); hosts != nil {
		own["hosts"] = hosts
	}
	return fields{string(p.Type): own}
}

// bmcHosts are the machines with their BMCs, by which the installed cluster looks
// after them.
func (w *writer) bmcHosts() []any {
	c := w.losses.cluster
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
		case !w.secrets:
			why = "secrets were not asked for"
		case host.Match.MAC == "":
			why = "install-config.yaml wants the MAC address of a machine with a BMC: write match.mac"
		}
		if why != "" {
			w.loseHost(host, "bmc", plainOf(host.BMC), why)
			continue
		}
		bmc := fields{"address": w.addressOrLoss(host), "username": user, "password": password.Reveal()}
		if host.BMC.Insecure {
			bmc["disableCertificateVerification"] = true
		}
		entry := fields{"name": hostnameOf(host), "bootMACAddress": host.Match.MAC, "bmc": bmc}
		if host.Role != spec.Auto {
			entry["role"] = roleWord(host.Role)
		}
		if hints := hintFields(host.Disk.Hints); len(hints) > 0 {
			entry["rootDeviceHints"] = hints
		}
		list = append(list, entry)
	}
	return list
}

// hostnameOf is the hostname, or the host's name where the machine keeps its own.
func hostnameOf(host *spec.Host) string {
	if host.Hostname == "" {
		return host.Name
	}
	return host.Hostname
}

// addressOrLoss is the BMC's address in metal3's words, or as it is where it does
// not say enough for these.
func (w *writer) addressOrLoss(host *spec.Host) string {
	before := len(w.hub.list)
	address := w.metal3Address(host)
	for _, problem := range w.hub.list[before:] {
		w.lose(problem.Field, host.BMC.Address, problem.Message+"; "+problem.Remedy)
	}
	w.hub.list = w.hub.list[:before]
	if address == "" {
		return host.BMC.Address
	}
	return address
}

// pools are the machines by role.
func (w *writer) pools(config fields) {
	c := w.losses.cluster
	arch := w.poolArch()
	pool := func(name string, replicas int, role spec.Role) fields {
		out := fields{"name": name, "replicas": int64(replicas)}
		put(out, "architecture", arch)
		if roles := c.Spec.Hyperthreading; len(roles) > 0 {
			out["hyperthreading"] = hyperthreadingWord(roles, role)
		}
		return out
	}
	master := pool("master", c.ControlPlaneCount(), spec.ControlPlane)
	if credentials := w.fencingCredentials(); credentials != nil {
		master["fencing"] = fields{"credentials": credentials}
	}
	config["controlPlane"] = master
	config["compute"] = []any{pool("worker", c.WorkerCount(), spec.Worker)}
	if c.ArbiterCount() > 0 {
		config["arbiter"] = pool("arbiter", c.ArbiterCount(), spec.Arbiter)
	}
	if roles := c.Spec.Hyperthreading; len(roles) > 0 && !slices.Contains(roles, spec.AllRoles) {
		w.lose("spec.hyperthreading", anyList(roles), "stands in install-config.yaml, but the agent-based installer leaves hyperthreading on")
	}
}

func (w *writer) fencingCredentials() []any {
	var list []any
	for i := range w.losses.cluster.Spec.Hosts {
		host := &w.losses.cluster.Spec.Hosts[i]
		if entry, ok := w.fencingEntry(host); ok {
			entry["hostName"] = hostnameOf(host)
			list = append(list, entry)
		}
	}
	return list
}

// poolArch is the architecture in Go's words, which the installer uses; "" for
// the installer's own.
func (w *writer) poolArch() string {
	switch arch := w.losses.cluster.Spec.OpenShift.Arch; arch {
	case spec.X86:
		return "amd64"
	case spec.Multi:
		w.lose("spec.openshift.arch", string(arch), "openshift-install makes an image for one architecture at a time: use a multi release, and one run for each")
		return ""
	default:
		return string(arch)
	}
}
