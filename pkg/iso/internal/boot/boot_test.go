//go:build e2e

// Package boot proves that customised media boot: its tests make a small live
// image from Debian's packages, give it an Ignition config, network files and
// kernel arguments, and boot it on emulated machines in every way that firmware
// knows.
package boot

import (
	"bytes"
	"crypto/sha256"
	"encoding/base64"
	"fmt"
	"math/rand/v2"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/oaictl/oaictl/internal/shared/check"
	"github.com/oaictl/oaictl/internal/shared/must"
	"github.com/oaictl/oaictl/pkg/iso"
	"github.com/oaictl/oaictl/pkg/iso/overlay"
)

// TestBoot makes one live image and boots what is made of it.
func TestBoot(t *testing.T) {
	needTools(t)
	made := makeLive(t)
	base := must.Get(iso.Open(made))(t)
	t.Cleanup(func() {
		check.Do(t, base.Close())
	})
	t.Run("pristine", func(t *testing.T) { everyWay(t, made, expected{live: markerText}) })
	t.Run("customised", func(t *testing.T) { customised(t, base, config(2<<10), false) })
	t.Run("grown", func(t *testing.T) { customised(t, base, config(400<<10), true) })
	t.Run("minimal", func(t *testing.T) { minimal(t, base) })
	t.Run("network", func(t *testing.T) { network(t, base) })
}

// expected is what a machine has to report.
type expected struct {
	live  string
	files map[string][]byte
	kargs []string
}

func (e expected) hold(t *testing.T, told report) {
	t.Helper()
	check.Equal(t, told.live, e.live, "of the live medium it reports")
	for path, data := range e.files {
		if want := fmt.Sprintf("0600 %x", sha256.Sum256(data)); told.files[path] != want {
			t.Errorf("%s is %q in the machine, not %q", path, told.files[path], want)
		}
	}
	if len(told.files) != len(e.files) {
		t.Errorf("it found the files %v", told.files)
	}
	for _, arg := range e.kargs {
		if !strings.Contains(" "+told.cmdline+" ", " "+arg+" ") {
			t.Errorf("%s is not among its arguments: %s", arg, told.cmdline)
		}
	}
	for _, trouble := range told.errors {
		t.Errorf("it reports: %s", trouble)
	}
}

// everyWay boots an image as CD and disk, by BIOS and UEFI.
func everyWay(t *testing.T, image string, want expected) {
	for _, w := range allWays() {
		t.Run(string(w), func(t *testing.T) {
			t.Parallel()
			want.hold(t, boot(t, w.start(t, image)...))
		})
	}
}

// config is an Ignition config that carries that many bytes which no
// compression makes smaller.
func config(size int) []byte {
	noise := make([]byte, size)
	_, _ = rand.NewChaCha8([32]byte{1}).Read(noise) // it never fails
	return fmt.Appendf(nil, `{"ignition": {"version": "3.2.0"}, "storage": {"files": [{"path": "/etc/noise", "mode": 420, "contents": {"source": "data:;base64,%s"}}]}}`,
		base64.StdEncoding.EncodeToString(noise))
}

func customization(config []byte) iso.Customization {
	profile := "[connection]\nid=eth\nuuid=5b1e2d0c-4f6a-5c8e-9d1b-2f3a4b5c6d7e\ntype=ethernet\n\n[ethernet]\nmac-address=52:54:00:AA:BB:CC\n\n[ipv4]\nmethod=manual\naddress1=192.0.2.10/24\ngateway=192.0.2.1\n\n[ipv6]\nmethod=disabled\n"
	return iso.Customization{
		Ignition: config,
		Keyfiles: []iso.Keyfile{{Name: "eth.nmconnection", Content: []byte(profile)}},
		Kargs:    iso.KargEdit{Append: []string{"oaictl.test=yes"}, Delete: []string{"quiet"}},
	}
}

// found is what a machine finds of a customisation.
func found(c iso.Customization) expected {
	files := map[string][]byte{"/config.ign": c.Ignition}
	for _, k := range c.Keyfiles {
		files["/etc/coreos-firstboot-network/"+k.Name] = k.Content
	}
	return expected{live: markerText, files: files, kargs: c.Kargs.Append}
}

func customised(t *testing.T, base *iso.Base, config []byte, grows bool) {
	c := customization(config)
	image, result, err := base.Customize(c)
	if err != nil {
		t.Fatal(err)
	}
	if result.Grown != grows {
		t.Errorf("grown: %v, with %d bytes for an area of %d", result.Grown, result.IgnitionBytes, result.AreaBytes)
	}
	everyWay(t, written(t, image), found(c))
}

// minimal boots the image that has no root file system on it. That it would be
// fetched is for the real system to do: here it is the argument that counts.
func minimal(t *testing.T, base *iso.Base) {
	const rootfs = "http://192.0.2.1:8080/rootfs.img"
	small := must.Get(base.Minimal(t.Context(), rootfs))(t)
	c := customization(config(2 << 10))
	image, _, err := small.Customize(c)
	if err != nil {
		t.Fatal(err)
	}
	if image.Size() >= base.Image().Size() {
		t.Errorf("the minimal image has %d bytes, the full one %d", image.Size(), base.Image().Size())
	}
	want := found(c)
	want.live = "" // no argument makes the machine search for a medium
	want.kargs = append(want.kargs, "coreos.live.rootfs_url="+rootfs)
	everyWay(t, written(t, image), want)
}

// network boots over the network: the files as they are, and as iPXE fetches them.
func network(t *testing.T, base *iso.Base) {
	c := customization(config(300 << 10))
	n := must.Get(base.Netboot(c))(t)
	want := found(c)
	want.live = ""
	t.Run("kernel and initrd", func(t *testing.T) {
		t.Parallel()
		want.hold(t, boot(t, "-net", "none", "-kernel", written(t, n.Kernel), "-initrd", written(t, n.Initrd), "-append", n.Kargs))
	})
	for name, firmware := range map[string]func(*testing.T) []string{"ipxe-bios": func(*testing.T) []string { return nil }, "ipxe-uefi": uefi} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			address := serveNetboot(t, n)
			args := append(firmware(t), "-netdev", "user,id=n,bootfile=http://"+address+"/ipxe", "-device", "virtio-net-pci,netdev=n,bootindex=1")
			want := want
			want.kargs = append([]string{"coreos.live.rootfs_url=http://" + address + "/rootfs"}, want.kargs...)
			want.hold(t, boot(t, args...))
		})
	}
}

// serveNetboot serves the files and the script. What it returns is its address
// as the emulated machine sees it.
func serveNetboot(t *testing.T, n *iso.Netboot) string {
	t.Helper()
	listener := must.Get(net.Listen("tcp", "127.0.0.1:0"))(t)
	_, port, err := net.SplitHostPort(listener.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	address := "10.0.2.2:" + port // the host, in the network that QEMU makes
	url := "http://" + address
	script := n.Script(url+"/kernel", url+"/initrd", url+"/rootfs")
	files := map[string]*overlay.Image{"/kernel": n.Kernel, "/initrd": n.Initrd, "/rootfs": n.Rootfs, "/ipxe": overlay.Bytes([]byte(script))}
	server := &http.Server{Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if files[r.URL.Path] == nil {
			http.NotFound(w, r)
			return
		}
		overlay.Serve(w, r, files[r.URL.Path], overlay.Meta{ETag: fmt.Sprintf("%q", r.URL.Path)})
	})}
	go func() { _ = server.Serve(listener) }() // it ends by being closed
	t.Cleanup(func() { _ = server.Close() })
	return address
}

// written is an image as a file.
func written(t *testing.T, image *overlay.Image) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "image")
	must.Get(image.WriteFile(t.Context(), path, overlay.WriteOptions{}))(t)
	data := must.Get(os.ReadFile(path))(t)
	if whole := readAll(t, image); !bytes.Equal(data, whole) {
		t.Fatal("the file is not the image")
	}
	return path
}

func readAll(t *testing.T, image *overlay.Image) []byte {
	t.Helper()
	data := make([]byte, image.Size())
	must.Get(image.ReadAt(data, 0))(t)
	return data
}
