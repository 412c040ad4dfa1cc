package csr

import "github.com/oaictl/oaictl/pkg/install/model"

// Reasons of decisions. They are stable, and CamelCase as the reasons of conditions are.
const (
	// ReasonProven: the request is of a named host, and of this installation. Approve.
	ReasonProven = "Proven"

	// ReasonOtherSigner: another signer's business. Ignore.
	ReasonOtherSigner = "OtherSigner"
	// ReasonClientRenewal: a Node renews its client certificate, which the cluster's own
	// controller approves. Ignore.
	ReasonClientRenewal = "ClientRenewal"
	// ReasonApproved: somebody has approved it; the message says who. Ignore.
	ReasonApproved = "Approved"
	// ReasonDenied: somebody has denied it. Ignore.
	ReasonDenied = "Denied"

	// ReasonRivalKeys: pending requests claim one name with different keys, and at most one
	// of them can be the host's. Ask.
	ReasonRivalKeys = "RivalKeys"
	// ReasonUnknownAddress: an address that is nobody's, as far as is known. Ask.
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
	// ReasonHostUnasked: the host is not one of those that are looked after.
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

// finding ends the judgement of a request.
type finding struct {
	decision model.RequestDecision
	reason   string
	text     string // for the message
}
