package app

import (
	"testing"

	"github.com/oaictl/oaictl/pkg/install/model"
)

func TestWithoutService(t *testing.T) {
	for hint, want := range map[model.Advice]model.Advice{
		"{logs lab}, then {reset cluster lab}":                                                    SimulateAdvice,
		"do what oaictl waits for, and run the same command again; the image: {download iso lab}": "do what oaictl waits for, and run the same command again; " + SimulateAdvice,
		"power it off and `{delete host 1 --yes}`, or add it to spec.hosts":                       "add it to spec.hosts; " + SimulateAdvice,
	} {
		if got := withoutService(hint); got != want {
			t.Errorf("withoutService(%q) = %q, want %q", hint, got, want)
		}
	}
}
