//go:build unix

package app

import (
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/oaictl/oaictl/pkg/install/convert"
)

// TestOpenReadsAPipeOnce: a pipe of the shell's <(COMMAND) has its content once, however
// often a command looks at it.
func TestOpenReadsAPipeOnce(t *testing.T) {
	const site = `baseDomain: example.com
metadata: {name: c}
pullSecret: '{"auths":{"a":{"auth":"YTpi"}}}'
networking: {machineNetwork: [{cidr: 10.0.0.0/24}]}
controlPlane: {replicas: 1}
compute: [{replicas: 0}]
platform: {none: {}}
`
	pipe := filepath.Join(t.TempDir(), "pipe")
	if err := syscall.Mkfifo(pipe, 0o600); err != nil {
		t.Skip(err)
	}
	go func() {
		writer, err := os.OpenFile(pipe, os.O_WRONLY, 0)
		if err == nil {
			_, err = writer.WriteString(site)
			err = closeAfter(writer, err)
		}
		if err != nil {
			t.Error(err)
		}
	}()
	a := &App{}
	for range 2 {
		from, err := a.Open(t.Context(), pipe, convert.Options{Version: "4.20", AcceptUnknownHosts: true})
		if err != nil || from.Cluster.Metadata.Name != "c" || !strings.Contains(string(from.Converted.Document), "example.com") {
			t.Fatalf("%v", err)
		}
	}
}

func closeAfter(f *os.File, before error) error {
	if err := f.Close(); before == nil {
		return err
	}
	return before
}
