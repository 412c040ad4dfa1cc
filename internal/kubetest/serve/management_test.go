//go:build e2e

package main

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/tools/clientcmd"
)

// TestManagementForAnotherProgram runs a management cluster with the kinds of a provider as a child of another program:
// that reads the address, and ends it by exiting.
func TestManagementForAnotherProgram(t *testing.T) {
	if testing.Short() {
		t.Skip("it runs a management cluster")
	}
	havePrograms(t)
	o := options{kubeconfig: filepath.Join(t.TempDir(), "kubeconfig"), management: true, report: true, gates: map[string]bool{}, install: []string{"../testdata/standin.yaml"}}
	if err := o.gate("ClusterTopology"); err != nil {
		t.Fatal(err)
	}
	ctx, stop := context.WithTimeout(t.Context(), 5*time.Minute)
	defer stop()
	input, held := io.Pipe()
	read, out := io.Pipe()
	ended := make(chan error, 1)
	go func() {
		err := serve(untilClosed(ctx, input), o, out)
		ended <- errors.Join(err, out.CloseWithError(err))
	}()
	var said report
	if err := json.NewDecoder(read).Decode(&said); err != nil {
		t.Fatal(err)
	}
	if said.WebhookPort == 0 || said.WebhookCertDir == "" || !strings.HasSuffix(said.Clusterctl, "clusterctl") || said.Kubeconfig != o.kubeconfig {
		t.Errorf("it says %+v", said)
	}
	config, err := clientcmd.BuildConfigFromFlags("", said.Kubeconfig)
	if err != nil {
		t.Fatal(err)
	}
	objects, err := dynamic.NewForConfig(config)
	if err != nil {
		t.Fatal(err)
	}
	kinds, err := objects.Resource(schema.GroupVersionResource{Group: "apiextensions.k8s.io", Version: "v1", Resource: "customresourcedefinitions"}).List(ctx, metav1.ListOptions{})
	if err != nil {
		t.Fatal(err)
	}
	served := map[string]bool{}
	for _, kind := range kinds.Items {
		served[kind.GetName()] = true
	}
	for _, name := range []string{"clusters.cluster.x-k8s.io", "metal3machines.infrastructure.cluster.x-k8s.io", "standinmachines.infrastructure.cluster.x-k8s.io"} {
		if !served[name] {
			t.Errorf("it does not have the kind %s", name)
		}
	}
	if err := held.Close(); err != nil {
		t.Fatal(err)
	}
	if err := <-ended; err != nil {
		t.Error(err)
	}
	if _, err := os.Stat(o.kubeconfig); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("the kubeconfig is left: %v", err)
	}
}

// TestFeatureGates are switched on by their name, or by what stands behind it.
func TestFeatureGates(t *testing.T) {
	o := options{gates: map[string]bool{}}
	for text, wanted := range map[string]bool{"A": true, "B=true": true, "C=false": false} {
		if err := o.gate(text); err != nil || o.gates[text[:1]] != wanted {
			t.Errorf("%s: %t, %v", text, o.gates[text[:1]], err)
		}
	}
	if err := o.gate("D=perhaps"); err == nil {
		t.Error("perhaps is no bool")
	}
}
