package bmc

import (
	"bytes"
	"context"
	"crypto/tls"
	"errors"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"runtime"
	"strings"
	"testing"
	"time"
)

// drive is the machine of a server, told to boot from media at an address.
func drive(server *Server, address string) *System {
	s := server.System("m-0")
	s.insert("1", address+"/secret-token/1.iso")
	s.set(override{Target: "Cd", Enabled: once})
	return s
}

// TestMediaComeBack stops the server of the media: machines hang at their drives, and boot when
// it runs again, wherever reading broke off.
func TestMediaComeBack(t *testing.T) {
	for name, breaks := range map[string]string{
		"before anything is read": "HEAD",
		"in the first range":      "GET bytes=0-65535",
		"in a later range":        "GET bytes=1048576-2097151",
	} {
		t.Run(name, func(t *testing.T) {
			b := newBench(t, "", machineOf(IDRAC, at))
			media := newFlaky(t, b.image)
			media.breaks = breaks
			slept := 0
			b.clock.asleep = func(context.Context) {
				if slept++; slept == 3 {
					media.listen()
				}
			}
			began := b.clock.Now()
			drive(b.server, "http://"+media.address)
			b.boots(len(b.image), once)
			if passed := b.clock.Now().Sub(began); slept != 3 || passed != 3*reconnectEvery {
				t.Errorf("it has waited %d times, %s in all", slept, passed)
			}
			b.boots(0, disabled)
		})
	}
}

// flaky are media whose server goes away and comes back at the same address.
type flaky struct {
	t       *testing.T
	address string
	image   []byte
	breaks  string // the request in which the server goes
	server  *httptest.Server
}

func newFlaky(t *testing.T, image []byte) *flaky {
	f := &flaky{t: t, address: "127.0.0.1:0", image: image}
	f.listen()
	t.Cleanup(func() { f.server.Close() })
	return f
}

func (f *flaky) listen() {
	listener, err := net.Listen("tcp", f.address)
	if err != nil {
		f.t.Error(err)
		return
	}
	f.address = listener.Addr().String()
	f.server = httptest.NewUnstartedServer(f)
	_ = f.server.Listener.Close()
	f.server.Listener = listener
	f.server.Start()
}

// ServeHTTP goes away after a part of the answer to that request.
func (f *flaky) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if f.breaks != strings.TrimSpace(r.Method+" "+r.Header.Get("Range")) {
		http.ServeContent(w, r, "x.iso", time.Time{}, bytes.NewReader(f.image))
		return
	}
	f.breaks = ""
	_ = f.server.Listener.Close()
	http.ServeContent(&half{ResponseWriter: w, left: 1 << 10}, r, "x.iso", time.Time{}, bytes.NewReader(f.image))
	_ = http.NewResponseController(w).Flush()
	panic(http.ErrAbortHandler)
}

// half answers with some bytes only.
type half struct {
	http.ResponseWriter
	left int
}

func (h *half) Write(p []byte) (int, error) {
	n := min(len(p), h.left)
	h.left -= n
	if n < len(p) {
		_, _ = h.ResponseWriter.Write(p[:n])
		return n, io.ErrShortWrite
	}
	return h.ResponseWriter.Write(p)
}

// TestMediaStayAway gives up after a while, with what keeps the server from being
// reached.
func TestMediaStayAway(t *testing.T) {
	b := newBench(t, "", machineOf(IDRAC, at))
	s, began := drive(b.server, "http://127.0.0.1:1"), b.clock.Now()
	_, _, err := s.Boot(t.Context())
	if err == nil || strings.Contains(err.Error(), "secret-token") || !strings.Contains(err.Error(), "boot from virtual media: HEAD http://127.0.0.1:1/…: dial tcp") {
		t.Errorf("%v", err)
	}
	if passed := b.clock.Now().Sub(began); passed != reconnectWithin {
		t.Errorf("it gives up after %s", passed)
	}
}

// TestServerThatAnswersIsNotAway takes what a server says for the truth at once.
func TestServerThatAnswersIsNotAway(t *testing.T) {
	answers := func(status int) http.Handler {
		return http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(status) })
	}
	plain := httptest.NewServer(answers(http.StatusOK))
	t.Cleanup(plain.Close)
	strict := httptest.NewUnstartedServer(answers(http.StatusOK))
	strict.TLS = &tls.Config{ClientAuth: tls.RequireAnyClientCert, MaxVersion: tls.VersionTLS12}
	strict.Config.ErrorLog = quiet()
	strict.StartTLS()
	t.Cleanup(strict.Close)
	for name, address := range map[string]string{
		"not found":       serving(t, answers(http.StatusNotFound)),
		"unavailable":     serving(t, answers(http.StatusServiceUnavailable)),
		"no ranges":       serving(t, answers(http.StatusOK)),
		"no TLS":          "https" + strings.TrimPrefix(plain.URL, "http"),
		"TLS it declines": strict.URL,
	} {
		t.Run(name, func(t *testing.T) {
			b := newBench(t, "", machineOf(IDRAC, at))
			b.clock.asleep = func(context.Context) { t.Error("it waits") }
			if _, _, err := drive(b.server, address).Boot(t.Context()); err == nil {
				t.Error("it boots")
			}
		})
	}
}

func serving(t *testing.T, handler http.Handler) (address string) {
	server := httptest.NewServer(handler)
	t.Cleanup(server.Close)
	return server.URL
}

// TestHangingMachineIsFreed ends the wait for media with what there is to wait for,
// and leaves nothing running.
func TestHangingMachineIsFreed(t *testing.T) {
	stop := errors.New("the simulator ends")
	reset := func(kind string) func(*System, context.CancelCauseFunc) {
		return func(s *System, _ context.CancelCauseFunc) { s.reset(kind) }
	}
	for name, tc := range map[string]struct {
		do   func(*System, context.CancelCauseFunc)
		want error
	}{
		"ejected":          {func(s *System, _ context.CancelCauseFunc) { s.insert("1", "") }, errEjected},
		"other media":      {func(s *System, _ context.CancelCauseFunc) { s.insert("1", "http://127.0.0.1:1/2.iso") }, errEjected},
		"switched off":     {reset("ForceOff"), errSwitched},
		"restarted":        {reset("ForceRestart"), errSwitched},
		"gone off":         {func(s *System, _ context.CancelCauseFunc) { s.SetPower(false) }, errSwitched},
		"end of simulator": {func(_ *System, cancel context.CancelCauseFunc) { cancel(stop) }, stop},
	} {
		t.Run(name, func(t *testing.T) {
			hand := &handClock{}
			server, err := New(Config{Clock: hand, Machines: []Machine{machineOf(IDRAC, at)}, Logf: t.Logf})
			if err != nil {
				t.Fatal(err)
			}
			s := drive(server, "http://127.0.0.1:1")
			s.reset("On")
			ctx, cancel := context.WithCancelCause(t.Context())
			defer cancel(nil)
			before := runtime.NumGoroutine()
			hand.asleep = func(ctx context.Context) {
				s.insert("2", "http://127.0.0.1:1/another-drive.iso")
				if ctx.Err() != nil {
					t.Error("what is put into another drive ends it")
				}
				tc.do(s, cancel)
				select {
				case <-ctx.Done():
				case <-time.After(10 * time.Second):
					t.Error("it still waits")
				}
			}
			if _, _, err := s.Boot(ctx); !errors.Is(err, tc.want) {
				t.Errorf("%v, want %v", err, tc.want)
			}
			deadline := time.Now().Add(10 * time.Second)
			for runtime.NumGoroutine() > before { // sockets take a moment to go
				if time.Now().After(deadline) {
					t.Fatalf("%d goroutines, which were %d", runtime.NumGoroutine(), before)
				}
				time.Sleep(time.Millisecond)
			}
		})
	}
}

// TestEjectedMediaAreNotRead has what a machine reads from a drive end with it.
func TestEjectedMediaAreNotRead(t *testing.T) {
	b := newBench(t, "", machineOf(IDRAC, at))
	b.image = bytes.Repeat([]byte{7}, mostWhole+1)
	s := drive(b.server, b.media.URL)
	content, _, err := s.Boot(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if _, err := content.ReadAt(make([]byte, 8), 0); err != nil {
		t.Error(err)
	}
	s.insert("1", "")
	if _, err := content.ReadAt(make([]byte, 8), 5*chunk); !errors.Is(err, errEjected) {
		t.Errorf("%v", err)
	}
}
