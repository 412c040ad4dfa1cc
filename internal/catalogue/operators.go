package catalogue

// operator is an operator of the catalogue that a service can install with a
// cluster. Each has one validation of every host and one of the cluster, both
// with the id <name>-requirements-satisfied.
type operator struct {
	name    string // as in the validation id
	field   string // as in spec.operators[].name, where it differs from name
	product string
	host    string // what it asks of a host, beyond cores and memory
	cluster string // what it asks of the cluster as a whole
	remedy  string // what helps where that is missing
	cure    Cure
}

const (
	moreHardware = "Add what the message names to the machines"
	fewerHosts   = "Add hosts, or hardware to those there are"
	switchOn     = "Switch it on in the firmware and reboot into the discovery image"
)

// operators are the operators that the service knows, by name. How many cores
// and how much memory each adds to a role depends on the service's version:
// GET /clusters/{id}/preflight-requirements has the sums.
func operators() []operator {
	return []operator{
		{
			name: "amd-gpu", product: "the AMD GPU operator", cure: CureMachine,
			host:    "Secure Boot switched off where there is a GPU, because the driver is not signed",
			cluster: "a supported AMD GPU in at least one host",
			remedy:  "Put a supported GPU into a host, or switch Secure Boot off in its firmware",
		},
		{
			name: "authorino", product: "Authorino", cure: CureFile,
			host:    "nothing but room for its pods",
			cluster: "a version and architecture for which it is published",
			remedy:  "Choose an OpenShift version that has it",
		},
		{
			name: "cluster-observability", product: "the cluster observability operator", cure: CureFile,
			host:    "nothing but room for its pods",
			cluster: "a version and architecture for which it is published",
			remedy:  "Choose an OpenShift version that has it",
		},
		{
			name: "cnv", product: "OpenShift Virtualization", cure: CureMachine,
			host:    "hardware virtualisation (Intel VT-x or AMD-V), and on a single node a second disk for the virtual machines",
			cluster: "x86_64 or arm64 machines and a storage operator that fits the topology",
			remedy:  switchOn + ", or add the disk",
		},
		{
			name: "fence-agents-remediation", product: "the fence agents remediation operator", cure: CureFile,
			host:    "nothing but room for its pods",
			cluster: "more than one node, so that there is another one to fence from",
			remedy:  "Use it on clusters with several nodes only",
		},
		{
			name: "kmm", product: "kernel module management", cure: CureFile,
			host:    "nothing but room for its pods",
			cluster: "a version and architecture for which it is published",
			remedy:  "Choose an OpenShift version that has it",
		},
		{
			name: "kube-descheduler", product: "the descheduler", cure: CureFile,
			host:    "nothing but room for its pods",
			cluster: "a version and architecture for which it is published",
			remedy:  "Choose an OpenShift version that has it",
		},
		{
			name: "loki", product: "the Loki log store", cure: CureMachine,
			host:    "cores and memory to spare on the hosts that run it",
			cluster: "enough capacity over all hosts, and object storage later on",
			remedy:  fewerHosts,
		},
		{
			name: "lso", product: "the Local Storage operator", cure: CureFile,
			host:    "nothing but the disks that it shall hand out",
			cluster: "a version and architecture for which it is published",
			remedy:  "Choose an OpenShift version that has it",
		},
		{
			name: "lvm", product: "LVM Storage", cure: CureMachine,
			host:    "a disk besides the installation disk, without partitions and file systems",
			cluster: "a version that allows it on this topology, and no OpenShift Data Foundation beside it",
			remedy:  "Add a disk, or wipe one that holds nothing of value (wipefs -a DISK)",
		},
		{
			name: "mce", product: "the multicluster engine", cure: CureMachine,
			host:    "many more cores and much more memory than a bare cluster",
			cluster: "a storage operator (lvm or odf) for the infrastructure that it sets up",
			remedy:  moreHardware,
		},
		{
			name: "metallb", product: "MetalLB", cure: CureFile,
			host:    "nothing but room for its pods",
			cluster: "a platform without a load balancer of its own",
			remedy:  "Choose a platform and version for which it is supported",
		},
		{
			name: "mtv", product: "the migration toolkit for virtualisation", cure: CureMachine,
			host:    "cores and memory besides those of OpenShift Virtualization",
			cluster: "OpenShift Virtualization (cnv), which the service adds by itself",
			remedy:  moreHardware,
		},
		{
			name: "nmstate", product: "the NMState operator", cure: CureFile,
			host:    "nothing but room for its pods",
			cluster: "a platform and architecture for which it is published",
			remedy:  "Choose a platform and version for which it is supported",
		},
		{
			name: "node-feature-discovery", product: "node feature discovery", cure: CureFile,
			host:    "nothing but room for its pods",
			cluster: "a version and architecture for which it is published",
			remedy:  "Choose an OpenShift version that has it",
		},
		{
			name: "node-healthcheck", product: "the node health check operator", cure: CureFile,
			host:    "nothing but room for its pods",
			cluster: "a version for which it is published, and a remediation operator to act for it",
			remedy:  "Choose an OpenShift version that has it",
		},
		{
			name: "node-maintenance", product: "the node maintenance operator", cure: CureFile,
			host:    "nothing but room for its pods",
			cluster: "a version and architecture for which it is published",
			remedy:  "Choose an OpenShift version that has it",
		},
		{
			name: "numa-resources", field: "numaresources", product: "the NUMA resources operator", cure: CureFile,
			host:    "nothing but room for its pods",
			cluster: "a version and architecture for which it is published",
			remedy:  "Choose an OpenShift version that has it",
		},
		{
			name: "nvidia-gpu", product: "the NVIDIA GPU operator", cure: CureMachine,
			host:    "Secure Boot switched off where there is a GPU, because the driver is not signed",
			cluster: "a supported NVIDIA GPU in at least one host",
			remedy:  "Put a supported GPU into a host, or switch Secure Boot off in its firmware",
		},
		{
			name: "oadp", product: "the backup operator OADP", cure: CureFile,
			host:    "nothing but room for its pods",
			cluster: "a version and architecture for which it is published",
			remedy:  "Choose an OpenShift version that has it",
		},
		{
			name: "ocs", field: "odf", product: "OpenShift Container Storage (the old name of OpenShift Data Foundation)", cure: CureMachine,
			host:    "a disk besides the installation disk",
			cluster: "at least three hosts with such a disk",
			remedy:  "Add disks or hosts",
		},
		{
			name: "odf", product: "OpenShift Data Foundation", cure: CureMachine,
			host:    "a disk of at least 25 GB besides the installation disk, on the hosts that store data",
			cluster: "at least three hosts with such a disk: the control plane of a compact cluster, otherwise workers",
			remedy:  "Add disks or hosts",
		},
		{
			name: "openshift-ai", product: "OpenShift AI", cure: CureMachine,
			host:    "many cores and much memory on workers",
			cluster: "at least two workers of that size, besides the operators that it brings along",
			remedy:  fewerHosts,
		},
		{
			name: "openshift-logging", product: "OpenShift logging", cure: CureMachine,
			host:    "cores and memory to spare",
			cluster: "a version for which it is published, and a log store such as loki",
			remedy:  moreHardware,
		},
		{
			name: "osc", product: "sandboxed containers", cure: CureMachine,
			host:    "hardware virtualisation (Intel VT-x or AMD-V)",
			cluster: "a version and architecture for which it is published",
			remedy:  switchOn,
		},
		{
			name: "pipelines", product: "OpenShift Pipelines", cure: CureFile,
			host:    "nothing but room for its pods",
			cluster: "a version and architecture for which it is published",
			remedy:  "Choose an OpenShift version that has it",
		},
		{
			name: "self-node-remediation", product: "the self node remediation operator", cure: CureFile,
			host:    "nothing but room for its pods; a watchdog device makes it safer",
			cluster: "a version and architecture for which it is published",
			remedy:  "Choose an OpenShift version that has it",
		},
		{
			name: "serverless", product: "OpenShift Serverless", cure: CureMachine,
			host:    "cores and memory to spare on workers",
			cluster: "a version and architecture for which it is published",
			remedy:  moreHardware,
		},
		{
			name: "servicemesh", product: "the service mesh", cure: CureFile,
			host:    "cores and memory to spare",
			cluster: "a version and architecture for which it is published",
			remedy:  "Choose an OpenShift version that has it",
		},
	}
}

// requirements are the two validations of an operator.
func (o operator) requirements() []ValidationEntry {
	id := o.name + "-requirements-satisfied"
	listed := o.name
	if o.field != "" {
		listed = o.field
	}
	leaveOut := ", or take " + listed + " out of spec.operators (and out of spec.bundles what brings it)."
	host := ValidationEntry{
		Entry: Entry{
			Kind: KindValidation, Subject: SubjectHost, Name: id, Title: "Host can carry " + o.product,
			Meaning: "The host lacks something that " + o.product + " asks of it: " + o.host + ".",
			Cause:   "The operator is chosen, by name, by a bundle or because another one needs it, and adds to the cores and memory of a role.",
			Check:   "The message says what is missing; oaictl describe host NAME says what the host has.",
			Remedy:  o.remedy + leaveOut,
			Field:   "spec.operators",
		},
		Category: "operators", Blocking: true, Ignorable: true, Cure: o.cure, Debounce: 1,
		ConsequenceOf: []Ref{{SubjectHost, "has-inventory"}},
	}
	cluster := host
	cluster.Subject = SubjectCluster
	cluster.Title = "Cluster can carry " + o.product
	cluster.Meaning = "The cluster lacks something that " + o.product + " asks of it: " + o.cluster + "."
	cluster.Cause = "The operator is chosen, by name, by a bundle or because another one needs it, and does not fit this cluster."
	cluster.Check = "The message says what is missing; oaictl get hosts says what there is."
	cluster.ConsequenceOf = []Ref{{SubjectHost, id}}
	return []ValidationEntry{host, cluster}
}

// validations are all validations, of hosts and clusters.
func validations() []ValidationEntry {
	var all []ValidationEntry
	for _, part := range [][]ValidationEntry{
		hostHardware(), hostNetwork(), clusterNetwork(), clusterHosts(), clusterConfiguration(), hubObjects(), {openshiftAIGPU()},
	} {
		all = append(all, part...)
	}
	for _, o := range operators() {
		all = append(all, o.requirements()...)
	}
	return all
}

// openshiftAIGPU is a check of clusters only, which services before 2026 made
// apart from OpenShift AI's others.
func openshiftAIGPU() ValidationEntry {
	return ValidationEntry{
		Entry: Entry{
			Kind: KindValidation, Subject: SubjectCluster, Name: "openshift-ai-gpu-requirements-satisfied",
			Title:   "OpenShift AI finds a GPU",
			Meaning: "OpenShift AI shall use GPUs and no host has a supported one.",
			Cause:   "The hosts with GPUs have not booted yet, or belong to no role that carries its work.",
			Check:   "oaictl describe host NAME lists a host's GPUs.",
			Remedy:  "Boot a host with a supported GPU, or take openshift-ai out of spec.operators (and out of spec.bundles what brings it).",
			Field:   "spec.operators",
		},
		Category: "operators", Blocking: true, Ignorable: true, Cure: CureMachine, Debounce: 1,
	}
}
