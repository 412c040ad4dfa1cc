//go:build linux

package machine

import (
	"strings"
	"testing"
)

func TestImage(t *testing.T) {
	for name, want := range map[string]bool{
		"quay.io/openshift-release-dev/ocp-release:4.22.9-x86_64":                           true,
		"quay.io/openshift-release-dev/ocp-v4.0-art-dev@sha256:" + strings.Repeat("0a", 32): true,
		"registry.example.com:5000/a/b_c/d.e:latest":                                        true,
		"localhost:5000/a@sha256:" + strings.Repeat("0a", 32):                               true,
		"[2001:db8::1]:5000/a:b":                                                            true,
		"registry:5000/a":                                                                   true,
		"assisted-installer:latest":                                                         true,
		"docker":                                                                            true,
		"quay.io/a/b:1@sha256:0a":                                                           true,
		"":                                                                                  false,
		"--rm":                                                                              false,
		"quay.io/a b":                                                                       false,
		"quay.io/a/$(reboot)":                                                               false,
		"quay.io/a\n":                                                                       false,
		"quay.io/../a":                                                                      false,
		"quay.io//a":                                                                        false,
		"/a":                                                                                false,
		"quay.io/" + strings.Repeat("a", 2000):                                              false,
		"docker-archive:/dev/zero":                                                          false,
		"docker-archive:1/dev/zero":                                                         false,
		"docker-archive:a":                                                                  false,
		"oci-archive:/dev/zero":                                                             false,
		"oci:/etc":                                                                          false,
		"dir:/etc":                                                                          false,
		"dir:etc":                                                                           false,
		"containers-storage:quay.io/a":                                                      false,
		"docker-daemon:a:b":                                                                 false,
		"docker://quay.io/a":                                                                false,
		"sif:/a":                                                                            false,
		"ostree-unverified-registry:quay.io/a":                                              false,
	} {
		if err := Image(name); (err == nil) != want {
			t.Errorf("%.100q: got %v, want valid %t", name, err, want)
		}
	}
}
