package cli

import "testing"

func TestWithoutService(t *testing.T) {
	for hint, want := range map[string]string{
		"oaictl logs lab, then oaictl reset cluster lab":                                  lookAround,
		"see to that, and run the same command again; the image: oaictl download iso lab": "see to that, and run the same command again; " + lookAround,
		"power it off and `oaictl delete host 1 --yes`, or add it to spec.hosts":          "add it to spec.hosts; " + lookAround,
	} {
		if got := withoutService(hint); got != want {
			t.Errorf("withoutService(%q) = %q, want %q", hint, got, want)
		}
	}
}
