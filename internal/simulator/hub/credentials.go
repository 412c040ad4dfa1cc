package hub

import (
	"context"
	"encoding/base64"
	"maps"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/oaictl/oaictl/internal/hubapi"
	"github.com/oaictl/oaictl/internal/simulator/hub/objects"
)

// publish puts what opens the cluster into Secrets, and its names into the
// AgentClusterInstall: while it is being installed the kubeconfig without the
// routers' certificate, at the end the complete one, and the password first.
func (h *hub) publish(ctx context.Context, m *clusterMemory, p *pair, done bool) error {
	config, password := p.key.id+"-admin-kubeconfig", p.key.id+"-admin-password"
	meta := map[string]any{"adminKubeconfigSecretRef": map[string]any{"name": config}, "clusterID": m.rest.OpenshiftID, "infraID": m.id}
	if done {
		if err := h.publishPassword(ctx, m, p, password); err != nil {
			return err
		}
		meta["adminPasswordSecretRef"] = map[string]any{"name": password}
	}
	if err := h.publishConfig(ctx, m, p, config, done); err != nil {
		return err
	}
	have, _, _ := unstructured.NestedMap(p.aci.Object, "spec", "clusterMetadata")
	if same(meta, have) {
		return nil
	}
	merged := maps.Clone(have)
	if merged == nil {
		merged = map[string]any{}
	}
	maps.Copy(merged, meta)
	if err := unstructured.SetNestedMap(p.aci.Object, merged, "spec", "clusterMetadata"); err != nil {
		return err
	}
	return h.store.updatePrinted(ctx, p.aci)
}

func (h *hub) publishPassword(ctx context.Context, m *clusterMemory, p *pair, name string) error {
	if h.store.get(objects.KindSecret, p.key.space, name) != nil {
		return nil
	}
	var said struct{ Username, Password string }
	if err := h.backend.Do(ctx, "GET", "/v2/clusters/"+m.id+"/credentials", nil, &said); err != nil {
		return err
	}
	return h.store.create(ctx, secretOf(p, name, hubapi.SecretTypeKubeadmin, map[string]string{"username": said.Username, "password": said.Password}))
}

func (h *hub) publishConfig(ctx context.Context, m *clusterMemory, p *pair, name string, done bool) error {
	secret := h.store.get(objects.KindSecret, p.key.space, name)
	if secret != nil && !done {
		return nil
	}
	file := "kubeconfig-noingress"
	if done {
		file = "kubeconfig"
	}
	data, err := h.backend.Raw(ctx, "GET", "/v2/clusters/"+m.id+"/downloads/credentials?file_name="+file, nil)
	if err != nil {
		return err
	}
	if secret == nil {
		return h.store.create(ctx, secretOf(p, name, "kubeconfig", map[string]string{"kubeconfig": string(data)}))
	}
	if err := h.stamp(ctx, secret); err != nil {
		return err
	}
	if objects.Nested(secret, "data", "kubeconfig") == base64.StdEncoding.EncodeToString(data) {
		return nil
	}
	if err := unstructured.SetNestedField(secret.Object, base64.StdEncoding.EncodeToString(data), "data", "kubeconfig"); err != nil {
		return err
	}
	return h.store.update(ctx, secret)
}

func secretOf(p *pair, name, kind string, data map[string]string) *objects.Object {
	encoded := map[string]any{}
	for field, text := range data {
		encoded[field] = base64.StdEncoding.EncodeToString([]byte(text))
	}
	secret := &objects.Object{Object: map[string]any{"apiVersion": "v1", "kind": string(objects.KindSecret), "type": "Opaque", "data": encoded}}
	secret.SetName(name)
	secret.SetNamespace(p.key.space)
	secret.SetLabels(map[string]string{hubapi.LabelHiveClusterDeployment: p.key.id, hubapi.LabelHiveSecretType: kind})
	owner := ownerOf(p.cd, true)
	secret.SetOwnerReferences(append(secret.GetOwnerReferences(), owner))
	return secret
}
