package capi

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"sync"
	"time"

	"github.com/oaictl/oaictl/pkg/install/model"
)

// health answers the probes of a process: it lives as long as it answers, and is ready where nothing is
// waited for.
type health struct {
	mu    sync.Mutex
	ready func(*http.Request) error
}

func newHealth() *health {
	h := &health{}
	h.because("it starts")
	return h
}

// because says why the process is not ready.
func (h *health) because(text string) {
	h.when(func(*http.Request) error { return errors.New(text) })
}

// when says what the process is ready by.
func (h *health) when(ready func(*http.Request) error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.ready = ready
}

// serve answers probes at an address until ctx ends.
func (h *health) serve(ctx context.Context, address string) error {
	listener, err := (&net.ListenConfig{}).Listen(ctx, "tcp", address)
	if err != nil {
		return &model.Fault{Code: model.CodeFailure, Op: "answer probes at", On: address, Err: err,
			Next: "choose another address with --health-address"}
	}
	mux := http.NewServeMux()
	mux.HandleFunc("/healthz", func(w http.ResponseWriter, _ *http.Request) { fmt.Fprintln(w, "ok") })
	mux.HandleFunc("/readyz", func(w http.ResponseWriter, r *http.Request) {
		h.mu.Lock()
		ready := h.ready
		h.mu.Unlock()
		if err := ready(r); err != nil {
			http.Error(w, "not ready: "+err.Error(), http.StatusServiceUnavailable)
			return
		}
		fmt.Fprintln(w, "ok")
	})
	server := &http.Server{Handler: mux, ReadHeaderTimeout: time.Minute, BaseContext: func(net.Listener) context.Context { return ctx }}
	context.AfterFunc(ctx, func() { _ = server.Close() })
	go func() { _ = server.Serve(listener) }() // it ends with ctx
	return nil
}
