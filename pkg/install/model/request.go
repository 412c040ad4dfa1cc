package model

import (
	"net/netip"
	"strings"
	"time"
)

// CertificateRequest is a CertificateSigningRequest.
type CertificateRequest struct {
	Name, UID string
	Created   time.Time // by the API server's clock
	Signer    string    // spec.signerName
	Username  string    // who made it, as the API server has authenticated it
	Groups    []string
	Usages    []string
	PEM       []byte // spec.request

	// Approved and Denied report that there is a condition of that type, with any
	// status; Issued, that there is a certificate.
	Approved, Denied, Issued bool
	// ConditionAt is the lastTransitionTime of the condition Approved or Denied, and
	// Reason and Message are its own.
	ConditionAt     time.Time
	Reason, Message string
}

// Pending reports whether the request has no answer yet.
func (r *CertificateRequest) Pending() bool { return !r.Approved && !r.Denied && !r.Issued }

// RequestDecision is what is to be done with a request.
type RequestDecision string

// What is to be done with a request.
const (
	RequestApprove RequestDecision = "approve"
	RequestAsk     RequestDecision = "ask"    // a person has to answer
	RequestWait    RequestDecision = "wait"   // what is missing comes by itself
	RequestRefuse  RequestDecision = "refuse" // left pending: Denied is never written
	RequestIgnore  RequestDecision = "ignore" // not ours to judge, or answered already
)

// RequestKind is what a request is for.
type RequestKind string

// What a request is for.
const (
	RequestClient  RequestKind = "client"  // a machine that is not a Node yet asks to become one
	RequestServing RequestKind = "serving" // a Node asks for what it shows to those that connect to it, first or again
	RequestRenewal RequestKind = "renewal" // a Node asks for its next client certificate
	RequestOther   RequestKind = "other"   // no certificate of a kubelet
)

// RequestVerdict is what was found about one request.
type RequestVerdict struct {
	Name, UID string // of the request
	Kind      RequestKind
	// Node is the name that is claimed; empty where it could not be one of a Node, and where
	// a request was not read, since it is long answered.
	Node string
	// Host is what the file calls the host of that name; empty if none fits.
	Host     string
	Decision RequestDecision
	// Reason is one of the constants Reason….
	Reason string
	// Message says on one line what the request was held against; which one it is, say the
	// fields above. Words from outside are quoted in it, in ASCII.
	Message string
	// Addresses are those that are in question.
	Addresses []netip.Addr
	// Key is a short fingerprint of the public key: the first 8 bytes of the SHA-256 of its
	// SubjectPublicKeyInfo, in hexadecimal. It is for people; keys are compared in full.
	Key string
	// Newer is the newest pending request in place of which this one was made, by the same
	// name and for the same; empty if this is the newest. Older is how many it is the newest of.
	Newer string
	Older int
}

// NodeName is the name of the Node of a host with this hostname, as the kubelet makes it: in
// lower case, without space around it. Only letters of ASCII are changed, because a name with
// others cannot be the name of a Node.
//
// It is for what a service or a file says of a host. The name in a request is compared as it is.
func NodeName(hostname string) string {
	return strings.Map(func(r rune) rune {
		if 'A' <= r && r <= 'Z' {
			return r - 'A' + 'a'
		}
		return r
	}, strings.TrimSpace(hostname))
}

// Reasons of decisions. They are stable, and CamelCase as the reasons of conditions are.
const (
	// ReasonProven: the request is of a named host, and of this installation. Approve.
	ReasonProven = "Proven"

	// ReasonOtherSigner: another signer's business. Ignore.
	ReasonOtherSigner = "OtherSigner"
	// ReasonClientRenewal: a Node renews its client certificate, which the cluster's own
	// controller approves. Ignore.
	ReasonClientRenewal = "ClientRenewal"
	// ReasonApproved: it was approved already; the message says who. Ignore.
	ReasonApproved = "Approved"
	// ReasonDenied: it was denied already. Ignore.
	ReasonDenied = "Denied"

	// ReasonRivalKeys: pending requests claim one name with different keys, and at most one
	// of them can be the host's. Ask.
	ReasonRivalKeys = "RivalKeys"
	// ReasonUnknownAddress: an address of no known host. Ask.
	ReasonUnknownAddress = "UnknownAddress"

	// ReasonNodeMissing: the Node of a serving request does not exist yet. Wait.
	ReasonNodeMissing = "NodeMissing"

	// All others: Refuse.

	// ReasonMalformed: not one PEM block with a PKCS#10 request, and nothing else.
	ReasonMalformed = "Malformed"
	// ReasonTooLarge: more bytes or names than a kubelet could need.
	ReasonTooLarge = "TooLarge"
	// ReasonBadSignature: not signed with the key that it is for.
	ReasonBadSignature = "BadSignature"
	// ReasonUnexpectedKey: another kind of key, a shorter one, or another signature than a
	// kubelet's.
	ReasonUnexpectedKey = "UnexpectedKey"
	// ReasonUnexpectedRequester: not made by who makes such requests.
	ReasonUnexpectedRequester = "UnexpectedRequester"
	// ReasonUnexpectedSubject: other than one organisation, system:nodes, and one common
	// name, system:node:NAME.
	ReasonUnexpectedSubject = "UnexpectedSubject"
	// ReasonInvalidName: what follows system:node: cannot be the name of a Node.
	ReasonInvalidName = "InvalidName"
	// ReasonUnexpectedUsages: other usages than a kubelet's.
	ReasonUnexpectedUsages = "UnexpectedUsages"
	// ReasonUnexpectedExtension: it asks for more than alternative names.
	ReasonUnexpectedExtension = "UnexpectedExtension"
	// ReasonUnexpectedSAN: alternative names in a client request, or in a serving request
	// some that are neither DNS names nor IP addresses.
	ReasonUnexpectedSAN = "UnexpectedSAN"
	// ReasonNoSAN: a serving request without any name.
	ReasonNoSAN = "NoSAN"
	// ReasonUnknownName: no host is called so.
	ReasonUnknownName = "UnknownName"
	// ReasonSharedHostname: several hosts are called so.
	ReasonSharedHostname = "SharedHostname"
	// ReasonHostNotNamed: neither the file nor the command names the host.
	ReasonHostNotNamed = "HostNotNamed"
	// ReasonHostUnasked: the command is not about this host.
	ReasonHostUnasked = "HostUnasked"
	// ReasonHostNotInstalled: the host is not as far as to run a kubelet of this cluster.
	ReasonHostNotInstalled = "HostNotInstalled"
	// ReasonRebootUnknown: it is not known when the host began to run what was installed.
	ReasonRebootUnknown = "RebootUnknown"
	// ReasonBeforeReboot: made before this installation of the host ran.
	ReasonBeforeReboot = "BeforeReboot"
	// ReasonNodeExists: a Node of that name exists already.
	ReasonNodeExists = "NodeExists"
	// ReasonAlreadyApproved: this installation of the host had a client request approved.
	ReasonAlreadyApproved = "AlreadyApproved"
	// ReasonAlreadyJoined: the service has seen this installation of the host as a Node.
	ReasonAlreadyJoined = "AlreadyJoined"
	// ReasonSuperseded: a newer pending request claims the same name with another key.
	ReasonSuperseded = "Superseded"
	// ReasonRepeated: an older pending request has the same name and key.
	ReasonRepeated = "Repeated"
	// ReasonUnprovenNode: nothing shows that the Node is of this installation of the host.
	ReasonUnprovenNode = "UnprovenNode"
	// ReasonUnknownDNSName: a DNS name that is not the host's.
	ReasonUnknownDNSName = "UnknownDNSName"
	// ReasonForeignDNSName: a DNS name that is another host's or Node's.
	ReasonForeignDNSName = "ForeignDNSName"
	// ReasonForeignAddress: an address that is another host's or Node's.
	ReasonForeignAddress = "ForeignAddress"
	// ReasonVirtualAddress: a virtual address of the cluster.
	ReasonVirtualAddress = "VirtualAddress"
	// ReasonSpecialAddress: an address that no host has for itself: loopback, link-local,
	// multicast, broadcast, unspecified, reserved, or IPv4 written as IPv6.
	ReasonSpecialAddress = "SpecialAddress"
	// ReasonClusterNetwork: an address in a network of pods or services.
	ReasonClusterNetwork = "ClusterNetwork"
)
