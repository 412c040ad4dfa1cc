package hub

import (
	"cmp"
	"context"
	"encoding/base64"
	"fmt"
	"maps"
	"net/url"
	"slices"
	"strings"
	"time"

	"github.com/oaictl/oaictl/internal/shared/hubapi"
	"github.com/oaictl/oaictl/internal/shared/hubapi/hive"
	"github.com/oaictl/oaictl/internal/simulator/apiobject"
	"github.com/oaictl/oaictl/internal/simulator/hub/assisted"
	"github.com/oaictl/oaictl/internal/simulator/hub/objects"
	"github.com/oaictl/oaictl/internal/simulator/versions"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/labels"
)

func (h *hub) gather(ctx context.Context, p *pair) (*clusterInputs, error) {
	in := &clusterInputs{
		name: p.deploy.ClusterName, domain: p.deploy.BaseDomain, spec: p.install, consumer: p.aci.GetLabels()[hubapi.LabelConsumer],
	}
	var err error
	if p.deploy.PullSecretRef == nil || p.deploy.PullSecretRef.Name == "" {
		return nil, assisted.InputFault("missing pull secret: ClusterDeployment %s/%s names none", p.key.space, p.key.id)
	}
	if in.pullSecret, err = h.field(ctx, hubapi.KindSecret, p.key.space, p.deploy.PullSecretRef.Name, hubapi.KeyPullSecret); err != nil {
		return nil, err
	}
	if in.release, err = h.release(p); err != nil {
		return nil, err
	}
	if ref := p.install.MirrorRegistryRef; ref != nil {
		if _, err := h.field(ctx, hubapi.KindConfigMap, cmp.Or(ref.Namespace, p.key.space), ref.Name, hubapi.KeyRegistriesConf); err != nil {
			return nil, err
		}
	}
	if e := p.install.IgnitionEndpoint; e != nil && e.CACertificateReference != nil {
		if in.endpointCA, err = h.field(
			ctx, hubapi.KindSecret, cmp.Or(e.CACertificateReference.Namespace, p.key.space), e.CACertificateReference.Name,
			hubapi.KeyIgnitionCA,
		); err != nil {
			return nil, err
		}
	}
	return in, nil
}

// content reads a Secret, or the data of a ConfigMap, and marks it as one that is watched.
func (h *hub) content(ctx context.Context, k objects.Kind, space, name string) (map[string]string, error) {
	o, err := h.store.read(ctx, k, space, name)
	if apierrors.IsNotFound(err) {
		what := strings.ToLower(string(k))
		return nil, assisted.InputFault("Failed to find %s %s: %ss %q not found", what, name, what, name)
	}
	if err != nil {
		return nil, err
	}
	data, _, _ := unstructured.NestedStringMap(o.Object, "data")
	if k != hubapi.KindSecret {
		return data, h.stamp(ctx, o)
	}
	for field, text := range data {
		decoded, err := base64.StdEncoding.DecodeString(text)
		if err != nil {
			return nil, fmt.Errorf("read %s of %s %s/%s: %w", field, k, space, name, err)
		}
		data[field] = string(decoded)
	}
	return data, h.stamp(ctx, o)
}

func (h *hub) field(ctx context.Context, k objects.Kind, space, name, field string) (string, error) {
	all, err := h.content(ctx, k, space, name)
	if err != nil {
		return "", err
	}
	text, ok := all[field]
	if !ok {
		return "", assisted.InputFault("%s %s did not contain key %s", strings.ToLower(string(k)), name, field)
	}
	return text, nil
}

// stamp marks an object for backup and for watching, in two writes as the service does.
func (h *hub) stamp(ctx context.Context, o *apiobject.Object) error {
	for _, label := range []string{hubapi.LabelBackup, hubapi.LabelWatch} {
		stamped := labels.Merge(o.GetLabels(), labels.Set{label: yesText})
		if err := h.store.change(ctx, o, func() { o.SetLabels(stamped) }); err != nil {
			return err
		}
	}
	return nil
}

const yesText = "true"

func (h *hub) release(p *pair) (versions.Release, error) {
	ref := p.install.ImageSetRef
	if ref == nil || ref.Name == "" {
		return versions.Release{}, assisted.InputFault("missing ImageSetRef for cluster that is not installed")
	}
	set := h.store.get(hubapi.KindClusterImageSet, "", ref.Name)
	if set == nil {
		return versions.Release{}, assisted.InputFault("failed to get cluster image set %s: ClusterImageSet.hive.openshift.io %q not found",
			ref.Name, ref.Name)
	}
	image := apiobject.Text(set, "spec", "releaseImage")
	release, ok := versions.ReleaseByImage(cmp.Or(h.config.Images[image], image))
	if !ok {
		return versions.Release{}, assisted.InputFault("failed to add release image %q. Please ensure the releaseImage field in "+
			"ClusterImageSet '%s' is valid, (error: unable to read image %s)", image, ref.Name, image)
	}
	return release, nil
}

func (h *hub) updateByAnnotation(ctx context.Context, m *clusterMemory, aci *apiobject.Object) error {
	notes := aci.GetAnnotations()
	changed := false
	if want := notes[hubapi.AnnotationInstallConfigOverrides]; want != m.rest.Overrides {
		if err := h.backend.Do(ctx, "PATCH", "/v2/clusters/"+m.id+"/install-config", want, nil); err != nil {
			return err
		}
		changed = true
	}
	want := assisted.Ignored{Cluster: ignoredList(notes, hubapi.AnnotationIgnoredClusterValidations),
		Host: ignoredList(notes, hubapi.AnnotationIgnoredHostValidations)}
	var have assisted.Ignored
	path := "/v2/clusters/" + m.id + "/ignored-validations"
	if err := h.backend.Do(ctx, "GET", path, nil, &have); err != nil {
		return err
	}
	if !sameList(want.Cluster, have.Cluster) || !sameList(want.Host, have.Host) {
		if err := h.backend.Do(ctx, "PUT", path, want, nil); err != nil {
			return err
		}
		changed = true
	}
	if !changed {
		return nil
	}
	return h.readCluster(ctx, m)
}

// ignoredList is an annotation's comma list as the service takes it, a list in a text; "" without one.
func ignoredList(notes map[string]string, name string) string {
	text, said := notes[name]
	if !said {
		return ""
	}
	ids := []string{}
	for id := range strings.SplitSeq(text, ",") {
		if id = strings.TrimSpace(id); id != "" {
			ids = append(ids, id)
		}
	}
	return objects.ToJSON(ids)
}

func sameList(a, b string) bool { return a == b || (a == "" || a == "[]") && (b == "" || b == "[]") }

func queryOf(address, name string) string {
	parsed, err := url.Parse(address)
	if err != nil {
		return ""
	}
	return parsed.Query().Get(name)
}

func ownerOf(o *apiobject.Object, block bool) metav1.OwnerReference {
	ref := metav1.OwnerReference{APIVersion: o.GetAPIVersion(), Kind: o.GetKind(), Name: o.GetName(), UID: o.GetUID()}
	if block {
		ref.BlockOwnerDeletion = &block
	}
	return ref
}

func (h *hub) importCluster(ctx context.Context, m *clusterMemory, p *pair) error {
	if p.deploy.PullSecretRef != nil && p.deploy.PullSecretRef.Name != "" {
		if _, err := h.field(ctx, hubapi.KindSecret, p.key.space, p.deploy.PullSecretRef.Name, hubapi.KeyPullSecret); err != nil {
			return err
		}
	}
	version := ""
	if p.install.ImageSetRef != nil {
		release, err := h.release(p)
		if err != nil {
			return err
		}
		version = release.Version
	}
	id := ""
	for _, meta := range []*hive.ClusterMetadata{p.deploy.ClusterMetadata, p.install.ClusterMetadata} {
		if meta != nil && id == "" {
			id = meta.ClusterID
		}
	}
	body := map[string]any{
		"name": p.deploy.ClusterName, "api_vip_dnsname": "api." + p.deploy.ClusterName + "." + p.deploy.BaseDomain, "openshift_version": version,
	}
	if id != "" {
		body["openshift_cluster_id"] = id
	}
	var made assisted.Cluster
	if err := h.backend.Do(ctx, "POST", "/v2/clusters/import", body, &made); err != nil {
		return err
	}
	m.id = made.ID
	h.logf("imported %s as cluster %s", p.key, m.id)
	h.wakeInfraEnvs(p.key)
	return h.readCluster(ctx, m)
}

const manifestFolder = "openshift"

const manifestRetry = time.Minute

func (h *hub) sendManifests(ctx context.Context, m *clusterMemory, p *pair) error {
	files, err := h.readManifests(ctx, p)
	if err != nil {
		if assisted.IsInput(err) {
			h.requeueAfter(p.key, manifestRetry)
		}
		return err
	}
	print := fmt.Sprintf("%q", files) // in the order of their names
	if print == m.manifests || m.manifests == "" && len(files) == 0 {
		return nil
	}
	base := "/v2/clusters/" + m.id + "/manifests"
	var have []struct {
		Folder string `json:"folder"`
		Name   string `json:"file_name"`
	}
	if err := h.backend.Do(ctx, "GET", base, nil, &have); err != nil {
		return err
	}
	for _, old := range have {
		if _, wanted := files[old.Name]; !wanted && old.Folder == manifestFolder {
			query := url.Values{"folder": {old.Folder}, "file_name": {old.Name}}
			if err := h.backend.Do(ctx, "DELETE", base+"?"+query.Encode(), nil, nil); err != nil {
				return err
			}
		}
	}
	for _, name := range slices.Sorted(maps.Keys(files)) {
		body := map[string]any{"folder": manifestFolder, "file_name": name, "content": base64.StdEncoding.EncodeToString([]byte(files[name]))}
		if err := h.backend.Do(ctx, "POST", base, body, nil); err != nil {
			return err
		}
	}
	m.manifests = print
	return nil
}

// readManifests reads the files of all ConfigMaps, in which no name may come twice.
func (h *hub) readManifests(ctx context.Context, p *pair) (map[string]string, error) {
	files := map[string]string{}
	for _, name := range p.install.Manifests() {
		data, err := h.content(ctx, hubapi.KindConfigMap, p.key.space, name)
		if err != nil {
			return nil, err
		}
		for name, content := range data {
			if _, twice := files[name]; twice {
				return nil, assisted.InputFault("Conflict in manifest names: %s is not unique", name)
			}
			files[name] = content
		}
	}
	return files, nil
}
