package release

import (
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"
	"runtime"
	"strings"
	"testing"

	"github.com/google/go-containerregistry/pkg/v1/empty"
	"github.com/google/go-containerregistry/pkg/v1/types"

	"github.com/oaictl/oaictl/internal/shared/check"
	"github.com/oaictl/oaictl/pkg/install/model"
)

func TestFind(t *testing.T) {
	shelf := newShelf(t, true)
	shelf.put(t, "ocp/image:one", made{arch: runtime.GOARCH}.image(t))
	shelf.put(t, "ocp/image:list", list(t, made{arch: "other"}, made{arch: runtime.GOARCH}))
	shelf.put(t, "ocp/image:other", list(t, made{arch: "other"}))
	shelf.put(t, "ocp/image:empty", empty.Index)
	o := Options{PullSecret: login(shelf.host()), CA: shelf.ca(), Clock: &patient{}}
	for tag, says := range map[string]string{
		"one": "", "list": "", "other": "no image for linux/" + runtime.GOARCH, "empty": "no image for linux/" + runtime.GOARCH,
	} {
		err := Find(t.Context(), shelf.host()+"/ocp/image:"+tag, o)
		if says == "" {
			check.Do(t, err, tag)
			continue
		}
		check.Says(t, err, says, tag)
		check.Says(t, err, "find image", tag)
	}
	check.Equal(t, shelf.parts.Load(), 0, "no part of an image is read")

	err := Find(t.Context(), shelf.host()+"/ocp/image:gone", o)
	check.Equal(t, model.FaultOf(err).Code, model.CodeNotFound)
	check.Equal(t, model.FaultOf(err).Next, "check the image and its mirrors in registries.conf")
	check.Equal(t, model.FaultOf(Find(t.Context(), "--help", o)).Code, model.CodeInput)
	o.PullSecret = login("quay.io")
	check.Equal(t, model.FaultOf(Find(t.Context(), shelf.host()+"/ocp/image:one", o)).Code, model.CodeAuth)
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	check.Says(t, Find(ctx, shelf.host()+"/ocp/image:one", o), "canceled")
}

// TestFindsNoImage has answers with which no registry takes an image.
func TestFindsNoImage(t *testing.T) {
	kind, body := "", ""
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", kind)
		_, _ = fmt.Fprint(w, body)
	}))
	defer server.Close()
	for says, answer := range map[string]struct {
		kind types.MediaType
		body string
	}{
		"it is no image":                    {"text/html", "<html>"},
		"cannot read its manifest":          {types.OCIManifestSchema1, "{"},
		"cannot read its list of manifests": {types.OCIImageIndex, "{"},
		"the registry answers with sha256:": {types.OCIImageIndex, `{"manifests":[{"mediaType":"` + string(types.OCIManifestSchema1) +
			`","digest":"sha256:` + strings.Repeat("0", 64) + `","platform":{"os":"linux","architecture":"arm"}}]}`},
	} {
		kind, body = string(answer.kind), answer.body
		from := &repository{base: server.URL, client: server.Client()}
		check.Says(t, from.has(t.Context(), "tag", "arm"), says)
	}
	server.Close()
	check.Says(t, (&repository{base: server.URL, client: server.Client()}).has(t.Context(), "tag", "arm"), "refused")
}

func TestValid(t *testing.T) {
	for ref, valid := range map[string]bool{
		"quay.io/openshift-release-dev/ocp-release:4.21.28-x86_64":                               true,
		"quay.io/openshift-release-dev/ocp-v4.0-art-dev@sha256:" + strings.Repeat("daff68f1", 8): true,
		"localhost/image": true, "registry:5000/image": true, "[fd00::1]:5000/image:1": true,
		"dir:/etc/image": false, "file:///etc/image": false, "docker://quay.io/a": false, " quay.io/a": false, "quay.io/a ": false,
		"": false, "--help": false, "image": false, "quay.io/a b": false, "quay.io/a;reboot": false, "quay.io/a@sha256:1": false,
		"quay.io/" + strings.Repeat("a", 600): false,
	} {
		check.Equal(t, Valid(ref) == nil, valid, ref)
	}
}
