//go:build e2e && linux

package image

import (
	"bytes"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/oaictl/oaictl/internal/host/blockdevice"
	"github.com/oaictl/oaictl/internal/host/disk/disktest"
	"github.com/oaictl/oaictl/internal/shared/must"
)

// benchmarkImage is an image of 256 MiB, a quarter of it zeros, the rest a mix of random bytes and text.
func benchmarkImage() []byte {
	const mib = 1 << 20
	image := disktest.Image(512, 256*mib, disktest.Part{Number: 4, Offset: mib, Bytes: 254 * mib})
	random := rand.NewChaCha8([32]byte{1})
	_, _ = random.Read(image[mib : 64*mib])
	text := bytes.Repeat([]byte("kernel arguments of CoreOS; "), 4096)
	for at := 64 * mib; at+len(text) < 192*mib; at += len(text) {
		_, _ = random.Read(text[:len(text)/3])
		copy(image[at:], text)
	}
	return image
}

// BenchmarkWrite writes an image in each format to a file, in turns with dd and the program that unpacks it.
func BenchmarkWrite(b *testing.B) {
	image := benchmarkImage()
	folder := b.TempDir()
	for format, program := range map[Format][]string{
		Raw:  {"dd", "bs=4M", "oflag=direct", "conv=fsync,notrunc", "status=none", "of=" + filepath.Join(folder, "disk"), "if=" + filepath.Join(folder, "image.raw")},
		Gzip: {"gzip", "-dc", filepath.Join(folder, "image.gz")},
		XZ:   {"xz", "-T1", "-dc", filepath.Join(folder, "image.xz")},
		Zstd: {"zstd", "-q", "-dc", filepath.Join(folder, "image.zst")},
	} {
		file := filepath.Join(folder, "image."+string(format))
		must.Do(b, os.WriteFile(file, quickly(b, format, image), 0o600))
		must.Do(b, os.WriteFile(filepath.Join(folder, "disk"), make([]byte, len(image)), 0o600))
		b.Run(string(format)+"/writer", func(b *testing.B) {
			b.SetBytes(int64(len(image)))
			disks := blockdevice.Disks{}
			id := must.Get(disks.Inspect(filepath.Join(folder, "disk")))(b)
			for b.Loop() {
				device := must.Get(disks.Open(id))(b)
				written, err := Writer{Log: quiet()}.Write(b.Context(), device, Image{Source: File{Path: file}})
				must.Do(b, err)
				must.Do(b, written.Commit())
				must.Do(b, device.Close())
			}
		})
		b.Run(string(format)+"/program", func(b *testing.B) {
			if _, err := exec.LookPath(program[0]); err != nil {
				b.Skip(err)
			}
			b.SetBytes(int64(len(image)))
			for b.Loop() {
				must.Do(b, exec.Command(program[0], program[1:]...).Run())
			}
		})
	}
}

// quickly compresses an image. The program xz takes a fraction of the time of the Go package.
func quickly(b *testing.B, format Format, image []byte) []byte {
	b.Helper()
	if _, err := exec.LookPath("xz"); format != XZ || err != nil {
		return pack(b, format, image)
	}
	command := exec.Command("xz", "-1", "-c")
	command.Stdin = bytes.NewReader(image)
	return must.Get(command.Output())(b)
}
