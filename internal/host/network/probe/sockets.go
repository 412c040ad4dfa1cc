//go:build linux

package probe

import (
	"encoding/binary"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"os"

	"golang.org/x/sys/unix"

	"github.com/oaictl/oaictl/internal/host/network/packet"
)

// Sockets opens sockets of the kernel. They need CAP_NET_RAW; pings need it only where the kernel refuses them to users.
type Sockets struct{}

// receiveTime is how long Receive waits.
const receiveTime = 100_000 // in microseconds

// socket is a blocking socket. Its Receive ends after receiveTime.
type socket struct {
	fd      int
	address func(ip netip.Addr) unix.Sockaddr
	// content takes away what stands before the message.
	content func(data []byte) ([]byte, bool)
}

func open(domain, kind, protocol int) (*socket, error) {
	fd, err := unix.Socket(domain, kind|unix.SOCK_CLOEXEC, protocol)
	if err != nil {
		return nil, err
	}
	s := &socket{fd: fd}
	return s, s.or(unix.SetsockoptTimeval(fd, unix.SOL_SOCKET, unix.SO_RCVTIMEO, &unix.Timeval{Usec: receiveTime}))
}

// or closes a socket that an error makes useless.
func (s *socket) or(err error) error {
	if err == nil {
		return nil
	}
	return errors.Join(err, s.Close())
}

// Frames implements Opener.
func (Sockets) Frames(nic NIC, kind uint16) (Wire, error) { return frames(nic, kind) }

func frames(nic NIC, kind uint16) (*socket, error) {
	// A socket of protocol 0 receives nothing before it is bound to its interface.
	s, err := open(unix.AF_PACKET, unix.SOCK_RAW, 0)
	if err != nil {
		return nil, err
	}
	at := &unix.SockaddrLinklayer{Protocol: networkOrder(kind), Ifindex: nic.Index}
	s.address = func(netip.Addr) unix.Sockaddr { return at }
	if err := s.or(unix.Bind(s.fd, at)); err != nil {
		return nil, err
	}
	return s, nil
}

// FramesTo sends and receives Ethernet frames like Frames, and receives those to another address, too.
func (Sockets) FramesTo(nic NIC, kind uint16, mac net.HardwareAddr) (Wire, error) {
	s, err := frames(nic, kind)
	if err != nil {
		return nil, err
	}
	member := &unix.PacketMreq{Ifindex: int32(nic.Index), Type: unix.PACKET_MR_UNICAST, Alen: macSize}
	copy(member.Address[:], mac)
	if err := s.or(unix.SetsockoptPacketMreq(s.fd, unix.SOL_PACKET, unix.PACKET_ADD_MEMBERSHIP, member)); err != nil {
		return nil, fmt.Errorf("receive frames to %s: %w", mac, err)
	}
	return s, nil
}

// networkOrder is a number whose bytes in memory have the order of the network, as AF_PACKET wants the type of frames.
func networkOrder(n uint16) uint16 {
	return binary.NativeEndian.Uint16(binary.BigEndian.AppendUint16(nil, n))
}

// Echo implements Opener.
func (Sockets) Echo(o EchoOptions) (Wire, error) {
	s, err := openEcho(o.IPv6)
	if err != nil {
		return nil, err
	}
	s.address = func(ip netip.Addr) unix.Sockaddr {
		if ip.Is6() {
			return &unix.SockaddrInet6{Addr: ip.As16()}
		}
		return &unix.SockaddrInet4{Addr: ip.As4()}
	}
	if o.NIC != "" {
		if err := s.or(unix.SetsockoptString(s.fd, unix.SOL_SOCKET, unix.SO_BINDTODEVICE, o.NIC)); err != nil {
			return nil, fmt.Errorf("bind it to %s: %w", o.NIC, err)
		}
	}
	if o.Whole {
		if err := s.or(whole(s.fd, o.IPv6)); err != nil {
			return nil, fmt.Errorf("forbid fragments: %w", err)
		}
	}
	return s, nil
}

// openEcho opens a raw socket, or one for pings of users where raw sockets are refused.
func openEcho(ipv6 bool) (*socket, error) {
	domain, protocol := unix.AF_INET, unix.IPPROTO_ICMP
	if ipv6 {
		domain, protocol = unix.AF_INET6, unix.IPPROTO_ICMPV6
	}
	s, err := open(domain, unix.SOCK_RAW, protocol)
	if errors.Is(err, os.ErrPermission) {
		return open(domain, unix.SOCK_DGRAM, protocol)
	}
	if err != nil {
		return nil, err
	}
	if !ipv6 {
		s.content = packet.PayloadIPv4
	}
	return s, nil
}

func whole(fd int, ipv6 bool) error {
	if ipv6 {
		return unix.SetsockoptInt(fd, unix.IPPROTO_IPV6, unix.IPV6_MTU_DISCOVER, unix.IPV6_PMTUDISC_DO)
	}
	return unix.SetsockoptInt(fd, unix.IPPROTO_IP, unix.IP_MTU_DISCOVER, unix.IP_PMTUDISC_DO)
}

func (s *socket) Send(data []byte, to netip.Addr) error {
	return unix.Sendto(s.fd, data, 0, s.address(to))
}

func (s *socket) Receive(buffer []byte) (n int, from netip.Addr, err error) {
	n, sender, err := unix.Recvfrom(s.fd, buffer, 0)
	if errors.Is(err, unix.EAGAIN) || errors.Is(err, unix.EINTR) {
		return 0, netip.Addr{}, os.ErrDeadlineExceeded
	}
	if err != nil {
		return 0, netip.Addr{}, err
	}
	switch sender := sender.(type) {
	case *unix.SockaddrInet4:
		from = netip.AddrFrom4(sender.Addr)
	case *unix.SockaddrInet6:
		from = netip.AddrFrom16(sender.Addr)
	}
	if s.content == nil {
		return n, from, nil
	}
	message, ok := s.content(buffer[:n])
	if !ok {
		return 0, netip.Addr{}, os.ErrDeadlineExceeded
	}
	return copy(buffer, message), from, nil
}

func (s *socket) Close() error { return unix.Close(s.fd) }
