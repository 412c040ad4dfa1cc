package cli

import (
	"context"
	"io"
	"strings"
	"testing"
	"time"

	"github.com/oaictl/oaictl/internal/cli/app"
	"github.com/oaictl/oaictl/internal/cli/streams"
	"github.com/oaictl/oaictl/pkg/install"
	"github.com/oaictl/oaictl/pkg/install/model"
)

// prompted shows when something was asked.
type prompted struct {
	strings.Builder
	asked func()
}

func (p *prompted) Write(text []byte) (int, error) {
	if strings.Contains(string(text), "[y/N]") {
		defer p.asked()
	}
	return p.Builder.Write(text)
}

// TestInterruptAtAPrompt ends a question by a signal, without another key.
func TestInterruptAtAPrompt(t *testing.T) {
	for _, words := range []string{"cancel lab", "reset lab", "delete cluster lab"} {
		service := lab()
		ctx, stop := context.WithCancelCause(t.Context())
		silent, keyboard := io.Pipe()
		problems := &prompted{asked: func() { stop(&install.Interrupt{Signal: "interrupt", Code: model.CodeInterrupted}) }}
		a := app.New(app.Identify(append([]string{"oaictl"}, strings.Fields(words)...)),
			streams.Streams{In: silent, Out: io.Discard, Err: problems, InTTY: true, ErrTTY: true}, streams.Env{"OAICTL_SERVICE_URL": "http://fake"})
		a.Clock = &frozen{now: noon()}
		a.Connect = func(context.Context, app.ClientConfig) (install.Backend, error) { return service, nil }
		ended := make(chan int, 1)
		go func() { ended <- execute(ctx, a) }()
		select {
		case code := <-ended:
			if code != 130 || len(service.calls) != 0 {
				t.Errorf("%s: code %d, calls %v:\n%s", words, code, service.calls, problems.String())
			}
		case <-time.After(10 * time.Second):
			t.Errorf("%s waits for a key", words)
		}
		_ = keyboard.Close()
	}
}
