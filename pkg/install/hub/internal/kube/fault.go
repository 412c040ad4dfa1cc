package kube

import (
	"cmp"
	"context"
	"crypto/x509"
	"errors"
	"fmt"
	"net"
	"net/http"
	"regexp"
	"slices"
	"strings"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/oaictl/oaictl/internal/shared/redact"
	"github.com/oaictl/oaictl/pkg/install/model"
)

// Attempt is what was tried, for errors.
type Attempt struct {
	Op        string // "apply AgentClusterInstall"
	Verb      string // as in RBAC: list, watch, patch; "" where it says nothing
	Kind      Kind
	Namespace string
	Name      string
	FromFile  bool // what was written comes from the user's file
}

func (a Attempt) on() string {
	switch {
	case a.Name == "":
		return a.Namespace
	case a.Namespace == "":
		return a.Name
	}
	return a.Namespace + "/" + a.Name
}

// Fault makes the error that callers see of what went wrong with a call.
func (c *Client) Fault(a Attempt, err error) *model.Fault {
	var made *model.Fault
	if errors.As(err, &made) {
		return made
	}
	f := &model.Fault{Code: model.CodeFailure, Op: a.Op, On: a.on(), Err: errors.New(Shorten(redact.Text(err.Error())))}
	var answer apierrors.APIStatus
	if !errors.As(err, &answer) {
		c.setNoAnswer(f, a, err)
		return f
	}
	status := answer.Status()
	f.Status = int(status.Code)
	f.Err = errors.New(Shorten(redact.Text(status.Message)))
	if details := status.Details; details != nil {
		f.RetryAfter = time.Duration(details.RetryAfterSeconds) * time.Second
	}
	switch {
	case webhookMessage(status) != "":
		c.setRefused(f, a, status)
	case apierrors.IsUnauthorized(err):
		f.Code, f.Permanent = model.CodeAuth, true
		f.Err = fmt.Errorf("%s does not take the credentials of the kubeconfig; they may have expired", c.Host)
		f.Next = "log in to the hub again (oc login, or the tool that made the kubeconfig), or give another --kubeconfig"
	case hasCause(status, "NamespaceTerminating"):
		f.Err = fmt.Errorf("the namespace %s is being deleted", a.Namespace)
		f.Next = model.Advicef("wait until it is gone; `kubectl get namespace %s -o yaml` says what holds it", a.Namespace)
	case apierrors.IsForbidden(err):
		if match := forbiddenVerb.FindStringSubmatch(status.Message); match != nil {
			a.Verb = match[1] // an apply needs patch and, for a new object, create
		}
		c.setForbidden(f, a)
	case apierrors.IsConflict(err) && hasCause(status, string(metav1.CauseTypeFieldManagerConflict)):
		SetOwnedByOthers(f, fieldConflicts(status))
	case apierrors.IsConflict(err):
		f.Next = "run the same command again" // it changed meanwhile; the next look shows it
	case apierrors.IsInvalid(err), apierrors.IsBadRequest(err), apierrors.IsRequestEntityTooLargeError(err):
		c.setRefused(f, a, status)
	case apierrors.IsNotFound(err):
		f.Code, f.Permanent = model.CodeNotFound, true
		f.Next = "{get clusters}"
		if a.Name != "" && strings.Contains(status.Message, "namespaces") {
			f.Err = fmt.Errorf("there is no namespace %s", a.Namespace)
			f.Next = model.Advicef("kubectl create namespace %s, or ask a user with the right to do it", a.Namespace)
		}
	case apierrors.IsAlreadyExists(err):
		f.Code, f.Permanent = model.CodeNotFound, true
		f.Next = "use another metadata.name or --namespace"
	case undeclaredField.MatchString(status.Message):
		unknownFieldFault(f, a, undeclaredField.FindStringSubmatch(status.Message)[1])
	case strings.Contains(status.Message, "failed calling webhook"):
		setUncalled(f, status.Message)
	default:
		f.Permanent = status.Code >= 400 && status.Code < 500 && !Temporary(status.Code)
		f.Next = "run the same command again in a while"
	}
	return f
}

// undeclaredField is how the API server names which field an object does not have when it is
// applied, with a status as if the server itself were broken.
var undeclaredField = regexp.MustCompile(`(\.\S+): field not declared in schema`)

func unknownFieldFault(f *model.Fault, a Attempt, field string) {
	f.Code, f.Permanent = model.CodeInput, true
	f.Err = fmt.Errorf("the hub's CustomResourceDefinition of %s has no field %s", string(a.Kind), strings.TrimPrefix(field, "."))
	f.Next = "leave what needs it out of the file, or have the operator that brings that definition updated"
}

// SetOwnedByOthers makes f the fault of fields that others own.
func SetOwnedByOthers(f *model.Fault, fields string) {
	f.Code, f.Permanent = model.CodeNotFound, true
	f.Err = fmt.Errorf("others have set what the file says otherwise: %s", fields)
	f.Next = "remove these fields from the file, or let their owner give them up"
}

// Temporary says whether an HTTP status may be another one a little later.
func Temporary(code int32) bool {
	switch code {
	case http.StatusRequestTimeout, http.StatusConflict, http.StatusGone, http.StatusLocked, http.StatusTooEarly, http.StatusTooManyRequests:
		return true
	}
	return code >= 500
}

// forbiddenVerb is how the API server names what is not allowed.
var forbiddenVerb = regexp.MustCompile(`cannot (\w+) resource "`)

func (c *Client) setForbidden(f *model.Fault, a Attempt) {
	f.Code, f.Permanent = model.CodeAuth, true
	resource := a.Kind.Resource().GroupResource().String()
	if resource == "" || a.Verb == "" {
		f.Next = "use credentials of a user with this right"
		return
	}
	where, flag := "in the whole hub", ""
	if a.Namespace != "" {
		where, flag = "in namespace "+a.Namespace, " -n "+a.Namespace
	}
	f.Err = fmt.Errorf("these credentials may not %s %s %s", a.Verb, resource, where)
	f.Next = model.Advicef("ask an administrator for the right (the smallest role is in docs/hub-role.yaml), and check with: kubectl auth "+
		"can-i %s %s%s", a.Verb, resource, flag)
}

func (c *Client) setRefused(f *model.Fault, a Attempt, status metav1.Status) {
	f.Permanent = true
	text := cmp.Or(webhookMessage(status), status.Message)
	if fields := fieldCauses(status); fields != "" && !strings.Contains(text, fields) {
		text = fields
	}
	f.Err = errors.New(Shorten(redact.Text(text)))
	f.Next = "run the same command with -vv to see what was asked"
	if a.FromFile {
		f.Code, f.Next = model.CodeInput, "change the file and run the same command again"
	}
	if isImmutable(text) {
		f.Code = model.CodeInput
		f.Next = "the service takes no such change any more once the object is made or the install has begun: undo it in the file, or delete " +
			"the cluster and create it again"
	}
}

// isImmutable says whether a refusal is that something cannot be changed any more, in
// the words of the webhooks of assisted-service and Hive.
func isImmutable(text string) bool {
	lower := strings.ToLower(text)
	return slices.ContainsFunc([]string{"immutable", "is forbidden to change", "cannot be changed", "attempted to change",
		"after installation has started", "field is not allowed to be changed"},
		func(words string) bool { return strings.Contains(lower, words) })
}

// webhookDenial is how the API server passes on what an admission webhook says.
var webhookDenial = regexp.MustCompile(`(?s)^(?:.*: )?admission webhook "([^"]+)" denied the request(?:: (.*)| without explanation)$`)

// webhookMessage is what an admission webhook said, "" if none refused.
func webhookMessage(status metav1.Status) string {
	match := webhookDenial.FindStringSubmatch(status.Message)
	if match == nil {
		return ""
	}
	return cmp.Or(match[2], "refused by "+match[1])
}

// webhookOf is the name of the webhook that could not be called.
func webhookOf(message string) string {
	_, rest, _ := strings.Cut(message, `webhook "`)
	name, _, _ := strings.Cut(rest, `"`)
	return name
}

// setUncalled makes f the fault of a webhook that the API server could not ask: what serves it refuses the API server,
// is not trusted by it, or does not answer.
func setUncalled(f *model.Fault, message string) {
	name, lower := webhookOf(message), strings.ToLower(message)
	says := func(words ...string) bool {
		return slices.ContainsFunc(words, func(word string) bool { return strings.Contains(lower, word) })
	}
	switch {
	case says("forbidden", "unauthorized", "permission denied"):
		f.Err = fmt.Errorf("the server of webhook %s refuses the API server of the hub: %w", name, f.Err)
		f.Next = "have the RBAC rules of that webhook restored: its operator on the hub (the assisted-service's, or Hive) makes them"
	case says("x509", "certificate"):
		f.Err = fmt.Errorf("the API server of the hub does not trust the server of webhook %s: %w", name, f.Err)
		f.Next = "have the certificate of that webhook, and the caBundle of its configuration, made anew: its operator on the hub makes both"
	default:
		f.Err = fmt.Errorf("the webhook %s does not answer; most likely an operator of the hub is down: %w", name, f.Err)
		f.Next = "look at the pods of the assisted-service's operator (and of Hive) on the hub"
	}
}

func hasCause(status metav1.Status, kind string) bool {
	return status.Details != nil && slices.ContainsFunc(status.Details.Causes,
		func(c metav1.StatusCause) bool { return string(c.Type) == kind })
}

func fieldCauses(status metav1.Status) string {
	if status.Details == nil {
		return ""
	}
	var texts []string
	for _, c := range status.Details.Causes {
		if c.Field != "" && c.Message != "" {
			texts = append(texts, c.Field+": "+c.Message)
		}
	}
	return strings.Join(texts, "; ")
}

// conflictText is how the API server names who owns a field.
var conflictText = regexp.MustCompile(`conflict with "([^"]+)"`)

func fieldConflicts(status metav1.Status) string {
	var texts []string
	for _, c := range status.Details.Causes {
		if c.Type != metav1.CauseTypeFieldManagerConflict {
			continue
		}
		who := "another client"
		if match := conflictText.FindStringSubmatch(c.Message); match != nil {
			who = match[1]
		}
		texts = append(texts, fmt.Sprintf("%s is owned by %s", strings.TrimPrefix(c.Field, "."), who))
	}
	return strings.Join(texts, ", ")
}

func (c *Client) setNoAnswer(f *model.Fault, a Attempt, err error) {
	f.Ambiguous = a.Verb != "" && a.Verb != "get" && a.Verb != "list" && a.Verb != "watch"
	f.Err = errors.New(Shorten(redact.Error(err)))
	var (
		unknown   x509.UnknownAuthorityError
		name      x509.HostnameError
		invalid   x509.CertificateInvalidError
		dns       *net.DNSError
		operation *net.OpError
	)
	switch {
	case strings.Contains(err.Error(), "getting credentials"):
		f.Code, f.Permanent = model.CodeAuth, true
		f.Next = "log in to the hub again: what the kubeconfig runs to get credentials failed"
	case strings.Contains(err.Error(), "expired certificate"), strings.Contains(err.Error(), "tls: bad certificate"),
		strings.Contains(err.Error(), "certificate required"):
		f.Code, f.Permanent = model.CodeAuth, true
		f.Next = "the client certificate of the kubeconfig is not taken, it may have expired: get a new kubeconfig"
	case errors.As(err, &unknown), errors.As(err, &name), errors.As(err, &invalid):
		f.Permanent = true
		f.Next = model.Advice("the certificate of " + c.Host +
			" is not the one that the kubeconfig trusts: check its server and certificate-authority")
	case errors.As(err, &dns):
		f.Err = fmt.Errorf("the name %s of the hub cannot be resolved: %w", dns.Name, f.Err)
		f.Next = "check the server in the kubeconfig, and DNS"
	case errors.Is(err, context.DeadlineExceeded):
		f.Err = errors.New("the hub's API server did not answer in time")
		f.Next = model.Advice("check that " + c.Host + " can be reached")
	case errors.As(err, &operation) && operation.Op == "dial":
		f.Err = fmt.Errorf("the hub's API server cannot be reached: %w", f.Err)
		f.Next = model.Advice("check that " + c.Host + " runs and can be reached")
	default:
		f.Next = "run the same command again in a while"
	}
}

// NotAllowed says whether the hub refused since the user may not do that.
func NotAllowed(err error) bool {
	var fault *model.Fault
	return errors.As(err, &fault) && fault.Status == http.StatusForbidden
}

// NotFound is the fault for what a hub does not have.
func NotFound(kind, on string, next model.Advice) *model.Fault {
	return &model.Fault{
		Code: model.CodeNotFound, Op: "find " + kind, On: on, Permanent: true, Status: http.StatusNotFound,
		Err: errors.New("the hub has none of that name or id"), Next: next,
	}
}
