package csr

import (
	"cmp"
	"crypto/sha256"
	"fmt"
	"net/netip"
	"slices"
	"strings"
	"time"

	"github.com/oaictl/oaictl/pkg/install/model"
)

// The signers of kubelets' certificates.
const (
	clientSigner  = "kubernetes.io/kube-apiserver-client-kubelet"
	servingSigner = "kubernetes.io/kubelet-serving"
)

// skew is how far the API server's clock, which dates requests, may be behind the service's,
// which dates reboots.
const skew = 60 * time.Second

// Judge gives one verdict for each request, in their order. It changes nothing that it is
// given, and the same arguments give the same verdicts.
//
// Requests are judged together: two that want the same decide each other. All requests of
// the two signers belong in the call, answered ones too, for they show which hosts have had
// their certificate. Of the answered ones only client requests by the bootstrapper since the
// first reboot of a host are read, and these no further than to their subject.
//
// No rule uses the caller's own clock, which may be wrong: the dates of requests and Nodes are compared with those of
// reboots.
func Judge(requests []model.CertificateRequest, cluster Cluster, _ time.Time) []model.RequestVerdict {
	j := newJudge(cluster)
	verdicts := make([]model.RequestVerdict, len(requests))
	for i := range requests {
		verdicts[i] = begin(&requests[i])
		if !requests[i].Pending() {
			j.answered(&requests[i], &verdicts[i])
		}
	}
	for i := range requests {
		if verdicts[i].Decision == "" {
			j.pending(&requests[i], &verdicts[i])
		}
	}
	j.settleRivals()
	supersede(requests, verdicts)
	return verdicts
}

// judge is what one call knows.
type judge struct {
	Cluster
	hosts    map[string][]int    // by the names of their Nodes
	nodes    map[string]*Node    // by name
	names    map[string][]holder // which hosts and Nodes have a DNS name
	holders  map[netip.Addr][]holder
	reserved []netip.Prefix
	earliest time.Time // the first reboot of a host that may have requests
	granted  map[string]grant
	claims   map[string][]contender // pending client requests by the name that they claim
}

// holder is the host or the Node that has a name or an address.
type holder struct {
	host int    // among the hosts; -1 for a Node
	node string // its name
}

// grant is what is known of approved client requests of a name, since its host's reboot.
type grant struct {
	barring *model.CertificateRequest // the oldest that bars a further approval
	proving *model.CertificateRequest // the oldest that proves a Node to be of this installation
}

// contender is a pending client request.
type contender struct {
	*model.CertificateRequest
	key     [sha256.Size]byte
	verdict *model.RequestVerdict
}

func newJudge(cluster Cluster) *judge {
	j := &judge{
		Cluster: cluster, hosts: map[string][]int{}, nodes: map[string]*Node{}, names: map[string][]holder{},
		holders: map[netip.Addr][]holder{}, granted: map[string]grant{}, claims: map[string][]contender{},
		reserved: reserved(),
	}
	for i := range cluster.Hosts {
		host := &cluster.Hosts[i]
		name := model.NodeName(host.Hostname)
		if name != "" {
			j.hosts[name] = append(j.hosts[name], i)
		}
		names := []string{name}
		for _, further := range host.Names {
			names = append(names, model.NodeName(further))
		}
		j.hold(holder{host: i}, names, slices.Concat(host.Addresses, host.Allowed))
		if host.Named && host.Installed && !host.Rebooted.IsZero() && (j.earliest.IsZero() || host.Rebooted.Before(j.earliest)) {
			j.earliest = host.Rebooted
		}
	}
	for i := range cluster.Nodes {
		node := &cluster.Nodes[i]
		j.nodes[node.Name] = node
		j.hold(holder{host: -1, node: node.Name}, []string{node.Name}, node.Addresses)
	}
	return j
}

func (j *judge) hold(whose holder, names []string, addresses []netip.Addr) {
	for _, name := range names {
		j.names[name] = append(j.names[name], whose)
	}
	for _, address := range addresses {
		j.holders[plain(address)] = append(j.holders[plain(address)], whose)
	}
}

// begin is what a request says of itself outside of the PKCS#10, and the verdict on those
// that are not to be judged.
func begin(r *model.CertificateRequest) model.RequestVerdict {
	v := model.RequestVerdict{Name: r.Name, UID: r.UID}
	name, byNode := strings.CutPrefix(r.Username, userPrefix)
	if byNode && nodeName(name) {
		v.Node = name
	}
	switch {
	case r.Signer == servingSigner:
		v.Kind = model.RequestServing
	case r.Signer != clientSigner:
		v.Kind, v.Node = model.RequestOther, ""
		setVerdict(&v, finding{model.RequestIgnore, model.ReasonOtherSigner, "it is for the signer " + quoted(r.Signer)})
	case byNode:
		v.Kind = model.RequestRenewal
		setVerdict(&v, finding{model.RequestIgnore, model.ReasonClientRenewal, "a Node renews its own certificate, which the cluster approves"})
	default:
		v.Kind = model.RequestClient
	}
	return v
}

// setVerdict writes a verdict.
func setVerdict(v *model.RequestVerdict, f finding) {
	v.Decision, v.Reason, v.Message = f.decision, f.reason, f.text
}

// answered settles a request that is already approved or denied, and records what its approval proves.
func (j *judge) answered(r *model.CertificateRequest, v *model.RequestVerdict) {
	if v.Decision != "" {
		return
	}
	if v.Kind == model.RequestClient && r.Approved && !j.earliest.IsZero() &&
		(since(r.Created, j.earliest) || since(r.ConditionAt, j.earliest)) {
		j.grant(r, v)
	}
	if host := j.hostOf(v.Node); host != nil && host.Named {
		v.Host = host.Name
	}
	by := "at " + stamp(r.ConditionAt) + ": " + quoted(r.Reason) + ", " + quoted(r.Message)
	if r.Denied && !r.Approved {
		setVerdict(v, finding{model.RequestIgnore, model.ReasonDenied, "denied " + by})
		return
	}
	setVerdict(v, finding{model.RequestIgnore, model.ReasonApproved, "approved " + by})
}

// grant records an approved client request. A further approval is barred by every request that may have brought a
// certificate of that name since the reboot. Less is needed to prove that a Node is of this installation: a request
// that the bootstrapper made since then, for that name.
func (j *judge) grant(r *model.CertificateRequest, v *model.RequestVerdict) {
	subject, _ := glance(r.PEM)
	v.Node, _ = nodeOf(subject.CommonName)
	for _, node := range nodesOf(subject) {
		host := j.hostOf(node)
		if host == nil || host.Rebooted.IsZero() {
			continue
		}
		known := j.granted[node]
		if since(r.Created, host.Rebooted) || since(r.ConditionAt, host.Rebooted) {
			known.barring = older(known.barring, r)
		}
		if v.Node == node && slices.Equal(subject.Organization, []string{nodesGroup}) && r.Username == bootstrapper &&
			since(r.Created, host.Rebooted) {
			known.proving = older(known.proving, r)
		}
		j.granted[node] = known
	}
}

// hostOf is the only host of that name, or nil.
func (j *judge) hostOf(node string) *Host {
	if at := j.hosts[node]; len(at) == 1 {
		return &j.Hosts[at[0]]
	}
	return nil
}

// since reports whether something happened after a reboot, within the accuracy of the clocks.
func since(at, reboot time.Time) bool { return !at.Before(reboot.Add(-skew)) }

// older is the one of two requests that was made first. Names decide between those of one
// moment, so that the order of the list does not.
func older(one, other *model.CertificateRequest) *model.CertificateRequest {
	if one == nil || compare(one, other) > 0 {
		return other
	}
	return one
}

func compare(one, other *model.CertificateRequest) int {
	return cmp.Or(one.Created.Compare(other.Created), cmp.Compare(one.Name, other.Name), cmp.Compare(one.UID, other.UID))
}

// pending settles a pending request, without regard to other requests.
func (j *judge) pending(r *model.CertificateRequest, v *model.RequestVerdict) {
	if v.Kind == model.RequestClient {
		j.contend(r, v)
	}
	v.Node = "" // the name of the requester is not the name that is claimed
	c, wrong := read(r.PEM)
	if c != nil {
		v.Key = fingerprint(c.key)
	}
	if wrong != nil {
		setVerdict(v, *wrong)
		return
	}
	name, usual := c.subject()
	if nodeName(name) {
		v.Node = name
	}
	a := &pendingRequest{judge: j, CertificateRequest: r, claim: c, verdict: v, name: name, usual: usual}
	if a.host = j.hostOf(v.Node); a.host != nil && a.host.Named {
		v.Host = a.host.Name
	}
	if v.Kind == model.RequestClient {
		a.client()
	} else {
		a.serving()
	}
}

// contend puts a request among those that claim its name. A request that is refused for its form is a rival, too, as it
// shows that the token is in use by something else than the host. A request from before the reboot is not: it is a
// leftover of an earlier installation, and could not be approved any more. Neither is a request that was not made by
// the bootstrapper.
func (j *judge) contend(r *model.CertificateRequest, v *model.RequestVerdict) {
	if r.Username != bootstrapper {
		return
	}
	subject, key := glance(r.PEM)
	for _, node := range nodesOf(subject) {
		if host := j.hostOf(node); host != nil && since(r.Created, host.Rebooted) {
			j.claims[node] = append(j.claims[node], contender{CertificateRequest: r, key: key, verdict: v})
		}
	}
}

// settleRivals looks at the client requests that claim one name. Requests with the same key are of the same kubelet,
// and only the oldest of them counts. Different keys are of different machines, or of a kubelet that has made a new
// request and waits for the newest one alone: a person has to say whether that request is the host's.
func (j *judge) settleRivals() {
	for _, all := range j.claims {
		slices.SortFunc(all, func(one, other contender) int { return compare(one.CertificateRequest, other.CertificateRequest) })
		rivals := slices.ContainsFunc(all, func(c contender) bool { return c.key != all[0].key })
		newest := newestProven(all)
		first := ""
		for _, c := range all {
			switch {
			case c.verdict.Decision != model.RequestApprove:
			case rivals && c.Created.Before(newest.Created):
				setVerdict(c.verdict, finding{model.RequestRefuse, model.ReasonSuperseded,
					"the newer request " + quoted(newest.Name) + " has the same name but another key, and a kubelet waits only for its newest request"})
			case rivals:
				setVerdict(c.verdict, finding{model.RequestAsk, model.ReasonRivalKeys, rivalText(all)})
			case first == "":
				first = c.Name
			default:
				setVerdict(c.verdict, finding{model.RequestRefuse, model.ReasonRepeated,
					"the older request " + quoted(first) + " has the same key, so this decision applies to both"})
			}
		}
	}
}

// newestProven is the newest of several that would be proven if the others were not there.
func newestProven(all []contender) (newest contender) {
	for _, c := range all {
		if c.verdict.Decision == model.RequestApprove {
			newest = c
		}
	}
	return newest
}

// shownRivals is how many of the requests for one name a message shows.
const shownRivals = 3

func rivalText(all []contender) string {
	text := fmt.Sprintf("%d pending requests have this name, with different keys", len(all))
	all = slices.Clone(all)
	slices.Reverse(all)
	more := ""
	if n := len(all) - shownRivals; n > 0 {
		all, more = all[:shownRivals], fmt.Sprintf(", and %d older ones", n)
	}
	return text + ", the newest first: " + list(all, contender.String) + more
}

func (c contender) String() string {
	return fmt.Sprintf("%s (key %s, made at %s)", quoted(c.Name), fingerprint(c.key), stamp(c.Created))
}
