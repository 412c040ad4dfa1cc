package kubetest

import (
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"net/http"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/dynamic"
)

// Management is a management cluster of Cluster API: a hub with the kinds of Cluster API and of
// its provider Metal3, and the core manager as a process, with its webhooks. No provider runs.
type Management struct {
	*Cluster

	config     ManagementConfig
	core       *process
	conversion *http.Server // of Metal3's kinds
}

// ManagementConfig says how the core manager runs. The zero value is as it is released.
type ManagementConfig struct {
	// FeatureGates are switched on or off: ClusterTopology, RuntimeSDK, InPlaceUpdates, MachineSetPreflightChecks, …
	FeatureGates map[string]bool
	// Flags are further flags of the core manager, such as --sync-period=1m.
	Flags []string
	// Assets is a folder with the programs, for OpenManagement; empty builds what is not there.
	Assets string
}

// flags are those of the core manager for what is configured.
func (m *ManagementConfig) flags() []string {
	var gates []string
	for _, name := range slices.Sorted(maps.Keys(m.FeatureGates)) {
		gates = append(gates, fmt.Sprintf("%s=%t", name, m.FeatureGates[name]))
	}
	if gates == nil {
		return m.Flags
	}
	return append([]string{"--feature-gates=" + strings.Join(gates, ",")}, m.Flags...)
}

// StartManagement starts a management cluster of the test's own, which is stopped after the
// test. The test is skipped as by Start.
func StartManagement(t testing.TB, config ManagementConfig) *Management {
	t.Helper()
	m, err := startManagement(t, config)
	if err != nil {
		giveUp(t, err)
	}
	t.Cleanup(func() {
		if err := m.Close(); err != nil {
			t.Errorf("stopping the management cluster: %v", err)
		}
	})
	return m
}

func startManagement(t testing.TB, config ManagementConfig) (*Management, error) {
	c, err := start(t)
	if err != nil {
		return nil, err
	}
	return c.manage(t.Context(), config)
}

// OpenManagement starts a management cluster outside tests. What is built for it goes to log.
func OpenManagement(ctx context.Context, log io.Writer, config ManagementConfig) (*Management, error) {
	var c *Cluster
	var err error
	if config.Assets != "" {
		c, err = OpenFrom(ctx, config.Assets)
	} else {
		c, err = Open(ctx, log)
	}
	if err != nil {
		return nil, err
	}
	return c.manage(ctx, config)
}

// manage makes a hub a management cluster, or closes it.
func (c *Cluster) manage(ctx context.Context, config ManagementConfig) (*Management, error) {
	m := &Management{Cluster: c, config: config}
	if err := m.start(ctx); err != nil {
		return nil, errors.Join(err, m.Close())
	}
	return m, nil
}

func (m *Management) start(ctx context.Context) error {
	if err := m.installMetal3(ctx); err != nil {
		return err
	}
	return m.startCore(ctx)
}

// startCore starts the core manager: after its kinds, which it looks for, and before its admission webhooks, which
// refuse every request until it runs.
func (m *Management) startCore(ctx context.Context) error {
	w, err := m.NewWebhooks(ctx)
	if err != nil {
		return err
	}
	config := coreConfig(filepath.Join(m.programs, coreManifests))
	kinds, err := pointed(w)(config.kinds())
	if err != nil {
		return err
	}
	if err := m.Apply(ctx, kinds...); err != nil {
		return err
	}
	if err := m.runCore(ctx, w); err != nil {
		return err
	}
	admission, err := pointed(w)(config.admission())
	if err != nil {
		return err
	}
	return m.Apply(ctx, admission...)
}

func (m *Management) runCore(ctx context.Context, w *Webhooks) error {
	health, err := m.ports.Address(ctx)
	if err != nil {
		return err
	}
	diagnostics, err := m.ports.Address(ctx)
	if err != nil {
		return err
	}
	kubeconfig := filepath.Join(m.scratch.folder, "core.kubeconfig")
	if err := writeKubeconfig(kubeconfig, m.Config); err != nil {
		return err
	}
	flags := append([]string{
		"--kubeconfig=" + kubeconfig, fmt.Sprintf("--webhook-port=%d", w.Port), "--webhook-cert-dir=" + w.CertDir,
		"--health-addr=" + health, "--diagnostics-address=" + diagnostics, "--insecure-diagnostics",
	}, m.config.flags()...)
	if m.core, err = m.spawn(ctx, coreManager, filepath.Join(m.programs, coreManager), flags...); err != nil {
		return err
	}
	return m.core.await(ctx, func(ctx context.Context) error {
		return answers(ctx, "http://"+health+"/readyz")
	})
}

// Clusterctl is the path of clusterctl.
func (m *Management) Clusterctl() string { return filepath.Join(m.programs, clusterctl) }

// AddInventory makes the kind in which clusterctl records the providers of a management cluster, without any, and marks
// the kinds of providers as clusterctl does, so that it can move clusters from and to it.
func (m *Management) AddInventory(t testing.TB) {
	t.Helper()
	_, module := CoreModule(t)
	if err := m.Install(t.Context(), nil, filepath.Join(module, "cmd", "clusterctl", "config", "manifest",
		"clusterctl-api.yaml")); err != nil {
		t.Fatalf("making clusterctl's inventory: %v", err)
	}
	api, err := dynamic.NewForConfig(m.Config)
	if err != nil {
		t.Fatal(err)
	}
	kinds := api.Resource(schema.GroupVersionResource{Group: "apiextensions.k8s.io", Version: "v1", Resource: "customresourcedefinitions"})
	list, err := kinds.List(t.Context(), metav1.ListOptions{LabelSelector: "cluster.x-k8s.io/provider,!clusterctl.cluster.x-k8s.io"})
	if err != nil {
		t.Fatalf("listing the kinds of providers: %v", err)
	}
	for i := range list.Items {
		mark := []byte(`{"metadata": {"labels": {"clusterctl.cluster.x-k8s.io": ""}}}`)
		if _, err := kinds.Patch(t.Context(), list.Items[i].GetName(), types.MergePatchType, mark, metav1.PatchOptions{}); err != nil {
			t.Fatalf("marking a kind as clusterctl does: %v", err)
		}
	}
}

// CoreModule is the version of Cluster API's module, and the folder of its sources.
func CoreModule(t testing.TB) (version, folder string) {
	t.Helper()
	out, err := exec.CommandContext(t.Context(), "go", "list", "-m", "-f", "{{.Version}} {{.Dir}}", clusterAPI).Output()
	if err != nil {
		t.Fatalf("finding the module %s: %v", clusterAPI, err)
	}
	version, folder, _ = strings.Cut(strings.TrimSpace(string(out)), " ")
	return version, folder
}

// Close ends a management cluster that OpenManagement started, and removes what it wrote.
func (m *Management) Close() error {
	var err error
	if m.core != nil {
		err = m.core.stop()
	}
	if m.conversion != nil {
		err = errors.Join(err, m.conversion.Close())
	}
	return errors.Join(err, m.Cluster.Close())
}
