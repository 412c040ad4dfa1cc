package install

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"time"

	"github.com/oaictl/oaictl/internal/shared/csr"
	"github.com/oaictl/oaictl/pkg/install/internal/decide"
	"github.com/oaictl/oaictl/pkg/install/model"
)

// auditLine is a line of csr-audit.jsonl: what became of a request of a kubelet for a
// certificate.
type auditLine struct {
	Time    time.Time         `json:"time"` // on the service's clock
	Cluster string            `json:"cluster"`
	ID      string            `json:"clusterId"` // the service's
	Request string            `json:"request"`   // name
	UID     string            `json:"uid"`
	Kind    model.RequestKind `json:"kind"`
	Node    string            `json:"node,omitempty"` // that it claims to be
	Host    string            `json:"host,omitempty"` // that it was found to be of
	// Decision is approve, ask or refuse, written before an approval is sent, or
	// approved-by-other.
	Decision string `json:"decision"`
	By       string `json:"by"` // oaictl, person, or the reason and message that another approver has left
	Reason   string `json:"reason,omitempty"`
	Message  string `json:"message,omitempty"`
	Key      string `json:"key,omitempty"` // fingerprint of the public key
}

// auditFile is the name of the file that approvals and refusals are kept in, beside auth.
const auditFile = "csr-audit.jsonl"

// approvedByOther is the decision of an audit line about a request that another approver approved.
const approvedByOther = "approved-by-other"

// requests follows what becomes of the requests for certificates of one run.
type requests struct {
	told    map[string]bool // uid and decision
	kept    map[string]bool // by earlier runs; nil: not read yet
	strange int             // reported refusals of requests that belong to no host
}

func (q *requests) tell(key string) {
	if q.told == nil {
		q.told = map[string]bool{}
	}
	q.told[key] = true
}

// again reports whether a request of no host is like one that was reported: the first of a name is.
func (q *requests) again(v model.RequestVerdict) bool {
	key := fmt.Sprint("name/", v.Node, "/", v.Kind, "/", v.Reason)
	if v.Node == "" || !q.told[key] {
		q.tell(key)
		return false
	}
	return true
}

func ofNode(v model.RequestVerdict) string {
	if v.Node == "" {
		return ""
	}
	return " of " + v.Node
}

// mostStrange is how many refusals of requests that are of no host are reported one by one.
const mostStrange = 20

// requestsSeen records and reports, once each, how pending requests were judged, and which requests another approver
// has approved.
func (r *run) requestsSeen(ctx context.Context, observed *model.Observed, plan model.Plan) {
	if observed.Spoke == nil || len(plan.Requests) == 0 {
		return
	}
	byUID := make(map[string]*model.CertificateRequest, len(observed.Spoke.Requests))
	for i := range observed.Spoke.Requests {
		byUID[observed.Spoke.Requests[i].UID] = &observed.Spoke.Requests[i]
	}
	for _, v := range plan.Requests {
		request := byUID[v.UID]
		switch {
		case request == nil || v.Kind == model.RequestOther || v.Kind == model.RequestRenewal:
		case request.Approved && v.Host != "" && request.Reason != csr.ApprovedReason:
			r.audit(ctx, observed, v, approvedByOther, request.Reason+": "+request.Message)
		case request.Pending() && (v.Decision == model.RequestRefuse || v.Decision == model.RequestAsk):
			r.audit(ctx, observed, v, string(v.Decision), "oaictl")
		}
	}
}

// audit keeps a line, and reports what no blocker reports.
func (r *run) audit(ctx context.Context, observed *model.Observed, v model.RequestVerdict, decision, by string) {
	line := lineOf(r.desired, v, observed.At, decision, by)
	if r.requests.told[line.judgement()] {
		return
	}
	r.requests.tell(line.judgement())
	kept := r.isKept(ctx, observed, line)
	if kept && decision == approvedByOther {
		return // and was reported then; what is refused is reported in each run
	}
	if err := r.keepNew(ctx, observed, line, kept); err != nil {
		r.report(model.Event{Type: model.EventWarning, Key: "request/audit", Severity: model.SeverityWarning, Reason: "AuditNotKept",
			Message: fmt.Sprintf("what was decided of certificate requests could not be written down: %v", err)})
	}
	event := model.Event{Type: model.EventWarning, Host: v.Host, Key: "request/" + v.Name, Severity: model.SeverityWarning, State: decision,
		Reason: v.Reason}
	switch {
	case decision == approvedByOther:
		event.Type, event.Severity = model.EventHint, model.SeverityInfo
		event.Message = fmt.Sprintf("another approver approved the request %s of %s for a %s certificate: %s", v.Name, v.Host, v.Kind, by)
	case v.Host != "" || r.requests.again(v): // a blocker reports it, or it was reported
		return
	case r.requests.strange > mostStrange:
		return
	case r.requests.strange == mostStrange:
		event.Key, event.Message = "request/more", "more certificate requests are pending than are listed here; "+auditFile+" has all of them"
	default:
		event.Message = fmt.Sprintf("the request %s%s for a %s certificate stays pending: %s", v.Name, ofNode(v), v.Kind, v.Message)
	}
	if decision != approvedByOther {
		r.requests.strange++
	}
	r.report(event)
}

// isKept reports whether an earlier run has written down the same of a request.
func (r *run) isKept(ctx context.Context, observed *model.Observed, line auditLine) bool {
	if r.files == nil || observed.Cluster == nil {
		return false
	}
	if r.requests.kept == nil {
		r.requests.kept = map[string]bool{}
		data, err := r.files.Record(ctx, resultsOf(r.desired, observed.Cluster.ID), auditFile)
		if err != nil {
			return false // a file that cannot be read is reported when it is written
		}
		for text := range bytes.Lines(data) {
			var before auditLine
			if json.Unmarshal(text, &before) == nil {
				r.requests.kept[before.judgement()] = true
			}
		}
	}
	return r.requests.kept[line.judgement()]
}

// keepNew keeps a line, unless an earlier run has.
func (r *run) keepNew(ctx context.Context, observed *model.Observed, line auditLine, kept bool) error {
	if kept {
		return nil
	}
	return r.keep(ctx, r.desired, observed, line)
}

// judgement is what makes a line another one.
func (l *auditLine) judgement() string { return l.UID + "/" + l.Decision + "/" + l.Reason }

// recordApproval appends a line on what is about to be approved to the record, so that it has the line even where the loop
// ends with the approval.
func (l *Loop) recordApproval(ctx context.Context, look Look, a model.Action) error {
	if a.Kind != model.ApproveRequest {
		return nil
	}
	for _, v := range look.Plan.Requests {
		if v.UID == a.Target {
			by := "oaictl"
			l.mu.Lock()
			if l.memory.Answers[v.AnswerKey()] {
				by = "person"
			}
			line := lineOf(look.Desired, v, l.now(), string(model.RequestApprove), by)
			l.mu.Unlock()
			return l.client.keep(ctx, look.Desired, look.Observed, line)
		}
	}
	return nil
}

func lineOf(desired *model.Desired, v model.RequestVerdict, now time.Time, decision, by string) auditLine {
	return auditLine{
		Time: now, Cluster: desired.Spec.Metadata.Name, Request: v.Name, UID: v.UID, Kind: v.Kind, Node: v.Node, Host: v.Host,
		Decision: decision, By: by, Reason: v.Reason, Message: v.Message, Key: v.Key,
	}
}

// keep appends a line to the record of what was decided of requests.
func (client *Client) keep(ctx context.Context, desired *model.Desired, observed *model.Observed, line auditLine) error {
	if client.files == nil || observed.Cluster == nil {
		return nil
	}
	line.ID = observed.Cluster.ID
	data, err := json.Marshal(line)
	if err != nil {
		return err
	}
	return client.files.Append(ctx, resultsOf(desired, observed.Cluster.ID), auditFile, append(data, '\n'))
}

// Requests looks at the installed cluster of an observation and judges its requests for
// certificates as if a file named the given hosts, by their names there or in the service: those
// of other hosts are never approved. What it returns beside the verdicts is the observation with
// the cluster.
func (client *Client) Requests(ctx context.Context, desired *model.Desired, observed *model.Observed,
	hosts []string) ([]model.RequestVerdict, *model.Observed, error) {
	own := *desired
	own.Options.AddNodes = true
	now, err := client.Reach(ctx, "approve certificate requests of nodes of", &own, observed)
	if err != nil {
		return nil, nil, err
	}
	return decide.JudgeRequests(&own, now, model.Memory{}, now.At, hosts), now, nil
}

// Reach looks at the installed cluster of an observation, for an operation. It is a fault if the cluster cannot be reached, or
// is another one.
func (client *Client) Reach(ctx context.Context, operation string, desired *model.Desired,
	observed *model.Observed) (*model.Observed, error) {
	now, own := *observed, *desired
	own.Options.AddNodes = true
	if err := client.observeNodes(ctx, &own, &now); err != nil {
		return nil, err
	}
	return &now, decide.SpokeFault(operation, &own, &now)
}

// Approve records a request that was judged, and then approves it. by says who decided: oaictl or person.
func (client *Client) Approve(ctx context.Context, desired *model.Desired, observed *model.Observed, v model.RequestVerdict,
	by string) error {
	if err := client.keep(ctx, desired, observed, lineOf(desired, v, observed.At, string(model.RequestApprove), by)); err != nil {
		return err
	}
	return client.Act(ctx, desired, observed, model.Action{
		Key: "node/" + v.Host + "/request/" + v.Name + "/approve", Scope: model.ScopeNode.Of(v.Host), Kind: model.ApproveRequest, Target: v.UID,
		Name:   v.Name,
		Reason: v.Host + " is installed, and its kubelet asks for a " + string(v.Kind) + " certificate",
	})
}
