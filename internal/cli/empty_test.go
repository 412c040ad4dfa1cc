package cli

import (
	"strings"
	"testing"
)

// TestNothingFoundIsNoData keeps the words for an empty list off standard
// output, and gives programs an empty list.
func TestNothingFoundIsNoData(t *testing.T) {
	for line, says := range map[string]string{"get clusters": "no clusters\n", "get hosts": "no hosts\n", "get infraenvs": "no InfraEnvs\n", "get events lab": "no events\n", "get validations lab": "every check passes\n"} {
		service := lab()
		if !strings.HasSuffix(line, "lab") {
			service.clusters = nil
		} else {
			service.clusters[0].Validations = nil
		}
		service.hosts, service.infraEnvs, service.events = nil, nil, nil
		if got := run(t, service, "", strings.Fields(line)...); got.code != 0 || got.out != "" || got.errors != says {
			t.Errorf("%s: %+v", line, got)
		}
		if got := run(t, service, "", append(strings.Fields(line), "-o", "json")...); got.out != "{\n  \"items\": []\n}\n" || got.errors != "" {
			t.Errorf("%s -o json: %+v", line, got)
		}
	}
}
