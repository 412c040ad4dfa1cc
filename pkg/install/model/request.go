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

	// Approved and Denied report that there is a condition of that type, whatever its
	// status; Issued, that there is a certificate.
	Approved, Denied, Issued bool
	// ConditionAt is the lastTransitionTime of the condition Approved or Denied, and
	// Reason and Message are its own.
	ConditionAt     time.Time
	Reason, Message string
}

// Pending reports whether nobody has answered the request.
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
