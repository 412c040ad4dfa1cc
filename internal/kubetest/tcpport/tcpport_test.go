package tcpport

import (
	"fmt"
	"net"
	"testing"
)

// TestPortsAreReserved makes two processes, as far as locks can distinguish them, reserve ports: none gets a port of
// the other's or one on which a program listens.
func TestPortsAreReserved(t *testing.T) {
	folder := t.TempDir()
	one, other := &Reservation{folder: folder}, &Reservation{folder: folder}
	t.Cleanup(func() {
		if err := other.Release(); err != nil {
			t.Error(err)
		}
	})
	taken := map[int]bool{}
	for range 50 {
		for _, p := range []*Reservation{one, other} {
			port, err := p.Port(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			if taken[port] {
				t.Fatalf("port %d is reserved twice", port)
			}
			taken[port] = true
		}
	}
	// What was reserved can be used, and stays reserved while no program listens.
	for port := range taken {
		listener, err := new(net.ListenConfig).Listen(t.Context(), "tcp", fmt.Sprintf("127.0.0.1:%d", port))
		if err != nil {
			t.Fatalf("a reserved port is in use: %v", err)
		}
		if err := listener.Close(); err != nil {
			t.Fatal(err)
		}
		if file, err := other.lock(port); err != nil || file != nil {
			t.Fatalf("the lock of reserved port %d is free (%v)", port, err)
		}
	}
	if err := one.Release(); err != nil {
		t.Fatal(err)
	}
	free := 0
	for port := range taken {
		file, err := other.lock(port)
		if err != nil {
			t.Fatal(err)
		}
		if file != nil {
			free++
			other.locks = append(other.locks, file)
		}
	}
	if free != 50 {
		t.Errorf("of 50 released ports %d are free", free)
	}
}

// TestPortInUseIsNotReserved listens on a port whose lock is free.
func TestPortInUseIsNotReserved(t *testing.T) {
	p := &Reservation{folder: t.TempDir()}
	defer func() {
		if err := p.Release(); err != nil {
			t.Error(err)
		}
	}()
	port, err := p.Port(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	listener, err := new(net.ListenConfig).Listen(t.Context(), "tcp", fmt.Sprintf("127.0.0.1:%d", port))
	if err != nil {
		t.Fatal(err)
	}
	defer listener.Close()
	if err := p.Release(); err != nil {
		t.Fatal(err)
	}
	if again, err := p.reserveFrom(t.Context(), port); err != nil || again == port {
		t.Errorf("reserving from port %d on, which is in use, gave %d, %v", port, again, err)
	}
}
