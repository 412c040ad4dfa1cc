//go:build linux

package network

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/oaictl/oaictl/internal/host/network/probe"
	"github.com/oaictl/oaictl/internal/shared/check"
)

// A question and an answer as the service's own agent exchanged them with the service.
const (
	connectivityQuestion = `[{"host_id":"baf1bb08-eca5-ced7-4a05-4e6a96e433f7","nics":[{"ip_addresses":["192.168.127.12"],` +
		`"mac":"52:54:00:00:00:12","name":"eth0"}]},{"host_id":"8d57ae53-deb0-a19f-fa6e-66ac14a06c3e","nics":[{"ip_addresses":` +
		`["192.168.127.13/24"],"mac":"52:54:00:00:00:13","name":"eth0"}]}]`
	connectivityAnswer = `{"remote_hosts":[{"host_id":"8d57ae53-deb0-a19f-fa6e-66ac14a06c3e","l2_connectivity":[{"outgoing_ip_address":` +
		`"192.168.127.11","outgoing_nic":"eth0","remote_ip_address":"192.168.127.13","remote_mac":"52:54:00:00:00:13","successful":true}],` +
		`"l3_connectivity":[{"average_rtt_ms":0.073,"remote_ip_address":"192.168.127.13","successful":true}],"mtu_report":null},` +
		`{"host_id":"baf1bb08-eca5-ced7-4a05-4e6a96e433f7","l2_connectivity":[{"outgoing_ip_address":"192.168.127.11","outgoing_nic":"eth0",` +
		`"remote_ip_address":"192.168.127.12","remote_mac":"52:54:00:00:00:12","successful":true}],"l3_connectivity":[{"average_rtt_ms":` +
		`0.085,"remote_ip_address":"192.168.127.12","successful":true}],"mtu_report":null}]}`
)

func TestConnectivityAsRecorded(t *testing.T) {
	lan := &site{
		macs: map[string][]string{"192.168.127.12": {"52:54:00:00:00:12"}, "192.168.127.13": {"52:54:00:00:00:13"}},
		replies: map[string]probe.Replies{
			"192.168.127.12": {Sent: 10, Received: 10, Average: 85201 * time.Nanosecond},
			"192.168.127.13": {Sent: 10, Received: 10, Average: 72900 * time.Nanosecond},
		},
	}
	code, stdout, stderr := Connectivity{lan, with(nic(t, "eth0", 1500, "192.168.127.11/24")), testLog(t)}.
		Execute(t.Context(), []string{connectivityQuestion})
	check.Equal(t, code, 0)
	check.Equal(t, stdout, connectivityAnswer)
	check.Equal(t, stderr, "")
}

func TestConnectivity(t *testing.T) {
	answers := probe.Replies{Sent: 10, Received: 8, Average: time.Millisecond}
	lan := &site{
		macs: map[string][]string{
			"10.0.0.2": {"52:54:00:00:00:02", "52:54:00:00:00:99"}, "10.0.0.3": {"52:54:00:00:00:0a"}, "fd00::2": {"52:54:00:00:00:02", "52:54:00:00:00:99"},
		},
		replies: map[string]probe.Replies{"10.0.0.2": answers, "fd00::2": answers},
		narrow:  map[string]bool{"fd00::2": true},
	}
	jumbo := nic(t, "jumbo", 9000, "10.0.0.1/24", "fd00::1/128")
	plain := nic(t, "plain", 1500, "10.1.0.1/24")
	question := `[null,{"host_id":"one","nics":[null,{"mac":"52:54:00:00:00:02","ip_addresses":["10.0.0.2/24","fd00::2/64","nonsense","--help","fe80::1%eth0"]},
		{"mac":"52:54:00:00:00:0A","ip_addresses":["10.0.0.3/24"]}]},{"host_id":"no interfaces","new":1}]`
	code, stdout, _ := Connectivity{lan, with(jumbo, plain), testLog(t)}.Execute(t.Context(), []string{question})
	check.Equal(t, code, 0)
	check.Equal(t, stdout, `{"remote_hosts":[{"host_id":"no interfaces","l2_connectivity":null,"l3_connectivity":null,"mtu_report":null},{"host_id":"one",`+
		`"l2_connectivity":[`+
		`{"outgoing_ip_address":"10.0.0.1","outgoing_nic":"jumbo","remote_ip_address":"10.0.0.2","remote_mac":"52:54:00:00:00:02","successful":true},`+
		`{"outgoing_ip_address":"10.0.0.1","outgoing_nic":"jumbo","remote_ip_address":"10.0.0.2","remote_mac":"52:54:00:00:00:99"},`+
		`{"outgoing_ip_address":"10.0.0.1","outgoing_nic":"jumbo","remote_ip_address":"10.0.0.3","remote_mac":"52:54:00:00:00:0a","successful":true},`+
		`{"outgoing_nic":"jumbo","remote_ip_address":"fd00::2","remote_mac":"52:54:00:00:00:02","successful":true}],`+
		`"l3_connectivity":[{"average_rtt_ms":1,"packet_loss_percentage":20,"remote_ip_address":"10.0.0.2","successful":true},`+
		`{"remote_ip_address":"10.0.0.3"},{"average_rtt_ms":1,"packet_loss_percentage":20,"remote_ip_address":"fd00::2","successful":true}],`+
		`"mtu_report":[{"mtu_successful":true,"outgoing_nic":"jumbo","remote_ip_address":"10.0.0.2"},`+
		`{"outgoing_nic":"jumbo","remote_ip_address":"fd00::2"}]}]}`)
	slices.Sort(lan.asked)
	check.Slice(t, lan.asked, []string{"jumbo 10.0.0.2", "jumbo 10.0.0.3", "jumbo fd00::2"})
}

func TestConnectivityOfManyMachines(t *testing.T) {
	var hosts []string
	for i := range 4000 {
		hosts = append(hosts, fmt.Sprintf(`{"host_id":"%d","nics":[{"ip_addresses":["10.0.%d.%d/16"]}]}`, i, i/256, i%256))
	}
	lan := &site{}
	connectivity := Connectivity{lan, with(nic(t, "eth0", 1500, "10.0.255.1/16")), testLog(t)}
	code, _, _ := connectivity.Execute(t.Context(), []string{"[" + strings.Join(hosts, ",") + "]"})
	check.Equal(t, code, 0)
	check.Equal(t, len(lan.pinged), 4000)
	check.Equal(t, len(lan.asked), 4000)
	many := `[{"nics":[{"ip_addresses":["10.0.0.1"` + strings.Repeat(`,"10.0.0.1"`, mostTargets) + `]}]}]`
	code, _, stderr := connectivity.Execute(t.Context(), []string{many})
	check.Equal(t, code, failed)
	check.Contains(t, stderr, "more than 16384 addresses")
}

func TestConnectivityWithoutAnswers(t *testing.T) {
	lan := &site{err: errors.New("no sockets")}
	code, stdout, _ := Connectivity{lan, with(nic(t, "eth0", 9000, "192.168.127.11/24")), testLog(t)}.
		Execute(t.Context(), []string{`[{"host_id":"one","nics":[{"ip_addresses":["192.168.127.12"]}]}]`})
	check.Equal(t, code, 0)
	check.Equal(t, stdout, `{"remote_hosts":[{"host_id":"one","l2_connectivity":null,"l3_connectivity":[{"remote_ip_address":"192.168.127.12"}],"mtu_report":null}]}`)

	broken := func() ([]probe.NIC, error) { return nil, errors.New("no netlink") }
	code, stdout, stderr := Connectivity{lan, broken, testLog(t)}.Execute(t.Context(), []string{"[]"})
	check.Equal(t, fmt.Sprint(code, stdout), "-1")
	check.Contains(t, stderr, "no netlink")
	code, _, stderr = Connectivity{lan, broken, testLog(t)}.Execute(t.Context(), nil)
	check.Equal(t, code, -1)
	check.Contains(t, stderr, "takes one argument")
}

func FuzzConnectivity(f *testing.F) {
	f.Add(connectivityQuestion)
	f.Add(`[null,{"nics":[null,{"mac":"x","ip_addresses":["::1%1","1.2.3.4/99"]}]}]`)
	f.Fuzz(func(t *testing.T, question string) {
		lan := &site{}
		code, stdout, stderr := Connectivity{lan, with(nic(t, "eth0", 9000, "192.168.127.11/24")), testLog(t)}.Execute(t.Context(), []string{question})
		if (code == 0) != (stdout != "") || (code == 0) != (stderr == "") {
			t.Errorf("answered %d %q %q", code, stdout, stderr)
		}
	})
}
