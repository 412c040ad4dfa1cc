package validate

import (
	"fmt"
	"slices"
	"strings"

	"github.com/oaictl/oaictl/internal/simulator/service/model"
)

func (e *hostCheck) domains(add adder) {
	base := e.c.Name + "." + e.c.BaseDNSDomain
	for _, d := range []struct{ id, lookup, shown, target string }{
		{"api-domain-name-resolved-correctly", "api." + base, "api." + base, "API load balancer"},
		{"api-int-domain-name-resolved-correctly", "api-int." + base, "api-int." + base, "internal API load balancer"},
		{"apps-domain-name-resolved-correctly", "console-openshift-console.apps." + base, "*.apps." + base, "application ingress"},
	} {
		status, message := e.resolves(d.lookup, d.shown, d.target)
		add(d.id)(status, message)
	}
}

func (e *hostCheck) resolves(lookup, shown, target string) (string, string) {
	fine := fmt.Sprintf("Domain name resolution for the %s domain was successful or not required", shown)
	if e.c.Imported {
		if !slices.ContainsFunc(e.c.Hosts, func(h *model.Host) bool { return h.APICheck != nil && h.APICheck.IsSuccess }) {
			return model.Pending, fmt.Sprintf("DNS validation for the %s domain cannot be completed at the moment. This could be due to other validations", shown)
		}
	} else if !e.c.UserManaged() && !e.c.UserBalanced() {
		return model.Passed, fine
	}
	if e.c.IsSingle() && !e.c.IsDay2() {
		return model.Passed, fine // the node brings its own name server
	}
	if e.c.BaseDNSDomain == "" {
		return model.Errored, fmt.Sprintf("DNS validation for the %s domain cannot be completed because the cluster does not have base_dns_domain set. Please update the cluster with the correct base_dns_domain", target)
	}
	if e.h.Resolutions == nil {
		return model.Errored, "Error while evaluating DNS resolution on this host"
	}
	r, found := resolutionOf(e.h, lookup)
	if !found || len(r.IPv4)+len(r.IPv6) == 0 {
		return model.Failed, fmt.Sprintf("Couldn't resolve domain name %s on the host. To continue installation, create the necessary DNS entries to resolve this domain name to your cluster's %s IP address", shown, target)
	}
	return model.Passed, fine
}

func resolutionOf(h *model.Host, name string) (model.Resolution, bool) {
	for _, r := range h.Resolutions {
		if r.DomainName == name {
			return r, true
		}
	}
	return model.Resolution{}, false
}

func (e *hostCheck) wildcard() (string, string) {
	if e.c.IsDay2() {
		return model.Passed, "DNS wildcard check is not required for day2"
	}
	if e.h.Resolutions == nil {
		return model.Pending, "DNS wildcard check cannot be performed yet because the host has not yet performed DNS resolution"
	}
	base := "validateNoWildcardDNS." + e.c.Name + "." + e.c.BaseDNSDomain
	for _, name := range []string{base, base + "."} {
		r, found := resolutionOf(e.h, name)
		if !found {
			return model.Errored, "Internal error - DNS wildcard check cannot be performed because the DNS validation result doesn't contain the wildcard domain"
		}
		if all := slices.Concat(r.IPv4, r.IPv6); len(all) > 0 {
			return model.Failed, fmt.Sprintf("DNS wildcard configuration was detected for domain *.%s.%s - the installation will not be able to complete while this record exists. Please remove it to proceed. The domain resolves to addresses %s",
				e.c.Name, e.c.BaseDNSDomain, strings.Join(all, ", "))
		}
	}
	return model.Passed, "DNS wildcard check was successful"
}
