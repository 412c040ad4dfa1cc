package metal3

import (
	"context"
	"crypto/tls"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"net"
	"net/http"
	"slices"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/util/cert"
)

const (
	oldVersion = infraGroup + "/v1beta1"
	newVersion = infraGroup + "/v1beta2"
)

// convertedKinds are the kinds that have both versions.
var convertedKinds = []string{clusters, "metal3clustertemplates", machines, "metal3machinetemplates"}

// Convert serves the conversion of Metal3's kinds between their versions, on loopback, for an API
// server on the same machine. Without it objects of the older version lose what it calls otherwise. It
// returns once the API server asks it; stop has it ask nobody any more.
func Convert(ctx context.Context, kube *rest.Config) (stop func() error, err error) {
	client, err := dynamic.NewForConfig(kube)
	if err != nil {
		return nil, fmt.Errorf("convert objects of Metal3: make a client: %w", err)
	}
	listener, err := new(net.ListenConfig).Listen(ctx, "tcp", "127.0.0.1:0")
	if err != nil {
		return nil, fmt.Errorf("convert objects of Metal3: %w", err)
	}
	ca, private, err := cert.GenerateSelfSignedCertKey("127.0.0.1", nil, nil)
	if err != nil {
		return nil, errors.Join(err, listener.Close())
	}
	pair, err := tls.X509KeyPair(ca, private)
	if err != nil {
		return nil, errors.Join(err, listener.Close())
	}
	server := &http.Server{Handler: http.HandlerFunc(review), ReadHeaderTimeout: time.Minute}
	go func() {
		_ = server.Serve(tls.NewListener(listener, &tls.Config{Certificates: []tls.Certificate{pair}, MinVersion: tls.VersionTLS12}))
	}()
	end := func() error {
		return errors.Join(point(context.WithoutCancel(ctx), client, map[string]any{"strategy": "None", "webhook": nil}), server.Close())
	}
	by := map[string]any{"strategy": "Webhook", "webhook": map[string]any{
		"conversionReviewVersions": []string{"v1"},
		"clientConfig":             map[string]any{"url": "https://" + listener.Addr().String() + "/convert", "caBundle": base64.StdEncoding.EncodeToString(ca)},
	}}
	if err := point(ctx, client, by); err != nil {
		return nil, errors.Join(err, end())
	}
	return end, nil
}

// point has the API server convert the kinds in a way.
func point(ctx context.Context, client dynamic.Interface, conversion map[string]any) error {
	patch, err := json.Marshal(map[string]any{"spec": map[string]any{"conversion": conversion}})
	if err != nil {
		return err
	}
	definitions := client.Resource(schema.GroupVersionResource{Group: "apiextensions.k8s.io", Version: "v1", Resource: "customresourcedefinitions"})
	for _, kind := range convertedKinds {
		if _, err := definitions.Patch(ctx, kind+"."+infraGroup, types.MergePatchType, patch, metav1.PatchOptions{FieldManager: manager}); err != nil {
			return fmt.Errorf("set the conversion of %s: %w", kind, err)
		}
	}
	return nil
}

// review answers a ConversionReview.
func review(w http.ResponseWriter, r *http.Request) {
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
		convert(&object{Object: o}, asked.Request.Version)
	}
	w.Header().Set("Content-Type", "application/json")
	_ = json.NewEncoder(w).Encode(map[string]any{ // who does not listen any more needs no answer
		"apiVersion": asked.APIVersion, "kind": asked.Kind,
		"response": map[string]any{"uid": asked.Request.UID, "convertedObjects": asked.Request.Objects, "result": map[string]any{"status": "Success"}},
	})
}

// convert has an object say the same in another version.
func convert(u *object, to string) {
	if u.GetAPIVersion() == to {
		return
	}
	u.SetAPIVersion(to)
	older := to == oldVersion
	for _, at := range [][]string{{"spec"}, {"spec", "template", "spec"}} {
		from, into := "format", "diskFormat"
		if older {
			from, into = into, from
		}
		move(u, append(at, "image", from), append(at, "image", into))
		convertDomains(u, append(at, "failureDomains"), older)
		if older {
			if enabled, said, _ := unstructured.NestedBool(u.Object, append(at, "cloudProviderEnabled")...); said {
				set(u, !enabled, append(at, "noCloudProvider")...)
			}
		} else {
			set(u, nil, append(at, "noCloudProvider")...)
		}
	}
	convertDomains(u, []string{"status", "failureDomains"}, older)
	if older {
		move(u, []string{"status", "conditions"}, []string{"status", "v1beta2", "conditions"})
		move(u, []string{"status", "deprecated", "v1beta1", "conditions"}, []string{"status", "conditions"})
		move(u, []string{"status", "initialization", "provisioned"}, []string{"status", "ready"})
		set(u, nil, "status", "initialization")
		set(u, nil, "status", "deprecated")
		return
	}
	move(u, []string{"status", "conditions"}, []string{"status", "deprecated", "v1beta1", "conditions"})
	move(u, []string{"status", "v1beta2", "conditions"}, []string{"status", "conditions"})
	move(u, []string{"status", "ready"}, []string{"status", "initialization", "provisioned"})
	set(u, nil, "status", "v1beta2")
}

// move takes a field somewhere else, if it is there.
func move(u *object, from, to []string) {
	value, found, err := unstructured.NestedFieldNoCopy(u.Object, from...)
	if err != nil || !found {
		return
	}
	unstructured.RemoveNestedField(u.Object, from...)
	set(u, value, to...)
}

// convertDomains writes failure domains by name, or as a list in the order of their names.
func convertDomains(u *object, at []string, older bool) {
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
		set(u, made, at...)
	case !older && named:
		made := []any{}
		for _, name := range slices.Sorted(maps.Keys(byName)) {
			domain, _ := byName[name].(map[string]any)
			one := map[string]any{"name": name}
			maps.Copy(one, domain)
			made = append(made, one)
		}
		set(u, made, at...)
	}
}
