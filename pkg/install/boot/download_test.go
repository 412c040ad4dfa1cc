package boot

import (
	"context"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/oaictl/oaictl/internal/shared/clock"
	"github.com/oaictl/oaictl/pkg/install/model"
	"github.com/oaictl/oaictl/pkg/install/spec"
	"github.com/oaictl/oaictl/pkg/iso/fetch"
)

// TestBaseThatIsTriedAgain reports, once, why the live image does not come yet.
func TestBaseThatIsTriedAgain(t *testing.T) {
	path := filepath.Join(t.TempDir(), "base.iso")
	if err := liveISO(path); err != nil {
		t.Fatal(err)
	}
	content, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	requests := 0
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		if requests++; requests <= 2 {
			w.WriteHeader(http.StatusServiceUnavailable)
			return
		}
		_, _ = w.Write(content)
	}))
	defer server.Close()
	var told []model.Event
	shown := &downloading{Machines: &Machines{config: Config{
		Desired: &model.Desired{Spec: &spec.Cluster{Metadata: spec.Metadata{Name: "lab"}}}, Clock: clock.Real(), Network: clock.Real(),
		Events: func(e model.Event) { told = append(told, e) },
	}}}
	base := &baseImage{ctx: t.Context(), dir: t.TempDir(), arch: spec.X86, progress: shown.show, again: shown.again, where: func(context.Context) (fetch.Source, error) {
		return fetch.Source{Location: server.URL + "/base.iso"}, nil
	}}
	if _, err := base.open(t.Context()); err != nil {
		t.Fatal(err)
	}
	if err := base.close(); err != nil {
		t.Fatal(err)
	}
	var warned []string
	for _, e := range told {
		if e.Severity == model.SeverityWarning {
			warned = append(warned, e.Message)
		}
	}
	if len(warned) != 1 || !strings.Contains(warned[0], "the server answers 503 Service Unavailable; it is tried again") {
		t.Errorf("after %d requests %d warnings: %q", requests, len(warned), warned)
	}
}
