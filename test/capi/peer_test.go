//go:build e2e

package capi

import (
	"archive/tar"
	"bytes"
	"crypto/tls"
	"fmt"
	"io"
	"log"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/google/go-containerregistry/pkg/name"
	"github.com/google/go-containerregistry/pkg/registry"
	"github.com/google/go-containerregistry/pkg/v1/empty"
	"github.com/google/go-containerregistry/pkg/v1/mutate"
	"github.com/google/go-containerregistry/pkg/v1/remote"
	"github.com/google/go-containerregistry/pkg/v1/tarball"

	"github.com/oaictl/oaictl/internal/kubetest"
	"github.com/oaictl/oaictl/internal/shared/must"
	"github.com/oaictl/oaictl/internal/simulator/auth"
	"github.com/oaictl/oaictl/internal/simulator/management"
	"github.com/oaictl/oaictl/internal/simulator/spoke"
)

// environmentPeer names a folder with the providers of cluster-api-provider-openshift-assisted, which are measured beside
// ours: the programs bin/bootstrap and bin/controlplane, and their kinds and webhook configurations in the folders
// manifests/bootstrap and manifests/controlplane. The programs are to serve webhooks where WEBHOOK_PORT and
// WEBHOOK_CERT_DIR say, since two of them run on one machine here. Without it that half is skipped.
const environmentPeer = "OAICTL_PEER"

// settlesWithin is how long providers may take to read what is there when they start.
const settlesWithin = 5 * time.Second

// benchmarkPeer has the peer install its example of three and two machines. Metal3's provider is played, as beside ours.
func benchmarkPeer(b *testing.B) (took cost) {
	b.Helper()
	folder := os.Getenv(environmentPeer)
	if folder == "" {
		b.Skipf("%s names no folder with the providers to compare with", environmentPeer)
	}
	for b.Loop() {
		repository, images := serveRelease(b)
		hooks := map[string]*kubetest.Webhooks{}
		f := newFleetOf(b, 1, 2, hasty, func(r *rig) {
			r.dial()
			for _, part := range []string{"bootstrap", "controlplane"} {
				hooks[part] = r.installPeer(filepath.Join(folder, "manifests", part))
			}
		}, management.Config{Auth: auth.Local, Images: images})
		kube, counted := f.count()
		kubeconfig := f.KubeconfigOf(b, kube)
		var programs []*program
		for part, at := range hooks {
			programs = append(programs, startPeer(b, filepath.Join(folder, "bin", part), kubeconfig, at))
		}
		took = f.measure(counted, programs, func() { f.orderPeer(repository) })
	}
	return took
}

// installPeer installs kinds and webhook configurations, and says where they are to be served.
func (r *rig) installPeer(folder string) *kubetest.Webhooks {
	r.t.Helper()
	at := must.Get(r.NewWebhooks(r.t.Context()))(r.t)
	must.Do(r.t, r.Install(r.t.Context(), at, folder))
	return at
}

// startPeer runs one of the peer's programs until the test's end, and returns once its webhooks are served.
func startPeer(t testing.TB, path, kubeconfig string, at *kubetest.Webhooks) *program {
	t.Helper()
	p := &program{t: t, command: exec.Command(path, "--metrics-bind-address=0", "--health-probe-bind-address=0")}
	p.command.Env = append(os.Environ(), "KUBECONFIG="+kubeconfig, "WEBHOOK_CERT_DIR="+at.CertDir, fmt.Sprintf("WEBHOOK_PORT=%d", at.Port),
		"ASSISTED_CA_BUNDLE_NAME=", "ASSISTED_CA_BUNDLE_NAMESPACE=") // the service of the hub is served without TLS
	p.command.Stderr = &p.stderr
	must.Do(t, p.command.Start())
	t.Cleanup(sync.OnceFunc(func() {
		_ = p.command.Process.Signal(syscall.SIGTERM)
		_ = p.command.Wait() // it is asked to end
		if t.Failed() {
			said := p.stderr.String()
			t.Logf("%s says at last:\n%s", filepath.Base(path), said[max(0, len(said)-20000):])
		}
	}))
	for deadline := time.Now().Add(time.Minute); ; {
		//nolint:gosec // it is only asked whether it is there
		connection, err := tls.Dial("tcp", strings.TrimPrefix(at.URL(), "https://"), &tls.Config{InsecureSkipVerify: true})
		if err == nil {
			_ = connection.Close()
			return p
		}
		if time.Now().After(deadline) {
			t.Fatalf("the webhooks of %s are not served: %v\n%s", path, err, p.stderr.String())
		}
		must.Do(t, t.Context().Err())
	}
}

// serveRelease serves the release image of the version from a registry on loopback. It gives the repository, and for the
// hub the image's tag by its digest: see hub.Config.
func serveRelease(t testing.TB) (repository string, images map[string]string) {
	t.Helper()
	server := httptest.NewServer(registry.New(registry.Logger(log.New(io.Discard, "", 0))))
	t.Cleanup(server.Close)
	repository = strings.TrimPrefix(server.URL, "http://") + "/ocp/release"
	content := fmt.Sprintf(`{"kind": "ImageStream", "apiVersion": "image.openshift.io/v1", "spec": {"tags": [{"name": "hyperkube",
  "annotations": {"io.openshift.build.versions": "kubernetes=%s"}}]}}`, strings.TrimPrefix(spoke.KubernetesOf(version), "v"))
	var packed bytes.Buffer
	w := tar.NewWriter(&packed)
	must.Do(t, w.WriteHeader(&tar.Header{Name: "release-manifests/image-references", Mode: 0o644, Size: int64(len(content))}))
	must.Get(io.WriteString(w, content))(t)
	must.Do(t, w.Close())
	layer := must.Get(tarball.LayerFromOpener(func() (io.ReadCloser, error) { return io.NopCloser(bytes.NewReader(packed.Bytes())), nil }))(t)
	image := must.Get(mutate.AppendLayers(empty.Image, layer))(t)
	digest := must.Get(image.Digest())(t)
	for _, arch := range []string{"multi", "x86_64"} {
		tag := must.Get(name.NewTag(repository + ":" + version + "-" + arch))(t)
		must.Do(t, remote.Write(tag, image, remote.WithContext(t.Context())))
	}
	return repository, map[string]string{repository + "@" + digest.String(): repository + ":" + version + "-x86_64"}
}

// orderPeer makes a cluster as the peer's example of several nodes has it, except for its Metal3DataTemplates, which say
// nothing.
func (f *fleet) orderPeer(repository string) {
	f.b.Helper()
	f.apply(pullSecret)
	vips := f.addresses(0)
	values := strings.NewReplacer("CLUSTER", f.names[0], "API_VIP", vips[0], "INGRESS_VIP", vips[1], "REPOSITORY", repository, "VERSION", version)
	f.apply(values.Replace(peerCluster))
}

const peerCluster = `{apiVersion: infrastructure.cluster.x-k8s.io/v1beta1, kind: Metal3Cluster, metadata: {name: CLUSTER},
  spec: {controlPlaneEndpoint: {host: CLUSTER.example.com, port: 6443}, noCloudProvider: true}}
---
{apiVersion: infrastructure.cluster.x-k8s.io/v1beta1, kind: Metal3MachineTemplate, metadata: {name: CLUSTER}, spec: {nodeReuse: false, template: {spec: {
  automatedCleaningMode: disabled,
  image: {url: "http://images.example.com/rhcos.qcow2", checksum: "http://images.example.com/rhcos.qcow2.sha256", checksumType: sha256, format: qcow2}}}}}
---
{apiVersion: bootstrap.cluster.x-k8s.io/v1alpha2, kind: OpenshiftAssistedConfigTemplate, metadata: {name: CLUSTER, labels: {cluster.x-k8s.io/cluster-name: CLUSTER}},
  spec: {template: {spec: {pullSecretRef: {name: pull-secret}, nodeRegistration: {name: $METADATA_NAME, kubeletExtraLabels: [metal3.io/uuid=$METADATA_UUID]}}}}}
---
{apiVersion: controlplane.cluster.x-k8s.io/v1alpha3, kind: OpenshiftAssistedControlPlane,
  metadata: {name: CLUSTER, annotations: {cluster.x-k8s.io/release-image-repository-override: "REPOSITORY"}},
  spec: {replicas: 3, distributionVersion: "VERSION",
    openshiftAssistedConfigSpec: {pullSecretRef: {name: pull-secret},
      nodeRegistration: {name: $METADATA_NAME, kubeletExtraLabels: [metal3.io/uuid=$METADATA_UUID]}},
    config: {apiVIPs: [API_VIP], ingressVIPs: [INGRESS_VIP], baseDomain: example.com, pullSecretRef: {name: pull-secret}},
    machineTemplate: {infrastructureRef: {apiGroup: infrastructure.cluster.x-k8s.io, kind: Metal3MachineTemplate, name: CLUSTER}}}}
---
{apiVersion: cluster.x-k8s.io/v1beta2, kind: Cluster, metadata: {name: CLUSTER}, spec: {
  clusterNetwork: {pods: {cidrBlocks: [172.18.0.0/20]}, services: {cidrBlocks: [10.96.0.0/12]}},
  controlPlaneRef: {apiGroup: controlplane.cluster.x-k8s.io, kind: OpenshiftAssistedControlPlane, name: CLUSTER},
  infrastructureRef: {apiGroup: infrastructure.cluster.x-k8s.io, kind: Metal3Cluster, name: CLUSTER}}}
---
{apiVersion: cluster.x-k8s.io/v1beta2, kind: MachineDeployment, metadata: {name: CLUSTER-worker, labels: {cluster.x-k8s.io/cluster-name: CLUSTER}}, spec: {
  clusterName: CLUSTER, replicas: 2, selector: {matchLabels: {cluster.x-k8s.io/cluster-name: CLUSTER}}, template: {
    metadata: {labels: {cluster.x-k8s.io/cluster-name: CLUSTER}}, spec: {clusterName: CLUSTER,
      bootstrap: {configRef: {apiGroup: bootstrap.cluster.x-k8s.io, kind: OpenshiftAssistedConfigTemplate, name: CLUSTER}},
      infrastructureRef: {apiGroup: infrastructure.cluster.x-k8s.io, kind: Metal3MachineTemplate, name: CLUSTER}}}}}
`
