package agent

import (
	"cmp"
	"encoding/json"
	"net/netip"
	"slices"

	"github.com/oaictl/oaictl/internal/shared/hubobjects"
	"github.com/oaictl/oaictl/pkg/install/convert/internal/fields"
	"github.com/oaictl/oaictl/pkg/install/convert/internal/losses"
	"github.com/oaictl/oaictl/pkg/install/convert/internal/output"
	"github.com/oaictl/oaictl/pkg/install/spec"
)

type writer struct{ *output.Writer }

// Write makes what `openshift-install agent` reads: install-config.yaml,
// agent-config.yaml and the folder openshift, and what of the cluster they have
// no place for. The error is about a document in the file that cannot be read.
func Write(c *spec.Cluster, secrets bool) ([]output.File, []losses.Loss, error) {
	w := &writer{output.New(c, secrets)}
	w.LoseAll(fields.Lost("writers", "agent-based", "agent"))
	w.installConfig()
	w.agentConfig()
	w.OpenShiftFolder()
	return w.Result()
}

func (w *writer) agentConfig() {
	c := w.Collector.Cluster
	config := fields.Written(w.Writer, fields.AgentConfig, nil)
	output.Over(config, hubobjects.Fields{"apiVersion": "v1beta1", "kind": "AgentConfig",
		"metadata": hubobjects.Fields{"name": c.Metadata.Name}})
	hubobjects.Put(config, "rendezvousIP", rendezvous(c))
	switch c.Spec.Boot.Image {
	case spec.ImageMinimal:
		config["minimalISO"] = true
	case spec.ImageFull:
		config["minimalISO"] = false
	case spec.ImageDisconnected:
		w.Lose("spec.boot.image", string(c.Spec.Boot.Image), "agent-config.yaml knows full and minimal images")
	}
	var hosts []any
	for i := range c.Spec.Hosts {
		if host := w.agentHost(&c.Spec.Hosts[i]); host != nil {
			hosts = append(hosts, host)
		}
	}
	if hosts != nil {
		config["hosts"] = hosts
	}
	w.YAMLFile("agent-config.yaml", false, config)
}

// rendezvous is the address of the machine that the others meet at: the first
// one of the control plane that has a static address, or might be of it.
func rendezvous(c *spec.Cluster) string {
	for _, role := range []spec.Role{spec.ControlPlane, spec.Auto} {
		for _, host := range c.Spec.Hosts {
			if host.Role != role || host.Net == nil {
				continue
			}
			for _, text := range []string{host.Net.IP, host.Net.IP6} {
				if prefix, err := netip.ParsePrefix(text); err == nil {
					return prefix.Addr().String()
				}
			}
		}
	}
	return ""
}

func (w *writer) agentHost(host *spec.Host) hubobjects.Fields {
	c := w.Collector.Cluster
	macs := output.MACsOf(c, host)
	if len(macs) == 0 {
		w.LoseHost(host, "name", host.Name, "has no MAC address, by which alone the agent-based installer recognises machines")
		return nil
	}
	out := fields.Written(w.Writer, fields.AgentHost, host)
	hubobjects.Put(out, "hostname", host.Hostname)
	config, interfaces, static, err := hubobjects.NMStateOf(c, host)
	switch {
	case err != nil:
		w.RefuseHost(host, "net.nmstate", err.Error(), "")
	case static:
		out["networkConfig"] = config
		out["interfaces"] = hubobjects.InterfaceFields(interfaces)
		if len(macs) > len(interfaces) {
			w.LoseHost(host, "match.mac", host.Match.MAC,
				"is of no interface that the host's network speaks of, and agent-config.yaml knows no others")
		}
	default: // a name that only this file uses
		name := "nic0"
		if host.Net != nil {
			name = cmp.Or(host.Net.Interface, name)
		}
		out["interfaces"] = hubobjects.InterfaceFields([]spec.NIC{{Name: name, MAC: macs[0]}})
	}
	return out
}

// installConfig is the cluster in the installer's words, with the file's overrides on top.
func (w *writer) installConfig() {
	c := w.Maker.Cluster
	config := hubobjects.Fields{"apiVersion": "v1", "networking": hubobjects.Fields{}, "platform": w.installPlatform()}
	output.Over(config, fields.Written(w.Writer, fields.InstallConfig, nil))
	secret := w.PullSecretKnown()
	if secret {
		config["pullSecret"] = c.PullSecret().Reveal()
	}
	if c.TrustBundle() != "" {
		config["additionalTrustBundlePolicy"] = "Always" // by default it needs a proxy
	}
	secret = secret || w.HasPassword()
	w.pools(config)
	text, err := c.InstallConfigOverrides()
	var overrides hubobjects.Fields
	if err == nil && text != "" {
		err = json.Unmarshal([]byte(text), &overrides)
	}
	if err != nil {
		w.Refuse("spec.overrides.installConfig", err.Error(), "")
		return
	}
	w.YAMLFile("install-config.yaml", secret || w.Secrets || overrides != nil, output.Over(config, overrides))
}

func (w *writer) installPlatform() hubobjects.Fields {
	c := w.Collector.Cluster
	p := c.Spec.Platform
	own := hubobjects.Fields{}
	switch p.Type {
	case spec.NoneType, "":
		return hubobjects.Fields{"none": own}
	case spec.External:
		hubobjects.Put(own, "platformName", p.External.Name)
		hubobjects.Put(own, "cloudControllerManager", p.External.CloudControllerManager)
		return hubobjects.Fields{"external": own}
	}
	own = fields.Written(w.Writer, fields.InstallPlatform, nil)
	if p.Type != spec.BareMetal {
		w.Lose("spec.platform", string(p.Type), "install-config.yaml also wants where "+string(p.Type)+
			" is, which the cluster does not say: add it before openshift-install reads the file")
	} else if hosts := w.bmcHosts(); hosts != nil {
		own["hosts"] = hosts
	}
	return hubobjects.Fields{string(p.Type): own}
}

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
			w.LoseHost(host, "bmc", losses.Plain(host.BMC), why)
			continue
		}
		bmc := hubobjects.Fields{"address": w.AddressOrLoss(host), "username": user, "password": password.Reveal()}
		if host.BMC.Insecure {
			bmc["disableCertificateVerification"] = true
		}
		entry := fields.Written(w.Writer, fields.InstallHost, host)
		entry["bmc"] = bmc
		list = append(list, entry)
	}
	return list
}

func (w *writer) pools(config hubobjects.Fields) {
	c := w.Collector.Cluster
	arch := w.poolArch()
	pool := func(name string, replicas int, role spec.Role) hubobjects.Fields {
		out := hubobjects.Fields{"name": name, "replicas": int64(replicas)}
		hubobjects.Put(out, "architecture", arch)
		if roles := c.Spec.Hyperthreading; len(roles) > 0 {
			out["hyperthreading"] = hubobjects.HyperthreadingWord(roles, role)
		}
		return out
	}
	master := pool("master", c.ControlPlaneCount(), spec.ControlPlane)
	if credentials := w.fencingCredentials(); credentials != nil {
		master["fencing"] = hubobjects.Fields{"credentials": credentials}
	}
	config["controlPlane"] = master
	config["compute"] = []any{pool("worker", c.WorkerCount(), spec.Worker)}
	if c.ArbiterCount() > 0 {
		config["arbiter"] = pool("arbiter", c.ArbiterCount(), spec.Arbiter)
	}
	if roles := c.Spec.Hyperthreading; len(roles) > 0 && !slices.Contains(roles, spec.AllRoles) {
		w.Lose("spec.hyperthreading", hubobjects.AnyList(roles),
			"stands in install-config.yaml, but the agent-based installer leaves hyperthreading on")
	}
}

func (w *writer) fencingCredentials() []any {
	var list []any
	for i := range w.Collector.Cluster.Spec.Hosts {
		host := &w.Collector.Cluster.Spec.Hosts[i]
		if entry, ok := w.FencingEntry(host); ok {
			entry["hostName"] = cmp.Or(host.Hostname, host.Name)
			list = append(list, entry)
		}
	}
	return list
}

// poolArch is the architecture in Go's words; "" for the installer's own.
func (w *writer) poolArch() string {
	switch arch := w.Collector.Cluster.Spec.OpenShift.Arch; arch {
	case spec.X86:
		return "amd64"
	case spec.Multi:
		w.Lose("spec.openshift.arch", string(arch),
			"openshift-install makes an image for one architecture at a time: use a multi release, and one run for each")
		return ""
	default:
		return string(arch)
	}
}
