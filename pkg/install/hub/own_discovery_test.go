//go:build e2e

package hub

import (
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/oaictl/oaictl/internal/hubapi"
	"github.com/oaictl/oaictl/pkg/install/hub/internal/kube"
	"github.com/oaictl/oaictl/pkg/install/model"
	"github.com/oaictl/oaictl/pkg/install/spec"
)

// The InfraEnv that a host has to itself has what that says of it, its pull secret in a Secret of
// its own; a change goes to its field, and the pull secret again only if it is asked for.
func TestInfraEnvOfOneHost(t *testing.T) {
	const ownSecret, another = `{"auths":{"rack-a":{"auth":"YTpi"}}}`, `{"auths":{"rack-a":{"auth":"Yzpk"}}}`
	s := newStage(t)
	hosts := s.desired.Spec.Spec.Hosts
	hosts[0].Match = spec.Match{InfraEnv: "own-env"}
	hosts[0].Discovery = &spec.HostDiscovery{
		PullSecret: spec.SourceOf(spec.NewSecret(ownSecret)), KernelArgs: []string{"rack=a"}, Proxy: &spec.Proxy{HTTP: "http://rack-a:3128"}, NTP: []string{"rack-a"}, Image: spec.ImageMinimal,
	}
	hosts[1].Match = spec.Match{InfraEnv: "theirs-env"}
	hosts[1].Discovery = &spec.HostDiscovery{PullSecret: spec.Source{SecretRef: &spec.SecretRef{Name: "theirs"}}}
	s.settle()
	secret := s.namespace + "-" + hosts[0].Name + "-pull-secret"
	if text, err := kube.SecretValue(s.get(kube.Secrets, secret), hubapi.KeyPullSecret); err != nil || string(text) != ownSecret {
		t.Errorf("pull secret %q, %v", text, err)
	}
	for env, want := range map[string]struct{ secret, proxy, image string }{
		s.namespace:  {s.namespace + "-pull-secret", "http://proxy.example.com:3128", ""},
		"own-env":    {secret, "http://rack-a:3128", "minimal-iso"},
		"theirs-env": {"theirs", "http://proxy.example.com:3128", ""},
	} {
		u := s.get(kube.InfraEnvs, env)
		at := func(path ...string) string {
			text, _, _ := unstructured.NestedString(u.Object, append([]string{"spec"}, path...)...)
			return text
		}
		if at("pullSecretRef", "name") != want.secret || at("proxy", "httpProxy") != want.proxy || at("imageType") != want.image {
			t.Errorf("%s: %v", env, u.Object["spec"])
		}
	}
	if again := s.settle(); len(again) > 0 {
		t.Errorf("a second run does %v", again)
	}
	s.calls.take()
	hosts[0].Discovery.KernelArgs = []string{"rack=b"}
	s.settle()
	s.wantWrites("infraenvs/own-env")
	hosts[0].Discovery.PullSecret = spec.SourceOf(spec.NewSecret(another))
	if again := s.settle(); len(again) > 0 {
		t.Errorf("a pull secret that nobody asked to send again: %v", again)
	}
	resend := model.Action{Kind: model.UpdateInfraEnv, Name: "own-env", Settings: model.Settings{model.SettingPullSecret: model.ValueOf("resend")}}
	if err := s.plane.Act(t.Context(), s.desired, resend); err != nil {
		t.Fatal(err)
	}
	s.wantWrites("secrets/" + "C-" + hosts[0].Name + "-pull-secret")
}
