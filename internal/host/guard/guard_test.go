package guard

import (
	"errors"
	"testing"
)

func TestLive(t *testing.T) {
	if err := Live(); !errors.Is(err, ErrTest) {
		t.Errorf("a test may change this machine: %v", err)
	}
}

func TestLiveCommandLine(t *testing.T) {
	for line, live := range map[string]bool{
		"BOOT_IMAGE=/vmlinuz coreos.liveiso=fedora-coreos ignition.firstboot ignition.platform.id=metal\n": true,
		"coreos.live.rootfs_url=http://192.0.2.1/rootfs.img ip=dhcp":                                       true,
		"console=ttyS0 oaictl.rack":           true,
		"oaictl.rack=1":                       true,
		"":                                    false,
		"root=/dev/vda1 quiet":                false,
		"root=UUID=coreos.liveiso":            false,
		"xcoreos.liveiso=a":                   false,
		"oaictl.rackless":                     false,
		"init=/sbin/init -- note=coreos.live": false,
		"ostree=/ostree/boot.1/rhcos root=UUID=0 ro rootflags": false,
	} {
		if err := LiveCommandLine(line); (err == nil) != live {
			t.Errorf("%q: got %v, want live %t", line, err, live)
		}
	}
}
