//go:build linux

package network

import (
	"context"
	"encoding/base64"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/oaictl/oaictl/internal/host/hostfile"
	"github.com/oaictl/oaictl/internal/host/machine"
	"github.com/oaictl/oaictl/internal/shared/check"
	"github.com/oaictl/oaictl/internal/shared/clock"
	"github.com/oaictl/oaictl/internal/shared/must"
)

const (
	releaseImage = "quay.io/openshift-release-dev/ocp-release:4.21.28-x86_64"
	mcoImage     = "quay.io/openshift-release-dev/ocp-v4.0-art-dev@sha256:daff68f1e1a8522a9e2b13b2934f95701f56e22eb0ead97ff841cc939b4e091b"
)

// podman plays the program: one image is there already, and others take ten seconds.
func podman(c machine.Command) (machine.Result, error) {
	image := c.Args[len(c.Args)-1]
	switch {
	case c.Args[0] == "images" && image == releaseImage:
		return machine.Result{Stdout: []byte("0123456789ab\n")}, nil
	case c.Args[0] == "pull" && strings.Contains(image, "absent"):
		return machine.Result{Code: 125, Stderr: []byte("manifest unknown")}, nil
	case c.Args[0] == "pull" && image != releaseImage:
		time.Sleep(10 * time.Second)
	case c.Args[0] == "image" && strings.Contains(image, "sizeless"):
		return machine.Result{Stdout: []byte("none\n")}, nil
	case c.Args[0] == "image" && strings.Contains(image, "vanished"):
		return machine.Result{Code: 125}, nil
	case c.Args[0] == "image":
		return machine.Result{Stdout: []byte("400000000\n")}, nil
	}
	return machine.Result{}, nil
}

func TestImagesByPodman(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		recorder := &machine.Recorder{Reply: podman}
		images := &Images{Runner: recorder, Clock: clock.Real(), Log: testLog(t)}
		code, stdout, stderr := images.Execute(t.Context(), []string{`{"images":["` + releaseImage + `","` + mcoImage + `"],"timeout":960}`})
		check.Equal(t, code, 0)
		check.Equal(t, stderr, "")
		check.Equal(t, stdout, `{"images":[{"name":"`+releaseImage+`","result":"success"},{"download_rate":40,"name":"`+mcoImage+
			`","result":"success","size_bytes":400000000,"time":10}]}`)
		check.Slice(t, recorder.Commands(), []string{
			"podman images --quiet " + releaseImage, "podman pull " + releaseImage,
			"podman images --quiet " + mcoImage, "podman pull " + mcoImage, "podman image inspect --format={{.Size}} " + mcoImage,
		})

		code, stdout, stderr = images.Execute(t.Context(), []string{`{"images":["quay.io/a/b","quay.io/a/late"],"timeout":10}`})
		check.Equal(t, fmt.Sprint(code, stderr), "2")
		check.Equal(t, stdout, `{"images":[{"download_rate":40,"name":"quay.io/a/b","result":"success","size_bytes":400000000,"time":10},`+
			`{"name":"quay.io/a/late","result":"failure"}]}`)

		for _, image := range []string{"quay.io/absent", "quay.io/sizeless", "quay.io/vanished"} {
			code, stdout, _ = images.Execute(t.Context(), []string{`{"images":["` + image + `"],"timeout":10000000}`})
			check.Equal(t, code, 2, image)
			check.Equal(t, stdout, `{"images":[{"name":"`+image+`","result":"failure"}]}`)
		}
	})
}

func TestImagesOfNoName(t *testing.T) {
	recorder := &machine.Recorder{}
	images := &Images{Runner: recorder, Clock: clock.Real(), Log: testLog(t)}
	for _, image := range []string{"", "--help", "-a.b/c", "quay.io/a b", "quay.io/a;reboot", "quay.io/$(reboot)", "file:///etc/passwd", "dir:/etc/x", "image"} {
		code, stdout, _ := images.Execute(t.Context(), []string{`{"images":["` + image + `"],"timeout":10}`})
		check.Equal(t, code, 2, image)
		check.Contains(t, stdout, `"result":"failure"`)
	}
	check.Equal(t, len(recorder.Commands()), 0)
	for question, reason := range map[string]string{`[]`: "cannot read", `{"images":[""` + strings.Repeat(`,""`, mostImages) + `]}`: "65 images"} {
		code, stdout, stderr := images.Execute(t.Context(), []string{question})
		check.Equal(t, fmt.Sprint(code, stdout), "-1")
		check.Contains(t, stderr, reason)
	}
}

func TestImagesRunOnce(t *testing.T) {
	asked, may := make(chan struct{}), make(chan struct{})
	images := &Images{
		Runner: &machine.Recorder{Absent: []string{"podman"}}, Clock: clock.Real(), Log: testLog(t),
		Find: func(context.Context, string) error {
			asked <- struct{}{}
			<-may
			return nil
		},
	}
	question := []string{`{"images":["` + releaseImage + `"],"timeout":960}`}
	first := make(chan string)
	go func() {
		_, stdout, _ := images.Execute(t.Context(), question)
		first <- stdout
	}()
	<-asked
	code, stdout, stderr := images.Execute(t.Context(), question)
	check.Equal(t, fmt.Sprint(code, stdout, stderr), "0")
	close(may)
	check.Equal(t, <-first, `{"images":[{"name":"`+releaseImage+`","result":"success"}]}`)
}

func TestImagesWithoutPodman(t *testing.T) {
	images := &Images{
		Runner: &machine.Recorder{Absent: []string{"podman"}}, Clock: clock.Real(), Log: testLog(t),
		Find: func(_ context.Context, image string) error {
			if image == mcoImage {
				return errors.New("not found")
			}
			return nil
		},
	}
	code, stdout, _ := images.Execute(t.Context(), []string{`{"images":["` + releaseImage + `","` + mcoImage + `"],"timeout":960}`})
	check.Equal(t, code, 2)
	check.Equal(t, stdout, `{"images":[{"name":"`+releaseImage+`","result":"success"},{"name":"`+mcoImage+`","result":"failure"}]}`)
}

func TestFindImages(t *testing.T) {
	registry := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if _, password, ok := r.BasicAuth(); !ok || password != "secret" {
			w.Header().Set("WWW-Authenticate", `Basic realm="images"`)
			w.WriteHeader(http.StatusUnauthorized)
			return
		}
		if r.URL.Path != "/v2/" && r.URL.Path != "/v2/mirror/image/manifests/1" {
			w.WriteHeader(http.StatusNotFound)
			return
		}
		w.Header().Set("Content-Type", "application/vnd.oci.image.manifest.v1+json")
		_, _ = fmt.Fprint(w, `{"schemaVersion":2,"config":{},"layers":[]}`)
	}))
	defer registry.Close()
	host := registry.Listener.Addr().String()
	root := t.TempDir()
	write := func(path, text string) {
		must.Do(t, os.MkdirAll(root+path[:strings.LastIndex(path, "/")], 0o755))
		must.Do(t, os.WriteFile(root+path, []byte(text), 0o600))
	}
	find := FindImages(hostfile.Files{Root: root}, clock.Real())
	conf := "[[registry]]\nprefix = \"registry.invalid/ocp\"\nlocation = \"" + host + "/mirror\"\ninsecure = true\n"
	write("/etc/containers/registries.conf", conf)
	err := find(t.Context(), "registry.invalid/ocp/image:1")
	check.Says(t, err, "Unauthorized")
	write("/root/.docker/config.json", `{"auths":{"`+host+`":{"auth":"`+base64.StdEncoding.EncodeToString([]byte("puller:secret"))+`"}}}`)
	check.Do(t, find(t.Context(), "registry.invalid/ocp/image:1"))
	err = find(t.Context(), "registry.invalid/ocp/image:2")
	check.Says(t, err, "Not Found")
	check.Equal(t, strings.Contains(err.Error(), "secret"), false)
	write("/etc/containers/registries.conf", "[[registry]]\n")
	check.Says(t, find(t.Context(), "registry.invalid/ocp/image:1"), "registries.conf")
}
