package agentinstall

import (
	"encoding/json"
	"testing"

	"github.com/oaictl/oaictl/internal/shared/check"
	"github.com/oaictl/oaictl/internal/shared/must"
)

func TestNetworkKeepsNumbers(t *testing.T) {
	tests := []string{
		`{"interfaces":[{"mtu":9000,"name":"eth0"}]}`,
		`{"dns-resolver":{},"routes":{"config":[{"metric":150}]}}`,
		`{"interfaces":[{"link-aggregation":{"options":{"ratio":1.5}}}]}`,
		`{"interfaces":[{"profile":null,"state":"up"}]}`,
	}
	for _, want := range tests {
		var network Network
		must.Do(t, json.Unmarshal([]byte(want), &network))
		got := must.Get(json.Marshal(network))(t)
		check.Equal(t, string(got), want, got)
		if list, ok := network["interfaces"].([]any); ok {
			if mtu, ok := list[0].(map[string]any)["mtu"]; ok && mtu != int64(9000) {
				t.Errorf("the MTU is %T", mtu)
			}
		}
	}
}

func FuzzNetwork(f *testing.F) {
	f.Add(`{"interfaces":[{"mtu":9000,"name":"eth0"}]}`)
	f.Add(`null`)
	f.Add(`[1]`)
	f.Fuzz(func(t *testing.T, text string) {
		var network Network
		if err := json.Unmarshal([]byte(text), &network); err != nil {
			return
		}
		check.Do(t, check.Err(json.Marshal(network)), "read, but not written")
	})
}
