package capi

import (
	"cmp"
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"strings"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/oaictl/oaictl/internal/shared/clock"
	"github.com/oaictl/oaictl/internal/shared/release"
	"github.com/oaictl/oaictl/internal/shared/workloadclient"
	controlplanev1 "github.com/oaictl/oaictl/pkg/capi/api/controlplane/v1beta1"
	"github.com/oaictl/oaictl/pkg/capi/internal/clusterspec"
	"github.com/oaictl/oaictl/pkg/capi/internal/versions"
	"github.com/oaictl/oaictl/pkg/install"
	"github.com/oaictl/oaictl/pkg/install/model"
	"github.com/oaictl/oaictl/pkg/install/spec"
)

// Where release images are published.
const (
	repositoryOCP = "quay.io/openshift-release-dev/ocp-release"
	repositoryOKD = "quay.io/okd/scos-release"
)

// releases finds the release images of clusters that are yet to be registered, where the service has none
// for their version, and reads what is in one. An image is taken by its digest, which mirrors are found by. What was
// found is kept.
type releases struct {
	live  client.Reader
	clock clock.Clock
	// read reads a release image.
	read func(ctx context.Context, image string, o release.Options) (release.Info, error)
	// connector makes the connections to registries, which users of a namespace name.
	connector workloadclient.Connector

	mu    sync.Mutex
	known map[[sha256.Size]byte]found // by the digest of a namespace and an image
}

type found struct {
	image string
	err   error
	at    time.Time
}

const (
	// lookAgain is how long a registry that did not have an image is left alone.
	lookAgain = time.Minute
	// mostKnown is how many images are kept in mind.
	mostKnown = 256
	// readingTakes is how long an image may be read, in real time and at all the places that may have it. Each place may be
	// slow, and is a tenant's to name: a reconcile waits for it.
	readingTakes = 2 * time.Minute
)

// imageOf is the release image of a cluster, "" where the service has one for its version.
func (r *releases) imageOf(ctx context.Context, service install.Backend, c *clusterspec.Cluster, wanted *spec.Cluster) (string, error) {
	err := service.CheckRelease(ctx, wanted)
	fault, is := errors.AsType[*model.Fault](err)
	if err == nil || !is || fault.Code != model.CodeInput {
		return "", err
	}
	image := tagOf(c, string(wanted.Spec.OpenShift.Arch))
	key := sha256.Sum256([]byte(c.Namespace + " " + image))
	r.mu.Lock()
	last, known := r.known[key]
	r.mu.Unlock()
	if !known || last.err != nil && r.clock.Now().Sub(last.at) >= lookAgain {
		last = found{at: r.clock.Now()}
		last.image, last.err = r.digestOf(ctx, c, image, wanted)
		r.mu.Lock()
		if r.known == nil || len(r.known) >= mostKnown {
			r.known = map[[sha256.Size]byte]found{}
		}
		r.known[key] = last
		r.mu.Unlock()
	}
	if last.err != nil { // beside what the service has now, which may be more than when it was looked
		return "", fmt.Errorf("%w, and its release image could not be read: %w", fault.Err, last.err)
	}
	return last.image, nil
}

// tagOf is the release image of a version as it is published.
func tagOf(c *clusterspec.Cluster, arch string) string {
	version := strings.TrimPrefix(c.ControlPlane.Spec.DistributionVersion, "v")
	override := c.ControlPlane.Annotations[controlplanev1.ReleaseImageRepositoryOverrideAnnotation]
	if _, pre, is := strings.Cut(version, "-"); is && strings.HasPrefix(pre, "okd-scos") {
		return cmp.Or(override, repositoryOKD) + ":" + version
	}
	if arch = cmp.Or(arch, string(spec.X86)); arch == string(spec.ARM) {
		arch = "aarch64" // as releases are tagged
	}
	return cmp.Or(override, repositoryOCP) + ":" + version + "-" + arch
}

// optionsOf say how the registries of a control plane are reached.
func (r *releases) optionsOf(ctx context.Context, plane *controlplanev1.OpenshiftAssistedControlPlane,
	wanted *spec.Cluster) (release.Options, error) {
	options := release.Options{Clock: r.clock, CA: []byte(wanted.TrustBundle()), Dial: r.connector.Dial, Proxy: r.connector.Proxy, Quiet: true}
	if ref := plane.Spec.Config.PullSecretRef; ref != nil && ref.Name != "" {
		secret := &corev1.Secret{}
		if err := r.live.Get(ctx, client.ObjectKey{Namespace: plane.Namespace, Name: ref.Name}, secret); err != nil {
			return options, fmt.Errorf("read the pull secret %s: %w", ref.Name, err)
		}
		options.PullSecret = spec.NewSecret(string(secret.Data[corev1.DockerConfigJsonKey]))
	}
	var err error
	options.Registries, err = release.ParseRegistries([]byte(wanted.RegistriesConf()))
	return options, err
}

// readSoon reads a release image in bounded time.
func (r *releases) readSoon(ctx context.Context, image string, options release.Options) (release.Info, error) {
	within, cancel := context.WithTimeout(ctx, readingTakes)
	defer cancel()
	return r.read(within, image, options)
}

// payloadOf is what a release image says of itself.
func (r *releases) payloadOf(ctx context.Context, plane *controlplanev1.OpenshiftAssistedControlPlane, wanted *spec.Cluster,
	image string) (versions.Payload, error) {
	options, err := r.optionsOf(ctx, plane, wanted)
	if err != nil {
		return versions.Payload{}, err
	}
	options.Kubernetes = true
	info, err := r.readSoon(ctx, image, options)
	return versions.Payload{Version: info.Version, Kubernetes: info.Kubernetes}, err
}

// digestOf is a release image by its digest, as its registry or a mirror has it.
func (r *releases) digestOf(ctx context.Context, c *clusterspec.Cluster, image string, wanted *spec.Cluster) (string, error) {
	options, err := r.optionsOf(ctx, c.ControlPlane, wanted)
	if err != nil {
		return "", err
	}
	info, err := r.readSoon(ctx, image, options)
	if err != nil {
		return "", err
	}
	repository := image[:strings.LastIndex(image, ":")]
	return repository + "@" + info.Digest, nil
}
