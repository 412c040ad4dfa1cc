package nodeplan

import (
	"cmp"
	"fmt"
	"net/netip"
	"slices"
	"strings"
	"time"

	"github.com/oaictl/oaictl/internal/shared/csr"
	"github.com/oaictl/oaictl/internal/shared/listtext"
	"github.com/oaictl/oaictl/pkg/install/model"
	"github.com/oaictl/oaictl/pkg/install/spec"
)

// Judge judges the requests for certificates of the installed cluster: those of the hosts that
// are asked about may be approved, and of no others. The newest is the first.
func Judge(q Question) []model.RequestVerdict {
	if q.Observed.Spoke == nil {
		return nil
	}
	requests := slices.Clone(q.Observed.Spoke.Requests)
	slices.SortStableFunc(requests, func(a, b model.CertificateRequest) int { return b.Created.Compare(a.Created) })
	verdicts := csr.Judge(requests, knownTo(q), q.Now)
	for i := range verdicts {
		v := &verdicts[i]
		if v.Decision != model.RequestApprove {
			continue
		}
		if at := slices.IndexFunc(q.Hosts, func(h Host) bool { return h.Name == v.Host && h.Have != nil }); at >= 0 {
			lateFirst(q, &q.Hosts[at], v)
			otherName(&q.Hosts[at], v, q.Desired.Source())
		}
	}
	return verdicts
}

// ReasonOtherHostname is the reason of a request of a host for which file and service have
// different hostnames.
const ReasonOtherHostname = "OtherHostname"

// otherName makes a question of a request where the file says another hostname than the service
// has: the request fits the service's record, and the file contradicts that.
func otherName(h *Host, v *model.RequestVerdict, source string) {
	if !contradicted(h.Want, h.Have) {
		return
	}
	v.Decision, v.Reason = model.RequestAsk, ReasonOtherHostname
	v.Message = fmt.Sprintf("it is for the name %s. The service has this name for %s, but in %s the hostname is %s",
		v.Node, h.Name, source, h.Want.Hostname)
}

// contradicted reports whether the file says another hostname than the service has. A file that
// leaves a machine the hostname that it has says none.
func contradicted(want *spec.Host, have *model.Host) bool {
	return want != nil && want.Hostname != "" && model.NodeName(want.Hostname) != model.NodeName(have.Hostname)
}

// recently is how long after the reboot of a host its first request is approved without a
// question. Kubernetes removes approved requests after an hour, and nodes may be removed: after
// that nothing shows that the host has not had its certificate.
const recently = time.Hour

// ReasonLongAgo is the reason of a first request that comes long after the host's reboot.
const ReasonLongAgo = "RebootedLongAgo"

// lateFirst makes a question of a first request that comes late.
func lateFirst(q Question, h *Host, v *model.RequestVerdict) {
	if since := rebooted(q, h.Have); v.Kind == model.RequestClient && q.Now.Sub(since) > recently {
		v.Decision, v.Reason = model.RequestAsk, ReasonLongAgo
		v.Message = fmt.Sprintf("the first request of %s comes long after its reboot at %s: the machine may have been a node before", h.Name,
			since.UTC().Format(time.RFC3339))
	}
}

// knownTo is the cluster as the judge of requests is to know it.
func knownTo(q Question) csr.Cluster {
	s := q.Observed.Spoke
	known := csr.Cluster{VIPs: slices.Clone(s.VIPs), Networks: s.Networks}
	for _, text := range slices.Concat(q.Desired.Spec.Spec.Network.VIPs.API, q.Desired.Spec.Spec.Network.VIPs.Ingress) {
		if address, err := netip.ParseAddr(text); err == nil {
			known.VIPs = append(known.VIPs, address)
		}
	}
	asked := map[string]*Host{}
	for i := range q.Hosts {
		if h := &q.Hosts[i]; h.Have != nil {
			asked[h.Have.ID] = h
		}
	}
	for i := range q.Observed.Hosts {
		have := &q.Observed.Hosts[i]
		if asked[have.ID] == nil && have.State == model.HostUnbound {
			continue // it is in no cluster: what it calls itself proves and disproves nothing of this one
		}
		host := csr.Host{Hostname: have.Hostname, Name: have.DisplayName(), Addresses: addressesOf(have)}
		host.Named = namesHost(q.Desired.Spec, have)
		host.Unasked = host.Named
		if h := asked[have.ID]; h != nil {
			host.Name, host.Named, host.Unasked = h.Name, true, false
			host.Installed = have.HasRebooted() || have.State == model.HostAdded || have.State == model.HostInstalled
			host.Rebooted = rebooted(q, have)
			switch {
			case have.Progress.Stage == "Joined": // the service has seen its node
				host.Joined = true
			case host.Rebooted.IsZero() && have.Progress.Stage == "Done": // which a day-2 host also comes to by its reboot
				host.Joined = true
			}
			if host.Joined && host.Rebooted.IsZero() {
				host.Rebooted = have.Registered // not before that
			}
			host.Allowed = allowed(q, h)
			if h.Want != nil && h.Want.Net != nil {
				host.Addresses = append(host.Addresses, addresses(h.Want.Net.IP, h.Want.Net.IP6)...)
			}
		}
		known.Hosts = append(known.Hosts, host)
	}
	for i := range s.Nodes {
		n := &s.Nodes[i]
		known.Nodes = append(known.Nodes, csr.Node{Name: n.Name, Created: n.Created, Addresses: n.Addresses})
	}
	return known
}

// namesHost reports whether the file names a host: that alone has no request approved.
func namesHost(c *spec.Cluster, have *model.Host) bool {
	for i := range c.Spec.Hosts {
		if model.NodeName(cmp.Or(c.Spec.Hosts[i].Hostname, c.Spec.Hosts[i].Name)) == model.NodeName(have.Hostname) {
			return true
		}
	}
	return false
}

// rebooted is when a host was booted from the disk that it was installed on, zero where that is
// not known: a hub that has gone on to later stages does not say it any more, and then what the
// loop itself saw counts.
func rebooted(q Question, have *model.Host) time.Time {
	if !have.Rebooted.IsZero() {
		return have.Rebooted
	}
	if !have.HasRebooted() {
		if have.State == model.HostAdded {
			return have.Since // to which the reboot takes it
		}
		return time.Time{}
	}
	return q.Memory.Rebooted[have.ID]
}

// allowed are the addresses that a person has said a node may have.
func allowed(q Question, h *Host) []netip.Addr {
	out := slices.Clone(q.Desired.Options.AllowAddresses[h.Name])
	if h.Want != nil {
		out = append(out, addresses(h.Want.Addresses...)...)
	}
	if h.Have != nil && h.Have.Hostname != h.Name {
		out = append(out, q.Desired.Options.AllowAddresses[h.Have.Hostname]...)
	}
	return out
}

func addressesOf(h *model.Host) []netip.Addr {
	var texts []string
	for _, i := range h.Inventory.Interfaces {
		texts = append(texts, i.Addresses...)
	}
	return addresses(texts...)
}

// addresses are those in texts, which may have prefix lengths. What is no address is left out.
func addresses(texts ...string) []netip.Addr {
	var out []netip.Addr
	for _, text := range texts {
		text, _, _ = strings.Cut(text, "/")
		if address, err := netip.ParseAddr(text); err == nil {
			out = append(out, address.Unmap().WithZone(""))
		}
	}
	return out
}

// certificates handles the requests of a host's kubelet. It reports whether the node has all the certificates that it
// needs, as far as that is known.
func (a *joins) certificates(h Host, node *model.Node) (served bool) {
	if node == nil {
		for _, v := range a.named(h, model.RequestClient) {
			if v.Newer == "" {
				a.verdict(h, v)
			}
		}
		return false
	}
	// A kubelet asks for its client certificate anew every quarter of an hour, and for its
	// serving certificate whenever its addresses change: of what was asked before, nothing is
	// needed any more.
	var latest *model.CertificateRequest
	var last model.RequestVerdict
	had := false
	for _, v := range a.named(h, model.RequestServing) {
		request := a.request(v.Name)
		switch { // dates are of whole seconds, and what is pending counts then
		case request == nil:
			continue
		case latest == nil, request.Created.After(latest.Created), request.Created.Equal(latest.Created) && request.Pending():
			latest, last = request, v
		}
		had = had || request.Approved
	}
	switch {
	case latest != nil && latest.Approved, latest != nil && last.Decision == model.RequestRefuse && had:
		return true
	case latest != nil && latest.Pending():
		a.verdict(h, last)
		return false
	case a.Now.Sub(node.Created) > forgotten: // which the API server's cleaner has removed
		return true
	}
	a.wait(model.Wait{
		Key: string(scopeOf(h)) + "/serving", Scope: scopeOf(h), Who: model.WhoMachine, Since: node.Created,
		For: "the kubelet of " + h.Name + " to ask for its serving certificate",
	})
	return false
}

// forgotten is how old a node has to be whose approved requests may have been removed: approved
// ones are kept for an hour.
const forgotten = time.Hour

// verdict turns what was judged of a pending request into what is done about it.
func (a *joins) verdict(h Host, v model.RequestVerdict) {
	request := a.request(v.Name)
	if request == nil || !request.Pending() {
		return
	}
	key, since := string(scopeOf(h))+"/request/"+string(v.Kind), a.askedSince(v, request)
	decision := v.Decision
	if decision == model.RequestApprove && a.Desired.Options.Approve == model.ApproveAsk {
		decision = model.RequestAsk
	}
	if answer, given := a.Memory.Answers[v.AnswerKey()]; given && decision == model.RequestAsk {
		decision = model.RequestRefuse
		if !answer {
			v.Message = "a person said no"
		} else {
			decision = model.RequestApprove
		}
	}
	switch {
	case (decision == model.RequestApprove || decision == model.RequestAsk) && a.Desired.Options.Approve == model.ApproveOff:
		a.wait(model.Wait{
			Key: key, Scope: scopeOf(h), Who: model.WhoUser, Since: since, Next: model.Command("approve", h.inService()),
			For: fmt.Sprintf("an approver to approve the request %s of %s for a %s certificate", v.Name, h.Name, v.Kind),
		})
	case decision == model.RequestApprove:
		a.act(model.Action{
			Key: key + "/" + v.Name + "/approve", Scope: scopeOf(h), Kind: model.ApproveRequest, Target: v.UID, Name: v.Name,
			Reason: fmt.Sprintf("%s is installed, and its kubelet asks for a %s certificate", h.Name, v.Kind),
		})
	case decision == model.RequestAsk:
		a.ask(h, v, key, since)
	case decision == model.RequestWait:
		a.wait(model.Wait{
			Key: key, Scope: scopeOf(h), Who: model.WhoMachine, Since: since,
			For: fmt.Sprintf("the request %s of %s for a %s certificate to be complete: %s", v.Name, h.Name, v.Kind, v.Message),
		})
	case decision == model.RequestRefuse:
		a.refuse(h, v, key, since)
	}
}

// askedSince is when the first of the requests was made that a pending one is the newest of, and
// that are of the same installation.
func (a *joins) askedSince(v model.RequestVerdict, newest *model.CertificateRequest) time.Time {
	since := newest.Created
	for _, older := range a.verdicts {
		if older.Newer != v.Name || older.Reason == model.ReasonBeforeReboot {
			continue
		}
		if r := a.request(older.Name); r != nil && r.Created.Before(since) {
			since = r.Created
		}
	}
	return since
}

// refuse leaves a request pending. A request that may well be the host's own, but cannot be matched with what is known
// of its installation, blocks the host. Another request in its name is of a different machine, and is reported.
func (a *joins) refuse(h Host, v model.RequestVerdict, key string, since time.Time) {
	b := model.Blocker{
		Key: key, Scope: scopeOf(h), Reason: "RequestRefused", Cure: model.CurePerson, Since: since, Hosts: []string{h.Name},
		Message: fmt.Sprintf("the request %s of %s for a %s certificate is not approved: %s", v.Name, h.Name, v.Kind, v.Message),
		Remedy:  model.Advicef("find out who asks for it; to approve it nevertheless: kubectl certificate approve %s", listtext.Quoted(v.Name)),
	}
	switch v.Reason {
	case model.ReasonBeforeReboot, model.ReasonRebootUnknown, model.ReasonHostNotInstalled, model.ReasonNodeExists,
		model.ReasonAlreadyApproved,
		model.ReasonAlreadyJoined,
		model.ReasonSharedHostname, model.ReasonUnprovenNode:
		a.block(b)
		return
	case model.ReasonProven, model.ReasonRivalKeys, model.ReasonUnknownAddress, ReasonLongAgo, ReasonOtherHostname:
		// the person refused to approve it
		a.block(b)
		return
	}
	if v.Kind == model.RequestServing { // which only the node itself could send
		a.block(b)
		return
	}
	a.warn(model.Warning{Key: key + "/" + v.Reason, Scope: b.Scope, Reason: b.Reason, Message: b.Message, Next: b.Remedy})
}

// ask has a person answer whether a request is approved.
func (a *joins) ask(h Host, v model.RequestVerdict, key string, since time.Time) {
	remedy := "if it is the node's: " + model.Command("approve", h.inService(), "--request", listtext.Quoted(v.Name))
	if len(v.Addresses) > 0 {
		texts := make([]string, 0, len(v.Addresses))
		for _, address := range v.Addresses {
			texts = append(texts, "--allow-address "+listtext.Quoted(h.Have.DisplayName()+"="+address.String()))
		}
		remedy = model.Command("approve", h.inService(), strings.Join(texts, " "))
	}
	a.answer.Questions = append(a.answer.Questions, v)
	a.block(model.Blocker{
		Key: key, Scope: scopeOf(h), Reason: ReasonAsk, Cure: a.forPerson(), Since: since, Hosts: []string{h.Name},
		Message: fmt.Sprintf("a person must decide whether to approve the request %s of %s for a %s certificate: %s", v.Name, h.Name, v.Kind,
			v.Message),
		Remedy: remedy,
	})
}

// inService is what a command finds a host by that is not given the file.
func (h *Host) inService() string { return listtext.Quoted(h.Have.DisplayName()) }

// ReasonAsk is the reason of blockers that a person's answer removes.
const ReasonAsk = "CertificateRequestPending"

// forPerson is how long the run waits for a person: not at all where the run is unattended.
func (a *joins) forPerson() model.Cure {
	if a.Desired.Options.Unattended {
		return model.CureAnswer
	}
	return model.CurePerson
}

// strangers reports requests of unknown hosts while the run still waits for hosts: a machine may have another name than
// the one that the service has.
func (a *joins) strangers(missing []string) {
	var strange []string
	for _, v := range a.verdicts {
		if v.Kind == model.RequestClient && v.Reason == model.ReasonUnknownName && v.Node != "" {
			strange = append(strange, v.Node)
		}
	}
	slices.Sort(strange)
	if strange = slices.Compact(strange); len(strange) == 0 || len(missing) == 0 {
		return
	}
	a.warn(model.Warning{
		Key: "spoke/strangers", Scope: model.ScopeCluster, Reason: "UnknownRequester",
		Message: fmt.Sprintf("there are certificate requests from %s, a name that is not in %s, but none from %s: perhaps a hostname "+
			"changed with the reboot", listtext.ListText(strange), a.Desired.Source(), listtext.ListText(missing)),
		Next: "look at the machine's console to see its hostname",
	})
}

// flood reports that the cluster's own approver has given up.
func (a *joins) flood() {
	pending, limit, over := csr.Flood(a.spoke.Requests, len(a.spoke.Machines), len(a.spoke.Nodes), a.Now)
	if !over {
		return
	}
	a.warn(model.Warning{
		Key: "spoke/flood", Scope: model.ScopeCluster, Reason: "TooManyRequests",
		Message: fmt.Sprintf("%d certificate requests of the last hour are pending. With more than %d, the cluster's own approver stops "+
			"and approves no request of any node", pending, limit),
		Next: "kubectl get csr, and find out who sends them",
	})
}

// named are the requests for certificates that are about a host.
func (a *joins) named(h Host, kind model.RequestKind) []model.RequestVerdict {
	var of []model.RequestVerdict
	for _, v := range a.verdicts {
		if v.Host == h.Name && v.Kind == kind {
			of = append(of, v)
		}
	}
	return of
}

func (a *joins) request(name string) *model.CertificateRequest {
	i := slices.IndexFunc(a.spoke.Requests, func(r model.CertificateRequest) bool { return r.Name == name })
	if i < 0 {
		return nil
	}
	return &a.spoke.Requests[i]
}
