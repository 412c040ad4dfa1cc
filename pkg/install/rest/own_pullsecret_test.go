package rest

import (
	"strings"
	"testing"

	"github.com/oaictl/oaictl/pkg/install/model"
	"github.com/oaictl/oaictl/pkg/install/spec"
)

// The InfraEnv that a host has to itself is given the host's pull secret, where that says one, each
// time that one is sent.
func TestPullSecretOfOneInfraEnv(t *testing.T) {
	w := newWorld(t, 0)
	w.on("POST /v2/infra-envs", with(201, `{"id":"`+infraEnvID+`"}`))
	w.on("PATCH /v2/infra-envs/"+infraEnvID, with(201, "{}"))
	p, d := w.plane(t), desired(t)
	d.Spec.Spec.Hosts = append(d.Spec.Spec.Hosts,
		spec.Host{Name: "own", Match: spec.Match{InfraEnv: "own-env"}, Discovery: &spec.HostDiscovery{PullSecret: spec.NewSecret("its own").Source()}},
		spec.Host{Name: "plain", Match: spec.Match{InfraEnv: "plain-env"}, Discovery: &spec.HostDiscovery{KernelArgs: []string{"a"}}})
	for env, want := range map[string]string{"lab": d.Spec.PullSecret().Reveal(), "plain-env": d.Spec.PullSecret().Reveal(), "own-env": "its own"} {
		for _, action := range []model.Action{
			{Kind: model.RegisterInfraEnv, Name: env, Target: clusterID},
			{Kind: model.UpdateInfraEnv, Name: env, Target: infraEnvID, Settings: model.Settings{model.SettingPullSecret: model.ValueOf("resend")}},
		} {
			if err := p.Act(t.Context(), d, action); err != nil {
				t.Fatal(err)
			}
			if body := w.took()[0].body; !strings.Contains(body, `"pull_secret":`+string(model.ValueOf(want))) {
				t.Errorf("%s of %s sends %s", action.Kind, env, body)
			}
		}
	}
}
