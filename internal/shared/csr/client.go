package csr

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rsa"
	"crypto/x509"
	"crypto/x509/pkix"
	"fmt"
	"slices"
	"strings"

	"github.com/oaictl/oaictl/pkg/install/model"
)

// bootstrapper is the ServiceAccount whose token the machine config server hands to every
// machine that asks, and by which a kubelet makes its first request.
const bootstrapper = "system:serviceaccount:openshift-machine-config-operator:node-bootstrapper"

var bootstrapperGroups = []string{
	"system:authenticated", "system:serviceaccounts", "system:serviceaccounts:openshift-machine-config-operator",
}

const (
	usageSignature    = "digital signature"
	usageEncipherment = "key encipherment" // asked for with RSA keys, by older kubelets with all
	usageClient       = "client auth"
	usageServer       = "server auth"
)

// pendingRequest is a pending request of a kubelet with all that it is compared with.
type pendingRequest struct {
	*judge
	*model.CertificateRequest
	claim   *claim
	verdict *model.RequestVerdict
	name    string // what follows system:node: in the common name
	usual   bool   // the subject is as a kubelet's
	host    *Host  // the only one of that name; nil if there is none, or several
}

// first is the first thing that is wrong.
func first(checks ...func() *finding) *finding {
	for _, check := range checks {
		if found := check(); found != nil {
			return found
		}
	}
	return nil
}

// refused is a finding that leaves the request pending.
func refused(reason, format string, args ...any) *finding {
	return &finding{model.RequestRefuse, reason, fmt.Sprintf(format, args...)}
}

// client settles a client request, which the others of its name may still change.
func (a *pendingRequest) client() {
	found := first(
		a.byBootstrapper, a.subject, a.clientUsages, a.noNames, a.usualKey,
		a.fitsHost, a.afterReboot, a.noNode, a.notApproved, a.signed,
	)
	if found == nil {
		found = &finding{model.RequestApprove, model.ReasonProven, fmt.Sprintf("made at %s with key %s, for the host %s, which rebooted at %s",
			stamp(a.Created), a.verdict.Key, quoted(a.host.Name), stamp(a.host.Rebooted))}
	}
	setVerdict(a.verdict, *found)
}

func (a *pendingRequest) byBootstrapper() *finding {
	if a.Username != bootstrapper {
		return refused(model.ReasonUnexpectedRequester, "it was made by %s, but the first request of a kubelet is made by %s",
			quoted(a.Username),
			bootstrapper)
	}
	if !same(a.Groups, bootstrapperGroups...) {
		return refused(model.ReasonUnexpectedRequester, "the groups of its requester are %s, but the groups of the bootstrapper are %s",
			quotedAll(a.Groups),
			quotedAll(bootstrapperGroups))
	}
	return nil
}

// same reports whether a list has exactly the wanted words, each once, in any order.
func same(has []string, wanted ...string) bool {
	return slices.Equal(slices.Sorted(slices.Values(has)), slices.Sorted(slices.Values(wanted)))
}

// subject holds the subject to a kubelet's.
func (a *pendingRequest) subject() *finding {
	if !a.usual {
		return refused(model.ReasonUnexpectedSubject,
			"its subject is %s, but the subject of a kubelet is exactly O=%s, CN=%sNAME, each in its own set, as a UTF8String or PrintableString",
			quoted(a.claim.Subject.String()), nodesGroup, userPrefix)
	}
	if !nodeName(a.name) {
		return refused(model.ReasonInvalidName, "%s cannot be the name of a Node", quoted(a.name))
	}
	return nil
}

func (a *pendingRequest) clientUsages() *finding { return a.usages(usageClient) }

// usages holds the usages to a kubelet's two or three.
func (a *pendingRequest) usages(auth string) *finding {
	if same(a.Usages, usageSignature, auth) || same(a.Usages, usageSignature, auth, usageEncipherment) {
		return nil
	}
	return refused(model.ReasonUnexpectedUsages, "its usages are %s, but the usages of a kubelet are %q, %q and optionally %q",
		quotedAll(a.Usages),
		usageSignature, auth, usageEncipherment)
}

// noNames refuses alternative names of any kind, and all else that is asked for.
func (a *pendingRequest) noNames() *finding {
	if slices.ContainsFunc(a.claim.Extensions, func(e pkix.Extension) bool { return e.Id.Equal(oidSubjectAltName) }) {
		return refused(model.ReasonUnexpectedSAN, "it requests alternative names (%s), but a client certificate has none", a.claim.shown())
	}
	return a.nothingElse()
}

func (a *pendingRequest) nothingElse() *finding {
	if a.claim.extra != "" {
		return refused(model.ReasonUnexpectedExtension, "it requests the extension %s, but a kubelet only requests alternative names",
			a.claim.extra)
	}
	return nil
}

// A kubelet makes a key on the curve P-256. Those of earlier releases made RSA keys.
const (
	leastRSA = 2048 // bits
	exponent = 65537
)

// usualKey holds the key, and how the request is signed with it, to a kubelet's.
func (a *pendingRequest) usualKey() *finding {
	usual, kind := false, a.claim.PublicKeyAlgorithm.String()
	switch key := a.claim.PublicKey.(type) {
	case *ecdsa.PublicKey:
		usual, kind = key.Curve == elliptic.P256() && a.claim.SignatureAlgorithm == x509.ECDSAWithSHA256, "ECDSA "+key.Curve.Params().Name
	case *rsa.PublicKey:
		usual = key.N.BitLen() >= leastRSA && key.E == exponent && a.claim.SignatureAlgorithm == x509.SHA256WithRSA
		kind = fmt.Sprintf("RSA with %d bits and the exponent %d", key.N.BitLen(), key.E)
	}
	if usual {
		return nil
	}
	return refused(model.ReasonUnexpectedKey,
		"its key is %s, signed with %s, but the key of a kubelet is ECDSA P-256, or RSA with %d bits or more, signed with SHA-256",
		quoted(kind), quoted(a.claim.SignatureAlgorithm.String()), leastRSA)
}

// fitsHost holds the name to the hosts of the file.
func (a *pendingRequest) fitsHost() *finding {
	switch at := a.hosts[a.verdict.Node]; {
	case len(at) == 0:
		return refused(model.ReasonUnknownName, "the service has no host with that name")
	case len(at) > 1:
		var all []string
		for _, i := range at {
			all = append(all, a.Hosts[i].Name)
		}
		return refused(model.ReasonSharedHostname, "the service has %d hosts with that name: %s", len(at), quotedAll(all))
	case !a.host.Named:
		return refused(model.ReasonHostNotNamed, "neither the file nor the command names the host that the service has as %s",
			quoted(a.host.Hostname))
	case a.host.Unasked:
		return refused(model.ReasonHostUnasked, "this command does not handle the host %s", quoted(a.host.Name))
	case !a.host.Installed:
		return refused(model.ReasonHostNotInstalled, "in the service, the host %s is not rebooting, joined or added", quoted(a.host.Name))
	case a.host.Rebooted.IsZero():
		return refused(model.ReasonRebootUnknown, "it is not known when the host %s rebooted, so oaictl cannot tell whether the request "+
			"belongs to its installation",
			quoted(a.host.Name))
	}
	return nil
}

func (a *pendingRequest) afterReboot() *finding {
	if since(a.Created, a.host.Rebooted) {
		return nil
	}
	return refused(model.ReasonBeforeReboot, "it was made at %s, before the host %s rebooted at %s", stamp(a.Created), quoted(a.host.Name),
		stamp(a.host.Rebooted))
}

// noNode refuses a name that a Node has, Ready or not: the token is shared by all machines, and another machine could
// wait until this one is off, and take over its Node.
func (a *pendingRequest) noNode() *finding {
	if node := a.nodes[a.verdict.Node]; node != nil {
		return refused(model.ReasonNodeExists, "a Node with that name has existed since %s; it must be removed first", stamp(node.Created))
	}
	return nil
}

func (a *pendingRequest) notApproved() *finding {
	if r := a.granted[a.verdict.Node].barring; r != nil {
		return refused(model.ReasonAlreadyApproved,
			"the request %s, made at %s, was approved for this installation of the host %s, which rebooted at %s",
			quoted(r.Name), stamp(r.Created), quoted(a.host.Name), stamp(a.host.Rebooted))
	}
	if a.host.Joined {
		return refused(model.ReasonAlreadyJoined,
			"the service reports that the host %s has already joined the cluster, and a node that has joined makes no such request",
			quoted(a.host.Name))
	}
	return nil
}

// signed comes last, since it costs the most.
func (a *pendingRequest) signed() *finding {
	if err := a.claim.CheckSignature(); err != nil {
		return refused(model.ReasonBadSignature, "it is not signed with its own key: %s", quoted(err.Error()))
	}
	return nil
}

// shown are the alternative names, for a message.
func (c *claim) shown() string {
	all := slices.Concat(c.DNSNames, c.EmailAddresses)
	for _, uri := range c.URIs {
		all = append(all, uri.String())
	}
	for _, ip := range c.IPAddresses {
		all = append(all, ip.String())
	}
	if others := c.sans - len(all); others > 0 {
		return strings.TrimPrefix(quotedAll(all)+fmt.Sprintf(", and %d others", others), "none, and ")
	}
	return quotedAll(all)
}
