//go:build linux

package diskspeed

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/openshift/assisted-service/models"

	"github.com/oaictl/oaictl/internal/host/blockdevice"
	"github.com/oaictl/oaictl/internal/shared/clock"
	"github.com/oaictl/oaictl/internal/shared/must"
)

const diskSize = 32 << 20

// ticking is a clock on which a millisecond passes at each look.
type ticking struct {
	mu  sync.Mutex
	now time.Time
}

func (t *ticking) Now() time.Time {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.now = t.now.Add(time.Millisecond)
	return t.now
}

func (*ticking) Sleep(context.Context, time.Duration) error { return nil }

// checker measures 100 kB of image files, and logs to the buffer.
func checker(log io.Writer) Checker {
	return Checker{Clock: clock.Of(&ticking{}), Log: slog.New(slog.NewTextHandler(log, nil)), Images: true, size: 100_000}
}

// image is the image of a disk with this content at one place, and zeros else.
func image(t testing.TB, content string, at int64) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "disk")
	file := must.Get(os.Create(path))(t)
	must.Do(t, file.Truncate(diskSize))
	if at < 0 {
		at += diskSize
	}
	_, err := file.WriteAt([]byte(content), at)
	must.Do(t, err)
	must.Do(t, file.Close())
	return path
}

func ask(t testing.TB, path string) []string {
	t.Helper()
	return []string{string(must.Get(json.Marshal(map[string]string{"path": path}))(t)), "480.00"}
}

// state is all that shows that a file was written to.
func state(t testing.TB, path string) string {
	t.Helper()
	content := must.Get(os.ReadFile(path))(t)
	info := must.Get(os.Stat(path))(t)
	return fmt.Sprintf("%x %d %s", sha256.Sum256(content), len(content), info.ModTime())
}

func TestEmptyDiskIsMeasuredAndLeftEmpty(t *testing.T) {
	path := image(t, "", 0)
	code, stdout, stderr := checker(t.Output()).Execute(t.Context(), ask(t, path))
	if code != 0 || stderr != "" {
		t.Fatalf("exit code %d, stderr %q", code, stderr)
	}
	var answer models.DiskSpeedCheckResponse
	must.Do(t, json.Unmarshal([]byte(stdout), &answer))
	if answer.Path != path || answer.IoSyncDuration < 1 {
		t.Errorf("answered %s", stdout)
	}
	if content := must.Get(os.ReadFile(path))(t); !bytes.Equal(content, make([]byte, diskSize)) {
		t.Error("the disk is not as empty as before")
	}
}

// TestDiskThatHoldsSomethingIsNotWritten has a disk for each signature, and one for each edge of what is looked at.
func TestDiskThatHoldsSomethingIsNotWritten(t *testing.T) {
	type held struct {
		content string
		at      int64
		says    string
	}
	tests := map[string]held{
		"first byte":                   {"\x01", 0, "its byte 0 is not zero"},
		"last byte that is written":    {"\x01", written - 1, "its byte 23068671 is not zero"},
		"last byte at the start":       {"\xff", looked - 1, "its byte 25165823 is not zero"},
		"first byte at the end":        {"\x80", -ends, "its byte 32505856 is not zero"},
		"last byte":                    {"\x01", -1, "its byte 33554431 is not zero"},
		"GPT with sectors of 4 KiB":    {"EFI PART", 4096, "GPT"},
		"only the second GPT":          {"EFI PART", -512, "GPT"},
		"RAID 0.90":                    {mdMagic, -64 << 10, "md 0.90 or 1.0"},
		"RAID 0.90 of other byteorder": {"\xa9\x2b\x4e\xfc", -64 << 10, "md 0.90 or 1.0"},
		"RAID 1.0":                     {mdMagic, -8 << 10, "md 0.90 or 1.0"},
		"RAID 1.2":                     {mdMagic, 4096, "md 1.1 or 1.2"},
		"ZFS":                          {zfsMagic, 128<<10 + 5<<10, "ZFS"},
		"ZFS, other byte order":        {"\x00\x00\x00\x00\x00\xba\xb1\x0c", 128 << 10, "ZFS"},
		"ZFS, last label":              {zfsMagic, -128 << 10, "ZFS"},
	}
	for _, s := range known {
		tests[fmt.Sprintf("%s at %d", s.name, s.at[0])] = held{s.magic, s.at[0], s.name}
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			path := image(t, test.content, test.at)
			before := state(t, path)
			code, stdout, stderr := checker(t.Output()).Execute(t.Context(), ask(t, path))
			if want := fmt.Sprintf(`{"path":%q}`, path); code != 0 || stdout != want {
				t.Errorf("exit code %d, answer %s, want %s", code, stdout, want)
			}
			if !strings.Contains(stderr, test.says) || !strings.Contains(stderr, "is not measured") {
				t.Errorf("stderr says %q, want %q", stderr, test.says)
			}
			if after := state(t, path); after != before {
				t.Errorf("the disk was written: %s, before %s", after, before)
			}
		})
	}
}

func TestSmallDiskIsNotMeasured(t *testing.T) {
	path := filepath.Join(t.TempDir(), "disk")
	must.Do(t, os.WriteFile(path, make([]byte, looked), 0o600))
	code, stdout, stderr := checker(t.Output()).Execute(t.Context(), ask(t, path))
	if code != 0 || strings.Contains(stdout, "io_sync_duration") || !strings.Contains(stderr, "26214400 are needed") {
		t.Errorf("exit code %d, answer %s, stderr %s", code, stdout, stderr)
	}
}

// TestRefusedDiskIsNotMeasured: blockdevice refuses a disk in use; here it is an image outside of the test's folder.
func TestRefusedDiskIsNotMeasured(t *testing.T) {
	folder := must.Get(os.MkdirTemp("", "not-of-a-test"))(t) //nolint:usetesting // a folder that is none of a test
	t.Cleanup(func() { must.Do(t, os.RemoveAll(folder)) })
	path := filepath.Join(folder, "disk")
	must.Do(t, os.WriteFile(path, nil, 0o600))
	must.Do(t, os.Truncate(path, diskSize))
	before := state(t, path)
	code, stdout, stderr := checker(t.Output()).Execute(t.Context(), ask(t, path))
	if code != 0 || strings.Contains(stdout, "io_sync_duration") || !strings.Contains(stderr, "refuse to write") {
		t.Errorf("exit code %d, answer %s, stderr %s", code, stdout, stderr)
	}
	if state(t, path) != before {
		t.Error("the file was written")
	}
}

func TestArguments(t *testing.T) {
	for name, test := range map[string]struct {
		args []string
		says string
	}{
		"none":              {nil, "there is none"},
		"no JSON":           {[]string{"/dev/sda"}, "invalid character"},
		"no path":           {[]string{`{}`}, `"path" is missing`},
		"path is no text":   {[]string{`{"path":5}`}, `"path" is missing`},
		"empty path":        {[]string{`{"path":""}`}, "no path of a disk"},
		"relative path":     {[]string{`{"path":"sda"}`}, "no path of a disk"},
		"path leads out":    {[]string{`{"path":"/dev/../etc/shadow"}`}, "no path of a disk"},
		"no device":         {[]string{`{"path":"/etc/shadow"}`}, "no path of a disk"},
		"shell":             {[]string{`{"path":"/dev/sda; reboot"}`}, "no such file"},
		"zero byte":         {[]string{`{"path":"/dev/sda\u0000"}`}, "no path of a disk"},
		"not there":         {[]string{`{"path":"/dev/no-such-disk"}`}, "no such file"},
		"no disk":           {[]string{`{"path":"/dev/null"}`}, "it is not a disk"},
		"steers a terminal": {[]string{`{"path":"/dev/\u001b[2J"}`}, `\x1b`},
		"no seconds":        {[]string{`{"path":"/dev/sda"}`, "fast"}, "no seconds"},
		"negative seconds":  {[]string{`{"path":"/dev/sda"}`, "-1"}, "no seconds"},
		"no number":         {[]string{`{"path":"/dev/sda"}`, "NaN"}, "no seconds"},
		"too many seconds":  {[]string{`{"path":"/dev/sda"}`, "1e9"}, "no seconds"},
	} {
		t.Run(name, func(t *testing.T) {
			c := checker(t.Output())
			c.Images = false
			code, stdout, stderr := c.Execute(t.Context(), test.args)
			if code != exitFailed || strings.Contains(stdout, "io_sync_duration") || !strings.Contains(stderr, test.says) {
				t.Errorf("exit code %d, answer %q, stderr %q, want %q", code, stdout, stderr, test.says)
			}
			if strings.ContainsRune(stderr, 0x1b) {
				t.Errorf("stderr steers a terminal: %q", stderr)
			}
		})
	}
}

func TestUnknownArgumentsAreIgnoredAndLogged(t *testing.T) {
	var log bytes.Buffer
	asked, err := checker(&log).parse([]string{`{"path":"/dev/sda","new":1}`})
	if err != nil || asked.path != "/dev/sda" || asked.timeout != defaultTimeout || !strings.Contains(log.String(), "new") {
		t.Errorf("got %+v, %v, log %s", asked, err, log.String())
	}
	if asked, err = checker(&log).parse([]string{`{"path":"/dev/sda"}`, "0.50"}); err != nil || asked.timeout != time.Second/2 {
		t.Errorf("got %+v, %v", asked, err)
	}
}

// TestOnAMachineAFileIsNoDisk: only a test measures images.
func TestOnAMachineAFileIsNoDisk(t *testing.T) {
	c := checker(t.Output())
	c.Images = false
	path := image(t, "", 0)
	if _, err := c.check(t.Context(), request{path: path}); err == nil || !strings.Contains(err.Error(), "it is a file") {
		t.Errorf("got %v", err)
	}
}

func TestRun(t *testing.T) {
	path := image(t, "", 0)
	var out, errOut bytes.Buffer
	args := []string{"-with-journal-logging=false", ask(t, path)[0]}
	if code := checker(t.Output()).Run(t.Context(), args, &out, &errOut); code != 0 || errOut.Len() > 0 {
		t.Errorf("exit code %d, stderr %q", code, errOut.String())
	}
	if !strings.HasPrefix(out.String(), `{"io_sync_duration":`) {
		t.Errorf("printed %q", out.String())
	}
}

// TestPartitionsAndHolders: the kernel's word counts although the disk looks empty.
func TestPartitionsAndHolders(t *testing.T) {
	for name, test := range map[string]struct{ file, says string }{
		"nothing":     {"holders/.", ""},
		"a partition": {"sda1/partition", "it has the partition sda1"},
		"a holder":    {"holders/dm-0", "it is part of the device dm-0"},
		"no partition, only a folder": {
			"queue/size", "",
		},
	} {
		t.Run(name, func(t *testing.T) {
			root := t.TempDir()
			disk := filepath.Join(root, "sys/devices/pci0/block/sda")
			must.Do(t, os.MkdirAll(filepath.Join(disk, "holders"), 0o755))
			must.Do(t, os.MkdirAll(filepath.Join(root, "sys/dev/block"), 0o755))
			must.Do(t, os.Symlink("../../devices/pci0/block/sda", filepath.Join(root, "sys/dev/block/8:0")))
			if !strings.HasSuffix(test.file, ".") {
				must.Do(t, os.MkdirAll(filepath.Dir(filepath.Join(disk, test.file)), 0o755))
				must.Do(t, os.WriteFile(filepath.Join(disk, test.file), nil, 0o600))
			}
			c := Checker{Disks: blockdevice.Disks{Root: root}}
			err := c.lookAtKernel("8:0")
			var left *notMeasured
			if test.says == "" && err != nil || test.says != "" && (!errors.As(err, &left) || left.reason != test.says) {
				t.Errorf("got %v, want %q", err, test.says)
			}
			if err := c.lookAtKernel("8:16"); err == nil || errors.As(err, &left) {
				t.Errorf("a disk that the kernel does not describe: %v", err)
			}
		})
	}
}

// sparse is a disk of which one part is not zero.
type sparse struct {
	content []byte
	at      int64
}

func (s sparse) ReadAt(p []byte, at int64) (int, error) {
	clear(p)
	if from := s.at - at; from >= int64(len(p)) || from+int64(len(s.content)) <= 0 {
		return len(p), nil
	} else if from >= 0 {
		copy(p[from:], s.content)
	} else {
		copy(p, s.content[-from:])
	}
	return len(p), nil
}

// FuzzLookAtContent: no content with a byte that is not zero counts as an empty disk.
func FuzzLookAtContent(f *testing.F) {
	for _, s := range known {
		f.Add([]byte(s.magic), uint32(max(s.at[0], 0)))
	}
	f.Add([]byte{0, 0, 0}, uint32(5))
	f.Fuzz(func(t *testing.T, content []byte, at uint32) {
		if int64(at)+int64(len(content)) > looked {
			t.Skip("it is not looked at")
		}
		isEmpty := len(bytes.Trim(content, "\x00")) == 0
		if err := lookAtContent(t.Context(), sparse{content, int64(at)}, diskSize); (err == nil) != isEmpty {
			t.Errorf("empty %t: %v", isEmpty, err)
		}
	})
}

// FuzzParse: what is accepted is a path below /dev, and a time within limits.
func FuzzParse(f *testing.F) {
	f.Add(`{"path":"/dev/sda"}`, "480.00")
	f.Add(`{"path":"/dev/disk/by-path/pci-0000:06:0000.0"}`, "0")
	f.Add(`{"path":"/dev/../etc"}`, "1e400")
	f.Fuzz(func(t *testing.T, object, seconds string) {
		asked, err := Checker{}.parse([]string{object, seconds})
		if err != nil {
			return
		}
		if !strings.HasPrefix(asked.path, "/dev/") || strings.Contains(asked.path, "/../") || asked.timeout > longestTimeout || asked.timeout < 0 {
			t.Errorf("accepted %+v", asked)
		}
	})
}
