//go:build linux

package controller

import (
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/openshift/assisted-service/models"

	"github.com/oaictl/oaictl/internal/host/controller/rights"
	"github.com/oaictl/oaictl/internal/host/hosttest"
	"github.com/oaictl/oaictl/internal/shared/check"
)

// everything has the controller do all that it can: on bare metal without provisioning, with operators of OLM, labels, and
// requests for certificates.
func everything(w *world) {
	worker := w.service.host("m-2")
	worker.Role, worker.MachineConfigPoolName, worker.NodeLabels = models.HostRoleWorker, "infra", `{"zone":"a"}`
	w.api.Put("machineconfiguration.openshift.io", "machineconfigpools", hosttest.Object{"metadata": hosttest.Object{"name": "worker"}, "spec": hosttest.Object{"paused": false}})
	bareMetal(w, false)
	withOLM(w)
	compact(w)
	w.phase("lso", "local", "Succeeded", "fine")
	w.phase("odf", "storage", "Succeeded", "fine")
	w.env["NOTIFY_NUM_REBOOTS"] = "true"
	w.api.Logs["m-1/wtmp"] = wtmp(2)
	w.request("good", "m-1", nil)
	w.request("foreign", "evil", nil)
}

// asked is all that the controller asks of the API server in several installations, each once.
func asked(t *testing.T) []hosttest.Request {
	t.Helper()
	var all []hosttest.Request
	add := func(w *world) {
		for _, r := range w.api.Requests {
			if !slices.Contains(all, r) {
				all = append(all, r)
			}
		}
	}
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, "m-1", "m-2", "m-3")
		everything(w)
		check.Equal(t, w.run(t.Context()), ExitDone)
		check.Equal(t, w.service.status(), models.ClusterStatusInstalled)
		check.Equal(t, w.approved("good"), true)
		add(w)
	})
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, "m-1")
		w.service.cluster.Platform.Type = ptr(models.PlatformTypeVsphere)
		w.node("m-1", "10.0.0.1", false, hosttest.Object{"key": "node.cloudprovider.kubernetes.io/uninitialized"})
		later(6*time.Minute, func() { w.service.setStatus(models.ClusterStatusError) })
		w.runner.Absent = []string{"oc"}
		check.Equal(t, w.run(t.Context()), ExitDone)
		add(w)
	})
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, "m-1", "m-2", "m-3")
		agentBased(w, 0)
		w.api.Put("", "configmaps", hosttest.Object{"metadata": hosttest.Object{"name": "cluster-config-v1", "namespace": "kube-system"}, "data": hosttest.Object{
			"install-config": "platform:\n  vsphere: {}\n",
		}})
		w.request("foreign", "evil", nil)
		for _, name := range []string{"m-1", "m-2", "m-3"} {
			w.node(name, "10.0.0.1", true)
		}
		later(3*time.Minute, func() { available(w) })
		check.Equal(t, w.run(t.Context()), ExitDone)
		add(w)
	})
	return all
}

// allows reports whether a rule allows a request.
func allows(rule rights.Rule, r hosttest.Request) bool {
	has := func(all []string, one string) bool { return slices.Contains(all, one) || slices.Contains(all, "*") }
	return has(rule.Groups, r.Group) && has(rule.Resources, r.Resource) && has(rule.Verbs, r.Verb) &&
		(len(rule.Names) == 0 || slices.Contains(rule.Names, r.Name))
}

// TestRights: the rules allow all that the controller asks of the API server, and nothing else. So do those of the original,
// which an unchanged installer gives it.
func TestRights(t *testing.T) {
	all := asked(t)
	for _, signer := range []string{"kubernetes.io/kube-apiserver-client-kubelet", "kubernetes.io/kubelet-serving"} {
		all = append(all, hosttest.Request{Verb: "approve", Group: "certificates.k8s.io", Resource: "signers", Name: signer}) // which the API server asks for an approval
	}
	all = append(all, hosttest.Request{Verb: "use", Group: "security.openshift.io", Resource: "securitycontextconstraints", Name: "hostaccess"}) // for its pod
	for name, rules := range map[string][]rights.Rule{"ours": rights.Rules(), "the original's": original()} {
		for _, r := range all {
			if !slices.ContainsFunc(rules, func(rule rights.Rule) bool { return allows(rule, r) }) {
				t.Errorf("%s do not allow to %s", name, r)
			}
		}
	}
	for _, rule := range rights.Rules() {
		for _, resource := range rule.Resources {
			for _, verb := range rule.Verbs {
				if !slices.ContainsFunc(all, func(r hosttest.Request) bool {
					return r.Resource == resource && r.Verb == verb && slices.Contains(rule.Groups, r.Group)
				}) {
					t.Errorf("the right to %s %s is not used", verb, resource)
				}
			}
		}
	}
	if ours, theirs := count(rights.Rules()), count(original()); ours >= theirs {
		t.Errorf("%d rights are not fewer than the original's %d", ours, theirs)
	}
}

func count(rules []rights.Rule) (n int) {
	for _, rule := range rules {
		n += len(rule.Groups) * len(rule.Resources) * len(rule.Verbs)
	}
	return n
}

// original are the rules of the ClusterRole that the original installer creates.
func original() []rights.Rule {
	rule := func(group string, resources, verbs []string, names ...string) rights.Rule {
		return rights.Rule{Groups: []string{group}, Resources: resources, Verbs: verbs, Names: names}
	}
	type of = []string
	read := of{"get", "list", "watch"}
	return []rights.Rule{
		rule("", of{"pods", "configmaps", "pods/log"}, read),
		rule("", of{"nodes"}, of{"get", "list", "watch", "patch"}),
		rule("", of{"events"}, of{"create"}),
		rule("", of{"namespaces"}, of{"patch"}),
		rule("certificates.k8s.io", of{"certificatesigningrequests"}, read),
		rule("batch", of{"jobs"}, of{"get", "list", "delete"}),
		rule("certificates.k8s.io", of{"certificatesigningrequests/approval"}, of{"update"}),
		rule("authentication.k8s.io", of{"tokenreviews"}, of{"create"}),
		rule("authorization.k8s.io", of{"subjectaccessreviews"}, of{"create"}),
		rule("config.openshift.io", of{"clusteroperators"}, of{"get", "create", "list", "watch"}),
		rule("config.openshift.io", of{"clusteroperators/status"}, of{"update"}, "machine-approver"),
		rule("config.openshift.io", of{"proxies"}, of{"get", "list"}),
		rule("certificates.k8s.io", of{"signers"}, of{"approve"}, "kubernetes.io/kube-apiserver-client-kubelet", "kubernetes.io/kubelet-serving"),
		rule("operator.openshift.io", of{"etcds", "ingresscontrollers"}, of{"patch"}),
		rule("metal3.io", of{"baremetalhosts"}, of{"get", "list", "watch", "update", "patch"}),
		rule("metal3.io", of{"baremetalhosts/status"}, of{"get", "patch", "update"}),
		rule("machine.openshift.io", of{"machines"}, read),
		rule("metal3.io", of{"provisionings"}, of{"get", "list"}),
		rule("config.openshift.io", of{"clusterversions"}, of{"get", "list"}),
		rule("operators.coreos.com", of{"clusterserviceversions"}, of{"get", "list"}),
		rule("operators.coreos.com", of{"subscriptions", "installplans"}, of{"get", "list", "update", "delete"}),
		rule("", of{"services"}, of{"list", "delete"}),
		rule("", of{"pods"}, of{"deletecollection"}),
		rule("security.openshift.io", of{"securitycontextconstraints"}, of{"use"},
			"anyuid", "nonroot", "hostmount-anyuid", "machine-api-termination-handler", "hostnetwork", "hostaccess", "node-exporter"),
		rule("machineconfiguration.openshift.io", of{"*"}, of{"patch", "get"}),
	}
}
