package model_test

import (
	"errors"
	"testing"

	"github.com/oaictl/oaictl/internal/shared/check"
	"github.com/oaictl/oaictl/pkg/install/model"
)

// TestResultAgrees: a file on disk is the service's result if the service has the same, or gives nothing to compare it
// with.
func TestResultAgrees(t *testing.T) {
	for name, test := range map[string]struct {
		content string
		err     error
		agrees  bool
	}{
		"the same":       {"content", nil, true},
		"another":        {"changed", nil, false},
		"cannot be read": {"", errors.New("no answer"), true},
	} {
		var o model.Observed
		o.KeepKnown(nil)
		file := model.SavedResult{Digest: model.Digest([]byte("content")), Private: true}
		got := o.Known.Agrees(model.KubeconfigFile, file, true, func(string) ([]byte, error) { return []byte(test.content), test.err })
		check.Equal(t, got, test.agrees, name)
	}
}
