//go:build linux

package disk

import (
	"bytes"
	"compress/gzip"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"io"
	"log/slog"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/openshift/assisted-service/models"

	"github.com/oaictl/oaictl/internal/host/blockdevice"
	"github.com/oaictl/oaictl/internal/host/disk/coreos"
	"github.com/oaictl/oaictl/internal/host/disk/disktest"
	"github.com/oaictl/oaictl/internal/host/disk/image"
	"github.com/oaictl/oaictl/internal/host/disk/layout"
	"github.com/oaictl/oaictl/internal/host/hostfile"
	"github.com/oaictl/oaictl/internal/host/machine"
	"github.com/oaictl/oaictl/internal/shared/clock"
	"github.com/oaictl/oaictl/internal/shared/must"
)

type noWait struct{}

func (noWait) Now() time.Time                                   { return time.Time{} }
func (noWait) Sleep(ctx context.Context, _ time.Duration) error { return context.Cause(ctx) }

// box is a machine of files, with one disk.
type box struct {
	*testing.T
	Disks
	runner *machine.Recorder
	target Image
	log    bytes.Buffer
	// inMount is called with the root of a mounted file system.
	inMount  func(root string)
	percents []int
}

const mib = 1 << 20

func newBox(t *testing.T, args ...string) *box {
	t.Helper()
	b := &box{T: t, inMount: func(root string) { writeBoot(t, root) }}
	path := filepath.Join(t.TempDir(), "disk")
	must.Do(t, os.WriteFile(path, disktest.Image(512, 9*mib, disktest.Part{Number: 1, Offset: mib, Bytes: 7 * mib, NonZero: true}), 0o600))
	b.runner = &machine.Recorder{Reply: b.reply}
	b.Disks = Disks{
		Programs: b.runner, Files: hostfile.Files{Root: t.TempDir()}, Clock: clock.Of(noWait{}),
		Log: slog.New(slog.NewTextHandler(&b.log, nil)), Arch: "amd64", Verify: true,
	}
	b.file("/proc/self/mountinfo", "1 0 0:1 / / rw - rootfs rootfs rw\n")
	b.file("/opt/install-dir/master.ign", `{"ignition":{"version":"3.2.0"}}`)
	b.target = Image{
		Disk: must.Get(b.Inspect(path))(t), Ignition: "/opt/install-dir/master.ign", Args: args,
		Progress: func(percent int) { b.percents = append(b.percents, percent) },
	}
	return b
}

func (b *box) file(path, content string) {
	b.Helper()
	must.Do(b.T, b.Files.Write(path, []byte(content), 0o600))
}

func (b *box) reply(c machine.Command) (machine.Result, error) {
	if c.Name == "mount" {
		b.inMount(c.Args[len(c.Args)-1])
	}
	return machine.Result{}, nil
}

// content is what the disk has.
func (b *box) content() []byte {
	b.Helper()
	return must.Get(os.ReadFile(b.target.Disk.Path))(b.T)
}

func (b *box) bootable() bool {
	b.Helper()
	content := bytes.NewReader(b.content())
	_, first := layout.Read(content, 512)
	_, second := layout.ReadBackup(content, 512, content.Size())
	return first == nil || second == nil
}

func writeBoot(t *testing.T, root string) {
	t.Helper()
	must.Do(t, os.RemoveAll(filepath.Join(root, "ignition")))
	must.Do(t, os.MkdirAll(filepath.Join(root, "loader/entries"), 0o755))
	must.Do(t, os.WriteFile(filepath.Join(root, "loader/entries/ostree-1.conf"), []byte("options ignition.platform.id=metal\n"), 0o600))
	must.Do(t, os.WriteFile(filepath.Join(root, "ignition.firstboot"), nil, 0o600))
}

func packed(t *testing.T) []byte {
	t.Helper()
	var out bytes.Buffer
	w := gzip.NewWriter(&out)
	must.Get(w.Write(disktest.RHCOS()))(t)
	must.Do(t, w.Close())
	return out.Bytes()
}

func digest(content []byte) string {
	sum := sha256.Sum256(content)
	return hex.EncodeToString(sum[:])
}

const onMedium = "/run/media/iso/rhcos-9.6-metal.x86_64.raw.gz"

func TestWriteFromMedium(t *testing.T) {
	b := newBox(t, "--append-karg", "ip=52-54-00-00-00-01:dhcp")
	content := packed(t)
	b.file(onMedium, string(content))
	b.file(onMedium+".sha256", digest(content)+"  image\n")
	root := b.Files.Path("/run/oaictl-host/mount/boot")
	b.inMount = func(root string) {
		if b.bootable() {
			t.Error("the disk can boot before it has the Ignition config")
		}
		writeBoot(t, root)
	}
	must.Do(t, b.Write(t.Context(), b.target))
	if got := b.content()[:8*mib]; !bytes.Equal(got, disktest.RHCOS()) {
		t.Error("the disk differs from the image")
	}
	if got := string(must.Get(os.ReadFile(filepath.Join(root, "loader/entries/ostree-1.conf")))(t)); got != "options ignition.platform.id=metal ip=52-54-00-00-00-01:dhcp\n" {
		t.Errorf("the entry is %q", got)
	}
	if got := string(must.Get(os.ReadFile(filepath.Join(root, "ignition/config.ign")))(t)); got != `{"ignition":{"version":"3.2.0"}}` {
		t.Errorf("the config is %q", got)
	}
	want := []string{
		"mount -t ext4 -o loop,offset=6291456,sizelimit=1048576,nodev,nosuid,noexec " + b.target.Disk.Path + " " + root,
		"umount " + root, "udevadm settle --timeout=30",
	}
	if got := b.runner.Commands(); !slices.Equal(got, want) {
		t.Errorf("the commands are %q", got)
	}
	if b.percents[0] != 0 || b.percents[len(b.percents)-1] != 100 || !slices.IsSorted(b.percents) {
		t.Errorf("the percentages are %v", b.percents)
	}
}

// mediumServer serves an image, and fails first.
type mediumServer struct {
	content []byte
	fail    int
}

func (m *mediumServer) Do(request *http.Request) (*http.Response, error) {
	if m.fail > 0 {
		m.fail--
		return &http.Response{StatusCode: http.StatusNotFound, Body: http.NoBody, Request: request}, nil
	}
	return &http.Response{
		StatusCode: http.StatusOK, ContentLength: int64(len(m.content)), Body: io.NopCloser(bytes.NewReader(m.content)), Header: http.Header{},
	}, nil
}

func TestWriteFromURL(t *testing.T) {
	b := newBox(t, "--image-url", "https://images.example.com/rhcos.raw.gz?token=secret")
	server := &mediumServer{content: packed(t)}
	b.Client = server
	must.Do(t, b.Write(t.Context(), b.target))
	if got := b.content()[:8*mib]; !bytes.Equal(got, disktest.RHCOS()) {
		t.Error("the disk differs from the image")
	}
	server.fail = 1
	err := b.Write(t.Context(), b.target)
	if err == nil || !strings.Contains(err.Error(), "try 1") || !strings.Contains(err.Error(), "404") || strings.Contains(err.Error(), "secret") {
		t.Errorf("got %v", err)
	}
	if b.bootable() {
		t.Error("the disk can boot after writing failed")
	}
	if strings.Contains(b.log.String(), "secret") {
		t.Error("the log has the query of the URL")
	}
}

func TestWriteFails(t *testing.T) {
	for name, test := range map[string]struct {
		break_ func(b *box)
		want   string
		mounts int
	}{
		"mount": {func(b *box) {
			b.runner.Reply = func(c machine.Command) (machine.Result, error) {
				return machine.Result{Code: 32, Stderr: []byte("no loop device")}, nil
			}
		}, "try 3: mount the file system boot", 3},
		"boot file system": {func(b *box) {
			b.inMount = func(root string) { must.Do(b.T, os.RemoveAll(filepath.Join(root, "ignition"))) }
		}, "try 3: change the kernel arguments", 3},
		"digest":    {func(b *box) { b.file(onMedium+".sha256", digest(nil)) }, "try 3: write the image", 0},
		"no digest": {func(b *box) { b.file(onMedium+".sha256", "x") }, "is no SHA-256 digest", 0},
		"config":    {func(b *box) { b.file("/opt/install-dir/master.ign", `{"secret`) }, "is not JSON", 0},
		"no config": {func(b *box) { must.Do(b.T, b.Files.Remove("/opt/install-dir/master.ign")) }, "read the Ignition config", 0},
		"arguments": {func(b *box) { b.target.Args = []string{"/dev/sdb"} }, "the disk is not chosen here", 0},
		"too small": {func(b *box) {
			must.Do(b.T, os.Truncate(b.target.Disk.Path, 7*mib))
			b.target.Disk = must.Get(b.Inspect(b.target.Disk.Path))(b.T)
		}, "try 1: write the image", 0},
		"another disk": {func(b *box) { must.Do(b.T, os.Truncate(b.target.Disk.Path, 7*mib)) }, "it is another disk", 0},
	} {
		t.Run(name, func(t *testing.T) {
			b := newBox(t, "--append-karg", "a")
			b.file(onMedium, string(packed(t)))
			test.break_(b)
			before := digest(b.content())
			err := b.Write(t.Context(), b.target)
			if err == nil || !strings.Contains(err.Error(), test.want) || strings.Contains(err.Error(), "secret") {
				t.Errorf("got %v, want %q", err, test.want)
			}
			if digest(b.content()) != before && b.bootable() {
				t.Error("the disk can boot")
			}
			mounts := 0
			for _, command := range b.runner.Commands() {
				if strings.HasPrefix(command, "mount") {
					mounts++
				}
			}
			if mounts != test.mounts {
				t.Errorf("the commands are %q", b.runner.Commands())
			}
		})
	}
}

func TestWriteIsCancelled(t *testing.T) {
	b := newBox(t)
	b.file(onMedium, string(packed(t)))
	ctx, cancel := context.WithCancel(t.Context())
	b.inMount = func(root string) { writeBoot(t, root); cancel() }
	if err := b.Write(ctx, b.target); !errors.Is(err, context.Canceled) {
		t.Errorf("got %v", err)
	}
	if b.bootable() {
		t.Error("the disk can boot")
	}
	if got := b.runner.Commands(); len(got) != 2 || !strings.HasPrefix(got[1], "umount") {
		t.Errorf("the commands are %q", got)
	}
}

func TestLeftoverMount(t *testing.T) {
	b := newBox(t)
	root := b.Files.Path("/run/oaictl-host/mount/boot")
	b.file("/proc/self/mountinfo", "9 1 7:0 / "+root+" rw - ext4 /dev/loop0 rw\n")
	must.Do(t, b.Clear(t.Context(), b.target.Disk))
	if got := b.runner.Commands(); !slices.Equal(got, []string{"umount " + root}) {
		t.Errorf("the commands are %q", got)
	}
	if b.bootable() {
		t.Error("the disk can boot")
	}
}

func TestWriteByProgram(t *testing.T) {
	keep := []string{"--save-partindex", "5-", "--append-karg", "a"}
	for name, test := range map[string]struct {
		args    []string
		fails   bool
		cleared bool
	}{
		"osmet":                          {},
		"osmet fails":                    {fails: true, cleared: true},
		"partitions are kept":            {args: keep},
		"partitions are kept on failure": {args: keep, fails: true},
	} {
		t.Run(name, func(t *testing.T) {
			b := newBox(t, test.args...)
			b.file("/run/coreos-installer/osmet/x86_64-512.osmet", "")
			b.file(onMedium, "")
			b.runner.Reply = func(machine.Command) (machine.Result, error) {
				result := machine.Result{Stderr: []byte("Installing\x1b[1m\nRead disk (3%)\rRead disk (50%)\rRead disk (100%)\n")}
				if test.fails {
					result.Code = 1
				}
				return result, nil
			}
			err := b.Write(t.Context(), b.target)
			if (err != nil) != test.fails {
				t.Errorf("got %v", err)
			}
			if b.bootable() == test.cleared {
				t.Errorf("the disk was cleared: %t", !b.bootable())
			}
			want := strings.Join(append([]string{"coreos-installer install --insecure -i " + b.Files.Path(b.target.Ignition)},
				append(test.args, b.target.Disk.Path)...), " ")
			commands, count := b.runner.Commands(), 1
			if test.fails {
				count = tries
			}
			if !slices.Equal(commands, slices.Repeat([]string{want}, count)) {
				t.Errorf("the commands are %q", commands)
			}
			if once := []int{0, 3, 50, 100}; !slices.Equal(b.percents, slices.Repeat(once, count)) {
				t.Errorf("the percentages are %v", b.percents)
			}
			if strings.Contains(b.log.String(), "\x1b") || !strings.Contains(b.log.String(), "Installing") {
				t.Errorf("the log is %s", b.log.String())
			}
		})
	}
}

func TestChoose(t *testing.T) {
	const url, raw, large, arm = "https://a/b.raw.gz", "/run/coreos/a.raw.xz", "/run/media/iso/a-metal4k.x86_64.raw.gz", "/run/media/iso/a.aarch64.raw"
	const osmet = "/run/coreos-installer/osmet/a.osmet"
	for name, test := range map[string]struct {
		files  []string
		args   []string
		absent bool // coreos-installer
		arch   string
		sector int64
		want   string // the source; "" is coreos-installer
		err    string
	}{
		"nothing":                  {absent: true, err: "there is no image to write"},
		"only the program":         {},
		"osmet":                    {files: []string{osmet, raw}},
		"osmet without program":    {files: []string{osmet, raw}, absent: true, want: raw},
		"file":                     {files: []string{raw}, want: raw},
		"URL":                      {files: []string{osmet, raw}, args: []string{"--image-url", url}, want: url},
		"bad URL":                  {args: []string{"--image-url", "file:///etc/passwd"}, err: "must begin with http"},
		"named file":               {files: []string{osmet, raw}, args: []string{"--image-file", "/mnt/x.raw"}, want: "/mnt/x.raw"},
		"partitions are kept":      {args: []string{"--image-url", url, "--save-partindex", "3"}},
		"partitions, no program":   {args: []string{"--save-partindex", "3"}, absent: true, err: "only coreos-installer can do this"},
		"s390x":                    {files: []string{raw}, arch: "s390x"},
		"of another architecture":  {files: []string{arm}, absent: true, err: "there is no image to write"},
		"arm64":                    {files: []string{arm}, arch: "arm64", want: arm},
		"large sectors":            {files: []string{raw, large}, sector: 4096, want: large},
		"small sectors":            {files: []string{raw, large}, want: raw},
		"only for large sectors":   {files: []string{large}, absent: true, err: "there is no image to write"},
		"compressed before others": {files: []string{"/run/coreos/a.raw", raw}, want: raw},
	} {
		t.Run(name, func(t *testing.T) {
			b := newBox(t)
			for _, file := range test.files {
				b.file(file, "")
			}
			if test.absent {
				b.runner.Absent = []string{installer}
			}
			if test.arch != "" {
				b.Arch = test.arch
			}
			source, err := b.choose(must.Get(coreos.Parse(test.args))(t), max(512, test.sector))
			if (err != nil) != (test.err != "") || err != nil && !strings.Contains(err.Error(), test.err) {
				t.Fatalf("got %v, want %q", err, test.err)
			}
			got := ""
			if source != nil && err == nil {
				got = source.Source.String()
				if file, is := source.Source.(image.File); is {
					got = strings.TrimPrefix(file.Path, b.Files.Root)
				}
			}
			if got != test.want {
				t.Errorf("got %q, want %q", got, test.want)
			}
		})
	}
}

func TestOtherRelease(t *testing.T) {
	for version, warns := range map[string]bool{"4.19": false, `"4.18"`: true, "": false} {
		b := newBox(t)
		b.Release = "4.19.3"
		b.file(osRelease, "NAME=a\nOPENSHIFT_VERSION="+version+"\n")
		b.warnOfOtherRelease()
		if got := strings.Contains(b.log.String(), "another release"); got != warns {
			t.Errorf("%s: %s", version, b.log.String())
		}
	}
}

func TestCleanAndFormat(t *testing.T) {
	b := newBox(t)
	must.Do(t, b.Format(t.Context(), b.target.Disk))
	if content := b.content(); !bytes.Equal(content[:512], make([]byte, 512)) || bytes.Equal(content[512:1024], make([]byte, 512)) {
		t.Error("not the first 512 bytes are zero")
	}
	b.runner.Reply = func(c machine.Command) (machine.Result, error) {
		return machine.Result{Stdout: []byte(`{"report":[{"pv":[{"pv_name":"/dev/none","vg_name":"a","vg_uuid":""}]}]}`)}, nil
	}
	must.Do(t, b.Clean(t.Context(), b.target.Disk))
	if b.bootable() {
		t.Error("the disk can boot")
	}
}

func TestMatch(t *testing.T) {
	names := blockdevice.Names{Serials: []string{"S3R AL", "VENDOR_Disk_S3R_AL"}, WWNs: []string{"naa.5000c500aabbccdd", "0x5000c500aabbccdd0011223344556677"}}
	for _, test := range []struct {
		disk models.Disk
		want string
	}{
		{models.Disk{}, ""},
		{models.Disk{SizeBytes: 1000, Serial: "S3R_AL", Wwn: "0x5000c500aabbccdd"}, ""},
		{models.Disk{Serial: "S3R_AL", Wwn: "0x5000C500AABBCCDD0011223344556677"}, ""},
		{models.Disk{Serial: "unknown"}, ""},
		{models.Disk{Serial: "VENDOR_Disk_X_S3R_AL"}, ""}, // udev adds vendor and model
		{models.Disk{Serial: "AL"}, "its serial number"},
		{models.Disk{SizeBytes: 1001}, "its size is 1000 bytes instead of 1001"},
		{models.Disk{Serial: "S3R"}, `its serial number is "S3R AL" instead of "S3R"`},
		{models.Disk{Wwn: "0x5000c500aabbccde"}, "its WWN"},
		{models.Disk{Wwn: "0x5000"}, "its WWN"},
		{models.Disk{Wwn: "0x5000c500aabbccdd0011223344556678"}, "its WWN"}, // another disk of the same array
		{models.Disk{Wwn: "eui.5000c500aabbccdd00112233"}, ""},              // it begins with one that is known
	} {
		err := match(blockdevice.Identity{Path: "/dev/sda", Size: 1000}, names, &test.disk)
		refused, is := errors.AsType[*blockdevice.Refused](err)
		if is != (test.want != "") || is && !strings.Contains(refused.Reason, test.want) {
			t.Errorf("%+v: %v, want %q", test.disk, err, test.want)
		}
	}
	unknown := models.Disk{Serial: "a", Wwn: "b"}
	if err := match(blockdevice.Identity{}, blockdevice.Names{}, &unknown); err != nil {
		t.Errorf("names that the machine does not know: %v", err)
	}
	b := newBox(t)
	if err := b.Match(b.target.Disk, &models.Disk{SizeBytes: 9 * mib}); err != nil {
		t.Error(err)
	}
}

func TestKeepsPartitions(t *testing.T) {
	for args, keeps := range map[string]bool{
		"--save-partindex 5-": true, "--save-partlabel=data*": true, "--append-karg a": false, "--offline": false, "--unknown": false,
	} {
		if got := KeepsPartitions(strings.Fields(args)); got != keeps {
			t.Errorf("%s: %t", args, got)
		}
	}
}

// TestMappedDisk shows what becomes of the partitions of a multipath device, which the kernel does not have.
func TestMappedDisk(t *testing.T) {
	b := newBox(t)
	id := blockdevice.Identity{Path: "/dev/dm-0"}
	b.hidePartitions(t.Context(), id)
	must.Do(t, b.showPartitions(t.Context(), id))
	want := []string{"kpartx -d -n /dev/dm-0", "kpartx -u -n /dev/dm-0", "udevadm settle --timeout=30"}
	if got := b.runner.Commands(); !slices.Equal(got, want) {
		t.Errorf("the commands are %q", got)
	}
	b.runner.Absent = []string{"kpartx", "udevadm"}
	b.hidePartitions(t.Context(), id)
	if err := b.showPartitions(t.Context(), id); err == nil || !strings.Contains(err.Error(), "partitions of /dev/dm-0") {
		t.Errorf("got %v", err)
	}
	must.Do(t, b.showPartitions(t.Context(), blockdevice.Identity{Path: "/dev/sda"}))
}

// hanging is a server that sends nothing, and a connection that nothing ends: as a disk or a medium that does not answer.
type hanging chan struct{}

func (h hanging) Do(*http.Request) (*http.Response, error) {
	return &http.Response{StatusCode: http.StatusOK, ContentLength: 1 << 20, Body: h}, nil
}

func (h hanging) Read([]byte) (int, error) {
	<-h
	return 0, io.ErrUnexpectedEOF
}

func (hanging) Close() error { return nil }

// TestWriteDoesNotWaitForEver: what does not answer does not keep the installation from its end, and tells nothing later.
func TestWriteDoesNotWaitForEver(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBox(t, "--image-url", "https://images.example.com/rhcos.raw.gz")
		release := make(hanging)
		b.Client, b.Clock = release, clock.Real()
		ended := false
		b.target.Progress = func(int) {
			if ended {
				t.Error("progress is told after the end")
			}
		}
		began := time.Now()
		err := b.Write(t.Context(), b.target)
		ended = true
		if took := time.Since(began); took != writeLimit+answerLimit {
			t.Errorf("it took %s", took)
		}
		if err == nil || !strings.Contains(err.Error(), "it took longer than 2h") || !strings.Contains(err.Error(), "did not answer") {
			t.Errorf("got %v", err)
		}
		close(release)
	})
}

func TestClearDoesNotWaitForEver(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		release := make(chan struct{})
		err := inTime(t.Context(), func(context.Context) error { <-release; return nil })
		if err == nil || !strings.Contains(err.Error(), "it did not answer in 4s") {
			t.Errorf("got %v", err)
		}
		close(release)
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		broken := errors.New("broken")
		if err := inTime(ctx, func(ctx context.Context) error { return errors.Join(ctx.Err(), broken) }); !errors.Is(err, broken) || errors.Is(err, context.Canceled) {
			t.Errorf("got %v", err)
		}
	})
}
