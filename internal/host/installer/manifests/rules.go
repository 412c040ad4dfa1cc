package manifests

// OriginalRules are the rules that assisted-installer gives its controller. Each line is API groups, resources, verbs and
// names.
func OriginalRules() []Rule {
	rule := func(group string, resources, verbs []string, names ...string) Rule {
		return Rule{APIGroups: []string{group}, Resources: resources, Verbs: verbs, ResourceNames: names}
	}
	list := func(words ...string) []string { return words }
	const (
		certificates = "certificates.k8s.io"
		config       = "config.openshift.io"
		metal3       = "metal3.io"
		operators    = "operators.coreos.com"
	)
	return []Rule{
		rule("", list("pods", "configmaps", "pods/log"), list("get", "list", "watch")),
		rule("", list("nodes"), list("get", "list", "watch", "patch")),
		rule("", list("events"), list("create")),
		rule("", list("namespaces"), list("patch")),
		rule(certificates, list("certificatesigningrequests"), list("get", "list", "watch")),
		rule("batch", list("jobs"), list("get", "list", "delete")),
		rule(certificates, list("certificatesigningrequests/approval"), list("update")),
		rule("authentication.k8s.io", list("tokenreviews"), list("create")),
		rule("authorization.k8s.io", list("subjectaccessreviews"), list("create")),
		rule(config, list("clusteroperators"), list("get", "create", "list", "watch")),
		rule(config, list("clusteroperators/status"), list("update"), "machine-approver"),
		rule(config, list("proxies"), list("get", "list")),
		rule(certificates, list("signers"), list("approve"), "kubernetes.io/kube-apiserver-client-kubelet", "kubernetes.io/kubelet-serving"),
		rule("operator.openshift.io", list("etcds", "ingresscontrollers"), list("patch")),
		rule(metal3, list("baremetalhosts"), list("get", "list", "watch", "update", "patch")),
		rule(metal3, list("baremetalhosts/status"), list("get", "patch", "update")),
		rule("machine.openshift.io", list("machines"), list("get", "list", "watch")),
		rule(metal3, list("provisionings"), list("get", "list")),
		rule(config, list("clusterversions"), list("get", "list")),
		rule(operators, list("clusterserviceversions"), list("get", "list")),
		rule(operators, list("subscriptions", "installplans"), list("get", "list", "update", "delete")),
		rule("", list("services"), list("list", "delete")),
		rule("", list("pods"), list("deletecollection")),
		rule("security.openshift.io", list("securitycontextconstraints"), list("use"),
			"anyuid", "nonroot", "hostmount-anyuid", "machine-api-termination-handler", "hostnetwork", "hostaccess", "node-exporter"),
		rule("machineconfiguration.openshift.io", list("*"), list("patch", "get")),
	}
}
