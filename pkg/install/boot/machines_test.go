package boot

import (
	"errors"
	"net"
	"path/filepath"
	"testing"

	"github.com/oaictl/oaictl/internal/shared/must"
	"github.com/oaictl/oaictl/pkg/install/model"
	"github.com/oaictl/oaictl/pkg/install/spec"
)

// TestStartThatFails gives the address back, and says only why it fails.
func TestStartThatFails(t *testing.T) {
	booted := func(arch spec.Arch) spec.Host {
		return spec.Host{Name: "cp-" + string(arch), Arch: arch, BMC: &spec.BMC{Address: "192.0.2.1", Credentials: spec.CredentialsOf("admin", spec.NewSecret("x"))}}
	}
	cluster := &spec.Cluster{Metadata: spec.Metadata{Name: "lab"}}
	cluster.Spec.OpenShift.Arch, cluster.Spec.Boot.Method = spec.Multi, spec.BootRedfish
	cluster.Spec.Hosts = []spec.Host{booted(spec.X86), booted(spec.ARM)}
	listener := must.Get(net.Listen("tcp", "127.0.0.1:0"))(t)
	m, err := Start(t.Context(), Config{
		Service: &seen{observed: &model.Observed{}}, Desired: &model.Desired{Spec: cluster}, Listener: listener, Base: "live.iso",
		KeyFile: filepath.Join(t.TempDir(), "media.key"), Cache: t.TempDir(),
	})
	var problem *BaseError
	if m != nil || !errors.As(err, &problem) || problem.Archs != 2 || err.Error() != "a live image is for one CPU architecture, but the hosts have 2 architectures" {
		t.Errorf("%v, %v", m, err)
	}
	if _, err := listener.Accept(); !errors.Is(err, net.ErrClosed) {
		t.Errorf("it still listens: %v", err)
	}
}
