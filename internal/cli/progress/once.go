package progress

import (
	"slices"
	"strings"

	"github.com/oaictl/oaictl/internal/model"
	"github.com/oaictl/oaictl/pkg/install"
)

// Once keeps back from a person what ends the run, since the command's own last
// words say it: what was refused for good, and what nobody is waited for. Should
// those words be others, as after an interrupt, it is shown before them.
func Once(sink Sink) Sink { return &once{Sink: sink} }

type once struct {
	Sink
	held []install.Event
}

func (o *once) Event(e install.Event) {
	switch {
	case e.ExitCode != nil:
		o.held = slices.DeleteFunc(o.held, func(kept install.Event) bool { return strings.Contains(e.Message, kept.Message) })
		o.release()
	case e.Severity == model.SeverityError && (e.Type == model.EventAction || e.Type == model.EventWarning):
		o.held = append(o.held, e)
		return
	case e.State == "cured":
		o.release()
	}
	o.Sink.Event(e)
}

func (o *once) release() {
	for _, kept := range o.held {
		o.Sink.Event(kept)
	}
	o.held = nil
}

func (o *once) Close() {
	o.release()
	o.Sink.Close()
}
