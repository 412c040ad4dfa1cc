package install_test

import (
	"bytes"
	"context"
	"errors"
	"io"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/oaictl/oaictl/pkg/install"
	"github.com/oaictl/oaictl/pkg/install/model"
	"github.com/oaictl/oaictl/pkg/install/spec"
)

// records is a backend of a few hosts and InfraEnvs that keeps what it was told to delete.
type records struct {
	install.Backend
	hosts   map[string][]model.Host // by InfraEnv
	kept    string                  // an InfraEnv that the service keeps
	deleted []string
	image   string
	part    int // bytes after which a download of the image breaks
}

func (r *records) ListInfraEnvs(context.Context, string) ([]model.InfraEnv, error) {
	return []model.InfraEnv{{ID: "gone"}, {ID: "e1"}, {ID: "e2"}}, nil
}

func (r *records) ListHosts(_ context.Context, env string) ([]model.Host, error) {
	if env == "gone" {
		return nil, &model.Fault{Code: model.CodeNotFound, Err: errors.New("none")}
	}
	return r.hosts[env], nil
}

func (r *records) ClusterByNameOrID(_ context.Context, text string) (model.ClusterRef, error) {
	return model.ClusterRef{}, &model.Fault{Code: model.CodeNotFound, Op: "find cluster", On: text, Err: errors.New("none")}
}

func (r *records) DeleteCluster(_ context.Context, id string, _ install.DeleteOptions) error {
	r.deleted = append(r.deleted, id)
	return nil
}

func (r *records) DeleteInfraEnv(_ context.Context, id string, _ install.DeleteOptions) error {
	if id == r.kept {
		return &model.Fault{Code: model.CodeFailure, Status: 400, Err: errors.New("hosts belong to it")}
	}
	r.deleted = append(r.deleted, id)
	return nil
}

func (r *records) DownloadISOURL(context.Context, string) (string, time.Time, error) {
	return "http://images/e1", time.Time{}, nil
}

func (r *records) OpenISO(_ context.Context, _ string, offset int64) (io.ReadCloser, int64, error) {
	rest := r.image[offset:]
	return io.NopCloser(strings.NewReader(rest[:min(r.part, len(rest))])), int64(len(r.image)), nil
}

func rackOfTwo() *records {
	nic := model.Inventory{Interfaces: []model.Interface{{MAC: "52:54:00:00:00:0A"}}}
	return &records{hosts: map[string][]model.Host{
		"e1": {{ID: "h1", Hostname: "node-1", Inventory: nic}, {ID: "h2", Hostname: "twin"}},
		"e2": {{ID: "h3", Hostname: "twin", ClusterID: "c9"}},
	}}
}

func TestClientFindsHosts(t *testing.T) {
	client := install.New(rackOfTwo())
	for name, want := range map[string]string{"node-1": "h1", "H1": "h1", "52:54:00:00:00:0a": "h1", "h3": "h3"} {
		if host, err := client.FindHost(t.Context(), install.Target{}, name); err != nil || host.ID != want {
			t.Errorf("%s: %s, %v", name, host.ID, err)
		}
	}
	for name, says := range map[string]string{"twin": "there are several: h2, h3", "node": "there is none"} {
		if _, err := client.FindHost(t.Context(), install.Target{}, name); model.CodeOf(err) != model.CodeNotFound || !strings.Contains(err.Error(), says) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// A host that has outlived its cluster is looked at alone.
func TestClientLooksAroundAHost(t *testing.T) {
	client := install.New(rackOfTwo())
	for _, host := range []model.Host{{ID: "h1"}, {ID: "h3", ClusterID: "c9"}} {
		found, err := client.InspectHost(t.Context(), host, install.Target{})
		if err != nil || found.Observed.Cluster != nil || len(found.Observed.Hosts) != 1 || found.Ref.ID != host.ClusterID {
			t.Errorf("%s: %+v, %v", host.ID, found, err)
		}
	}
}

// A cluster's own InfraEnvs go after it; one that the service keeps is named with its hosts, but for
// a pool, which stays.
func TestClientDeletes(t *testing.T) {
	service := rackOfTwo()
	client := install.New(service)
	found := &install.Found{Ref: model.ClusterRef{ID: "c1"}, Observed: &model.Observed{InfraEnvs: []model.InfraEnv{
		{ID: "e3", Owned: true, ClusterID: "c1"}, {ID: "others"}, {ID: "e1", Name: "pool", Owned: true, ClusterID: "c1"},
	}}}
	service.kept = "e1"
	gone, err := client.Delete(t.Context(), found, install.DeleteOptions{})
	if len(gone) != 1 || gone[0].ID != "e3" || !slices.Equal(service.deleted, []string{"c1", "e3"}) {
		t.Errorf("gone %v, deleted %v", gone, service.deleted)
	}
	if err == nil || err.Error() != "delete InfraEnv pool: it still has 2 hosts: node-1, twin" || model.NextOf(err) != "{delete host node-1}; {delete host twin}" {
		t.Errorf("%v, next %s", err, model.NextOf(err))
	}
	found.Observed.InfraEnvs[2].ClusterID = ""
	if gone, err := client.Delete(t.Context(), found, install.DeleteOptions{}); err != nil || len(gone) != 1 {
		t.Errorf("a pool: gone %v, %v", gone, err)
	}
}

// A download that breaks goes on where it broke.
func TestClientTakesUpDownloads(t *testing.T) {
	service := rackOfTwo()
	service.image, service.part = strings.Repeat("iso", 100), 70
	var out bytes.Buffer
	var broken []int64
	client := install.New(service, install.WithClock(&standing{}))
	err := client.DownloadISO(t.Context(), "e1", &out, func(done int64, _ error) { broken = append(broken, done) })
	if err != nil || out.String() != service.image || !slices.Equal(broken, []int64{70, 140, 210, 280}) {
		t.Errorf("%d bytes, broken at %v, %v", out.Len(), broken, err)
	}
}

// standing is a clock whose sleeps take no time.
type standing struct{}

func (standing) Now() time.Time { return time.Time{} }

func (standing) Sleep(context.Context, time.Duration) error { return nil }

// A service that has no more than a loop needs refuses every other verb.
func TestClientOfALoop(t *testing.T) {
	client := install.New(&labService{})
	_, listed := client.ListClusters(t.Context())
	_, found := client.FindHost(t.Context(), install.Target{}, "node-1")
	for _, err := range []error{listed, found, client.DeleteCluster(t.Context(), "c1", install.DeleteOptions{}), client.ReleaseCluster(t.Context(), "c1")} {
		if model.CodeOf(err) != model.CodeUsage {
			t.Errorf("%v", err)
		}
	}
}

// What is wrong with a cluster.yaml is wrong input, whoever read it.
func TestCodeOfAWrongFile(t *testing.T) {
	_, err := spec.Load(t.Context(), "nowhere/cluster.yaml", spec.OSEnv())
	if code := model.CodeOf(err); code != model.CodeInput {
		t.Errorf("code %d: %v", code, err)
	}
	if code := model.CodeOf(errors.New("other")); code != model.CodeFailure {
		t.Errorf("another error: code %d", code)
	}
}

// What to type next names the kubeconfig where the results are, as a shell reads it.
func TestNextNamesTheFolderOfResults(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "the results")
	synctest.Test(t, func(t *testing.T) {
		p := &plane{world: newWorld(&model.Desired{Spec: sample(3, 0), Options: model.Options{Run: "run1"}})}
		client := install.New(p, install.WithFiles(install.NewFiles(dir)))
		result, err := client.Run(t.Context(), p.desired)
		if err != nil {
			t.Fatal(err)
		}
		want := "kubectl --kubeconfig '" + filepath.Join(dir, p.desired.Spec.Metadata.Name, "auth", "kubeconfig") + "' get nodes"
		again, _, err := client.Plan(t.Context(), p.desired)
		if err != nil || result.Plan.Next.String() != want || again.Next.String() != want {
			t.Errorf("next %q, and in a plan %q, %v; want %q", result.Plan.Next, again.Next, err, want)
		}
	})
}
