//go:build linux

package network

import (
	"log/slog"
	"net"
	"net/http"

	"github.com/openshift/assisted-service/models"

	"github.com/oaictl/oaictl/internal/host/hostfile"
	"github.com/oaictl/oaictl/internal/host/machine"
	"github.com/oaictl/oaictl/internal/host/network/chrony"
	"github.com/oaictl/oaictl/internal/host/network/dhcp"
	"github.com/oaictl/oaictl/internal/host/network/packet"
	"github.com/oaictl/oaictl/internal/host/network/probe"
	"github.com/oaictl/oaictl/internal/shared/clock"
)

// Options are what the steps need of the machine.
type Options struct {
	Files  hostfile.Files
	Runner machine.Runner
	Clock  clock.Clock
	Log    *slog.Logger
}

// Steps are the executors of all steps of this package. They are made once: some refuse to run twice at the same time.
func Steps(o Options) map[models.StepType]Executor {
	nics := func() ([]probe.NIC, error) { return probe.NICs(o.Files, o.Log) }
	sockets := probe.Sockets{}
	asker := probe.Fallback{
		First: probe.Prober{Open: sockets, Clock: o.Clock, Log: o.Log}, Second: probe.Programs{Runner: o.Runner, Log: o.Log}, Log: o.Log,
	}
	taken := Taken{Asker: asker, NICs: nics, Log: o.Log}
	resolver := &net.Resolver{PreferGo: true}
	transport := http.DefaultTransport.(*http.Transport).Clone()
	return map[models.StepType]Executor{
		models.StepTypeConnectivityCheck:       Connectivity{Asker: asker, NICs: nics, Log: o.Log},
		models.StepTypeFreeNetworkAddresses:    &FreeAddresses{Taken: taken},
		models.StepTypeVerifyVips:              VIPs{taken},
		models.StepTypeDomainResolution:        Domains{Resolver: resolver, Log: o.Log},
		models.StepTypeAPIVipConnectivityCheck: APIVIP{Transport: transport, Log: o.Log},
		models.StepTypeTangConnectivityCheck:   Tang{Transport: transport, Log: o.Log},
		models.StepTypeNtpSynchronizer: NTP{
			Daemon: chrony.Client{Dials: DialChrony(o.Files), Clock: o.Clock}, Runner: o.Runner, Resolver: resolver, Log: o.Log,
		},
		models.StepTypeContainerImageAvailability: &Images{
			Runner: o.Runner, Find: FindImages(o.Files, o.Clock), Clock: o.Clock, Log: o.Log,
		},
		models.StepTypeDhcpLeaseAllocate: DHCP{
			NICs: nics, Clock: o.Clock, Log: o.Log,
			Open: func(nic probe.NIC, mac net.HardwareAddr) (dhcp.Wire, error) {
				return sockets.FramesTo(nic, packet.TypeIPv4, mac)
			},
		},
	}
}
