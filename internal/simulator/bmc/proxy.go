package bmc

import (
	"bufio"
	"cmp"
	"context"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"errors"
	"fmt"
	"io"
	"log"
	"math/big"
	"net"
	"net/http"
	"sync"
	"time"

	"github.com/oaictl/oaictl/internal/simulator/pki"
	"github.com/oaictl/oaictl/internal/simulator/scenario"
)

// proxy leads requests to the controllers that they are for: those that a client
// sends through it (absolute form, or CONNECT), and those that it sends to the
// listener itself, where Host names a controller or there is only one.
type proxy struct {
	server *Server
	doors  *doors
}

func quiet() *log.Logger { return log.New(io.Discard, "", 0) }

func (p *proxy) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if r.Method == http.MethodConnect {
		p.connect(w, r)
		return
	}
	if end, tunnelled := r.Context().Value(http.LocalAddrContextKey).(tunnelEnd); tunnelled {
		p.reach(w, r, p.server.at(string(end)), string(end))
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
	p.doors.enter(connection, tunnelEnd(r.Host))
}

// tlsHandshake is the first byte of a TLS connection (RFC 8446, 5.1). No HTTP method begins with it.
const tlsHandshake = 0x16

// doors is a listener for connections with and without TLS on one port, and those out of a tunnel.
type doors struct {
	listener     net.Listener
	certificates *certificates
	came         chan net.Conn
	failed       chan error
	open         context.Context // ends when they are closed
	shut         context.CancelFunc
}

func (d *doors) accept() {
	for {
		connection, err := d.listener.Accept()
		if err != nil {
			d.failed <- err
			return
		}
		go d.enter(connection, connection.LocalAddr())
	}
}

// enter looks at a connection's first byte and lets it in.
func (d *doors) enter(connection net.Conn, reached net.Addr) {
	defer context.AfterFunc(d.open, func() { _ = connection.Close() })() // it may never say a byte
	peeked := &entered{Conn: connection, ahead: bufio.NewReader(connection), reached: reached}
	first, err := peeked.ahead.Peek(1)
	if err != nil {
		_ = connection.Close()
		return
	}
	var in net.Conn = peeked
	if first[0] == tlsHandshake {
		in = tls.Server(peeked, &tls.Config{
			MinVersion: tls.VersionTLS12,
			GetCertificate: func(hello *tls.ClientHelloInfo) (*tls.Certificate, error) {
				return d.certificates.forName(nameIn(hello))
			},
		})
	}
	select {
	case d.came <- in:
	case <-d.open.Done():
		_ = connection.Close()
	}
}

// nameIn is what a certificate has to be for: the name that the client asks for, or the address it reached.
func nameIn(hello *tls.ClientHelloInfo) string {
	reached := hello.Conn.LocalAddr().String()
	if host, _, err := net.SplitHostPort(reached); err == nil {
		reached = host
	}
	return cmp.Or(hello.ServerName, reached)
}

func (d *doors) Accept() (net.Conn, error) {
	select {
	case connection := <-d.came:
		return connection, nil
	case err := <-d.failed:
		return nil, err
	case <-d.open.Done():
		return nil, net.ErrClosed
	}
}

func (d *doors) Close() error {
	d.shut()
	if err := d.listener.Close(); err != nil && !errors.Is(err, net.ErrClosed) {
		return err
	}
	return nil
}

func (d *doors) Addr() net.Addr { return d.listener.Addr() }

// entered is a connection with first bytes that were read ahead.
type entered struct {
	net.Conn
	ahead   *bufio.Reader
	reached net.Addr
}

func (e *entered) Read(p []byte) (int, error) { return e.ahead.Read(p) }

// LocalAddr is what the client has reached: in a tunnel, where that leads to.
func (e *entered) LocalAddr() net.Addr { return e.reached }

// tunnelEnd is where a tunnel leads to, as the client has written it.
type tunnelEnd string

func (tunnelEnd) Network() string  { return "tcp" }
func (e tunnelEnd) String() string { return string(e) }

// certificates are the controllers' own, made at the first request and signed by an unknown authority.
type certificates struct {
	from time.Time
	root *pki.Pair

	mu   sync.Mutex
	made map[string]*tls.Certificate
}

const validFor = 10 * 365 * 24 * time.Hour

func newCertificates(now time.Time) (*certificates, error) {
	from := now.Add(-24 * time.Hour) // a fast clock may be ahead of the client's
	root, err := pki.Make(&x509.Certificate{
		SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: "simulated BMCs"}, NotBefore: from, NotAfter: from.Add(validFor),
		IsCA: true, BasicConstraintsValid: true, KeyUsage: x509.KeyUsageCertSign,
	}, nil)
	if err != nil {
		return nil, fmt.Errorf("make the BMCs' authority: %w", err)
	}
	return &certificates{from: from, root: root, made: map[string]*tls.Certificate{}}, nil
}

func (c *certificates) forName(name string) (*tls.Certificate, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if made, ok := c.made[name]; ok {
		return made, nil
	}
	template := &x509.Certificate{
		SerialNumber: big.NewInt(int64(len(c.made) + 2)), Subject: pkix.Name{CommonName: name}, NotBefore: c.from, NotAfter: c.from.Add(validFor),
		KeyUsage: x509.KeyUsageDigitalSignature, ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth},
	}
	if ip := net.ParseIP(name); ip != nil {
		template.IPAddresses = []net.IP{ip}
	} else {
		template.DNSNames = []string{name}
	}
	pair, err := pki.Make(template, c.root)
	if err != nil {
		return nil, fmt.Errorf("make the certificate of the BMC at %s: %w", name, err)
	}
	made := &tls.Certificate{Certificate: [][]byte{pair.Certificate.Raw, c.root.Certificate.Raw}, PrivateKey: pair.Key}
	c.made[name] = made
	return made, nil
}
