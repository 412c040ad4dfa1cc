package boot

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io/fs"
	"net/url"
	"os"

	"github.com/oaictl/oaictl/pkg/install"
	"github.com/oaictl/oaictl/pkg/install/machine"
	"github.com/oaictl/oaictl/pkg/iso/serve"
)

// mediaKey is the key of the images' URLs, which is kept in a file: a new one, made now,
// where there is no cluster yet. What a drive still holds of one that was deleted is
// another cluster's image, although it had the same name, and must not be taken for this
// one's.
func mediaKey(ctx context.Context, service Service, desired *install.Desired, path string) (key []byte, made bool, err error) {
	c := desired.Spec
	query := install.Query{Name: c.Metadata.Name, BaseDomain: c.Spec.BaseDomain, Adopt: desired.Options.Adopt}
	observed, err := service.Observe(ctx, query, nil)
	// A service that does not answer is told of by the run. Somebody else's cluster of
	// that name ends it before anything is inserted.
	if err == nil && observed.Stale == "" && observed.Cluster == nil && len(observed.Others) == 0 {
		if err := os.Remove(path); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return nil, false, fmt.Errorf("forget the key of a cluster that is gone: %w", err)
		}
	}
	_, missing := os.Stat(path)
	key, err = serve.LoadKey(path)
	return key, errors.Is(missing, fs.ErrNotExist), err
}

// Watch is a plane of machines that serves nothing: to look at machines, or to eject their
// images. Which images are a cluster's own follows from the key in a file, which Start
// wrote. Where there is none, none is.
func Watch(keyFile string, proxy *url.URL, clock install.Clock) (*machine.Plane, error) {
	key := make([]byte, 32)
	_, _ = rand.Read(key) // it never fails
	if _, err := os.Stat(keyFile); err == nil {
		if key, err = serve.LoadKey(keyFile); err != nil {
			return nil, err
		}
	}
	server, err := serve.New(serve.Config{Key: key})
	if err != nil {
		return nil, fmt.Errorf("tell whose images are in the drives: %w", err)
	}
	return machine.New(machine.Config{Media: elsewhere{server}, Proxy: proxy, Clock: clock}), nil
}
