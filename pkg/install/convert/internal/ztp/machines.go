package ztp

import (
	"maps"
	"path"
	"slices"
	"strings"

	"github.com/oaictl/oaictl/internal/shared/clustersettings"
	"github.com/oaictl/oaictl/internal/shared/hubapi"
	"github.com/oaictl/oaictl/internal/shared/hubobjects"
	"github.com/oaictl/oaictl/pkg/install/convert/internal/fields"
	"github.com/oaictl/oaictl/pkg/install/convert/internal/input"
	"github.com/oaictl/oaictl/pkg/install/model"
	"github.com/oaictl/oaictl/pkg/install/spec"
)

func (r *Hub) hubMachine(h *Objects, n *input.Node) {
	s := r.MapOf(n.Get("spec"))
	i := r.AddHost(n)
	to := r.Host(i)
	name := n.Get("metadata", "name")
	to.Name = r.Text(name)
	r.From(fields.HostField(i, "name"), name)
	r.Fields(s, fields.MetalHost, i)
	r.machineBMC(h, i, s.Get("bmc"))
	r.ObjectNames(n, "")
	r.bootedEnv(i, n.Get("metadata", "labels", hubapi.LabelAgentInfraEnv))
	r.machineNotes(h, i, n)
	arch := s.Get("architecture")
	if arch != nil && (r.Cluster.Spec.OpenShift.Arch == spec.Multi ||
		r.Cluster.Spec.OpenShift.Arch == clustersettings.CanonicalWord[spec.Arch](arch.Peek())) {
		r.hostArch(i, clustersettings.CanonicalWord[spec.Arch](r.Text(arch)))
	}
	notes := n.Get("metadata", "annotations")
	r.Metal3(i, s.Get("bootMode"), s.Get("automatedCleaningMode"), notes.Get(hubapi.AnnotationBMHInspect), notes)
	r.Keys(s, "bare-metal-host")
	r.Rest(s, "is a matter of metal3, which oaictl leaves to its defaults")
}

// machineBMC carries over a BMC, by which the hub goes on booting the machine.
func (r *Hub) machineBMC(h *Objects, i int, n *input.Node) {
	if n = r.MapOf(n); n == nil {
		return
	}
	name := n.Get("credentialsName")
	if r.BMC(i, n, n.Get("address"), n.Get("disableCertificateVerification")) {
		r.Cluster.Spec.Boot.Method = spec.BootMetal3
		r.Credentials(h, i, name)
	}
}

func (r *Hub) bootedEnv(i int, n *input.Node) {
	if n == nil {
		return
	}
	at := slices.IndexFunc(r.Envs, func(e BootEnv) bool { return e.Name == n.Peek() })
	if at < 0 {
		r.Lose(n, "there is no InfraEnv of this name")
		return
	}
	r.Means(n, "joins the machine with its InfraEnv")
	r.hostArch(i, r.Envs[at].Arch)
}

func (r *Hub) machineNotes(h *Objects, i int, n *input.Node) {
	to := r.Host(i)
	table := hubobjects.MachineTable(hubobjects.HostSecrets{})
	notes := n.Get("metadata", "annotations")
	if hostname := fieldOf(n, table, model.SettingHostname); hostname != nil {
		if to.Hostname = r.Text(hostname); to.Hostname == to.Name {
			to.Hostname = ""
		}
		r.From(fields.HostField(i, "hostname"), hostname)
	} else if notes != nil || to.BMC != nil {
		r.Present[fields.HostField(i, "hostname")] = true
	}
	r.hostFields(i, n, table, model.SettingRole, model.SettingPool, model.SettingInstallerArgs, model.SettingIgnition)
	r.fencingSecret(h, i, notes.Get(hubapi.AnnotationBMACFencingSecret))
	if ref := notes.Get(hubapi.AnnotationBMACClusterReference); ref != nil {
		_, name, _ := strings.Cut(r.Text(ref), "/")
		if len(h.Deployments) > 0 && name != NameOf(h.Deployments[0]) {
			ref.Taken = false
			r.Lose(ref, "names another cluster")
		}
	}
	for _, note := range notes.All() {
		if key, is := strings.CutPrefix(note.Key, hubapi.AnnotationBMACNodeLabelPrefix); is {
			r.NodeLabel(i, key, note)
		}
	}
}

// hubAgent carries over what was set by hand on an Agent.
func (r *Hub) hubAgent(n *input.Node) {
	s := r.MapOf(n.Get("spec"))
	table := hubobjects.AgentTable(hubobjects.HostSecrets{})
	hostname, name := fieldOf(n, table, model.SettingHostname), n.Get("metadata", "name")
	i := r.HostFor(n, n.Child("status").Child("inventory").Child("interfaces").Each("macAddress"), hostname.Peek())
	r.Set(fields.HostField(i, "match.uuid"), name)
	r.HostName(i, hostname)
	r.hostFields(i, n, table, model.SettingRole, model.SettingPool, model.SettingInstallerArgs, model.SettingIgnition, model.SettingLabels)
	r.Set(fields.HostField(i, "disk.hints.deviceName"), input.First(s, "installation_disk_path", "installation_disk_id"))
	r.ObjectNamespace(n)
	r.Keys(n, "agent")
}

// The files of the agent-based installer's folder that are no objects.
const (
	fileFencing   = "fencing-credentials.yaml"
	fileOperators = "operators.yaml"
)

// folderHosts carries over the folders of hosts that the agent-based installer has.
func (r *Hub) folderHosts(in *input.Input) {
	byHost := map[string]bool{}
	for name := range in.Raw {
		if parts := strings.Split(name, "/"); len(parts) == 3 && parts[0] == input.DirHostConfig {
			byHost[parts[1]] = true
		}
	}
	for _, name := range slices.Sorted(maps.Keys(byHost)) {
		r.folderHost(in, name)
	}
}

// fileAddresses are the MAC addresses of a machine, below the folder of its name.
const fileAddresses = "mac_addresses"

// folderOf is the name of the machine with one of the addresses by its folder, or "".
func folderOf(in *input.Input, macs []string) string {
	for _, name := range slices.Sorted(maps.Keys(in.Raw)) {
		dir, file := path.Split(name)
		if file != fileAddresses || path.Dir(path.Clean(dir)) != input.DirHostConfig {
			continue
		}
		for _, own := range strings.Fields(string(in.Raw[name])) {
			if slices.ContainsFunc(macs, func(mac string) bool { return fields.SameMAC(mac, own) }) {
				return path.Base(dir)
			}
		}
	}
	return ""
}

func (r *Hub) folderHost(in *input.Input, name string) {
	folder := path.Join(input.DirHostConfig, name)
	take := func(file string) *input.Node {
		n := r.rawText(in, path.Join(folder, file))
		if n != nil {
			n.Text = strings.TrimSpace(n.Text)
		}
		return n
	}
	addresses := take(fileAddresses)
	if addresses.Peek() == "" {
		r.Problem(input.JoinPath(in.Root, folder), 0, 0, "", "has no "+fileAddresses+", by which the machine is known",
			"write its MAC addresses there, one a line")
		return
	}
	macs := strings.Fields(r.Text(addresses))
	i := r.HostFor(addresses, macs, name) // which may boot from another interface
	h := r.Host(i)
	if h.Name == "" || h.BMC == nil {
		h.Name = name
	}
	if h.Hostname == "" {
		r.Present[fields.HostField(i, "hostname")] = true // the files set none
	}
	if h.Match.MAC == "" {
		h.Match.MAC = macs[0]
		r.From(fields.HostField(i, "match.mac"), addresses)
	}
	r.furtherMACs(i, macs, addresses)
	r.Role(i, take("role"))
	hints := path.Join(folder, "root-device-hints.yaml")
	if data, ok := in.Raw[hints]; ok {
		delete(in.Raw, hints)
		for _, doc := range r.Parse(input.JoinPath(in.Root, hints), data) {
			doc.Label = hints + ":"
			r.Docs = append(r.Docs, doc)
			r.Set(fields.HostField(i, "disk.hints"), doc.Root)
		}
	}
}

func (r *Hub) furtherMACs(i int, macs []string, at *input.Node) {
	h := r.Host(i)
	unsaid := slices.DeleteFunc(slices.Clone(macs), func(mac string) bool { return fields.HasMAC(h, mac) })
	if len(unsaid) > 0 {
		r.LoseAs(at, strings.Join(unsaid, " "), "a machine is recognised by one MAC address, "+h.Match.MAC)
	}
}

func (r *Hub) folderFiles(in *input.Input) {
	for _, fencing := range r.laterFencing {
		r.Fencing(fencing)
	}
	for _, doc := range in.Docs {
		switch path.Base(in.Below(doc.File)) {
		case fileFencing:
			r.Fencing(doc.Root.Get("credentials"))
		case fileOperators:
			r.Operators(doc.Root)
		}
	}
}
