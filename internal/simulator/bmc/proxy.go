package bmc

import (
	"io"
	"log"
	"net/http"

	"github.com/oaictl/oaictl/internal/simulator/scenario"
)

// proxy leads requests to the controllers that they are for: those that a client
// sends through it (absolute form, or CONNECT), and those that it sends to the
// listener itself, where Host names a controller or there is only one.
type proxy struct {
	server *Server
	doors  *doors
}

// quiet drops what the HTTP server would say about clients that hang up.
func quiet() *log.Logger { return log.New(io.Discard, "", 0) }

func (p *proxy) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if r.Method == http.MethodConnect {
		p.connect(w, r)
		return
	}
	if target := targetOf(r.Context()); target != "" {
		p.reach(w, r, p.server.at(target), target)
		return
	}
	if r.URL.IsAbs() {
		p.reach(w, r, p.server.at(r.URL.Host), r.URL.Host)
		return
	}
	c := p.server.at(r.Host)
	if c == nil && len(p.server.controllers) == 1 {
		c = p.server.controllers[0]
	}
	p.reach(w, r, c, r.Host)
}

func (p *proxy) reach(w http.ResponseWriter, r *http.Request, c *controller, target string) {
	switch {
	case c == nil:
		http.Error(w, "no BMC is simulated at "+target, http.StatusBadGateway)
	case c.troubled(scenario.DoBMCUnreachable) != nil:
		panic(http.ErrAbortHandler) // hangs up
	default:
		c.ServeHTTP(w, r)
	}
}

// connect lets a client through to a controller's own port.
func (p *proxy) connect(w http.ResponseWriter, r *http.Request) {
	c := p.server.at(r.Host)
	if c == nil {
		http.Error(w, "no BMC is simulated at "+r.Host, http.StatusBadGateway)
		return
	}
	if c.troubled(scenario.DoBMCUnreachable) != nil {
		http.Error(w, "no route to host", http.StatusGatewayTimeout)
		return
	}
	connection, _, err := http.NewResponseController(w).Hijack()
	if err != nil {
		http.Error(w, "the connection cannot be taken over", http.StatusInternalServerError)
		return
	}
	if _, err := io.WriteString(connection, "HTTP/1.1 200 Connection established\r\n\r\n"); err != nil {
		_ = connection.Close()
		return
	}
	p.doors.enter(connection, r.Host)
}
