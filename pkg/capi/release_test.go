package capi

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-containerregistry/pkg/name"
	"github.com/google/go-containerregistry/pkg/registry"
	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/empty"
	"github.com/google/go-containerregistry/pkg/v1/mutate"
	"github.com/google/go-containerregistry/pkg/v1/remote"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"

	"github.com/oaictl/oaictl/internal/shared/clock"
	"github.com/oaictl/oaictl/internal/shared/release"
	controlplanev1 "github.com/oaictl/oaictl/pkg/capi/api/controlplane/v1beta1"
	"github.com/oaictl/oaictl/pkg/capi/internal/clusterspec"
	"github.com/oaictl/oaictl/pkg/capi/internal/versions"
	"github.com/oaictl/oaictl/pkg/install"
	"github.com/oaictl/oaictl/pkg/install/model"
	"github.com/oaictl/oaictl/pkg/install/spec"
)

// still is a clock that stands until it is moved.
type still struct {
	clock.Clock

	now time.Time
}

func (s *still) Now() time.Time { return s.now }

// offers plays a service that knows some releases.
type offers struct {
	install.Backend

	err error
}

func (o *offers) CheckRelease(context.Context, *spec.Cluster) error { return o.err }

// TestReleaseImagesThatCannotBeRead: why there is no release is reported, by the service and by the registry, and tried
// again after a while; what was read is kept.
func TestReleaseImagesThatCannotBeRead(t *testing.T) {
	c := &clusterspec.Cluster{
		Cluster:      &clusterv1.Cluster{ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: "lab"}},
		ControlPlane: &controlplanev1.OpenshiftAssistedControlPlane{ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: "lab"}},
	}
	c.ControlPlane.Spec.DistributionVersion = "4.20.3"
	c.ControlPlane.Spec.Config.PullSecretRef = &corev1.LocalObjectReference{Name: "pull"}
	service := &offers{err: &model.Fault{Code: model.CodeInput, Err: errors.New("no ClusterImageSet is of version 4.20.3")}}
	pull := &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: "pull"}, Data: map[string][]byte{corev1.DockerConfigJsonKey: []byte("{}")}}
	now, asked, answer := &still{Clock: clock.Real(), now: time.Unix(0, 0)}, 0, errors.New("no route to host")
	r := &releases{live: fake.NewClientBuilder().Build(), clock: now, read: func(_ context.Context, image string, _ release.Options) (release.Info, error) {
		if asked++; image != repositoryOCP+":4.20.3-x86_64" {
			t.Errorf("read is %s", image)
		}
		return release.Info{Digest: "sha256:abc"}, answer
	}}
	look := func(want string, times int, says ...string) {
		t.Helper()
		image, err := r.imageOf(t.Context(), service, c, &spec.Cluster{})
		if image != want || (err != nil) != (len(says) > 0) || asked != times {
			t.Errorf("it is %q, %v, after %d times", image, err, asked)
		}
		for _, text := range says {
			if err != nil && !strings.Contains(err.Error(), text) {
				t.Errorf("%q does not say %q", err, text)
			}
		}
	}
	look("", 0, "no ClusterImageSet is of version 4.20.3", "read the pull secret pull")
	r.live = fake.NewClientBuilder().WithObjects(pull).Build()
	look("", 0, "read the pull secret pull") // it is not asked so soon
	now.now = now.now.Add(lookAgain)
	look("", 1, "no ClusterImageSet is of version 4.20.3", "no route to host")
	service.err = &model.Fault{Code: model.CodeInput, Err: errors.New("no ClusterImageSet is of version 4.20.3: there are img4.21")}
	look("", 1, "there are img4.21", "no route to host") // what the service has is read each time
	now.now, answer = now.now.Add(lookAgain), nil
	look(repositoryOCP+"@sha256:abc", 2)
	now.now, answer = now.now.Add(time.Hour), errors.New("no route to host")
	look(repositoryOCP+"@sha256:abc", 2)
	service.err = errors.New("the service is away")
	look("", 2, "the service is away")
	service.err = nil
	look("", 2)
}

// TestReleasesAreReadInBoundedTime: a registry that a tenant names, and its mirrors, may be slow, and a reconcile waits.
func TestReleasesAreReadInBoundedTime(t *testing.T) {
	began, read := time.Now(), 0
	r := &releases{live: fake.NewClientBuilder().Build(), clock: clock.Real(), read: func(ctx context.Context, _ string, _ release.Options) (release.Info, error) {
		read++
		if until, bounded := ctx.Deadline(); !bounded || until.Sub(began) > 3*time.Minute {
			t.Errorf("it may take until %s", until)
		}
		return release.Info{Version: "4.20.3", Digest: "sha256:abc"}, nil
	}}
	plane := &controlplanev1.OpenshiftAssistedControlPlane{ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: "lab"}}
	plane.Spec.DistributionVersion = "4.20.3"
	c := &clusterspec.Cluster{Cluster: &clusterv1.Cluster{ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: "lab"}}, ControlPlane: plane}
	service := &offers{err: &model.Fault{Code: model.CodeInput, Err: errors.New("no ClusterImageSet is of version 4.20.3")}}
	_, err := r.imageOf(t.Context(), service, c, &spec.Cluster{})
	_, payloadErr := r.payloadOf(t.Context(), plane, &spec.Cluster{}, repositoryOCP+"@sha256:abc")
	if err != nil || payloadErr != nil || read != 2 {
		t.Errorf("%v, %v after %d readings", err, payloadErr, read)
	}
}

// TestTagsOfReleases: where a release is published, and where the annotation of a mirror says so.
func TestTagsOfReleases(t *testing.T) {
	for want, of := range map[string]struct{ version, arch, override string }{
		repositoryOCP + ":4.20.3-x86_64":           {version: "4.20.3"},
		repositoryOCP + ":4.20.3-aarch64":          {version: "v4.20.3", arch: "arm64"},
		"mirror.example.com/ocp:4.20.3-multi":      {version: "4.20.3", arch: "multi", override: "mirror.example.com/ocp"},
		repositoryOKD + ":4.20.0-okd-scos.1":       {version: "4.20.0-okd-scos.1", arch: "x86_64"},
		"mirror.example.com/okd:4.20.0-okd-scos.1": {version: "4.20.0-okd-scos.1", override: "mirror.example.com/okd"},
	} {
		plane := &controlplanev1.OpenshiftAssistedControlPlane{}
		plane.Spec.DistributionVersion = of.version
		if of.override != "" {
			plane.Annotations = map[string]string{controlplanev1.ReleaseImageRepositoryOverrideAnnotation: of.override}
		}
		if got := tagOf(&clusterspec.Cluster{ControlPlane: plane}, of.arch); got != want {
			t.Errorf("%+v is %s, and should be %s", of, got, want)
		}
	}
}

// TestPayloadsAreReadWithWhatTheControlPlaneNames: the pull secret, the mirrors and the certificates of its cluster.
func TestPayloadsAreReadWithWhatTheControlPlaneNames(t *testing.T) {
	const image = repositoryOCP + "@sha256:abc"
	plane := &controlplanev1.OpenshiftAssistedControlPlane{ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: "lab"}}
	plane.Spec.Config.PullSecretRef = &corev1.LocalObjectReference{Name: "pull"}
	wanted := &spec.Cluster{}
	wanted.Spec.Registry = spec.Registry{Mirrors: []spec.Mirror{{Source: repositoryOCP, Mirrors: []string{"mirror.example.com/ocp"}}}, TrustBundle: &spec.PublicSource{Inline: "certificates"}}
	pull := &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: "pull"}, Data: map[string][]byte{corev1.DockerConfigJsonKey: []byte(`{"auths":{}}`)}}
	r := &releases{live: fake.NewClientBuilder().WithObjects(pull).Build(), clock: clock.Real(), read: func(_ context.Context, asked string, o release.Options) (release.Info, error) {
		if asked != image || !o.Kubernetes || o.PullSecret.Reveal() != `{"auths":{}}` || len(o.Registries) != 1 || o.Registries[0].Mirrors[0].Location != "mirror.example.com/ocp" || string(o.CA) != "certificates\n" {
			t.Errorf("%s is read with %+v", asked, o)
		}
		return release.Info{Version: "4.20.3", Kubernetes: "1.33.5"}, nil
	}}
	if got, err := r.payloadOf(t.Context(), plane, wanted, image); err != nil || got != (versions.Payload{Version: "4.20.3", Kubernetes: "1.33.5"}) {
		t.Errorf("it is %+v, %v", got, err)
	}
	plane.Spec.Config.PullSecretRef.Name = "none"
	if _, err := r.payloadOf(t.Context(), plane, wanted, image); err == nil || !strings.Contains(err.Error(), "read the pull secret none") {
		t.Errorf("without a pull secret: %v", err)
	}
}

// released is a cluster whose release image is in a repository that its control plane names, and a service without it.
func released(repository string) (*clusterspec.Cluster, *spec.Cluster, *offers) {
	c := &clusterspec.Cluster{
		Cluster:      &clusterv1.Cluster{ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: "lab"}},
		ControlPlane: &controlplanev1.OpenshiftAssistedControlPlane{ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: "lab"}},
	}
	c.ControlPlane.Spec.DistributionVersion = "4.20.3"
	c.ControlPlane.Annotations = map[string]string{controlplanev1.ReleaseImageRepositoryOverrideAnnotation: repository}
	wanted := &spec.Cluster{}
	wanted.Spec.Registry = spec.Registry{Mirrors: []spec.Mirror{{Source: repository, Mirrors: []string{repository}, Insecure: true}}}
	return c, wanted, &offers{err: &model.Fault{Code: model.CodeInput, Err: errors.New("no release is of version 4.20.3")}}
}

// TestReleasesAreReadFromAllowedAddresses: registries, which users of a namespace name, are called by the rule for
// installed clusters, and so is where they send for a token. What they say is not shown.
func TestReleasesAreReadFromAllowedAddresses(t *testing.T) {
	images := registry.New(registry.Logger(log.New(io.Discard, "", 0)))
	asked, realm := []string{}, ""
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if asked = append(asked, r.Host+r.URL.Path); strings.HasPrefix(r.URL.Path, "/latest/meta-data") {
			_, _ = io.WriteString(w, `{"Token":"of-the-metadata-service"}`)
			return
		}
		if realm != "" && r.Method == http.MethodGet {
			w.Header().Set("WWW-Authenticate", `Bearer realm="`+realm+`"`)
			w.WriteHeader(http.StatusUnauthorized)
			_, _ = io.WriteString(w, `{"errors":[{"code":"UNAUTHORIZED","message":"words of a registry"}]}`)
			return
		}
		images.ServeHTTP(w, r)
	}))
	t.Cleanup(server.Close)
	at := server.Listener.Addr().String()
	tag, err := name.ParseReference(at+"/ocp/release:4.20.3-x86_64", name.Insecure)
	if err != nil {
		t.Fatal(err)
	}
	image, err := mutate.ConfigFile(empty.Image, &v1.ConfigFile{Architecture: "amd64", OS: "linux", Config: v1.Config{Labels: map[string]string{"io.openshift.release": "4.20.3"}}})
	if err == nil {
		err = remote.Write(tag, image)
	}
	if err != nil {
		t.Fatal(err)
	}
	c, wanted, service := released(at + "/ocp/release")
	look := func(allowed ...string) (string, error) {
		asked = nil
		r := &releases{live: fake.NewClientBuilder().Build(), clock: clock.Scaled(1000), read: release.Read}
		for _, prefix := range allowed {
			r.connector.Allow = append(r.connector.Allow, netip.MustParsePrefix(prefix))
		}
		_, payloadErr := r.payloadOf(t.Context(), c.ControlPlane, wanted, tag.Name())
		image, err := r.imageOf(t.Context(), service, c, wanted)
		if (payloadErr == nil) != (err == nil) {
			t.Errorf("the image is found: %v; and read: %v", err, payloadErr)
		}
		return image, errors.Join(err, payloadErr)
	}
	if _, err := look(); err == nil || len(asked) > 0 || strings.Count(err.Error(), "--allow-endpoint 127.0.0.1/32") != 4 { // of the mirror and the source, read twice
		t.Errorf("a loopback address: asked is %q, %v", asked, err)
	}
	if image, err := look("127.0.0.1/32"); err != nil || !strings.HasPrefix(image, at+"/ocp/release@sha256:") {
		t.Errorf("an allowed address: %s, %v", image, err)
	}
	elsewhere := strings.Replace(server.URL, "127.0.0.1", "127.0.0.2", 1)
	for _, realm = range []string{elsewhere + "/latest/meta-data/role", strings.Replace(elsewhere, "http:", "https:", 1) + "/latest/meta-data/role"} {
		_, err := look("127.0.0.1/32")
		if err == nil || slices.ContainsFunc(asked, func(path string) bool { return strings.Contains(path, "meta-data") }) {
			t.Errorf("%s: asked is %q, %v", realm, asked, err)
		}
	}
	realm = server.URL + "/latest/meta-data/role" // of the registry's own host, which does not take the token
	if _, err := look("127.0.0.1/32"); err == nil || strings.Contains(err.Error(), "words of a registry") || !strings.Contains(err.Error(), "401 Unauthorized, UNAUTHORIZED") {
		t.Errorf("the registry's own words: %v", err)
	}
}

// TestReleasesInMindAreFew: what is kept of images does not grow with what users of a namespace write.
func TestReleasesInMindAreFew(t *testing.T) {
	const most = 1 << 20
	r := &releases{live: fake.NewClientBuilder().Build(), clock: clock.Real(), read: release.Read}
	reads := 0
	long := strings.Repeat("!", 200<<10)
	for i := range 2 * mostKnown {
		c, wanted, service := released(fmt.Sprintf("registry.example.com/%d%s", i, long))
		wanted.Spec.Registry = spec.Registry{}
		if _, err := r.imageOf(t.Context(), service, c, wanted); err == nil || !strings.Contains(err.Error(), "at most 512 bytes") {
			t.Fatalf("%.600v", err)
		}
	}
	kept := 0
	for key, found := range r.known {
		kept += len(key) + len(found.image) + len(found.err.Error())
	}
	if len(r.known) > mostKnown || kept > most {
		t.Errorf("%d images are kept, in %d bytes", len(r.known), kept)
	}
	r.read = func(context.Context, string, release.Options) (release.Info, error) {
		reads++
		return release.Info{Digest: "sha256:abc"}, nil
	}
	for range 2 {
		c, wanted, service := released("registry.example.com/ocp")
		if image, err := r.imageOf(t.Context(), service, c, wanted); err != nil || image != "registry.example.com/ocp@sha256:abc" {
			t.Errorf("%s, %v", image, err)
		}
	}
	if reads != 1 {
		t.Errorf("one image is read %d times", reads)
	}
}
