// Package pipes serves HTTP without a network: over pipes within the process. It is for tests in a synctest bubble, where a
// real socket would keep time from passing.
package pipes

import (
	"context"
	"net"
	"net/http"
	"sync"
	"time"
)

// Server is an HTTP server that only its own process reaches.
type Server struct {
	conns  chan net.Conn
	closed chan struct{}
	once   sync.Once
	http   *http.Server
}

// headerLimit is how long a client may take to send the header of a request.
const headerLimit = time.Minute

// Serve runs a handler until Close. Requests get contexts of ctx.
func Serve(ctx context.Context, handler http.Handler) *Server {
	s := &Server{
		conns: make(chan net.Conn), closed: make(chan struct{}),
		http: &http.Server{Handler: handler, ReadHeaderTimeout: headerLimit, BaseContext: func(net.Listener) context.Context { return ctx }},
	}
	go func() { _ = s.http.Serve(listener{s}) }() // it ends with an error when it is closed
	return s
}

// Dial connects to the server for any address.
func (s *Server) Dial(ctx context.Context, _, _ string) (net.Conn, error) {
	near, far := net.Pipe()
	select {
	case s.conns <- far:
		return near, nil
	case <-s.closed:
		return nil, net.ErrClosed
	case <-ctx.Done():
		return nil, context.Cause(ctx)
	}
}

// Close ends the server and its connections.
func (s *Server) Close() error {
	s.once.Do(func() { close(s.closed) })
	return s.http.Close()
}

// listener gives the server its connections.
type listener struct{ *Server }

// Accept implements net.Listener.
func (l listener) Accept() (net.Conn, error) {
	select {
	case c := <-l.conns:
		return c, nil
	case <-l.closed:
		return nil, net.ErrClosed
	}
}

// Close implements net.Listener.
func (l listener) Close() error {
	l.once.Do(func() { close(l.closed) })
	return nil
}

// Addr implements net.Listener.
func (listener) Addr() net.Addr { return &net.UnixAddr{Name: "pipe", Net: "unix"} }
