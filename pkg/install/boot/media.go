package boot

import (
	"context"
	"errors"

	"github.com/oaictl/oaictl/pkg/install"
	"github.com/oaictl/oaictl/pkg/install/machine"
	"github.com/oaictl/oaictl/pkg/iso/serve"
)

// mediaOf are the media of hosts by their names.
type mediaOf map[string]*machine.Images

var errNoMedia = errors.New("the file has no such host that boots through a BMC")

func (m mediaOf) URL(host string) (string, error) {
	if m[host] == nil {
		return "", errNoMedia
	}
	return m[host].URL(host)
}

func (m mediaOf) Fetched(host string) install.Fetched {
	if m[host] == nil {
		return install.Fetched{}
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
func (e elsewhere) Fetched(string) install.Fetched        { return install.Fetched{Unknown: true} }
func (e elsewhere) Prepare(context.Context, string) error { return nil }
