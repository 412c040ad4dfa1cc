//go:build linux

package host

import (
	"context"
	"encoding/json"
	"strings"

	"github.com/go-openapi/strfmt"
	"github.com/openshift/assisted-service/models"

	"github.com/oaictl/oaictl/internal/host/agent"
)

// does is a step made of a function that gets the step's argument.
type does func(argument string) any

// Execute implements agent.Executor.
func (d does) Execute(_ context.Context, args []string) agent.Reply {
	output, err := json.Marshal(d(strings.Join(args[:min(1, len(args))], "")))
	if err != nil {
		return agent.Reply{ExitCode: 1, Error: err.Error()}
	}
	return agent.Reply{Output: string(output)}
}

// read reads the argument of a step.
func read[T any](b *box, argument string) (out T) {
	if err := json.Unmarshal([]byte(argument), &out); err != nil {
		b.t.Errorf("the service gives an argument that cannot be read: %s", argument)
	}
	return out
}

// answers are those of a good network: each machine reaches each other, names resolve and the time is right. The disk is not
// measured: that takes seconds of real time.
func (b *box) answers() map[models.StepType]agent.Executor {
	return map[models.StepType]agent.Executor{
		models.StepTypeConnectivityCheck: does(func(argument string) any {
			return b.connectivity(read[models.ConnectivityCheckParams](b, argument))
		}),
		models.StepTypeFreeNetworkAddresses: does(func(string) any {
			return []models.FreeNetworkAddresses{{Network: network127, FreeAddresses: []strfmt.IPv4{apiVIP, ingressVIP}}}
		}),
		models.StepTypeNtpSynchronizer: does(func(string) any {
			return models.NtpSynchronizationResponse{NtpSources: []*models.NtpSource{{SourceName: "clock", SourceState: models.SourceStateSynced}}}
		}),
		models.StepTypeDomainResolution: does(func(argument string) any {
			return resolved(read[models.DomainResolutionRequest](b, argument))
		}),
		models.StepTypeVerifyVips: does(func(argument string) any {
			vips := read[[]map[string]any](b, argument)
			for _, vip := range vips {
				vip["verification"] = "succeeded"
			}
			return vips
		}),
		models.StepTypeInstallationDiskSpeedCheck: does(func(argument string) any {
			asked := read[models.DiskSpeedCheckRequest](b, argument)
			return models.DiskSpeedCheckResponse{Path: *asked.Path, IoSyncDuration: 5}
		}),
		models.StepTypeContainerImageAvailability: does(func(argument string) any {
			var answer models.ContainerImageAvailabilityResponse
			for _, image := range read[models.ContainerImageAvailabilityRequest](b, argument).Images {
				answer.Images = append(answer.Images, &models.ContainerImageAvailability{
					Name: image, Result: models.ContainerImageAvailabilityResultSuccess, Time: 5, SizeBytes: 1e6, DownloadRate: 60,
				})
			}
			return answer
		}),
	}
}

func (b *box) connectivity(peers models.ConnectivityCheckParams) models.ConnectivityReport {
	var report models.ConnectivityReport
	for _, peer := range peers {
		remote := &models.ConnectivityRemoteHost{HostID: peer.HostID}
		for _, nic := range peer.Nics {
			for _, ip := range nic.IPAddresses {
				remote.L2Connectivity = append(remote.L2Connectivity, &models.L2Connectivity{
					OutgoingIPAddress: b.address.String(), OutgoingNic: "enp1s0", RemoteIPAddress: ip, RemoteMac: nic.Mac.String(), Successful: true,
				})
				remote.L3Connectivity = append(remote.L3Connectivity, &models.L3Connectivity{
					AverageRTTMs: 0.3, OutgoingNic: "enp1s0", RemoteIPAddress: ip, Successful: true,
				})
				remote.MtuReport = append(remote.MtuReport, &models.MtuReport{MtuSuccessful: true, OutgoingNic: "enp1s0", RemoteIPAddress: ip})
			}
		}
		report.RemoteHosts = append(report.RemoteHosts, remote)
	}
	return report
}

// resolved gives all names but that which shows a wildcard the addresses of the cluster.
func resolved(request models.DomainResolutionRequest) models.DomainResolutionResponse {
	var answer models.DomainResolutionResponse
	for _, domain := range request.Domains {
		one := &models.DomainResolutionResponseDomain{DomainName: domain.DomainName, IPV4Addresses: []strfmt.IPv4{}, IPV6Addresses: []strfmt.IPv6{}}
		if !strings.HasPrefix(strings.ToLower(*domain.DomainName), "validatenowildcarddns") {
			one.IPV4Addresses = append(one.IPV4Addresses, apiVIP)
		}
		answer.Resolutions = append(answer.Resolutions, one)
	}
	return answer
}
