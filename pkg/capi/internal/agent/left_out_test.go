package agent_test

import (
	"context"
	"strings"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/oaictl/oaictl/internal/shared/clock"
	"github.com/oaictl/oaictl/internal/shared/clustersettings"
	agentv1 "github.com/oaictl/oaictl/pkg/capi/api/agent/v1beta2"
	bootstrapv1 "github.com/oaictl/oaictl/pkg/capi/api/bootstrap/v1beta1"
	"github.com/oaictl/oaictl/pkg/capi/internal/agent"
	"github.com/oaictl/oaictl/pkg/capi/internal/clusterloop"
	"github.com/oaictl/oaictl/pkg/install"
	"github.com/oaictl/oaictl/pkg/install/model"
	"github.com/oaictl/oaictl/pkg/install/spec"
)

// singleNode is a cluster whose only host registers from an InfraEnv of its own.
const singleNode = `apiVersion: oaictl.io/v1alpha1
kind: Cluster
metadata: {name: c}
spec:
  openshift: {version: "4.20.1"}
  baseDomain: example.com
  pullSecret: {env: PULL}
  network: {machine: [192.168.127.0/24]}
  topology: {controlPlane: 1}
  hosts:
  - {name: other, role: control-plane, match: {infraEnv: other}}
`

// TestMachineOfAPoolThatIsLeftOut: if the cluster is installed without a host, the reason is reported from when the
// host is back in its pool until it is bound again.
func TestMachineOfAPoolThatIsLeftOut(t *testing.T) {
	m := newMoved(t, "env")
	m.machine.Spec.ProviderID = "" // it was not handed over
	if err := m.client.Update(t.Context(), m.machine); err != nil {
		t.Fatal(err)
	}
	wanted, err := spec.Parse(t.Context(), "cluster.yaml", []byte(singleNode), spec.Env{LookupEnv: func(string) (string, bool) { return `{"auths":{"quay.io":{"auth":"dTpw"}}}`, true }})
	if err != nil {
		t.Fatal(err)
	}
	plans, err := install.InfraEnvPlans(wanted, nil)
	if err != nil {
		t.Fatal(err)
	}
	options := model.Options{LeftOut: []spec.Host{{Name: "m", Match: spec.Match{Agent: "env/moved"}}}}
	long := clock.Real().Now().Add(-time.Hour)
	host := model.Host{
		ID: "moved", InfraEnvID: "env", ClusterID: "id", Reserved: "env/moved", Hostname: "h", State: model.HostBlocked, Registered: long, Since: long, Inventory: model.Inventory{Known: true},
		Validations: []model.Validation{{ID: "has-memory-for-role", Category: "hardware", Status: "failure", Message: "it has 4 GiB"}},
	}
	other := model.Host{
		ID: "other", InfraEnvID: "other", ClusterID: "id", Hostname: "other", State: model.HostReady, Role: spec.ControlPlane, Registered: long, Since: long,
		Inventory: model.Inventory{Known: true}, Settings: model.Settings{model.SettingRole: model.ValueOf("control-plane"), model.SettingHostname: model.ValueOf("other")},
	}
	service := m.service
	service.observed = &model.Observed{
		Cluster: &model.Cluster{ClusterRef: model.ClusterRef{ID: "id", Name: "c", BaseDomain: "example.com", Owned: true}, State: model.ClusterBlocked, Settings: clustersettings.OfCluster(wanted)},
		InfraEnvs: []model.InfraEnv{{
			ID: "other", Name: "other", ClusterID: "id", Owned: true, Settings: plans[0].Settings, Image: model.Image{State: model.ImageReady, Created: long},
		}},
	}
	shows := func(h model.Host) {
		service.observed.Hosts, service.hosts = []model.Host{h, other}, map[string][]model.Host{"env": {h}}
	}
	shows(host)
	service.act = func(a model.Action) error {
		if a.Kind == model.ReturnHost {
			host.ClusterID, host.State, host.Status, host.Validations = "", model.HostUnbound, "known-unbound", nil
			shows(host)
		}
		return nil
	}
	m.Installations = clusterloop.New(clusterloop.Config{
		Connect: func(string) (install.Backend, error) { return service, nil }, Clock: clock.Real(), Wake: func(clusterloop.Key, []model.Scope) {},
		Desire: func(context.Context, clusterloop.Key, *model.Observed) (*model.Desired, error) {
			return &model.Desired{Spec: wanted, Options: options}, nil
		},
	})
	m.Pool = &agent.ServicePool{Service: m.Installations.Service, Pools: racks()}
	says := func(leftOut bool) {
		t.Helper()
		m.Installations.Changed(clusterloop.Key{Namespace: "ns", Name: "c"})
		m.reconcile()
		c := conditionOf(m.infra, agentv1.AgentValidatedCondition)
		is := c.Status == metav1.ConditionFalse && c.Reason == bootstrapv1.HostLeftOutReason && strings.Contains(c.Message, "it has 4 GiB") && strings.Contains(c.Message, "delete Machine m")
		if is != leftOut {
			t.Errorf("the condition is %+v", c)
		}
	}
	says(true)
	if len(service.actions(model.ReturnHost)) != 1 {
		t.Errorf("it was told to %+v", service.acted)
	}
	service.observed.Cluster.State = model.ClusterInstalling
	says(true)
	options.LeftOut, service.observed.Cluster.State = nil, model.ClusterAddingHosts
	says(true)
	host.ClusterID, host.State, host.Status, host.Day2 = "id", model.HostReady, "known", true
	shows(host)
	says(false)
}
