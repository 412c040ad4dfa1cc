package imageproxy_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
	"testing/iotest"
	"time"

	"github.com/go-logr/logr/funcr"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"

	"github.com/oaictl/oaictl/internal/shared/clock"
	bootstrapv1 "github.com/oaictl/oaictl/pkg/capi/api/bootstrap/v1beta1"
	"github.com/oaictl/oaictl/pkg/capi/internal/clusterloop"
	"github.com/oaictl/oaictl/pkg/capi/internal/imageproxy"
	"github.com/oaictl/oaictl/pkg/install"
	"github.com/oaictl/oaictl/pkg/install/model"
	"github.com/oaictl/oaictl/pkg/install/spec"
)

// token is in the service's URL of the image, and must not be passed on.
const token = "https://images.example.com/byapikey/SECRET/full.iso"

// service has one image.
type service struct {
	install.Backend
	content      []byte
	silent       bool // it does not say how large the image is
	breaks       bool // it ends early
	broken       error
	noPlan       error // why it is not known what is desired of the cluster
	asked, opens atomic.Int32
}

func (s *service) Observe(context.Context, model.Query, *model.Observed) (*model.Observed, error) {
	return &model.Observed{At: clock.Real().Now(), InfraEnvs: []model.InfraEnv{{ID: "lab/cp-0", Name: "cp-0"}}}, nil
}

func (s *service) DownloadISOURL(_ context.Context, id string) (string, time.Time, error) {
	s.asked.Add(1)
	if id != "lab/cp-0" {
		return "", time.Time{}, errors.New("no InfraEnv " + id)
	}
	return token, time.Time{}, s.broken
}

func (s *service) OpenISO(_ context.Context, address string, offset int64) (io.ReadCloser, int64, error) {
	s.opens.Add(1)
	if address != token {
		return nil, 0, errors.New("no image " + address)
	}
	size := int64(len(s.content))
	if s.silent {
		size = -1
	}
	var content io.Reader = bytes.NewReader(s.content[offset:])
	if s.breaks {
		content = io.MultiReader(io.LimitReader(content, 1000), iotest.ErrReader(errors.New("it broke off")))
	}
	return io.NopCloser(iotest.HalfReader(content)), size, nil
}

func (s *service) Close() {}

// iso is an image of so many digits, except for what marks an ISO 9660.
func iso(size int) []byte {
	content := bytes.Repeat([]byte("0123456789"), size/10)
	copy(content[32769:], "CD001")
	return content
}

const cluster = `apiVersion: oaictl.io/v1alpha1
kind: Cluster
metadata: {name: lab}
spec:
  openshift: {version: "4.20.1"}
  baseDomain: example.com
  pullSecret: {env: PULL}
  network: {vips: {api: [192.168.127.100], ingress: [192.168.127.101]}}
  hosts:
  - {name: cp-0, role: control-plane, match: {infraEnv: cp-0}}
  - {name: cp-1, role: control-plane, match: {infraEnv: cp-1}}
  - {name: cp-2, role: control-plane, match: {infraEnv: cp-2}}
`

// server has the configs cp-0, which has an InfraEnv, and cp-1, which has none; log takes what it logs.
func server(t *testing.T, s *service, log *strings.Builder) *imageproxy.Server {
	t.Helper()
	wanted, err := spec.Parse(t.Context(), "cluster.yaml", []byte(cluster), spec.Env{LookupEnv: func(string) (string, bool) { return `{"auths":{"quay.io":{"auth":"dTpw"}}}`, true }})
	if err != nil {
		t.Fatal(err)
	}
	scheme := runtime.NewScheme()
	if err := bootstrapv1.AddToScheme(scheme); err != nil {
		t.Fatal(err)
	}
	return &imageproxy.Server{
		URL: "http://media.example.com", Configs: fake.NewClientBuilder().WithScheme(scheme).WithObjects(config("cp-0"), config("cp-1")).Build(),
		Installations: clusterloop.New(clusterloop.Config{
			Connect: func(string) (install.Backend, error) { return s, nil },
			Desire: func(context.Context, clusterloop.Key, *model.Observed) (*model.Desired, error) {
				return &model.Desired{Spec: wanted}, s.noPlan
			},
			Clock: clock.Real(), Wake: func(clusterloop.Key, []model.Scope) {},
		}),
		Clock: clock.Real(), Log: funcr.New(func(_, args string) { log.WriteString(args + "\n") }, funcr.Options{}),
	}
}

func config(name string) *bootstrapv1.OpenshiftAssistedConfig {
	return &bootstrapv1.OpenshiftAssistedConfig{ObjectMeta: metav1.ObjectMeta{Namespace: "lab", Name: name, UID: "7f5c-uid", Labels: map[string]string{clusterv1.ClusterNameLabel: "lab"}}}
}

func get(s *imageproxy.Server, method, url, part string) *httptest.ResponseRecorder {
	request := httptest.NewRequest(method, url, nil)
	if part != "" {
		request.Header.Set("Range", "bytes="+part)
	}
	answer := httptest.NewRecorder()
	s.ServeHTTP(answer, request)
	return answer
}

// TestImagesAreHandedOn: an image comes whole or in parts as the service has it, by a URL that reveals nothing of the
// service's.
func TestImagesAreHandedOn(t *testing.T) {
	content := iso(100000)
	var log strings.Builder
	from := &service{content: content}
	s := server(t, from, &log)
	url := s.Of(config("cp-0"))
	if url != "http://media.example.com/lab/cp-0/7f5c-uid/discovery.iso" {
		t.Errorf("the URL is %s", url)
	}
	for _, test := range []struct {
		method, part string
		code         int
		want         string
	}{
		{http.MethodGet, "", http.StatusOK, string(content)},
		{http.MethodHead, "", http.StatusOK, ""},
		{http.MethodGet, "5-14", http.StatusPartialContent, "5678901234"},
		{http.MethodGet, "99995-", http.StatusPartialContent, "56789"},
		{http.MethodGet, "-3", http.StatusPartialContent, "789"},
		{http.MethodGet, "100000-", http.StatusRequestedRangeNotSatisfiable, ""},
	} {
		answer := get(s, test.method, url, test.part)
		if answer.Code != test.code || test.want != "" && answer.Body.String() != test.want {
			t.Errorf("%s %s: %d, %d bytes", test.method, test.part, answer.Code, answer.Body.Len())
		}
		if test.code == http.StatusOK && answer.Header().Get("Content-Length") != "100000" {
			t.Errorf("%s: it is %s bytes large", test.method, answer.Header().Get("Content-Length"))
		}
	}
	if asked := from.asked.Load(); asked != 1 {
		t.Errorf("the service was asked %d times where the image is", asked)
	}
	if opens := from.opens.Load(); opens != 4 { // once for each answer with content, the size of the first included
		t.Errorf("the image was opened %d times", opens)
	}
	if strings.Contains(log.String(), "SECRET") {
		t.Errorf("the log has the service's URL:\n%s", log.String())
	}
}

// TestOnlyImagesOfConfigs: nothing is handed out but by the UID of a config that is there, and errors reveal nothing of
// the service to the machine.
func TestOnlyImagesOfConfigs(t *testing.T) {
	for name, test := range map[string]struct {
		method, path string
		service      *service
		code         int
		logged       string
	}{
		"another UID":       {path: "/lab/cp-0/other/discovery.iso", code: http.StatusNotFound},
		"no such config":    {path: "/lab/cp-9/7f5c-uid/discovery.iso", code: http.StatusNotFound},
		"another namespace": {path: "/other/cp-0/7f5c-uid/discovery.iso", code: http.StatusNotFound},
		"another file":      {path: "/lab/cp-0/7f5c-uid/../secret", code: http.StatusNotFound},
		"short":             {path: "/discovery.iso", code: http.StatusNotFound},
		"a proxy's path":    {path: "/media/lab/cp-0/7f5c-uid/discovery.iso", service: &service{content: iso(40000)}, code: http.StatusOK},
		"a write":           {method: http.MethodPost, path: "/lab/cp-0/7f5c-uid/discovery.iso", code: http.StatusMethodNotAllowed},
		"no InfraEnv yet":   {path: "/lab/cp-1/7f5c-uid/discovery.iso", code: http.StatusBadGateway, logged: "there is no InfraEnv cp-1"},
		"no image yet":      {path: "/lab/cp-0/7f5c-uid/discovery.iso", service: &service{broken: errors.New("there is no image yet")}, code: http.StatusBadGateway, logged: "there is no image yet"},
		"no plan yet":       {path: "/lab/cp-0/7f5c-uid/discovery.iso", service: &service{content: iso(40000), noPlan: fmt.Errorf("the control plane has 2 Machines: %w", clusterloop.ErrNotYet)}, code: http.StatusOK},
		"no plan":           {path: "/lab/cp-0/7f5c-uid/discovery.iso", service: &service{content: iso(40000), noPlan: &clusterloop.Refusal{Problems: []string{"a field is wrong"}}}, code: http.StatusOK},
		"no plan, nor more": {path: "/lab/cp-1/7f5c-uid/discovery.iso", service: &service{noPlan: &clusterloop.Refusal{Problems: []string{"a field is wrong"}}}, code: http.StatusBadGateway, logged: "a field is wrong"},
		"no image":          {path: "/lab/cp-0/7f5c-uid/discovery.iso", service: &service{content: bytes.Repeat([]byte("SECRET "), 10000)}, code: http.StatusBadGateway, logged: "is no ISO 9660"},
		"too short":         {path: "/lab/cp-0/7f5c-uid/discovery.iso", service: &service{content: []byte("SECRET")}, code: http.StatusBadGateway, logged: "is no ISO 9660"},
		"breaks off":        {path: "/lab/cp-0/7f5c-uid/discovery.iso", service: &service{content: iso(40000), breaks: true}, code: http.StatusBadGateway, logged: "it broke off"},
		"size unknown":      {path: "/lab/cp-0/7f5c-uid/discovery.iso", service: &service{silent: true}, code: http.StatusBadGateway, logged: "does not say how large"},
	} {
		t.Run(name, func(t *testing.T) {
			var log strings.Builder
			if test.method == "" {
				test.method = http.MethodGet
			}
			if test.service == nil {
				test.service = &service{}
			}
			answer := get(server(t, test.service, &log), test.method, "http://media.example.com"+test.path, "")
			if answer.Code != test.code || strings.Contains(answer.Body.String(), "SECRET") {
				t.Errorf("the answer is %d %s", answer.Code, answer.Body)
			}
			if !strings.Contains(log.String(), test.logged) {
				t.Errorf("logged is %q", log.String())
			}
		})
	}
}

// TestOnlyImagesAreHandedOn: no part of a file that is no image is handed out either, and once the mark of an image is
// known, the service is not asked for it again.
func TestOnlyImagesAreHandedOn(t *testing.T) {
	var log strings.Builder
	from := &service{content: bytes.Repeat([]byte("SECRET "), 10000)}
	s := server(t, from, &log)
	url := s.Of(config("cp-0"))
	for _, part := range []string{"0-9", "40000-40009", "-5"} {
		if answer := get(s, http.MethodGet, url, part); answer.Code != http.StatusBadGateway || strings.Contains(answer.Body.String(), "SECRET") {
			t.Errorf("%s: %d %s", part, answer.Code, answer.Body)
		}
	}
	from.content = iso(100000)
	from.opens.Store(0)
	for range 3 {
		if answer := get(s, http.MethodGet, url, "40000-40009"); answer.Code != http.StatusPartialContent || answer.Body.String() != "0123456789" {
			t.Errorf("%d %s", answer.Code, answer.Body)
		}
	}
	if opens := from.opens.Load(); opens != 4 { // once for the mark, and once for each part
		t.Errorf("the image was opened %d times", opens)
	}
}

// TestServesUntilItIsStopped: it ends with its context, and says where it cannot listen.
func TestServesUntilItIsStopped(t *testing.T) {
	ctx, stop := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	s := &imageproxy.Server{Address: "127.0.0.1:0", Clock: clock.Real()}
	go func() { ended <- s.Start(ctx) }()
	stop()
	if err := <-ended; err != nil {
		t.Errorf("it ends with %v", err)
	}
	if err := (&imageproxy.Server{Address: "nowhere:-1"}).Start(t.Context()); err == nil || !strings.Contains(err.Error(), "serve media") {
		t.Errorf("where nobody can listen: %v", err)
	}
}
