//go:build e2e

package cpio_test

import (
	"bytes"
	"os/exec"
	"strings"
	"testing"

	"github.com/oaictl/oaictl/internal/shared/check"
	"github.com/oaictl/oaictl/internal/shared/must"
	"github.com/oaictl/oaictl/pkg/iso/internal/cpio"
)

// GNU cpio reads the archive, and the reader reads one of GNU cpio's.
func TestAgreesWithGNU(t *testing.T) {
	tool, err := exec.LookPath("cpio")
	if err != nil {
		t.Skip("cpio is not installed")
	}
	list := exec.Command(tool, "-itv", "--quiet", "--numeric-uid-gid")
	list.Stdin = bytes.NewReader(archive(t, sample))
	out, err := list.CombinedOutput()
	if err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	var fields []string
	for line := range strings.Lines(string(out)) {
		f := strings.Fields(line)
		fields = append(fields, f[0]+" "+f[2]+":"+f[3]+" "+f[4]+" "+f[8])
	}
	want := []string{
		"-rw------- 0:0 2 config.ign", "drwxr-xr-x 0:0 0 etc", "drwxr-xr-x 0:0 0 etc/net",
		"-rw------- 0:0 13 etc/net/a.nmconnection", "-rw-r----- 0:0 0 etc/net/b.nmconnection",
		"drwxr-xr-x 0:0 0 var", "drwx------ 0:0 0 var/empty", "lrwxrwxrwx 0:0 18 etc/link",
	}
	check.Same(t, want, fields)

	dir := t.TempDir()
	make := exec.Command("sh", "-c", `printf hello > a && ln a b && printf 'a\nb\n' | "$0" -o -H newc --quiet`, tool)
	make.Dir = dir
	made := must.Get(make.Output())(t)
	r := cpio.NewReader(bytes.NewReader(made))
	first := must.Get(r.Next())(t)
	second := must.Get(r.Next())(t)
	if first.Links != 2 || first.Inode != second.Inode || first.Size+second.Size != 5 {
		t.Errorf("hard links read as %+v and %+v", first, second)
	}
}
