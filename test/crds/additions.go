package main

// addition is a field that the service knows and that the types, which are those
// of April 2025, do not.
type addition struct {
	crd   string
	field string // from the object's root: spec.networking.networkType
	yaml  string // its schema
	why   string
}

func additions() []addition {
	const clusterInstall = "agentclusterinstalls.extensions.hive.openshift.io"
	return []addition{
		{
			clusterInstall, "spec.provisionRequirements.arbiterAgents", `{type: integer, minimum: 0}`,
			"two control plane nodes and an arbiter",
		},
		{
			clusterInstall, "spec.arbiter",
			`{type: object, required: [name], properties: {name: {type: string}, hyperthreading: {type: string, default: Enabled, enum: ["", Enabled, Disabled]}}}`,
			"the machine pool of the arbiter, as the control plane's",
		},
		{
			clusterInstall, "spec.ntpSources", `{type: array, items: {type: string}}`,
			"time servers that replace those of the live system",
		},
		{
			clusterInstall, "spec.networking.networkType",
			`{type: string, enum: [OpenShiftSDN, OVNKubernetes, CiscoACI, Cilium, Calico, None]}`,
			"networks of other makers",
		},
		{
			clusterInstall, "spec.diskEncryption.enableOn",
			`{type: string, default: none, enum: [none, all, masters, workers, arbiters, "masters,workers", "masters,arbiters", "arbiters,workers", "masters,arbiters,workers"]}`,
			"arbiters have disks, too",
		},
	}
}
