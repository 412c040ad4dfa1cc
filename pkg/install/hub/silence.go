package hub

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"time"

	"github.com/oaictl/oaictl/pkg/install/hub/internal/kube"
)

// open sends a request, and gives up a server that sends nothing for as long as
// a call of the API server may take: before its answer, and in the midst of it.
// How long all of it takes does not matter.
func open(client *http.Client, request *http.Request) (*http.Response, error) {
	ctx, cancel := context.WithCancelCause(request.Context())
	timer := time.AfterFunc(kube.RequestTimeout, func() { cancel(errSilent{}) })
	response, err := client.Do(request.WithContext(ctx))
	timer.Stop()
	if err != nil {
		err = silenced(ctx, err)
		cancel(nil)
		return nil, err
	}
	response.Body = &moving{ReadCloser: response.Body, ctx: ctx, cancel: cancel, timer: timer}
	return response, nil
}

// errSilent is why a request was given up.
type errSilent struct{}

func (errSilent) Error() string {
	return fmt.Sprintf("the server sent nothing for %s", kube.RequestTimeout)
}

// silenced is the error of a request, in plain words where it was given up.
func silenced(ctx context.Context, err error) error {
	if cause := context.Cause(ctx); errors.Is(cause, errSilent{}) {
		return cause
	}
	return err
}

// moving is a body that is read for as long as something comes. Only the time
// that a read waits counts, not what its reader does between.
type moving struct {
	io.ReadCloser
	ctx    context.Context
	cancel context.CancelCauseFunc
	timer  *time.Timer
}

func (m *moving) Read(data []byte) (int, error) {
	m.timer.Reset(kube.RequestTimeout)
	n, err := m.ReadCloser.Read(data)
	m.timer.Stop()
	if err != nil && !errors.Is(err, io.EOF) {
		err = silenced(m.ctx, err)
	}
	return n, err
}

func (m *moving) Close() error {
	m.timer.Stop()
	m.cancel(nil)
	return m.ReadCloser.Close()
}
