package base

import "testing"

func TestWithoutService(t *testing.T) {
	for hint, want := range map[string]string{
		"oaictl logs lab, then oaictl reset cluster lab":                                  LookAround,
		"see to that, and run the same command again; the image: oaictl download iso lab": "see to that, and run the same command again; " + LookAround,
		"power it off and `oaictl delete host 1 --yes`, or add it to spec.hosts":          "add it to spec.hosts; " + LookAround,
	} {
		if got := withoutService(hint); got != want {
			t.Errorf("withoutService(%q) = %q, want %q", hint, got, want)
		}
	}
}
