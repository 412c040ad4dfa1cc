package progress

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/oaictl/oaictl/internal/model"
	"github.com/oaictl/oaictl/pkg/install"
)

// heard keeps the messages of events.
type heard struct{ messages []string }

func (h *heard) Event(e install.Event) { h.messages = append(h.messages, e.Message) }
func (h *heard) Close()                { h.messages = append(h.messages, "closed") }

func TestOnce(t *testing.T) {
	event := func(kind install.EventType, severity install.Severity, message string) install.Event {
		return install.Event{Type: kind, Severity: severity, Message: message}
	}
	refused := event(model.EventAction, model.SeverityError, "could not register: no")
	tried := event(model.EventAction, model.SeverityWarning, "could not register: busy")
	lost := event(model.EventHost, model.SeverityError, "cp-0 failed")
	cured := install.Event{Type: model.EventHint, State: "cured", Message: "no longer in the way"}
	end := func(message string) install.Event {
		code := 3
		return install.Event{Type: model.EventRun, ExitCode: &code, Message: message}
	}
	tests := map[string]struct {
		events []install.Event
		want   []string
	}{
		"what ends the run is left to the end": {
			[]install.Event{tried, refused, refused, end("install lab: could not register: no (cluster.yaml:3:1)")},
			[]string{tried.Message, "install lab: could not register: no (cluster.yaml:3:1)", "closed"},
		},
		"another end does not say it": {
			[]install.Event{refused, end("stopped by signal")},
			[]string{refused.Message, "stopped by signal", "closed"},
		},
		"no end at all":           {[]install.Event{refused}, []string{refused.Message, "closed"}},
		"it was cured after all":  {[]install.Event{refused, cured}, []string{refused.Message, cured.Message, "closed"}},
		"what a host does stays":  {[]install.Event{lost, end("cp-0 failed")}, []string{lost.Message, "cp-0 failed", "closed"}},
		"what is tried again too": {[]install.Event{tried, end(tried.Message)}, []string{tried.Message, tried.Message, "closed"}},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			to := &heard{}
			sink := Once(to)
			for _, e := range tt.events {
				sink.Event(e)
			}
			sink.Close()
			if diff := cmp.Diff(tt.want, to.messages); diff != "" {
				t.Error(diff)
			}
		})
	}
}
