package service

import (
	"strings"
	"testing"
)

// TestSupportedPlatforms are none but none, without hosts and for a single node.
func TestSupportedPlatforms(t *testing.T) {
	for name, tc := range map[string]struct {
		asked fields
		hosts int
		want  string
	}{
		"no hosts":      {fields{}, 0, `["none"]`},
		"hosts":         {fields{}, 1, `["baremetal","none","external"]`},
		"a single node": {fields{"control_plane_count": 1}, 1, `["none"]`},
	} {
		t.Run(name, func(t *testing.T) {
			b := newBench(t, nil)
			b.make(tc.asked)
			for range tc.hosts {
				b.boot()
			}
			if got := strings.TrimSpace(b.must("GET", "/clusters/"+b.cluster+"/supported-platforms", nil).text); got != tc.want {
				t.Errorf("%s", got)
			}
		})
	}
}
