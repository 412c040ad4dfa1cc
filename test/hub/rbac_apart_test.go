//go:build e2e

package hub

import (
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"

	"github.com/oaictl/oaictl/internal/shared/hubapi"
	"github.com/oaictl/oaictl/pkg/install"
	"github.com/oaictl/oaictl/pkg/install/model"
	"github.com/oaictl/oaictl/test/fixture"
)

// apart is a hub without controllers for a cluster, so that all that is done to one is done by oaictl, or by the test:
// in a moment, and always the same. The cluster has an object of each kind.
func apart(t testing.TB) *site {
	t.Helper()
	const mac = `match: {mac: "52:54:00:00:06:00"}`
	cluster := fixture.Example(t, "disconnected",
		mac, mac+"\n    net: {ip: 192.168.127.20/24, gateway: 192.168.127.1, dns: [192.168.127.1]}",
		"  hosts:", "  hub: {classifications: [{label: size, value: large, query: .cpu.count > 16}]}\n  hosts:",
		"  - ./manifests", `  - {name: 50-x.yaml, content: "a: b\n"}`)
	return onMetal3().open(t, onMetal3().boots(t, setup{cluster: cluster, absent: true}))
}

// livesApart registers a cluster and its machines, changes and deletes a host, and deletes the cluster, each as a new
// process does: until one of them is refused. With a server that does not stream lists, they are read before they are
// watched.
func (x *site) livesApart(t *testing.T, streams bool) error {
	t.Helper()
	w := func() *wire { return &wire{} }
	if !streams {
		w = withoutStreams
	}
	a := x.detaches(t, x.through(t, w()))
	if a.err != nil {
		return a.err
	}
	x.hasImage(t)
	if a = x.detaches(t, x.through(t, w())); a.err != nil {
		return a.err
	}
	if n := len(x.ours(t, hubapi.Resource(hubapi.KindBareMetalHost))); n != len(x.cluster.Spec.Hosts) {
		t.Fatalf("%d BareMetalHosts\n%s", n, a.story())
	}
	host, env := x.registers(t), x.namespace+"/"+x.cluster.Metadata.Name
	plane := x.through(t, w())
	update := model.Action{
		Kind: model.UpdateHost, Scope: model.ScopeHost.Of("cp-0"), Name: "cp-0", Target: host, InfraEnv: env, Settings: model.Settings{model.SettingApproved: model.ValueOf(true)},
	}
	if err := plane.Act(t.Context(), &model.Desired{Spec: x.cluster}, update); err != nil {
		return err
	}
	if err := plane.DeleteHost(t.Context(), env, host, install.DeleteOptions{}); err != nil {
		return err
	}
	if err := x.through(t, w()).DeleteCluster(t.Context(), a.result.Observed.Cluster.ID, install.DeleteOptions{}); err != nil {
		return err
	}
	x.nothingLeft(t)
	return nil
}

// withoutStreams makes the API server one that cannot list by watching.
func withoutStreams() *wire {
	return &wire{strike: func(request *http.Request, _ func() (*http.Response, error)) (*http.Response, error, bool) {
		if request.URL.Query().Get("sendInitialEvents") == "" {
			return nil, nil, false
		}
		return refusal(request, http.StatusUnprocessableEntity, "Invalid", "sendInitialEvents is forbidden for watch unless the WatchList feature gate is enabled", ""), nil, true
	}}
}

// hasImage says of the InfraEnv what the service says once its image is there.
func (x *site) hasImage(t *testing.T) {
	t.Helper()
	status := fmt.Sprintf(`{"status":{"isoDownloadURL":"https://images.example.com/x.iso","createdTime":%q,"conditions":[{"type":"ImageCreated","status":"True","reason":"ImageCreated","message":"Image has been created","lastTransitionTime":%[1]q}]}}`,
		time.Now().UTC().Format(time.RFC3339))
	_, err := x.client.Resource(hubapi.Resource(hubapi.KindInfraEnv)).Namespace(x.namespace).Patch(t.Context(), x.cluster.Metadata.Name, types.MergePatchType, []byte(status), metav1.PatchOptions{}, "status")
	if err != nil {
		t.Fatal(err)
	}
}

// registers makes a machine register, as the service does, and returns its Agent's name.
func (x *site) registers(t *testing.T) string {
	t.Helper()
	agent := object(hubapi.GroupAgentInstall+"/"+hubapi.VersionAgentInstall, "Agent", x.namespace, "00000000-0000-0000-0000-000000000001", map[string]any{"spec": map[string]any{
		"approved": false, "role": "auto-assign", "clusterDeploymentName": map[string]any{"name": x.cluster.Metadata.Name, "namespace": x.namespace}}})
	agent.SetLabels(map[string]string{hubapi.LabelAgentInfraEnv: x.cluster.Metadata.Name})
	if _, err := x.client.Resource(hubapi.Resource(hubapi.KindAgent)).Namespace(x.namespace).Create(t.Context(), agent, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	return agent.GetName()
}

// TestWithoutOneVerb takes one verb of one resource of docs/hub-role.yaml away, each
// in its turn. What cannot be done without it ends as not authorised, and says so.
func TestWithoutOneVerb(t *testing.T) {
	server.Start(t) // skips where there is none
	documented := documentedRole(t)
	for _, rule := range slices.Concat(documented.within, documented.wide) {
		for _, resource := range rule.Resources {
			for _, verb := range rule.Verbs {
				t.Run(verb+"-"+resource, func(t *testing.T) {
					t.Parallel()
					x := apart(t)
					x.kube = x.user(t, role{within: withoutVerb(documented.within, resource, verb), wide: withoutVerb(documented.wide, resource, verb)})
					err := x.livesApart(t, verb != "list")
					where := "in namespace " + x.namespace
					if resource == "clusterimagesets" {
						where = "in the whole hub"
					}
					right := fmt.Sprintf("%s %s", verb, schema.GroupResource{Group: rule.APIGroups[0], Resource: resource})
					switch says := fmt.Sprintf("%v\n%s", err, model.FaultOf(err).Next); {
					case verb == "get" && (resource == "clusterimagesets" || resource == "preprovisioningimages"): // they only show more
						if err != nil {
							t.Error(says)
						}
					case model.FaultOf(err).Code != model.CodeAuth || !strings.Contains(says, "may not "+right+" "+where) || !strings.Contains(says, "kubectl auth can-i "+right):
						t.Error(says)
					}
				})
			}
		}
	}
}
