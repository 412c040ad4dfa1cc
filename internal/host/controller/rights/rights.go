// Package rights has what the controller may do in the cluster. It is less than the original's ClusterRole allows.
package rights

// Rule lets the controller do something with objects in all namespaces, or with objects that have none.
type Rule struct {
	Groups    []string // API groups; "" is core
	Resources []string // such as pods or pods/log
	Names     []string // of the objects; empty if it is about all
	Verbs     []string
}

// Rules are all that the ServiceAccount of the controller needs. For custom manifests, must-gather and the count of reboots
// the controller has the administrator's kubeconfig, which the service gives it.
func Rules() []Rule {
	return []Rule{
		{Groups: []string{""}, Resources: []string{"nodes"}, Verbs: []string{"list", "patch"}},
		{Groups: []string{""}, Resources: []string{"pods"}, Verbs: []string{"list"}},
		{Groups: []string{""}, Resources: []string{"pods/log"}, Verbs: []string{"get"}},
		{Groups: []string{""}, Resources: []string{"configmaps"}, Verbs: []string{"get"}},
		{Groups: []string{""}, Resources: []string{"events"}, Verbs: []string{"create"}},
		{Groups: []string{"batch"}, Resources: []string{"jobs"}, Verbs: []string{"list", "delete"}},
		{Groups: []string{"certificates.k8s.io"}, Resources: []string{"certificatesigningrequests"}, Verbs: []string{"list"}},
		{Groups: []string{"certificates.k8s.io"}, Resources: []string{"certificatesigningrequests/approval"}, Verbs: []string{"update"}},
		{
			Groups: []string{"certificates.k8s.io"}, Resources: []string{"signers"}, Verbs: []string{"approve"},
			Names: []string{"kubernetes.io/kube-apiserver-client-kubelet", "kubernetes.io/kubelet-serving"},
		},
		{Groups: []string{"config.openshift.io"}, Resources: []string{"clusteroperators"}, Verbs: []string{"get", "list"}},
		{Groups: []string{"config.openshift.io"}, Resources: []string{"clusterversions", "proxies"}, Verbs: []string{"get"}},
		{Groups: []string{"machine.openshift.io"}, Resources: []string{"machines"}, Verbs: []string{"list"}},
		{Groups: []string{"machineconfiguration.openshift.io"}, Resources: []string{"machineconfigpools"}, Verbs: []string{"get", "patch"}},
		{Groups: []string{"metal3.io"}, Resources: []string{"baremetalhosts"}, Verbs: []string{"get", "list", "patch"}},
		{Groups: []string{"metal3.io"}, Resources: []string{"baremetalhosts/status"}, Verbs: []string{"patch"}},
		{Groups: []string{"metal3.io"}, Resources: []string{"provisionings"}, Verbs: []string{"get"}},
		{
			Groups: []string{"operators.coreos.com"}, Resources: []string{"clusterserviceversions", "subscriptions"},
			Verbs: []string{"get"},
		},
		{Groups: []string{"operators.coreos.com"}, Resources: []string{"installplans"}, Verbs: []string{"list", "delete"}},
		{
			// OpenShift admits the pod of the controller by one of these, since it uses the network and folders of its host. The
			// ServiceAccount makes no other pods.
			Groups: []string{"security.openshift.io"}, Resources: []string{"securitycontextconstraints"}, Verbs: []string{"use"},
			Names: []string{
				"anyuid", "nonroot", "hostmount-anyuid", "machine-api-termination-handler", "hostnetwork", "hostaccess", "node-exporter",
			},
		},
	}
}
