package cli

import (
	"errors"
	"io/fs"
	"net"
	"syscall"
)

// nextListen is what helps where an address cannot be listened on that a flag gives. free
// is what to do, beside choosing another one, if somebody else listens there.
func nextListen(err error, flag, free string) string {
	var unknown *net.DNSError
	switch {
	case errors.Is(err, syscall.EADDRINUSE):
		return free + "give another address with " + flag
	case errors.Is(err, syscall.EADDRNOTAVAIL):
		return "give " + flag + " an address that this machine has, or only :PORT, which is all of them"
	case errors.Is(err, fs.ErrPermission):
		return "give " + flag + " a port from 1024 on: those below are the system's"
	case errors.As(err, &unknown):
		return "give " + flag + " an IP address of this machine, or only :PORT, which is all of them"
	}
	return "give another address with " + flag
}
