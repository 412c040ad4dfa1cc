package request

import (
	"cmp"
	"crypto/x509"
	"encoding/pem"
	"errors"
	"fmt"
	"slices"

	"github.com/oaictl/oaictl/internal/simulator/service/discovery"
	"github.com/oaictl/oaictl/internal/simulator/service/model"
	"github.com/oaictl/oaictl/internal/simulator/service/wire"
	"github.com/openshift/assisted-service/models"
)

// InfraEnvCreateParams is what POST infra-envs takes: the known parameters and the newer ones.
type InfraEnvCreateParams struct {
	models.InfraEnvCreateParams
	ImageType             string  `json:"image_type,omitempty"`
	NtpSources            *string `json:"ntp_sources,omitempty"`
	NetworkDiscoveryDelay *int64  `json:"network_discovery_delay_seconds,omitempty"`
	RendezvousIP          *string `json:"rendezvous_ip,omitempty"`
}

// InfraEnvUpdateParams is the same for PATCH.
type InfraEnvUpdateParams struct {
	models.InfraEnvUpdateParams
	ImageType             string  `json:"image_type,omitempty"`
	NtpSources            *string `json:"ntp_sources,omitempty"`
	NetworkDiscoveryDelay *int64  `json:"network_discovery_delay_seconds,omitempty"`
	RendezvousIP          *string `json:"rendezvous_ip,omitempty"`
}

// CheckImageType refuses a type that no image has.
func CheckImageType(kind string) error {
	if kind == "" {
		return nil
	}
	return wire.BodyEnum("image_type", kind, discovery.FullISO, discovery.MinimalISO, discovery.DisconnectedISO)
}

// ChangeInfraEnv writes what an update may change, after checking it.
func ChangeInfraEnv(e *model.InfraEnv, p *InfraEnvUpdateParams) error {
	if model.Value(p.SSHAuthorizedKey) != "" { // once set, it cannot be taken away
		if checkSSHKeys(*p.SSHAuthorizedKey) != nil {
			return wire.BadRequest("SSH key is not valid")
		}
		e.SSHAuthorizedKey = *p.SSHAuthorizedKey
	}
	if p.Proxy != nil {
		if err := changeInfraEnvProxy(e, p.Proxy); err != nil {
			return err
		}
	}
	if model.Value(p.NtpSources) != "" &&
		(model.Value(p.AdditionalNtpSources) != "" || p.AdditionalNtpSources == nil && e.AdditionalNtpSources != "") ||
		model.Value(p.AdditionalNtpSources) != "" && p.NtpSources == nil && e.NtpSources != "" {
		return wire.BadRequest("ntp_sources and additional_ntp_sources are mutually exclusive")
	}
	if err := cmp.Or(
		take(&e.AdditionalNtpSources, p.AdditionalNtpSources, checkNtpSources), take(&e.NtpSources, p.NtpSources, checkNtpSources),
	); err != nil {
		return err
	}
	if p.IgnitionConfigOverride != "" {
		if err := CheckIgnition(p.IgnitionConfigOverride); err != nil {
			return err
		}
		e.IgnitionConfigOverride = p.IgnitionConfigOverride
	}
	if err := changeKernelArguments(e, p.KernelArguments); err != nil {
		return err
	}
	if err := take(&e.AdditionalTrustBundle, p.AdditionalTrustBundle, checkAnyTrustBundle); err != nil {
		return err
	}
	if p.StaticNetworkConfig != nil {
		if err := changeStatic(e, p.StaticNetworkConfig); err != nil {
			return err
		}
	}
	if p.NetworkDiscoveryDelay != nil {
		if *p.NetworkDiscoveryDelay < 0 {
			return wire.Malformed("network_discovery_delay_seconds in body should be greater than or equal to 0")
		}
		e.NetworkDiscoveryDelay = p.NetworkDiscoveryDelay
	}
	if p.RendezvousIP != nil {
		if e.Type != discovery.DisconnectedISO {
			return wire.BadRequest("RendezvousIP is only supported for disconnected ISO infra-envs")
		}
		e.RendezvousIP = *p.RendezvousIP
	}
	return nil
}

// changeInfraEnvProxy merges a proxy by its fields; one that joins to the last request's text is dropped.
func changeInfraEnvProxy(e *model.InfraEnv, p *models.Proxy) error {
	if err := checkProxies(p.HTTPProxy, p.HTTPSProxy, p.NoProxy, ""); err != nil {
		return err
	}
	joined := model.Value(p.HTTPProxy) + model.Value(p.HTTPSProxy) + model.Value(p.NoProxy)
	if e.ProxyAsked != nil && *e.ProxyAsked == joined {
		return nil
	}
	e.ProxyAsked = &joined
	merged := *e.Proxy
	merged.HTTPProxy = cmp.Or(p.HTTPProxy, merged.HTTPProxy)
	merged.HTTPSProxy = cmp.Or(p.HTTPSProxy, merged.HTTPSProxy)
	merged.NoProxy = cmp.Or(p.NoProxy, merged.NoProxy)
	e.Proxy = &merged
	return nil
}

func changeKernelArguments(e *model.InfraEnv, args models.KernelArguments) error {
	if args == nil {
		return nil
	}
	for _, a := range args {
		if a.Operation != models.KernelArgumentOperationAppend {
			return wire.BadRequest("Only kernel argument operation append is supported.  Got %s", a.Operation)
		}
	}
	e.KernelArguments = nil
	if len(args) > 0 {
		e.KernelArguments = new(model.InString(args))
	}
	return nil
}

func changeStatic(e *model.InfraEnv, list []*models.HostStaticNetworkConfig) error {
	hosts := make([]model.StaticHost, 0, len(list))
	for i, l := range list {
		h := model.StaticHost{NetworkYAML: l.NetworkYaml, Map: l.MacInterfaceMap}
		for j, m := range l.MacInterfaceMap {
			if !discovery.MACPattern.MatchString(m.MacAddress) {
				return wire.Malformed("static_network_config.%d.mac_interface_map.%d.mac_address in body should match '%s'", i, j, discovery.MACPattern)
			}
		}
		hosts = append(hosts, h)
	}
	if problems := discovery.StaticProblems(hosts); len(problems) > 0 {
		return wire.BadRequest("%s", wire.Problems(problems...))
	}
	for i := range hosts {
		hosts[i].Policy = discovery.NMPolicy(&hosts[i])
	}
	slices.SortStableFunc(hosts, func(a, b model.StaticHost) int { return cmp.Compare(a.NetworkYAML, b.NetworkYAML) })
	e.Static, e.StaticNetworkConfig = hosts, ""
	if len(hosts) > 0 {
		e.StaticNetworkConfig = model.InString(hosts)
	}
	return nil
}

func checkAnyTrustBundle(text string) error {
	if text == "" {
		return nil
	}
	if err := CheckTrustBundle(text); err != nil {
		return wire.BadRequest("%s", err)
	}
	return nil
}

// CheckTrustBundle wants certificates and nothing else.
func CheckTrustBundle(text string) error {
	for rest := []byte(text); ; {
		var block *pem.Block
		if block, rest = pem.Decode(rest); block == nil {
			return errors.New("invalid block")
		}
		if _, err := x509.ParseCertificate(block.Bytes); err != nil {
			return fmt.Errorf("parse failed: %w", err)
		}
		if len(rest) == 0 {
			return nil
		}
	}
}
