package kubetest

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"net"
	"net/http"
	"path/filepath"
	"slices"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
)

const (
	metal3Group = "infrastructure.cluster.x-k8s.io"
	metal3Old   = metal3Group + "/v1beta1"
)

// installMetal3 makes the kinds of the provider, which converts them itself between their
// versions, and has clusterctl move BareMetalHosts, as the provider's own tests do
// (test/e2e/pivoting.go).
func (m *Management) installMetal3(ctx context.Context) error {
	w, err := m.NewWebhooks(ctx)
	if err != nil {
		return err
	}
	listener, err := new(net.ListenConfig).Listen(ctx, "tcp", fmt.Sprintf("127.0.0.1:%d", w.Port))
	if err != nil {
		return fmt.Errorf("convert objects of Metal3: %w", err)
	}
	m.conversion = &http.Server{Handler: http.HandlerFunc(convertMetal3), ReadHeaderTimeout: time.Minute}
	go func() {
		// It ends with the server.
		_ = m.conversion.ServeTLS(listener, filepath.Join(w.CertDir, "tls.crt"), filepath.Join(w.CertDir, "tls.key"))
	}()
	kinds, err := ReadManifests(filepath.Join(m.crds, "metal3"))
	if err := errors.Join(err, w.Point(kinds...)); err != nil {
		return err
	}
	hosts := &unstructured.Unstructured{}
	hosts.SetAPIVersion("apiextensions.k8s.io/v1")
	hosts.SetKind(kindDefinition)
	hosts.SetName("baremetalhosts.metal3.io")
	hosts.SetLabels(map[string]string{
		"clusterctl.cluster.x-k8s.io": "", "clusterctl.cluster.x-k8s.io/move": "", "clusterctl.cluster.x-k8s.io/move-hierarchy": "",
	})
	return m.Apply(ctx, append(kinds, hosts)...)
}

// Install is Cluster.Install, except for Metal3's kinds, which a management cluster has and converts by itself.
func (m *Management) Install(ctx context.Context, w *Webhooks, paths ...string) error {
	own := filepath.Join(m.crds, "metal3")
	return m.Cluster.Install(ctx, w, slices.DeleteFunc(slices.Clone(paths), func(path string) bool {
		absolute, err := filepath.Abs(path)
		return err == nil && absolute == own
	})...)
}

// setField writes a field; nil removes it.
func setField(u *unstructured.Unstructured, value any, path ...string) {
	if value == nil {
		unstructured.RemoveNestedField(u.Object, path...)
		return
	}
	// What blocks the path has another shape, which the API server does not let any client write.
	_ = unstructured.SetNestedField(u.Object, runtime.DeepCopyJSONValue(value), path...)
}

// convertMetal3 answers a ConversionReview.
func convertMetal3(w http.ResponseWriter, r *http.Request) {
	const most = 64 << 20
	var asked struct {
		APIVersion string `json:"apiVersion"`
		Kind       string `json:"kind"`
		Request    struct {
			UID     string           `json:"uid"`
			Version string           `json:"desiredAPIVersion"`
			Objects []map[string]any `json:"objects"`
		} `json:"request"`
	}
	if err := json.NewDecoder(http.MaxBytesReader(w, r.Body, most)).Decode(&asked); err != nil {
		http.Error(w, "no ConversionReview", http.StatusBadRequest)
		return
	}
	for _, o := range asked.Request.Objects {
		convertObject(&unstructured.Unstructured{Object: o}, asked.Request.Version)
	}
	w.Header().Set("Content-Type", "application/json")
	_ = json.NewEncoder(w).Encode(map[string]any{ // a client that has gone needs no answer
		"apiVersion": asked.APIVersion, "kind": asked.Kind,
		"response": map[string]any{"uid": asked.Request.UID, "convertedObjects": asked.Request.Objects,
			"result": map[string]any{"status": "Success"}},
	})
}

// convertObject converts an object to another version.
func convertObject(u *unstructured.Unstructured, to string) {
	if u.GetAPIVersion() == to {
		return
	}
	u.SetAPIVersion(to)
	older := to == metal3Old
	for _, at := range [][]string{{"spec"}, {"spec", "template", "spec"}} {
		from, into := "format", "diskFormat"
		if older {
			from, into = into, from
		}
		moveField(u, append(at, "image", from), append(at, "image", into))
		convertDomains(u, append(at, "failureDomains"), older)
		if older {
			if enabled, said, _ := unstructured.NestedBool(u.Object, append(at, "cloudProviderEnabled")...); said {
				setField(u, !enabled, append(at, "noCloudProvider")...)
			}
		} else {
			setField(u, nil, append(at, "noCloudProvider")...)
		}
	}
	convertDomains(u, []string{"status", "failureDomains"}, older)
	if older {
		moveField(u, []string{"status", "conditions"}, []string{"status", "v1beta2", "conditions"})
		moveField(u, []string{"status", "deprecated", "v1beta1", "conditions"}, []string{"status", "conditions"})
		moveField(u, []string{"status", "initialization", "provisioned"}, []string{"status", "ready"})
		setField(u, nil, "status", "initialization")
		setField(u, nil, "status", "deprecated")
		return
	}
	moveField(u, []string{"status", "conditions"}, []string{"status", "deprecated", "v1beta1", "conditions"})
	moveField(u, []string{"status", "v1beta2", "conditions"}, []string{"status", "conditions"})
	moveField(u, []string{"status", "ready"}, []string{"status", "initialization", "provisioned"})
	setField(u, nil, "status", "v1beta2")
}

// moveField takes a field somewhere else, if it is there.
func moveField(u *unstructured.Unstructured, from, to []string) {
	value, found, err := unstructured.NestedFieldNoCopy(u.Object, from...)
	if err != nil || !found {
		return
	}
	unstructured.RemoveNestedField(u.Object, from...)
	setField(u, value, to...)
}

// convertDomains writes failure domains by name, or as a list in the order of their names.
func convertDomains(u *unstructured.Unstructured, at []string, older bool) {
	value, found, err := unstructured.NestedFieldNoCopy(u.Object, at...)
	if err != nil || !found {
		return
	}
	byName, named := value.(map[string]any)
	list, listed := value.([]any)
	switch {
	case older && listed:
		made := map[string]any{}
		for _, each := range list {
			if domain, is := each.(map[string]any); is {
				name, _ := domain["name"].(string)
				delete(domain, "name")
				made[name] = domain
			}
		}
		setField(u, made, at...)
	case !older && named:
		made := []any{}
		for _, name := range slices.Sorted(maps.Keys(byName)) {
			domain, _ := byName[name].(map[string]any)
			one := map[string]any{"name": name}
			maps.Copy(one, domain)
			made = append(made, one)
		}
		setField(u, made, at...)
	}
}
