package versions

import "slices"

// OperatorManifests are the names of the files that the service puts among a cluster's
// manifests for an operator.
func OperatorManifests(name string) (files []string) {
	long := []string{"_namespace.yaml", "_operatorgroup.yaml", "_subscription.yaml"}
	short := []string{"_ns.yaml", "_operator_group.yaml", "_subscription.yaml"}
	subscription := []string{"_subscription.yaml"}
	setup := []string{"_setup_clusterrole.yaml", "_setup_clusterrolebinding.yaml", "_setup_job.yaml", "_setup_serviceaccount.yaml"}
	metrics := []string{"_prometheus-role.yaml", "_prometheus-rolebinding.yaml"}
	named := func(prefix string, ends ...[]string) {
		for _, end := range slices.Concat(ends...) {
			files = append(files, "50_"+prefix+end)
		}
	}
	switch name {
	case "amd-gpu":
		named("amd_gpu", long, metrics)
	case "authorino", "pipelines", "servicemesh":
		named(name, subscription)
	case "fence-agents-remediation":
		named("fence_agents_remediation", subscription)
	case "self-node-remediation":
		named("self_node_remediation", subscription)
	case "cluster-observability":
		named("cluster_observability", long)
	case "cnv":
		named("openshift-cnv", short, []string{"_masters_schedstats.yaml", "_workers_schedstats.yaml"})
	case "kmm":
		named(name, long, setup)
	case "kube-descheduler":
		named("kube_descheduler", long)
	case "loki", "lvm", "mtv", "nmstate", "osc":
		named("openshift-"+name, short)
	case "openshift-logging":
		named(name, short)
	case "lso":
		named("openshift-lso", short, metrics)
	case "mce":
		named("openshift-mce", []string{"_ns.yaml", "_operator_group.yaml", "_operator_subscription.yaml"})
	case "metallb", "oadp", "serverless":
		named(name, long)
	case "node-feature-discovery":
		named("nodefeaturediscovery", long)
	case "node-healthcheck":
		named("node_healthcheck", long)
	case "node-maintenance":
		named("node_maintenance", long)
	case "numaresources":
		named(name, long, metrics)
	case "nvidia-gpu":
		named("nvidia_gpu", long)
	case "odf":
		named("openshift-odf", short)
	case "openshift-ai":
		named("openshift_ai", long, setup)
	}
	return files
}

// Dependencies are the operators that one brings along.
func Dependencies(name string, single bool) []string {
	o, _ := findOperator(name)
	return o.needed(single)
}

func (o operator) needed(single bool) []string {
	if single {
		return slices.Concat(o.dependencies, o.onSingleNode)
	}
	return o.dependencies
}

// OperatorNeeds are what an operator asks of a role's machines, in words. Some say that
// there is nothing, by an empty list, and most say nothing.
func OperatorNeeds(name, role string) []string {
	one := []string{"1024 MiB of additional RAM", "1 additional CPUs"}
	switch name {
	case "mce", "metallb", "openshift-ai":
		return []string{}
	case "mtv", "osc":
		return one
	case "lvm":
		return []string{"At least 1 non-boot disk per host", "100 MiB of additional RAM", "1 additional CPUs for each non-boot disk"}
	case "cnv":
		return []string{"Additional 1GiB of RAM per each supported GPU", "Additional 1GiB of RAM per each supported SR-IOV NIC", "CPU has virtualization flag (vmx or svm)"}
	case "odf":
		if role == Master {
			return []string{"Requirements apply only for master-only clusters", "At least 3 hosts", "At least 1 non-boot SSD or HDD disk on 3 hosts"}
		}
		return []string{
			"Requirements apply only for clusters with workers", "5 GiB of additional RAM for each non-boot disk", "2 additional CPUs for each non-boot disk",
			"At least 3 workers", "At least 1 non-boot SSD or HDD disk on 3 workers",
		}
	}
	return nil
}
