package model_test

import (
	"testing"

	"github.com/oaictl/oaictl/internal/shared/check"
	"github.com/oaictl/oaictl/pkg/install/model"
)

// TestHasRebooted goes by the order of the stages, if the host has one, and by their names.
func TestHasRebooted(t *testing.T) {
	stages := []string{"Writing image to disk", "Rebooting", "Configuring", "Done"}
	for _, test := range []struct {
		stage    string
		stages   []string
		rebooted bool
	}{
		{"", stages, false}, {"Writing image to disk", stages, false}, {"Rebooting", stages, true}, {"Configuring", stages, true},
		{"Rebooting", nil, true}, {"Joined", nil, true}, {"Writing image to disk", nil, false},
	} {
		h := model.Host{Progress: model.HostProgress{Stage: test.stage, Stages: test.stages}}
		check.Equal(t, h.HasRebooted(), test.rebooted, test.stage)
	}
}
