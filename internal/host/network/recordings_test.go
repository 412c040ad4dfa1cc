//go:build linux

package network

import (
	"bufio"
	"compress/gzip"
	"encoding/json"
	"net/netip"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/go-openapi/strfmt"
	"github.com/openshift/assisted-service/models"

	"github.com/oaictl/oaictl/internal/host/machine"
	"github.com/oaictl/oaictl/internal/host/network/chrony"
	"github.com/oaictl/oaictl/internal/host/network/probe"
	"github.com/oaictl/oaictl/internal/shared/check"
	"github.com/oaictl/oaictl/internal/shared/clock"
	"github.com/oaictl/oaictl/internal/shared/must"
)

// exchange is a step that the service sent, and what its own agent answered.
type exchange struct {
	kind   models.StepType
	args   []string
	output string
}

// TestRecordings gives the steps of recordings the network that the agent of the service has found, and compares answers.
func TestRecordings(t *testing.T) {
	folder := os.Getenv("OAICTL_RECORDINGS")
	if folder == "" {
		t.Skip("OAICTL_RECORDINGS names no folder with recordings")
	}
	files := must.Get(filepath.Glob(filepath.Join(folder, "host", "*real*.jsonl.gz")))(t)
	seen := map[models.StepType]int{}
	for _, file := range files {
		for _, e := range exchanges(t, file) {
			step := replay(t, e)
			if step == nil || e.output == "" {
				continue
			}
			seen[e.kind]++
			synctest.Test(t, func(t *testing.T) {
				code, stdout, stderr := step.Execute(t.Context(), e.args)
				check.Equal(t, code, 0)
				check.Equal(t, stderr, "")
				var want, got any
				must.Do(t, json.Unmarshal([]byte(e.output), &want))
				must.Do(t, json.Unmarshal([]byte(stdout), &got))
				check.Same(t, want, got)
			})
		}
	}
	for _, kind := range []models.StepType{
		models.StepTypeConnectivityCheck, models.StepTypeDomainResolution, models.StepTypeFreeNetworkAddresses, models.StepTypeVerifyVips,
		models.StepTypeNtpSynchronizer, models.StepTypeContainerImageAvailability,
	} {
		if seen[kind] == 0 {
			t.Errorf("the recordings hold no %s: %v", kind, seen)
		}
	}
}

func exchanges(t *testing.T, path string) []exchange {
	t.Helper()
	file := must.Get(os.Open(path))(t)
	defer file.Close()
	lines := bufio.NewScanner(must.Get(gzip.NewReader(file))(t))
	lines.Buffer(nil, 64<<20)
	steps := map[string][]string{}
	var all []exchange
	for lines.Scan() {
		var one struct {
			Method, Path      string
			Request, Response json.RawMessage
		}
		must.Do(t, json.Unmarshal(lines.Bytes(), &one))
		if !strings.Contains(one.Path, "/instructions") {
			continue
		}
		var sent models.Steps
		var reply models.StepReply
		if one.Method == "GET" && json.Unmarshal(one.Response, &sent) == nil {
			for _, step := range sent.Instructions {
				steps[step.StepID] = step.Args
			}
		} else if json.Unmarshal(one.Request, &reply) == nil && reply.ExitCode == 0 && steps[reply.StepID] != nil {
			all = append(all, exchange{reply.StepType, steps[reply.StepID], reply.Output})
		}
	}
	must.Do(t, lines.Err())
	return all
}

// replay makes the executor of a step, in a network from which the answer follows. It is nil for steps of other packages.
func replay(t *testing.T, e exchange) Executor {
	decoded := func(into any) { _ = json.Unmarshal([]byte(e.output), into) } // an empty output is passed over later
	lan := &site{macs: map[string][]string{}, replies: map[string]probe.Replies{}}
	switch e.kind {
	case models.StepTypeConnectivityCheck:
		var report models.ConnectivityReport
		decoded(&report)
		own := "192.168.127.1"
		for _, host := range report.RemoteHosts {
			for _, l2 := range host.L2Connectivity {
				lan.macs[l2.RemoteIPAddress] = append(lan.macs[l2.RemoteIPAddress], l2.RemoteMac)
				own = l2.OutgoingIPAddress
			}
			for _, l3 := range host.L3Connectivity {
				const count = 100
				lost := int(l3.PacketLossPercentage)
				lan.replies[l3.RemoteIPAddress] = probe.Replies{
					Sent: count, Received: count - lost, Average: time.Duration(l3.AverageRTTMs*1000+0.5) * time.Microsecond,
				}
				if !l3.Successful {
					lan.replies[l3.RemoteIPAddress] = probe.Replies{Sent: count}
				}
			}
		}
		return Connectivity{lan, with(nic(t, "eth0", usualMTU, own+"/24")), testLog(t)}
	case models.StepTypeFreeNetworkAddresses:
		var answer models.FreeNetworksAddresses
		decoded(&answer)
		for _, network := range answer {
			prefix := netip.MustParsePrefix(network.Network)
			for ip := prefix.Addr(); prefix.Contains(ip); ip = ip.Next() {
				if !slices.ContainsFunc(network.FreeAddresses, func(a strfmt.IPv4) bool { return string(a) == ip.String() }) {
					lan.macs[ip.String()] = []string{"x"}
				}
			}
		}
		return &FreeAddresses{Taken: Taken{lan, with(nic(t, "eth0", usualMTU, "192.168.127.1/24")), testLog(t)}}
	case models.StepTypeVerifyVips:
		var answer models.VerifyVipsResponse
		decoded(&answer)
		for _, vip := range answer {
			if *vip.Verification == models.VipVerificationFailed {
				lan.macs[string(vip.Vip)] = []string{"x"}
			}
		}
		return VIPs{Taken{lan, with(nic(t, "eth0", usualMTU, "192.168.127.1/24")), testLog(t)}}
	case models.StepTypeDomainResolution:
		return Domains{names{}, testLog(t)} // no name had an answer when this was recorded
	case models.StepTypeNtpSynchronizer:
		var answer models.NtpSynchronizationResponse
		decoded(&answer)
		daemon, resolver := &timeDaemon{}, names{addresses: map[string][]string{}}
		for _, source := range answer.NtpSources {
			state := slices.IndexFunc([]chrony.State{0, 1, 2, 3, 4, 5}, func(s chrony.State) bool { return stateOf(s) == source.SourceState })
			daemon.sources = append(daemon.sources, server(source.SourceName, chrony.State(state)))
			resolver.addresses[source.SourceName] = nil
		}
		return NTP{daemon, &machine.Recorder{}, resolver, testLog(t)}
	case models.StepTypeContainerImageAvailability:
		present := &machine.Recorder{Reply: func(machine.Command) (machine.Result, error) { return machine.Result{Stdout: []byte("id")}, nil }}
		return &Images{Runner: present, Clock: clock.Real(), Log: testLog(t)}
	}
	return nil
}
