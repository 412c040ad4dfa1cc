package boot

import (
	"slices"
	"strings"
	"testing"

	"github.com/oaictl/oaictl/internal/shared/must"
	"github.com/oaictl/oaictl/pkg/install/model"
	"github.com/oaictl/oaictl/pkg/install/spec"
	"github.com/oaictl/oaictl/pkg/iso/nmstate"
)

func TestAgrees(t *testing.T) {
	network := func(ip, mac string) model.StaticNetwork {
		return model.StaticNetwork{
			YAML: "interfaces:\n- {name: eth0, type: ethernet, state: up, ipv4: {enabled: true, dhcp: false, address: [{ip: " + ip + ", prefix-length: 24}]}}\n",
			MACs: []spec.NIC{{MAC: mac, Name: "eth0"}},
		}
	}
	ours := network("192.0.2.10", "52:54:00:00:00:0a")
	otherwise := network("192.0.2.10", "52:54:00:00:00:0A")
	otherwise.YAML = `{"interfaces": [{"ipv4": {"address": [{"prefix-length": 24, "ip": "192.0.2.10"}], "enabled": true}, "type": "ethernet", "name": "eth0"}]}`
	unread := network("192.0.2.10", "52:54:00:00:00:0a")
	unread.YAML = "interfaces: nonsense"
	for _, tc := range []struct {
		name  string
		known []model.StaticNetwork
		want  string // "" for agreement
	}{
		{"the same", []model.StaticNetwork{network("192.0.2.11", "52:54:00:00:00:0b"), ours}, ""},
		{"the same, written otherwise", []model.StaticNetwork{otherwise}, ""},
		{"another address", []model.StaticNetwork{network("192.0.2.99", "52:54:00:00:00:0a")}, "the static network for eth0 (52:54:00:00:00:0a) in the service differs"},
		{"what cannot be read", []model.StaticNetwork{unread}, "in the service differs from the file"},
		{"another host's", []model.StaticNetwork{network("192.0.2.10", "52:54:00:00:00:0b")}, "has a static network for eth0 (52:54:00:00:00:0a), but the service does not"},
		{"none", nil, "has a static network for eth0 (52:54:00:00:00:0a), but the service does not"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			macs := map[string]string{"eth0": "52:54:00:00:00:0a"}
			state := must.Get(nmstate.Parse("", []byte(ours.YAML)))(t)
			files := must.Get(state.Keyfiles(macs))(t)
			err := agrees(tc.known, macs, files)
			switch {
			case tc.want == "" && err != nil:
				t.Errorf("they do not agree: %v", err)
			case tc.want != "" && (err == nil || !strings.Contains(err.Error(), tc.want)):
				t.Errorf("the error is %v, without %q", err, tc.want)
			case err != nil && !slices.Contains(model.FaultOf(err).Next.Commands(), "create cluster -f FILE --reimage"):
				t.Errorf("what to do next is %q", model.FaultOf(err).Next)
			}
		})
	}
}
