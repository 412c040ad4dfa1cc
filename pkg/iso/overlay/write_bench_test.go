//go:build e2e && linux

package overlay_test

import (
	"bufio"
	"context"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/oaictl/oaictl/internal/shared/must"
	"github.com/oaictl/oaictl/pkg/iso/overlay"
)

const (
	gibibyte = 1 << 30
	// The embed area of a live ISO, what an archive takes of it, and an area of
	// kernel arguments.
	areaSize, archiveSize, kargsSize = 262_144, 20_000, 1_139
)

// BenchmarkWriteFile writes one machine's image of 1 GiB beside cp, cat and a
// bare copy_file_range, in turns, on the filesystem of the temporary folder.
// What is reported is the fastest of each.
func BenchmarkWriteFile(b *testing.B) {
	const bound = 1.1
	dir := b.TempDir()
	base := bigBase(b, dir)
	out := filepath.Join(dir, "out")
	ways := map[string]func() error{
		"WriteFile": func() error {
			_, err := machine(base, 1).WriteFile(b.Context(), out, overlay.WriteOptions{})
			return err
		},
		"cp":              func() error { return exec.Command("cp", base.Name(), out).Run() },
		"cat":             func() error { return catTo(base.Name(), out) },
		"copy_file_range": func() error { return kernelCopyTo(base, out) },
	}
	times := map[string][]time.Duration{}
	for b.Loop() {
		for range 5 {
			for name, way := range ways {
				times[name] = append(times[name], timed(b, way))
				must.Do(b, os.Remove(out))
			}
		}
	}
	own := slices.Min(times["WriteFile"])
	b.ReportMetric(milliseconds(own), "ms")
	for _, other := range []string{"cp", "cat", "copy_file_range"} {
		best := slices.Min(times[other])
		b.ReportMetric(milliseconds(best), other+"-ms")
		b.ReportMetric(float64(own)/float64(best), "x-"+other)
	}
	if cp := slices.Min(times["cp"]); float64(own) > bound*float64(cp) {
		b.Errorf("writing takes %s, cp %s; the bound is %g of that", own, cp, bound)
	}
}

// BenchmarkPrepare makes one machine's image of a base that is known.
func BenchmarkPrepare(b *testing.B) {
	base := file(b, nil)
	archive, kargs := noise(1, archiveSize), noise(2, kargsSize)
	b.ReportAllocs()
	for b.Loop() {
		patch(overlay.New(base, gibibyte), archive, kargs).Tag("base")
	}
}

// machine is the image of a machine: an archive in the embed area, with zeros after it, and two areas of kernel
// arguments.
func machine(base *os.File, i int) *overlay.Image {
	return patch(overlay.New(base, gibibyte), noise(uint64(i), archiveSize), noise(uint64(i), kargsSize))
}

func patch(m *overlay.Image, archive, kargs []byte) *overlay.Image {
	const area, grub, isolinux = 100 << 20, 3 << 20, 5<<20 + 77
	m.Overlay(area, archive)
	m.Zero(area+int64(len(archive)), areaSize-int64(len(archive)))
	m.Overlay(grub, kargs)
	m.Overlay(isolinux, kargs)
	return m
}

// bigBase is a file of 1 GiB without holes, on the disk already.
func bigBase(b *testing.B, dir string) *os.File {
	b.Helper()
	f := must.Get(os.Create(filepath.Join(dir, "base.iso")))(b)
	b.Cleanup(func() { f.Close() })
	random := rand.NewChaCha8([32]byte{1})
	w := bufio.NewWriterSize(f, 1<<20)
	block := make([]byte, 1<<20)
	for range gibibyte / len(block) {
		must.Get(random.Read(block))(b)
		must.Get(w.Write(block))(b)
	}
	must.Do(b, w.Flush())
	must.Do(b, f.Sync())
	return f
}

func catTo(from, to string) error {
	out, err := os.Create(to)
	if err != nil {
		return err
	}
	defer out.Close()
	cat := exec.Command("cat", from)
	cat.Stdout = out
	return cat.Run()
}

func kernelCopyTo(from *os.File, to string) error {
	out, err := os.Create(to)
	if err != nil {
		return err
	}
	defer out.Close()
	for in, at := int64(0), int64(0); at < gibibyte; {
		n, err := unix.CopyFileRange(int(from.Fd()), &in, int(out.Fd()), &at, gibibyte, 0)
		if err != nil || n == 0 {
			return fmt.Errorf("copy_file_range at %d: %d, %w", at, n, err)
		}
	}
	return nil
}

func timed(b *testing.B, do func() error) time.Duration {
	b.Helper()
	start := time.Now()
	if err := do(); err != nil && context.Cause(b.Context()) == nil {
		b.Fatal(err)
	}
	return time.Since(start)
}

// used is how much of a filesystem is taken, in bytes.
func used(b *testing.B, dir string) float64 {
	b.Helper()
	unix.Sync()
	var fs syscall.Statfs_t
	must.Do(b, syscall.Statfs(dir, &fs))
	return float64(fs.Blocks-fs.Bfree) * float64(fs.Bsize)
}

func median(d []time.Duration) time.Duration {
	slices.Sort(d)
	return d[len(d)/2]
}

func milliseconds(d time.Duration) float64 { return float64(d.Microseconds()) / 1000 }
