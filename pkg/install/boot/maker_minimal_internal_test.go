package boot

import (
	"bytes"
	"context"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/oaictl/oaictl/internal/shared/clock"
	"github.com/oaictl/oaictl/internal/simulator/image"
	"github.com/oaictl/oaictl/pkg/install/model"
	"github.com/oaictl/oaictl/pkg/install/spec"
	"github.com/oaictl/oaictl/pkg/iso"
	"github.com/oaictl/oaictl/pkg/iso/serve"
)

// TestMinimalOfWhatHasNoRecipe says what to do where a service's image can't be made
// minimal, which is nothing that a BMC has done.
func TestMinimalOfWhatHasNoRecipe(t *testing.T) {
	ignition := []byte(`{"ignition": {"version": "3.2.0"}}`)
	service, err := image.New(image.Config{
		Clock: clock.Real(), Lookup: func(context.Context, string) (image.Source, bool) { return image.Source{Ignition: ignition}, true },
	})
	if err != nil {
		t.Fatal(err)
	}
	address, _, err := service.URL(image.Link{Base: "http://images.example.com", InfraEnvID: "1", Version: "4.20", Arch: "x86_64", Type: "full-iso"})
	if err != nil {
		t.Fatal(err)
	}
	answer := httptest.NewRecorder()
	service.Handler().ServeHTTP(answer, httptest.NewRequest("GET", address, nil))
	server, err := serve.New(serve.Config{Key: []byte("0123456789abcdef"), URL: "http://192.0.2.1"})
	if err != nil {
		t.Fatal(err)
	}
	cluster := &spec.Cluster{Spec: spec.ClusterSpec{Boot: spec.Boot{Image: spec.ImageMinimal}, Hosts: []spec.Host{{Name: "a"}}}}
	images, err := newMaker(makerConfig{
		Spec: cluster, Server: server,
		Base: func(context.Context) (*iso.Base, error) {
			return iso.OpenReader("base.iso", bytes.NewReader(answer.Body.Bytes()), int64(answer.Body.Len()))
		},
		Ignition: func(context.Context, string) ([]byte, error) { return ignition, nil },
	})
	if err != nil {
		t.Fatal(err)
	}
	err = images.Prepare(t.Context(), "a")
	if err == nil || !strings.Contains(err.Error(), "no recipe") || !strings.Contains(model.FaultOf(err).Next.String(), "spec.boot.image") {
		t.Errorf("%v\nnext: %s", err, model.FaultOf(err).Next)
	}
}
