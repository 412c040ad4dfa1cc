//go:build unix

package cli

import (
	"context"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/oaictl/oaictl/internal/cli/app"
	"github.com/oaictl/oaictl/internal/cli/streams"
	"github.com/oaictl/oaictl/pkg/install"
	"github.com/oaictl/oaictl/pkg/install/model"
)

// TestInterruptAtAPipe ends commands that read a pipe which no program writes to.
func TestInterruptAtAPipe(t *testing.T) {
	for _, words := range []string{
		"validate -f PIPE", "convert -f PIPE", "render -f PIPE", "create cluster -f PIPE", "get clusters --token-file PIPE",
		"import cluster --cluster-kubeconfig PIPE", "iso customize base.iso --ignition PIPE --output none.iso",
	} {
		t.Run(words, func(t *testing.T) {
			pipe := filepath.Join(t.TempDir(), "pipe")
			if err := syscall.Mkfifo(pipe, 0o600); err != nil {
				t.Skip(err)
			}
			ctx, stop := context.WithCancelCause(t.Context())
			argv := append([]string{"oaictl"}, strings.Fields(strings.ReplaceAll(words, "PIPE", pipe))...)
			var out, problems strings.Builder
			a := app.New(app.Identify(argv), streams.Streams{Out: &out, Err: &problems}, streams.Env{"OAICTL_SERVICE_URL": "http://localhost:1"})
			ended := make(chan int, 1)
			go func() { ended <- execute(ctx, a) }()
			opened := make(chan error, 1)
			go func() {
				// Only a pipe that is being read can be opened to write.
				writer, err := syscall.Open(pipe, syscall.O_WRONLY, 0)
				opened <- err
				<-t.Context().Done()
				_ = syscall.Close(writer)
			}()
			select {
			case err := <-opened:
				if err != nil {
					t.Fatal(err)
				}
			case code := <-ended:
				t.Fatalf("does not read the pipe: code %d\n%s", code, problems.String())
			}
			stop(&install.Interrupt{Signal: "interrupt", Code: model.CodeInterrupted})
			select {
			case code := <-ended:
				if code != 130 {
					t.Errorf("code %d:\n%s", code, problems.String())
				}
			case <-time.After(10 * time.Second):
				t.Error("an interrupt waits for the pipe")
			}
		})
	}
}
