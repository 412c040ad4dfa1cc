package manifest

import (
	"fmt"
	"maps"
	"path"
	"slices"
	"strings"

	"github.com/oaictl/oaictl/internal/hubapi"
	"github.com/oaictl/oaictl/pkg/install/spec"
)

// The files of the agent-based installer's folder that are no objects.
const (
	fileFencing   = "fencing-credentials.yaml"
	fileOperators = "operators.yaml"
)

// hubMachine carries a BareMetalHost over, with what its annotations say of its
// Agent.
func (r *reader) hubMachine(h *hubInput, n *node) {
	s := r.mapOf(n.get("spec"))
	mac := s.get("bootMACAddress")
	i := r.addHost(n)
	to := r.host(i)
	name := n.get("metadata", "name")
	to.Name = r.text(name)
	r.from(hostField(i, "name"), name)
	setText(r, hostField(i, "match.mac"), &to.Match.MAC, mac)
	r.hints(i, s.get("rootDeviceHints"))
	r.machineBMC(h, i, s.get("bmc"))
	r.objectNames(n, "")
	r.bootedEnv(i, n.get("metadata", "labels", hubapi.LabelAgentInfraEnv))
	r.machineNotes(h, i, n.get("metadata", "annotations"))
	arch := s.get("architecture")
	if arch != nil && (r.cluster.Spec.OpenShift.Arch == spec.Multi || r.cluster.Spec.OpenShift.Arch == archOf(arch.peek())) {
		r.hostArch(i, archOf(r.text(arch)))
	}
	r.meansIf(arch, "is the default", string(spec.X86))
	r.meansIf(s.get("online"), "has the hub switch the machine on, as it does with every host that boots", "true")
	notes := n.get("metadata", "annotations")
	r.metal3(i, s.get("bootMode"), s.get("automatedCleaningMode"), notes.get(hubapi.AnnotationBMHInspect), notes)
	for _, key := range []string{"image", "customDeploy", "consumerRef"} {
		r.means(s.get(key), "is filled in by the hub")
	}
	r.rest(s, "is a matter of metal3, which oaictl leaves to its defaults")
}

// machineBMC carries the BMC of a BareMetalHost over. Machines with one are
// booted by the hub, as they were.
func (r *reader) machineBMC(h *hubInput, i int, n *node) {
	if n = r.mapOf(n); n == nil {
		return
	}
	name := n.get("credentialsName")
	if !r.bmc(i, n, n.get("address"), n.get("disableCertificateVerification")) {
		return
	}
	r.cluster.Spec.Boot.Method = spec.BootMetal3
	r.credentials(h, i, name)
}

// credentials carries the credentials of a BMC over: their content where the
// Secret stands in the input, else the reference.
func (r *reader) credentials(h *hubInput, i int, name *node) {
	if name == nil {
		return
	}
	to, field := r.host(i).BMC, hostField(i, "bmc.credentials")
	r.text(name)
	r.from(field, name)
	secret := h.secrets[name.peek()]
	if secret == nil {
		to.Credentials = spec.Credentials{SecretRef: &spec.SecretRef{Name: name.peek()}}
		return
	}
	h.used[secret] = true
	to.Credentials = r.login(field, r.bmcFile(i), r.secretKey(secret, "username"), r.secretKey(secret, "password"))
}

// bootedEnv takes the label that names the InfraEnv of a machine.
func (r *reader) bootedEnv(i int, n *node) {
	if n == nil {
		return
	}
	at := slices.IndexFunc(r.envs, func(e bootEnv) bool { return e.name == n.peek() })
	if at < 0 {
		r.lose(n, "there is no InfraEnv of this name")
		return
	}
	r.means(n, "joins the machine with its InfraEnv")
	r.hostArch(i, r.envs[at].arch)
}

// machineNotes carries over what annotations say of the Agent of a machine.
func (r *reader) machineNotes(h *hubInput, i int, notes *node) {
	to := r.host(i)
	at := func(name string) *node { return notes.get("bmac.agent-install.openshift.io/" + name) }
	if hostname := at("hostname"); hostname != nil {
		if to.Hostname = r.text(hostname); to.Hostname == to.Name {
			to.Hostname = ""
		}
		r.from(hostField(i, "hostname"), hostname)
	} else if notes != nil || to.BMC != nil {
		r.present[hostField(i, "hostname")] = true
	}
	r.role(i, at("role"))
	setText(r, hostField(i, "machineConfigPool"), &to.MachineConfigPool, at("machine-config-pool"))
	r.installerArgs(i, at("installer-args"))
	r.hostIgnition(i, at("ignition-config-overrides"))
	r.fencingSecret(h, i, at("fencing-credentials-secret-name"))
	if ref := at("cluster-reference"); ref != nil {
		_, name, _ := strings.Cut(r.text(ref), "/")
		if len(h.deployments) > 0 && name != nameOf(h.deployments[0]) {
			ref.taken = false
			r.lose(ref, "names another cluster")
		}
	}
	for _, note := range notes.all() {
		if key, is := strings.CutPrefix(note.key, hubapi.AnnotationBMACNodeLabelPrefix); is {
			r.nodeLabel(i, key, note)
		}
	}
}

func (r *reader) nodeLabel(i int, key string, n *node) {
	h := r.host(i)
	if h.Labels == nil {
		h.Labels = map[string]string{}
	}
	h.Labels[key] = r.text(n)
	r.from(hostField(i, "labels."+key), n)
}

func (r *reader) nodeLabels(i int, n *node) {
	for _, label := range r.mapOf(n).all() {
		if label.kind == nullNode {
			label.kind = textNode
		}
		r.nodeLabel(i, label.key, label)
	}
}

// installerArgs carries arguments of coreos-installer over, a JSON list in a
// text.
func (r *reader) installerArgs(i int, n *node) {
	if n == nil || n.kind == textNode && n.text == "" {
		r.text(n)
		return
	}
	field := hostField(i, "installerArgs")
	r.from(field, n)
	setTexts(r, field, &r.host(i).InstallerArgs, r.embed(n))
}

func (r *reader) hostIgnition(i int, n *node) {
	if n == nil || n.kind == textNode && n.text == "" {
		r.text(n)
		return
	}
	if n = r.embed(n); n != nil {
		r.host(i).Ignition = r.document(hostField(i, "ignition"), n)
	}
}

// fencingSecret carries over by which Secret a machine is powered off by its
// peer.
func (r *reader) fencingSecret(h *hubInput, i int, n *node) {
	if n == nil {
		return
	}
	to, field := r.host(i), hostField(i, "fencing")
	to.Fencing = &spec.Fencing{}
	r.text(n)
	r.from(field, n)
	secret := h.secrets[n.peek()]
	if secret == nil {
		to.Fencing.Credentials = spec.Credentials{SecretRef: &spec.SecretRef{Name: n.peek()}}
		return
	}
	h.used[secret] = true
	setText(r, field+".address", &to.Fencing.Address, r.secretKey(secret, "address"))
	to.Fencing.Credentials = r.login(field+".credentials", "fencing/"+fileName(to.Name), r.secretKey(secret, "username"), r.secretKey(secret, "password"))
	if verify := r.secretKey(secret, "certificateVerification"); verify != nil {
		insecure := r.text(verify) == "Disabled"
		to.Fencing.Insecure = &insecure
	}
}

// hubAgent carries an Agent over, which the service has made of a machine: what
// was set on it by hand.
func (r *reader) hubAgent(n *node) {
	s := r.mapOf(n.get("spec"))
	var macs []string
	for _, nic := range n.child("status").child("inventory").child("interfaces").items() {
		macs = append(macs, nic.child("macAddress").peek())
	}
	hostname, name := s.get("hostname"), n.get("metadata", "name")
	i := r.hostWithMAC(macs...)
	if i < 0 {
		i = r.hostNamed(hostname.peek())
	}
	if i < 0 {
		i = r.addHost(n)
	}
	to := r.host(i)
	setText(r, hostField(i, "match.uuid"), &to.Match.UUID, name)
	if to.Name == "" || to.Name == hostname.peek() {
		setText(r, hostField(i, "name"), &to.Name, hostname)
	} else {
		setText(r, hostField(i, "hostname"), &to.Hostname, hostname)
	}
	r.role(i, s.get("role"))
	setText(r, hostField(i, "machineConfigPool"), &to.MachineConfigPool, s.get("machineConfigPool"))
	setText(r, hostField(i, "disk.hints.deviceName"), &to.Disk.Hints.DeviceName, first(s, "installation_disk_path", "installation_disk_id"))
	r.installerArgs(i, s.get("installerArgs"))
	r.hostIgnition(i, s.get("ignitionConfigOverrides"))
	r.nodeLabels(i, s.get("nodeLabels"))
	r.means(s.get("approved"), "oaictl approves the hosts that the file names")
	r.means(s.get("clusterDeploymentName"), "oaictl binds the hosts that the file names")
	r.objectNamespace(n)
	r.means(n.get("metadata", "labels"), "is filled in by the service")
	r.means(n.get("metadata", "annotations"), "is filled in by the service")
}

// folderHosts carries over the folders of hosts that the agent-based installer
// has: by which addresses a machine is known, its role and its disk.
func (r *reader) folderHosts(in *input) {
	byHost := map[string][]string{}
	for name := range in.raw {
		if parts := strings.Split(name, "/"); len(parts) == 3 && parts[0] == dirHostConfig {
			byHost[parts[1]] = append(byHost[parts[1]], parts[2])
		}
	}
	var hosts []string
	for name := range byHost {
		hosts = append(hosts, name)
	}
	slices.Sort(hosts)
	for _, name := range hosts {
		r.folderHost(in, name)
	}
}

// fileAddresses are the MAC addresses of a machine, below the folder of its name.
const fileAddresses = "mac_addresses"

// folderOf is the name of the machine that has one of the addresses by its folder,
// "" for none.
func (in *input) folderOf(macs []string) string {
	for _, name := range slices.Sorted(maps.Keys(in.raw)) {
		dir, file := path.Split(name)
		if file != fileAddresses || path.Dir(path.Clean(dir)) != dirHostConfig {
			continue
		}
		for _, own := range strings.Fields(string(in.raw[name])) {
			if slices.ContainsFunc(macs, func(mac string) bool { return sameMAC(mac, own) }) {
				return path.Base(dir)
			}
		}
	}
	return ""
}

func (r *reader) folderHost(in *input, name string) {
	folder := path.Join(dirHostConfig, name)
	take := func(file string) (*node, bool) {
		data, ok := in.raw[path.Join(folder, file)]
		if !ok {
			return nil, false
		}
		delete(in.raw, path.Join(folder, file))
		doc := &document{file: joinPath(in.path, path.Join(folder, file)), label: path.Join(folder, file) + ":"}
		doc.root = &node{in: doc, kind: textNode, text: strings.TrimSpace(string(data)), line: 1, col: 1}
		r.docs = append(r.docs, doc)
		return doc.root, true
	}
	addresses, ok := take(fileAddresses)
	if !ok || addresses.text == "" {
		r.problem(joinPath(in.path, folder), 0, 0, "", "has no "+fileAddresses+", by which the machine is known", "write its MAC addresses there, one a line")
		return
	}
	macs := strings.Fields(r.text(addresses))
	i := r.hostWithMAC(macs...)
	if i < 0 {
		i = r.hostNamed(name) // which may boot from another interface
	}
	if i < 0 {
		i = r.addHost(addresses)
	}
	h := r.host(i)
	if h.Name == "" || h.BMC == nil {
		h.Name = name
	}
	if h.Hostname == "" {
		r.present[hostField(i, "hostname")] = true // the files set none
	}
	if h.Match.MAC == "" {
		h.Match.MAC = macs[0]
		r.from(hostField(i, "match.mac"), addresses)
	}
	r.furtherMACs(i, macs, addresses)
	if role, ok := take("role"); ok {
		r.role(i, role)
	}
	if data, ok := in.raw[path.Join(folder, "root-device-hints.yaml")]; ok {
		file := joinPath(in.path, path.Join(folder, "root-device-hints.yaml"))
		delete(in.raw, path.Join(folder, "root-device-hints.yaml"))
		for _, doc := range r.parse(file, data) {
			doc.label = path.Join(folder, "root-device-hints.yaml") + ":"
			r.docs = append(r.docs, doc)
			r.hints(i, doc.root)
		}
	}
}

// furtherMACs tells addresses of a machine that nothing in cluster.yaml speaks
// of.
func (r *reader) furtherMACs(i int, macs []string, at *node) {
	h := r.host(i)
	var unsaid []string
	for _, mac := range macs {
		known := sameMAC(h.Match.MAC, mac)
		if h.Net != nil {
			known = known || slices.ContainsFunc(h.Net.Interfaces, func(nic spec.NIC) bool { return sameMAC(nic.MAC, mac) })
		}
		if !known {
			unsaid = append(unsaid, mac)
		}
	}
	if len(unsaid) > 0 {
		r.losses = append(r.losses, lost{at: at, loss: Loss{Path: at.path(), Value: strings.Join(unsaid, " "), Why: "a machine is recognised by one MAC address, " + h.Match.MAC}})
	}
}

// folderFiles reads the files beside the objects: credentials for fencing, and
// operators to install.
func (r *reader) folderFiles(in *input) {
	for _, fencing := range r.laterFencing {
		r.fencing(fencing)
	}
	for _, doc := range in.docs {
		switch path.Base(in.below(doc.file)) {
		case fileFencing:
			r.fencing(doc.root.get("credentials"))
		case fileOperators:
			r.operators(doc.root)
		}
	}
}

// operators carries operators over: names, and properties as a map or as JSON in
// a text.
func (r *reader) operators(n *node) {
	for _, item := range r.listOf(n) {
		field := fmt.Sprintf("spec.operators[%d]", len(r.cluster.Spec.Operators))
		var operator spec.Operator
		if item.kind == textNode {
			operator.Name = r.text(item)
			r.from(field, item)
			r.cluster.Spec.Operators = append(r.cluster.Spec.Operators, operator)
			continue
		}
		if item = r.mapOf(item); item == nil {
			continue
		}
		r.from(field, item)
		setText(r, field+".name", &operator.Name, item.get("name"))
		if properties := item.get("properties"); properties != nil && !(properties.kind == textNode && properties.text == "") {
			if properties = r.mapOf(r.embed(properties)); properties != nil {
				operator.Properties, _ = properties.plain().(map[string]any)
				r.from(field+".properties", properties)
				properties.take()
			}
		} else {
			r.text(properties)
		}
		r.cluster.Spec.Operators = append(r.cluster.Spec.Operators, operator)
	}
}
