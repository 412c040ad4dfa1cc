//go:build e2e

package node_test

import (
	"testing"

	"k8s.io/client-go/rest"

	"github.com/oaictl/oaictl/internal/simulator/spoke"
	"github.com/oaictl/oaictl/pkg/install/model"
	"github.com/oaictl/oaictl/pkg/install/node"
	"github.com/oaictl/oaictl/pkg/install/spec"
)

// TestDescribe is what a cluster says of itself, and what is said where none answers.
func TestDescribe(t *testing.T) {
	s := newStage(t, func(c *spoke.Config) { c.Cluster.Version, c.Cluster.PullSecret = "4.21.7", `{"auths":{"x":{}}}` })
	got, err := node.Describe(t.Context(), s.data, true)
	if err != nil {
		t.Fatal(err)
	}
	want := node.Description{
		Name: "lab", BaseDomain: "example.com", ID: clusterID, Version: "4.21.7", Arch: spec.X86, API: "https://api.lab.example.com:6443",
		PullSecret: spec.NewSecret(`{"auths":{"x":{}}}`),
	}
	if !got.PullSecret.Equal(want.PullSecret) {
		t.Error("the pull secret is another one")
	}
	got.PullSecret = want.PullSecret
	if got != want {
		t.Errorf("got %+v, want %+v", got, want)
	}
	if without, err := node.Describe(t.Context(), s.data, false); err != nil || !without.PullSecret.IsZero() {
		t.Errorf("the pull secret is read unasked: %v", err)
	}
	for name, test := range map[string]struct {
		data []byte
		code model.Code
	}{
		"junk":        {[]byte("junk"), model.CodeInput},
		"credentials": {kubeconfigOf(t, &rest.Config{Host: s.kube.Config.Host, BearerToken: "wrong", TLSClientConfig: rest.TLSClientConfig{CAData: s.kube.Config.CAData}}), model.CodeAuth},
		"nobody":      {kubeconfigOf(t, &rest.Config{Host: "https://127.0.0.1:1"}), model.CodeFailure},
	} {
		if _, err := node.Describe(t.Context(), test.data, true); model.FaultOf(err).Code != test.code {
			t.Errorf("%s: %v", name, err)
		}
	}
}
