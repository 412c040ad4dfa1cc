package cli

import (
	"errors"
	"strings"
	"testing"

	"github.com/oaictl/oaictl/pkg/install/model"
)

// TestARefusalIsToldOnce looks at what a person and a program read when the service refuses, and when another owner's
// cluster blocks the run.
func TestARefusalIsToldOnce(t *testing.T) {
	refusing := func() *fake {
		service := lab()
		service.clusters, service.infraEnvs, service.hosts = nil, nil, nil
		service.refuses = map[string]error{"act RegisterCluster": &model.Fault{
			Code: model.CodeInput, Op: "register cluster", On: "lab", Status: 400, Permanent: true, Err: errors.New("the VIP is taken"),
		}}
		return service
	}
	foreign := func() *fake {
		service := lab()
		service.clusters[0].Owned = false
		return service
	}
	tests := map[string]struct {
		service func() *fake
		text    string
		code    int
	}{
		"a refusal":               {refusing, "the VIP is taken", 3},
		"somebody else's cluster": {foreign, "that oaictl did not make", 5},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			here(t)
			got := run(t, tt.service(), "", "create", "cluster", "-f", "cluster.yaml")
			if n := strings.Count(got.errors, tt.text); n != 1 || got.code != tt.code {
				t.Errorf("told %d times, code %d:\n%s", n, got.code, got.errors)
			}
			if last := strings.Index(got.errors, "oaictl: install lab.example.com: "); last < 0 || strings.Index(got.errors, tt.text) < last {
				t.Errorf("not told at the end:\n%s", got.errors)
			}
			events := run(t, tt.service(), "", "create", "cluster", "-f", "cluster.yaml", "--progress", "json")
			if n := strings.Count(events.out, tt.text); n < 2 || !strings.Contains(events.out, `"severity":"error"`) {
				t.Errorf("programs are told all of it, not %d times:\n%s", n, events.out)
			}
		})
	}
}
