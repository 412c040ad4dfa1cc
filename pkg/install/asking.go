package install

import (
	"context"
	"slices"

	"github.com/oaictl/oaictl/pkg/install/model"
)

// question is a question that a person is being asked, while the loop goes on.
type question struct {
	of       model.RequestVerdict
	withdraw context.CancelFunc
	answered chan struct{} // is closed once the rest is there
	approve  bool
	err      error
}

func (q *question) isAnswered() bool {
	select {
	case <-q.answered:
		return true
	default:
		return false
	}
}

// asked has a person answer what only a person can, one question after the other. It reports
// whether anything was answered since the last look.
func (r *run) asked(ctx context.Context, observed *model.Observed, plan model.Plan) (answered bool) {
	if r.ask == nil {
		return false
	}
	if q := r.question; q != nil {
		switch {
		case q.isAnswered():
			r.question = nil
			q.withdraw()
			answered = r.take(q, plan)
		case r.isIdle(q, observed, plan):
			r.question = nil
			q.withdraw()
			delete(r.requests.told, askedKey(q.of)) // it may come again
		default:
			return false
		}
	}
	if !answered {
		r.putNext(ctx, plan)
	}
	return answered
}

func askedKey(v model.RequestVerdict) string { return "asked/" + v.AnswerKey() }

// take remembers an answer, and reports whether there is one.
func (r *run) take(q *question, plan model.Plan) bool {
	if q.err != nil {
		return false
	}
	r.turns.answer(q.of, q.approve)
	for _, other := range plan.Questions { // at most one of several can be the host's
		if q.approve && other.UID != q.of.UID && other.Host == q.of.Host && other.Kind == q.of.Kind {
			r.turns.answer(other, false)
		}
	}
	return true
}

// isIdle reports whether the answer is no longer needed: the request has been approved by another approver, or it is
// judged otherwise by now. While the cluster does not answer, nothing is known.
func (r *run) isIdle(q *question, observed *model.Observed, plan model.Plan) bool {
	if observed.Spoke == nil || observed.Spoke.Trouble != "" {
		return false
	}
	return !slices.ContainsFunc(plan.Questions, func(v model.RequestVerdict) bool { return v.AnswerKey() == q.of.AnswerKey() })
}

// putNext puts the first question that was not put before.
func (r *run) putNext(ctx context.Context, plan model.Plan) {
	for _, v := range plan.Questions {
		if r.requests.told[askedKey(v)] {
			continue
		}
		r.requests.tell(askedKey(v))
		within, cancel := context.WithCancel(ctx)
		q := &question{of: v, withdraw: cancel, answered: make(chan struct{})}
		go func() {
			defer close(q.answered)
			q.approve, q.err = r.ask(within, v)
		}()
		r.question = q
		return
	}
}

// answer is closed once the question that is open is answered; nil for none.
func (r *run) answer() <-chan struct{} {
	if r.question == nil {
		return nil
	}
	return r.question.answered
}
