package management

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"sync"
)

// gate is the address of the API server of a workload cluster. It refuses connections until that server runs.
type gate struct {
	listener net.Listener
	running  sync.WaitGroup

	mu     sync.Mutex
	target string // "" while it is shut
	open   map[net.Conn]struct{}
}

func newGate(ctx context.Context) (*gate, error) {
	listener, err := new(net.ListenConfig).Listen(ctx, "tcp", "127.0.0.1:0")
	if err != nil {
		return nil, fmt.Errorf("find an address for an API server: %w", err)
	}
	g := &gate{listener: listener, open: map[net.Conn]struct{}{}}
	g.running.Go(func() { g.serve(ctx) })
	return g, nil
}

// URL is where clients find it.
func (g *gate) URL() string { return "https://" + g.listener.Addr().String() }

// lead lets clients through to an address; "" lets none, and breaks off those who are in.
func (g *gate) lead(target string) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.target = target
	if target == "" {
		for conn := range g.open {
			_ = conn.Close() // to break it off is what is wanted
		}
	}
}

func (g *gate) close() error {
	err := g.listener.Close()
	g.lead("")
	g.running.Wait()
	if errors.Is(err, net.ErrClosed) {
		return nil
	}
	return err
}

func (g *gate) serve(ctx context.Context) {
	for {
		client, err := g.listener.Accept()
		if err != nil {
			return
		}
		g.running.Go(func() { g.pass(ctx, client) })
	}
}

// pass is one connection from its beginning to its end.
func (g *gate) pass(ctx context.Context, client net.Conn) {
	defer g.leave(client)
	g.mu.Lock()
	target := g.target
	g.open[client] = struct{}{}
	g.mu.Unlock()
	if target == "" {
		return
	}
	server, err := new(net.Dialer).DialContext(ctx, "tcp", target)
	if err != nil {
		return
	}
	g.mu.Lock()
	g.open[server] = struct{}{}
	if g.target != target { // shut, or moved, meanwhile
		_ = server.Close()
	}
	g.mu.Unlock()
	defer g.leave(server)
	var both sync.WaitGroup
	for _, way := range [][2]net.Conn{{client, server}, {server, client}} {
		both.Go(func() {
			_, _ = io.Copy(way[0], way[1]) // any end of it ends the connection
			_, _ = way[0].Close(), way[1].Close()
		})
	}
	both.Wait()
}

func (g *gate) leave(conn net.Conn) {
	_ = conn.Close()
	g.mu.Lock()
	defer g.mu.Unlock()
	delete(g.open, conn)
}
