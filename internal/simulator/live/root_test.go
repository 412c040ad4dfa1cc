package live_test

import (
	"bytes"
	"errors"
	"strings"
	"testing"

	"github.com/oaictl/oaictl/internal/simulator/live"
)

func TestRoot(t *testing.T) {
	for _, arch := range []string{"x86_64", "arm64", "ppc64le", "s390x"} {
		iso := made(t, arch, "full-iso", config)
		if url, err := live.Root(bytes.NewReader(iso), int64(len(iso))); url != "" || err != nil {
			t.Errorf("%s full: %q %v", arch, url, err)
		}
		renamed := bytes.ReplaceAll(iso, []byte("coreos.liveiso="), []byte("coreos.liveXXX="))
		if _, err := live.Root(bytes.NewReader(renamed), int64(len(renamed))); !errors.Is(err, live.ErrNoRoot) {
			t.Errorf("%s without coreos.liveiso: %v", arch, err)
		}
		copy(iso[16*2048+40:], "another-name")
		if _, err := live.Root(bytes.NewReader(iso), int64(len(iso))); !errors.Is(err, live.ErrNoRoot) {
			t.Errorf("%s of another name: %v", arch, err)
		}
		iso = made(t, arch, "minimal-iso", config)
		if url, err := live.Root(bytes.NewReader(iso), int64(len(iso))); !strings.HasPrefix(url, "http://") || !strings.Contains(url, "/boot-artifacts/rootfs?") || err != nil {
			t.Errorf("%s minimal: %q %v", arch, url, err)
		}
	}
}
