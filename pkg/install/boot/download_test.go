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
	"github.com/oaictl/oaictl/internal/shared/must"
	"github.com/oaictl/oaictl/pkg/install/model"
	"github.com/oaictl/oaictl/pkg/install/spec"
	"github.com/oaictl/oaictl/pkg/iso/fetch"
)

// TestBaseThatIsTriedAgain reports, once, why the live image does not come yet.
func TestBaseThatIsTriedAgain(t *testing.T) {
	path := filepath.Join(t.TempDir(), "base.iso")
	must.Do(t, liveISO(path))
	content := must.Get(os.ReadFile(path))(t)
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
	must.Get(base.open(t.Context()))(t)
	must.Do(t, base.close())
	var warned []string
	for _, e := range told {
		if e.Severity == model.SeverityWarning {
			warned = append(warned, e.Message)
		}
	}
	if len(warned) != 1 || !strings.Contains(warned[0], "the server answers 503 Service Unavailable; oaictl tries again") {
		t.Errorf("after %d requests %d warnings: %q", requests, len(warned), warned)
	}
}
