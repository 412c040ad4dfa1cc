//go:build e2e

package embedarea_test

import (
	"bytes"
	"os/exec"
	"strings"
	"testing"

	"github.com/oaictl/oaictl/internal/shared/check"
	"github.com/oaictl/oaictl/internal/shared/must"
	"github.com/oaictl/oaictl/pkg/iso/internal/embedarea"
)

// The tools of the system unpack what Pack makes, and the other way round.
func TestAgreesWithTools(t *testing.T) {
	content := farRepeats()
	many := []embedarea.Member{{Name: "etc/a", Mode: 0o600, Data: content}}
	for _, test := range []struct {
		tool  string
		limit int64
	}{{"gzip", 0}, {"xz", 200 << 10}} {
		t.Run(test.tool, func(t *testing.T) {
			need(t, test.tool, "cpio")
			data, compression, err := new(embedarea.Packer).Pack(many, test.limit)
			if err != nil || compression != test.tool {
				t.Fatalf("%s, %v", compression, err)
			}
			out := shell(t, data, test.tool+" -dc | cpio -i --quiet --to-stdout etc/a")
			if !bytes.Equal(out, content) {
				t.Errorf("%d bytes came out, want %d", len(out), len(content))
			}
		})
	}
	for _, command := range []string{"gzip -9", "xz -9 --check=crc32", "xz -0 --block-size=50000 -T2", "zstd -19 -q", "zstd -1 -q --no-check", "zstd -q --long=27"} {
		t.Run(command, func(t *testing.T) {
			need(t, strings.Fields(command)[0])
			area := append(shell(t, raw(t, many...), command+" -c"), zipped(t, raw(t, members[0]))...)
			got, _, err := embedarea.Unpack(area)
			if err != nil {
				t.Fatal(err)
			}
			check.Equal(t, different([]embedarea.Member{many[0], members[0]}, got), "")
		})
	}
}

func need(t *testing.T, tools ...string) {
	t.Helper()
	for _, tool := range tools {
		if _, err := exec.LookPath(tool); err != nil {
			t.Skipf("%s is not installed", tool)
		}
	}
}

func shell(t *testing.T, in []byte, command string) []byte {
	t.Helper()
	c := exec.Command("sh", "-c", command)
	c.Stdin = bytes.NewReader(in)
	return must.Get(c.Output())(t, command)
}

func TestUnpackFollowsHardLinks(t *testing.T) {
	if _, err := exec.LookPath("cpio"); err != nil {
		t.Skip("cpio is not installed")
	}
	make := exec.Command("sh", "-c", `printf hello > a && ln a b && ln a c && : > empty && ln empty hollow && find . | sort | cpio -o -H newc --quiet`)
	make.Dir = t.TempDir()
	area := must.Get(make.Output())(t)
	got, _, err := embedarea.Unpack(area)
	if err != nil {
		t.Fatal(err)
	}
	contents := map[string]string{}
	for _, m := range got {
		contents[m.Name] = string(m.Data)
	}
	want := map[string]string{"a": "hello", "b": "hello", "c": "hello", "empty": "", "hollow": ""}
	check.Same(t, want, contents)
}
