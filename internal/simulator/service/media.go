package service

import (
	"crypto/subtle"
	"slices"
	"time"

	"github.com/oaictl/oaictl/internal/simulator/service/discovery"
	"github.com/oaictl/oaictl/internal/simulator/service/model"
)

// Media is what an infra-env puts into its discovery media.
type Media struct {
	// Ignition is the discovery Ignition config of a full image, MinimalIgnition
	// that of a minimal one, which has the hosts' networks in StaticNetwork, and
	// NetbootIgnition the one of the two that the infra-env's own type asks for.
	Ignition, MinimalIgnition, NetbootIgnition []byte
	// KernelArguments are appended to the kernel's own, in order.
	KernelArguments []string
	// StaticNetwork is the compressed archive that minimal images carry (what
	// /downloads/minimal-initrd serves); nil where there is none.
	StaticNetwork []byte
	// SigningKey is the infra-env's own secret for the addresses of its media.
	SigningKey []byte
	// Updated is when any of this last changed.
	Updated time.Time
}

// Media tells an image service what to put into an infra-env's media; false if
// there is no such infra-env.
func (s *Service) Media(infraEnvID string) (Media, bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	e := s.infraEnvs[infraEnvID]
	if e == nil {
		return Media{}, false
	}
	full, err := s.ignitionOf(e, discovery.FullISO)
	if err != nil {
		return Media{}, false
	}
	minimal, err := s.ignitionOf(e, discovery.MinimalISO)
	if err != nil {
		return Media{}, false
	}
	netboot, err := s.ignitionOf(e, "")
	if err != nil {
		return Media{}, false
	}
	return Media{Ignition: []byte(full), MinimalIgnition: []byte(minimal), NetbootIgnition: []byte(netboot), KernelArguments: discovery.KernelArguments(e), StaticNetwork: discovery.MinimalArchive(e),
		SigningKey: e.SigningKey, Updated: time.Time(e.UpdatedAt)}, true
}

func (s *Service) ignitionOf(e *model.InfraEnv, isoType string) (string, error) {
	agent := discovery.Agent{Service: s.cfg.PublicURL()}
	if s.cfg.AgentToken != nil {
		agent.Token = s.cfg.AgentToken(e.ID, discovery.CloudSecret(e.PullSecret))
	}
	return discovery.Ignition(e, isoType, agent)
}

// KnowsAgentSecret tells whether a secret is the cloud.openshift.com entry of a
// pull secret that the service was given: that is how agents of the hosted
// service identify themselves.
func (s *Service) KnowsAgentSecret(secret string) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, e := range s.infraEnvs {
		if known := discovery.CloudSecret(e.PullSecret); known != "" && subtle.ConstantTimeCompare([]byte(known), []byte(secret)) == 1 {
			return true
		}
	}
	for _, c := range s.clusters {
		if known := discovery.CloudSecret(c.PullSecret); known != "" && subtle.ConstantTimeCompare([]byte(known), []byte(secret)) == 1 {
			return true
		}
	}
	return false
}

// HasHosts tells whether hosts are all of an infra-env.
func (s *Service) HasHosts(infraEnvID string, hosts []string) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	known := s.hostsOfInfraEnv(infraEnvID)
	return !slices.ContainsFunc(hosts, func(id string) bool {
		return !slices.ContainsFunc(known, func(h *model.Host) bool { return h.ID == id })
	})
}

// newSecret makes a key from the service's own source of chance.
func (s *Service) newSecret() []byte {
	key := make([]byte, 32)
	_, _ = s.entropy.Read(key) // a deterministic source never fails
	return key
}
