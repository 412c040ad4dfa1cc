package app

import (
	"errors"
	"net"
	"strings"
	"syscall"
	"testing"

	"github.com/oaictl/oaictl/internal/shared/must"
)

// TestNextListen says what helps against the reason that there is.
func TestNextListen(t *testing.T) {
	taken := must.Get(net.Listen("tcp", "127.0.0.1:0"))(t)
	defer taken.Close()
	failing := func(address string) error {
		listener, err := net.Listen("tcp", address)
		if err == nil {
			_ = listener.Close()
			t.Fatalf("%s can be listened on", address)
		}
		return err
	}
	for want, err := range map[string]error{
		"end it, or give another address with --listen": failing(taken.Addr().String()),
		"give --listen an address of this machine":      failing("192.0.2.1:0"),
		"give --listen a port from 1024 on":             &net.OpError{Op: "listen", Err: syscall.EACCES},
		"give --listen an IP address of this machine":   &net.OpError{Op: "listen", Err: &net.DNSError{Err: "no such host", Name: "nowhere"}},
		"give another address with --listen":            errors.New("whatever"),
	} {
		if got := ListenAdvice(err, "--listen", "end it, or "); !strings.HasPrefix(got.String(), want) {
			t.Errorf("%v: %q, not %q", err, got, want)
		}
	}
}
