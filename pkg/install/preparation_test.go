package install_test

import (
	"strings"
	"testing"
	"testing/synctest"

	"github.com/oaictl/oaictl/pkg/install"
	"github.com/oaictl/oaictl/pkg/install/model"
)

// TestImagesThatCannotBePulled has the service prepare in vain, since a host
// cannot pull what it needs, until somebody cures it after so many attempts.
func TestImagesThatCannotBePulled(t *testing.T) {
	tests := map[string]struct {
		cured    int // after so many attempts; 0: never
		attempts int // at least
		code     model.Code
	}{
		"cured at once":            {cured: 1, attempts: 2},
		"cured while it is waited": {cured: 4, attempts: 5},
		"never cured":              {attempts: 5, code: model.CodeNeedsUser},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				p := &plane{world: newWorld(&model.Desired{Spec: sample(3, 0), Options: model.Options{Run: "run1"}})}
				attempts, preparing := 0, 0
				p.lose = func(a model.Action) error {
					if a.Kind == model.StartInstall {
						attempts++
						p.still, preparing = test.cured == 0 || attempts <= test.cured, 0
						p.observed.Hosts[1].Validations = nil // measured anew
					}
					return nil
				}
				p.observe = func(int) error {
					if preparing++; p.still && preparing == 6 {
						p.observed.Hosts[0].State = model.HostReady
					}
					if p.still && preparing == 5 {
						p.observed.Hosts[0].State = model.HostPreparing // it is told of a moment later
						c := p.observed.Cluster
						c.State, c.Preparation.FailedAt = model.ClusterReady, append(c.Preparation.FailedAt, p.observed.At)
						p.observed.Hosts[1].Validations = []model.Validation{
							{ID: "container-images-available", Category: "network", Status: "failure", Message: "Failed to fetch container images"},
						}
					}
					return nil
				}
				told := 0
				_, err := install.New(p, install.WithFiles(install.NewFiles(t.TempDir())), install.WithEvents(func(e model.Event) {
					if e.Reason == "PreparationFailed" && strings.Contains(e.Message, "cp-1: Failed to fetch container images") && e.Next != "" {
						told++
					}
					if e.State == "cured" {
						t.Errorf("an attempt is no cure: %s", e.Message)
					}
				})).Run(t.Context(), p.desired)
				if got := codeOf(err); got != test.code || attempts < test.attempts {
					t.Errorf("code %d after %d attempts: %v", got, attempts, err)
				}
				if blocked := test.attempts > 3; blocked != (told > 0) {
					t.Errorf("told %d times what stands in the way", told)
				}
				if test.code != 0 && !strings.Contains(err.Error(), "cannot prepare the installation: cp-1: ") {
					t.Errorf("the end does not say why: %v", err)
				}
			})
		})
	}
}

func codeOf(err error) model.Code {
	if err == nil {
		return 0
	}
	return model.CodeOf(err)
}
