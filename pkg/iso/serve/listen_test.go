package serve_test

import (
	"bufio"
	"bytes"
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/oaictl/oaictl/internal/shared/check"
	"github.com/oaictl/oaictl/internal/shared/must"
	"github.com/oaictl/oaictl/pkg/iso/overlay"
	"github.com/oaictl/oaictl/pkg/iso/serve"
)

// running is a server on a socket.
type running struct {
	*serve.Server
	url   string
	addr  string
	stop  context.CancelFunc
	ended chan error
}

// run starts a server; the test's end stops it.
func run(t *testing.T, c serve.Config, wrap func(net.Listener) net.Listener) *running {
	t.Helper()
	l := must.Get(net.Listen("tcp", "127.0.0.1:0"))(t)
	ctx, stop := context.WithCancel(t.Context())
	r := &running{
		Server: newServer(t, c), addr: l.Addr().String(), url: "http://" + l.Addr().String(),
		stop: stop, ended: make(chan error, 1),
	}
	if wrap != nil {
		l = wrap(l)
	}
	done := make(chan struct{})
	go func() {
		defer close(done)
		r.ended <- r.Serve(ctx, l)
	}()
	t.Cleanup(func() { stop(); <-done })
	return r
}

// client has connections of its own, that end with the test.
func client(t *testing.T) *http.Client {
	transport := &http.Transport{}
	t.Cleanup(transport.CloseIdleConnections)
	return &http.Client{Transport: transport}
}

// eventually polls for something that sockets bring about.
func eventually(t *testing.T, what string, is func() bool) {
	t.Helper()
	for deadline := time.Now().Add(10 * time.Second); !is(); time.Sleep(2 * time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatalf("%s: not within 10 s", what)
		}
	}
}

// countingListener counts what reaches its connections as a file.
type countingListener struct {
	net.Listener
	files, written *atomic.Int64
}

func (l countingListener) Accept() (net.Conn, error) {
	conn, err := l.Listener.Accept()
	if err != nil {
		return nil, err
	}
	return countingConn{conn.(*net.TCPConn), l.files, l.written}, nil
}

type countingConn struct {
	*net.TCPConn
	files, written *atomic.Int64
}

func (c countingConn) ReadFrom(src io.Reader) (int64, error) {
	n, err := c.TCPConn.ReadFrom(src)
	c.files.Add(n)
	return n, err
}

func (c countingConn) Write(p []byte) (int, error) {
	n, err := c.TCPConn.Write(p)
	c.written.Add(int64(n))
	return n, err
}

func TestBaseIsSentAsAFile(t *testing.T) {
	const size = 8 << 20
	content := random(size, 1)
	var files, written atomic.Int64
	r := run(t, serve.Config{}, func(l net.Listener) net.Listener { return countingListener{l, &files, &written} })
	set(t, r.Server, "m-0", iso(patched(base(t, content), size, "m-0")))
	copy(content[size/2:], "ignition of m-0")
	if got := readAll(t, client(t), r.url+r.URL("m-0", serve.ISO)); !bytes.Equal(got, content) {
		t.Fatalf("%d bytes", len(got))
	}
	if files.Load() < size-4096 || written.Load() > 8192 {
		t.Errorf("%d bytes as a file, %d through memory", files.Load(), written.Load())
	}
}

// TestHTTPS reads over TLS as BMCs do: whole, and in ranges.
func TestHTTPS(t *testing.T) {
	content := random(3<<20, 1)
	certified := httptest.NewTLSServer(nil)
	defer certified.Close()
	r := run(t, serve.Config{TLS: &certified.TLS.Certificates[0]}, nil)
	set(t, r.Server, "m-0", iso(overlay.New(base(t, content), int64(len(content)))))
	trusted := x509.NewCertPool()
	trusted.AddCert(certified.Certificate())
	transport := &http.Transport{TLSClientConfig: &tls.Config{RootCAs: trusted}}
	defer transport.CloseIdleConnections()
	c := &http.Client{Transport: transport}
	if got := readAll(t, c, "https://"+r.addr+r.URL("m-0", serve.ISO)); !bytes.Equal(got, content) {
		t.Errorf("%d bytes", len(got))
	}
	req, _ := http.NewRequestWithContext(t.Context(), "GET", "https://"+r.addr+r.URL("m-0", serve.ISO), nil)
	req.Header.Set("Range", "bytes=1000-65535")
	resp := must.Get(c.Do(req))(t)
	defer resp.Body.Close()
	if got, err := io.ReadAll(resp.Body); err != nil || !bytes.Equal(got, content[1000:65536]) {
		t.Errorf("%d bytes: %v", len(got), err)
	}
	// A client without TLS is not answered, and does no harm.
	if resp, err := client(t).Get(r.url + "/metrics"); err == nil {
		resp.Body.Close()
		if resp.StatusCode == 200 {
			t.Error("HTTP was answered")
		}
	}
}

// smallBuffer is what a client's system takes in before the client reads. It holds
// two segments of the loopback device, which are as large as 64 KiB: a sender that
// has less in hand than a segment waits for a timer where the window is smaller.
const smallBuffer = 128 << 10

// begin asks for an image over a connection with small buffers, and reads only
// the header of the answer.
func begin(t *testing.T, r *running, host string) (net.Conn, *bufio.Reader) {
	t.Helper()
	conn := must.Get(net.Dial("tcp", r.addr))(t)
	t.Cleanup(func() { conn.Close() })
	must.Do(t, conn.(*net.TCPConn).SetReadBuffer(smallBuffer))
	fmt.Fprintf(conn, "GET %s HTTP/1.1\r\nHost: x\r\n\r\n", r.URL(host, serve.ISO))
	in := bufio.NewReaderSize(conn, 4096)
	for {
		line := must.Get(in.ReadString('\n'))(t)
		if line == "\r\n" {
			return conn, in
		}
	}
}

// big is an image that fills every buffer between a server and its client.
func big() *overlay.Image {
	image := overlay.Bytes(nil)
	image.Truncate(64 << 20)
	return image
}

func TestClientThatStopsReadingIsGivenUp(t *testing.T) {
	r := run(t, serve.Config{ChunkTimeout: 100 * time.Millisecond}, nil)
	set(t, r.Server, "m-0", iso(big()))
	begin(t, r, "m-0")
	eventually(t, "the transfer ends", func() bool { return r.Fetched("m-0").Active == 0 })
	if f := r.Fetched("m-0"); f.Bytes == 0 || f.Bytes >= f.Size {
		t.Errorf("%d of %d bytes", f.Bytes, f.Size)
	}
}

// TestSlowClientIsServed reads slowly, for much longer than a chunk may take.
func TestSlowClientIsServed(t *testing.T) {
	const chunkTimeout = 400 * time.Millisecond
	r := run(t, serve.Config{ChunkTimeout: chunkTimeout}, nil)
	set(t, r.Server, "m-0", iso(big()))
	_, in := begin(t, r, "m-0")
	began := time.Now()
	var got int64
	for time.Since(began) < 3*chunkTimeout { // some 50 MB/s
		n, err := io.CopyN(io.Discard, in, 1<<20)
		if got += n; err != nil {
			t.Fatalf("after %d bytes: %v", got, err)
		}
		time.Sleep(chunkTimeout / 20)
	}
	n, err := io.CopyN(io.Discard, in, 64<<20-got)
	if err != nil {
		t.Fatalf("after %d bytes: %v", got+n, err)
	}
	eventually(t, "all is counted", func() bool { f := r.Fetched("m-0"); return f.Bytes == f.Size && f.Active == 0 })
	if f := r.Fetched("m-0"); f.Last.Sub(f.First) < 2*chunkTimeout {
		t.Errorf("it was last sent something %s after it began", f.Last.Sub(f.First))
	}
}

// within bounds how long a connection is read from.
func within(t *testing.T, conn net.Conn, d time.Duration) {
	t.Helper()
	must.Do(t, conn.SetReadDeadline(time.Now().Add(d)))
}

func TestHeaderThatNeverEndsIsGivenUp(t *testing.T) {
	r := run(t, serve.Config{HeaderTimeout: 50 * time.Millisecond}, nil)
	for _, begun := range []string{"", "GET /i/", "GET / HTTP/1.1\r\nX: "} {
		conn := must.Get(net.Dial("tcp", r.addr))(t)
		fmt.Fprint(conn, begun)
		within(t, conn, 10*time.Second)
		if _, err := io.Copy(io.Discard, conn); errors.Is(err, os.ErrDeadlineExceeded) {
			t.Errorf("%q: the connection stays", begun)
		}
		conn.Close()
	}
}

func TestConnectionsAreBounded(t *testing.T) {
	for name, c := range map[string]serve.Config{
		"in all":      {MaxConns: 3},
		"of a client": {MaxConnsPerClient: 3},
	} {
		t.Run(name, func(t *testing.T) {
			r := run(t, c, nil)
			set(t, r.Server, "m-0", iso(big()))
			// Two that read, and one that is idle: a fourth takes the place of the idle.
			begin(t, r, "m-0")
			begin(t, r, "m-0")
			idle := must.Get(net.Dial("tcp", r.addr))(t)
			defer idle.Close()
			fmt.Fprint(idle, "HEAD /i/x.iso HTTP/1.1\r\nHost: x\r\n\r\n")
			must.Get(http.ReadResponse(bufio.NewReader(idle), &http.Request{Method: "HEAD"}))(t)
			eventually(t, "the connection is idle", func() bool {
				return strings.Contains(ask(r, "GET", "/metrics").Body.String(), "oaictl_media_connections_idle 1\n")
			})
			begin(t, r, "m-0")
			within(t, idle, 10*time.Second)
			if _, err := idle.Read(make([]byte, 1)); !errors.Is(err, io.EOF) {
				t.Errorf("the idle connection: %v", err)
			}
			// All read now: a fifth is refused.
			fifth := must.Get(net.Dial("tcp", r.addr))(t)
			defer fifth.Close()
			within(t, fifth, 10*time.Second)
			if n, err := fifth.Read(make([]byte, 1)); n > 0 || err == nil || errors.Is(err, os.ErrDeadlineExceeded) {
				t.Errorf("the fifth connection: %d bytes, %v", n, err)
			}
			if f := r.Fetched("m-0"); f.Active != 3 {
				t.Errorf("%d requests under way", f.Active)
			}
			text := ask(r, "GET", "/metrics").Body.String()
			for _, line := range []string{"connections 3", "connections_refused_total 1", "connections_dropped_total 1"} {
				if !strings.Contains(text, "oaictl_media_"+line+"\n") {
					t.Errorf("no line %s in\n%s", line, text)
				}
			}
		})
	}
}

func TestEndNamesWhoStillReads(t *testing.T) {
	r := run(t, serve.Config{}, nil)
	set(t, r.Server, "m-0", iso(big()))
	set(t, r.Server, "m-1", iso(big()))
	begin(t, r, "m-1")
	eventually(t, "the transfer begins", func() bool { return r.Fetched("m-1").Bytes > 0 })
	r.stop()
	err := <-r.ended
	var cut *serve.CutOffError
	if !errors.As(err, &cut) || len(cut.Readers) != 1 || cut.Readers[0].Host != "m-1" || !strings.Contains(err.Error(), "m-1 (") {
		t.Errorf("error %v", err)
	}
}

func TestTransferEndsWithinItsGrace(t *testing.T) {
	r := run(t, serve.Config{Grace: 30 * time.Second}, nil)
	set(t, r.Server, "m-0", iso(big()))
	_, in := begin(t, r, "m-0")
	eventually(t, "the transfer begins", func() bool { return r.Fetched("m-0").Bytes > 0 })
	r.stop()
	if n, err := io.CopyN(io.Discard, in, 64<<20); err != nil {
		t.Fatalf("after %d bytes: %v", n, err)
	}
	if err := <-r.ended; err != nil {
		t.Errorf("error %v", err)
	}
}

func TestListenerThatFails(t *testing.T) {
	l := must.Get(net.Listen("tcp", "127.0.0.1:0"))(t)
	l.Close()
	check.Says(t, newServer(t, serve.Config{}).Serve(t.Context(), l), l.Addr().String())
}

// TestImageReplacedWhileItIsRead sends the rest of what was begun, and counts
// it for nothing: the host has not begun with the new image.
func TestImageReplacedWhileItIsRead(t *testing.T) {
	r := run(t, serve.Config{}, nil)
	set(t, r.Server, "m-0", iso(big()))
	_, in := begin(t, r, "m-0")
	changed := big()
	changed.Overlay(5, []byte("changed"))
	set(t, r.Server, "m-0", iso(changed))
	rest, err := io.ReadAll(io.LimitReader(in, 64<<20))
	if err != nil || len(rest) != 64<<20 || bytes.Contains(rest, []byte("changed")) {
		t.Fatalf("%d bytes: %v", len(rest), err)
	}
	eventually(t, "the transfer ends", func() bool { return r.Fetched("m-0").Active == 0 })
	if f := r.Fetched("m-0"); f.Bytes != 0 || f.Requests != 0 || f.Size != 64<<20 {
		t.Errorf("%+v", f)
	}
}

// TestWhatIsOutOfUseIsLetGo makes no request: what is out of use must be released without waiting for a request.
func TestWhatIsOutOfUseIsLetGo(t *testing.T) {
	clk := newClock() // its waits are real
	r := run(t, serve.Config{Clock: clk, Expire: 20 * time.Millisecond}, nil)
	set(t, r.Server, "m-0", iso(big()))
	hosts := func(n string) bool {
		return strings.Contains(ask(r, "GET", "/metrics").Body.String(), "oaictl_media_hosts "+n+"\n")
	}
	if !hosts("1") {
		t.Error("it is let go while it is in use")
	}
	clk.pass(time.Hour)
	eventually(t, "it is let go", func() bool { return hosts("0") })
}
