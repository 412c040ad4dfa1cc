//go:build e2e

package real

import (
	"bytes"
	"os"
	"strings"
	"testing"

	"github.com/oaictl/oaictl/internal/cli"
	"github.com/oaictl/oaictl/internal/cli/streams"
)

// command runs a verb of the command line against the site's service, and gives how it
// ended and all that it said.
func (x *site) command(t testing.TB, arguments ...string) (code int, said string) {
	t.Helper()
	where := []string{"--service-url", x.wire.base}
	if x.hub {
		where = []string{"--backend", "hub", "--kubeconfig", x.kubeconfig}
	}
	var out bytes.Buffer
	environment := append(os.Environ(), "XDG_CONFIG_HOME="+t.TempDir(), "XDG_CACHE_HOME="+t.TempDir())
	code = cli.Main(t.Context(), append(append([]string{"oaictl"}, arguments...), where...), streams.Streams{In: strings.NewReader(""), Out: &out, Err: &out}, environment)
	return code, out.String()
}

// does runs a verb that has to succeed.
func (x *site) does(t testing.TB, arguments ...string) {
	t.Helper()
	if code, said := x.command(t, arguments...); code != 0 {
		t.Fatalf("oaictl %s: exit code %d\n%s", strings.Join(arguments, " "), code, said)
	}
}
