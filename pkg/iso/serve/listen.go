package serve

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"log"
	"net"
	"net/http"
	"strings"
)

// CutOffError says that hosts still read when the server ended.
type CutOffError struct{ Readers []Reader }

func (e *CutOffError) Error() string {
	var names []string
	for _, r := range e.Readers {
		names = append(names, fmt.Sprintf("%s (%d of %d bytes)", r.Host, r.Bytes, r.Size))
	}
	return "the media server ended while hosts still read: " + strings.Join(names, ", ")
}

// Serve answers requests of a listener until ctx is done, and then lets
// transfers under way go on for Config.Grace. It returns a *CutOffError where
// hosts were cut off by that, and why it could not go on where the listener
// failed. It closes the listener.
func (s *Server) Serve(ctx context.Context, l net.Listener) error {
	server := s.httpServer(ctx)
	if s.config.TLS != nil {
		l = tls.NewListener(l, &tls.Config{Certificates: []tls.Certificate{*s.config.TLS}, MinVersion: tls.VersionTLS12})
	}
	expiring, stopExpiring := context.WithCancel(ctx)
	defer stopExpiring()
	go s.expireAll(expiring)

	ended := make(chan error, 1)
	go func() { ended <- server.Serve(l) }()
	select {
	case err := <-ended:
		server.Close()
		return fmt.Errorf("serve media on %s: %w", l.Addr(), err)
	case <-ctx.Done():
	}
	return s.end(ctx, server)
}

// httpServer is set up for clients that take hours, and for those that mean ill.
func (s *Server) httpServer(ctx context.Context) *http.Server {
	protocols := new(http.Protocols)
	protocols.SetHTTP1(true) // deadlines are those of a connection: one request has it for itself
	return &http.Server{
		Handler:           s,
		Protocols:         protocols,
		ReadHeaderTimeout: s.config.HeaderTimeout,
		IdleTimeout:       s.config.IdleTimeout,
		MaxHeaderBytes:    16 << 10,
		ConnState:         s.conns.changed,
		// Requests are not ended by ctx: they have their grace.
		BaseContext:                  func(net.Listener) context.Context { return context.WithoutCancel(ctx) },
		ErrorLog:                     log.New(io.Discard, "", 0), // it would name what anybody on the network sends
		DisableGeneralOptionsHandler: true,
	}
}

// end stops listening, and waits for transfers under way as long as they may
// take.
func (s *Server) end(ctx context.Context, server *http.Server) error {
	grace, cancel := context.WithTimeout(context.WithoutCancel(ctx), s.config.Grace)
	defer cancel()
	err := server.Shutdown(grace)
	if err == nil {
		return nil
	}
	readers := s.Readers(0)
	server.Close()
	if len(readers) > 0 {
		return &CutOffError{readers}
	}
	if errors.Is(err, context.DeadlineExceeded) { // only connections that no host read from
		return nil
	}
	return fmt.Errorf("end the media server: %w", err)
}
