package boot

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io/fs"
	"net/netip"
	"net/url"
	"os"
	"strings"

	"github.com/oaictl/oaictl/pkg/install"
	"github.com/oaictl/oaictl/pkg/install/bmc"
	"github.com/oaictl/oaictl/pkg/install/model"
	"github.com/oaictl/oaictl/pkg/install/spec"
	"github.com/oaictl/oaictl/pkg/iso/serve"
)

type mediaOf map[string]*maker

var errNoMedia = errors.New("the file has no such host with a BMC to boot from")

func (m mediaOf) URL(host string) (string, error) {
	if m[host] == nil {
		return "", errNoMedia
	}
	return m[host].URL(host)
}

func (m mediaOf) Fetched(host string) model.Fetched {
	if m[host] == nil {
		return model.Fetched{}
	}
	return m[host].Fetched(host)
}

func (m mediaOf) Prepare(ctx context.Context, host string) error {
	if m[host] == nil {
		return errNoMedia
	}
	return m[host].Prepare(ctx, host)
}

// elsewhere is the media of machines whose images another process serves.
type elsewhere struct{ server *serve.Server }

func (e elsewhere) URL(host string) (string, error)       { return e.server.URL(host, serve.ISO), nil }
func (e elsewhere) Fetched(string) model.Fetched          { return model.Fetched{Unknown: true} }
func (e elsewhere) Prepare(context.Context, string) error { return nil }

// mediaKey is the key of the images' URLs, which is kept in a file: a new one, made now, where there is no cluster yet.
// If a drive still holds an image of a deleted cluster of the same name, that image belongs to another cluster, and
// must not be mistaken for this one's.
func mediaKey(ctx context.Context, service Service, desired *model.Desired, path string) (key []byte, made bool, err error) {
	c := desired.Spec
	query := model.Query{Name: c.Metadata.Name, BaseDomain: c.Spec.BaseDomain, Adopt: desired.Options.Adopt}
	observed, err := service.Observe(ctx, query, nil)
	// The run itself reports a service that does not answer. If another owner has a cluster of that name, the run ends
	// before anything is inserted.
	if err == nil && observed.Stale == "" && observed.Cluster == nil && len(observed.Others) == 0 {
		if err := os.Remove(path); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return nil, false, fmt.Errorf("delete the key of a cluster that does not exist any more: %w", err)
		}
	}
	_, missing := os.Stat(path)
	key, err = serve.LoadKey(path)
	return key, errors.Is(missing, fs.ErrNotExist), err
}

// Watch is a plane of machines that serves nothing: to look at machines, or to eject their images. Which images are a
// cluster's own follows from the key in a file, which Start wrote. If there is no such file, no image counts as the
// cluster's own.
func Watch(keyFile string, proxy *url.URL, clock install.Clock) (*bmc.Plane, error) {
	key := make([]byte, 32)
	_, _ = rand.Read(key) // it never fails
	if _, err := os.Stat(keyFile); err == nil {
		if key, err = serve.LoadKey(keyFile); err != nil {
			return nil, err
		}
	}
	server, err := serve.New(serve.Config{Key: key})
	if err != nil {
		return nil, fmt.Errorf("find out which images are in the virtual drives: %w", err)
	}
	return bmc.New(bmc.Config{Media: elsewhere{server}, Proxy: proxy, Clock: clock}), nil
}

// RouteError says that it is not clear at which address BMCs reach this machine.
type RouteError struct {
	Ways    []string // of hosts: from which different addresses their BMCs are reached
	Proxied bool     // says that BMCs are behind a proxy
	Err     error    // why no way to a BMC was found
}

func (e *RouteError) Error() string {
	switch {
	case e.Proxied:
		return "oaictl cannot find out how BMCs behind a proxy reach this machine"
	case len(e.Ways) == 0:
		return fmt.Sprintf("there is no route to any BMC from here (%v)", e.Err)
	}
	return "BMCs may reach this machine at different addresses; " + strings.Join(e.Ways, "; ")
}

func (e *RouteError) Unwrap() error { return e.Err }

// MediaURL is where BMCs find a server that listens at an address: there; or, where it
// listens at all addresses, where the way to all BMCs begins. route finds that, as
// machine.Route does. Its error is a *RouteError.
func MediaURL(ctx context.Context, listen netip.AddrPort, hosts []*spec.Host, proxied bool,
	route func(context.Context, *spec.BMC) (netip.Addr, error)) (string, error) {
	at := func(addr netip.Addr) string { return "http://" + netip.AddrPortFrom(addr, listen.Port()).String() }
	if addr := listen.Addr().Unmap(); addr.IsValid() && !addr.IsUnspecified() {
		return at(addr), nil
	}
	if proxied {
		return "", &RouteError{Proxied: true}
	}
	var unclear RouteError
	var only netip.Addr
	known := map[netip.Addr]bool{}
	for _, host := range hosts {
		addr, err := route(ctx, host.BMC)
		if err != nil {
			unclear.Err = err // the plane reports this host
			continue
		}
		if !known[addr] {
			known[addr], only = true, addr
			unclear.Ways = append(unclear.Ways, fmt.Sprintf("%s is reached from %s", host.Name, addr))
		}
	}
	if len(unclear.Ways) == 1 {
		return at(only), nil
	}
	return "", &unclear
}
