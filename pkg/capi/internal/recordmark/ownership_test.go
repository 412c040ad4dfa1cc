package recordmark_test

import (
	"context"
	"regexp"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	kubescheme "k8s.io/client-go/kubernetes/scheme"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	clusterctlv1 "sigs.k8s.io/cluster-api/cmd/clusterctl/api/v1alpha3"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	"github.com/oaictl/oaictl/pkg/capi/internal/recordmark"
)

// place is a management cluster, with the number of reads of Secrets past the cache.
type place struct {
	client client.Client
	reads  int
}

func newPlace(t *testing.T) (*place, *recordmark.Keys) {
	t.Helper()
	p := &place{client: fake.NewClientBuilder().WithScheme(kubescheme.Scheme).Build()}
	return p, p.keys()
}

// keys are those of a process that has just started.
func (p *place) keys() *recordmark.Keys {
	inner := p.client.(client.WithWatch)
	live := interceptor.NewClient(inner, interceptor.Funcs{Get: func(ctx context.Context, c client.WithWatch, key client.ObjectKey, o client.Object, options ...client.GetOption) error {
		p.reads++
		return c.Get(ctx, key, o, options...)
	}})
	return &recordmark.Keys{Cached: p.client, Live: live}
}

func clusterOf(namespace, name, uid string) *clusterv1.Cluster {
	return &clusterv1.Cluster{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name, UID: types.UID(uid)}}
}

func markOf(t *testing.T, keys *recordmark.Keys, cluster *clusterv1.Cluster) string {
	t.Helper()
	mark, err := keys.Mark(t.Context(), cluster)
	if err != nil {
		t.Fatal(err)
	}
	return mark
}

// TestMark: the mark of a Cluster stays the same in every process, can be a tag of the service, and is read with one request.
// A key that is copied to another namespace, or for another name, makes another mark.
func TestMark(t *testing.T) {
	p, keys := newPlace(t)
	lab := clusterOf("ns", "lab", "1")
	if mark := markOf(t, keys, lab); mark != "" {
		t.Errorf("without a key it is %q", mark)
	}
	if err := keys.Make(t.Context(), p.client, lab); err != nil {
		t.Fatal(err)
	}
	mark := markOf(t, keys, lab)
	if !regexp.MustCompile(`^capi_[a-z2-7]{32}$`).MatchString(mark) {
		t.Errorf("it is %q", mark)
	}
	secret := &corev1.Secret{}
	if err := p.client.Get(t.Context(), client.ObjectKey{Namespace: "ns", Name: "lab-oaictl-key"}, secret); err != nil {
		t.Fatal(err)
	}
	if _, moves := secret.Labels[clusterctlv1.ClusterctlMoveLabel]; !moves || secret.Labels[clusterv1.ClusterNameLabel] != "lab" || len(secret.OwnerReferences) > 0 {
		t.Errorf("the Secret has %v and %v", secret.Labels, secret.OwnerReferences)
	}
	other := p.keys()
	p.reads = 0
	for range 5 {
		if again := markOf(t, other, lab); again != mark {
			t.Errorf("another process has %q, and not %q", again, mark)
		}
	}
	if p.reads != 1 {
		t.Errorf("it was read %d times", p.reads)
	}
	for _, thief := range []*clusterv1.Cluster{clusterOf("tenant", "lab", "2"), clusterOf("ns", "lab2", "3")} {
		copied := &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: thief.Namespace, Name: recordmark.SecretName(thief.Name)}, Data: secret.Data}
		if err := p.client.Create(t.Context(), copied); err != nil {
			t.Fatal(err)
		}
		if stolen := markOf(t, keys, thief); stolen == "" || stolen == mark {
			t.Errorf("with the copied key, %s/%s has the mark %q", thief.Namespace, thief.Name, stolen)
		}
	}
}

// TestLostKey: a key that was deleted is made again as it was while the process knows it. Afterwards the Cluster has another
// mark, and so has a new Cluster of its name.
func TestLostKey(t *testing.T) {
	for name, test := range map[string]struct {
		uid     string // of the Cluster afterwards
		restart bool
		same    bool
	}{
		"the process lives":       {uid: "1", same: true},
		"another process":         {uid: "1", restart: true},
		"another Cluster of then": {uid: "2"},
	} {
		t.Run(name, func(t *testing.T) {
			p, keys := newPlace(t)
			lab := clusterOf("ns", "lab", "1")
			if err := keys.Make(t.Context(), p.client, lab); err != nil {
				t.Fatal(err)
			}
			mark := markOf(t, keys, lab)
			if err := p.client.Delete(t.Context(), &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: "lab-oaictl-key"}}); err != nil {
				t.Fatal(err)
			}
			if test.restart {
				keys = p.keys()
			}
			now := clusterOf("ns", "lab", test.uid)
			if err := keys.Make(t.Context(), p.client, now); err != nil && !strings.Contains(err.Error(), "already exists") {
				t.Fatal(err)
			}
			if again := markOf(t, keys, now); (again == mark) != test.same {
				t.Errorf("the mark is %q, and was %q", again, mark)
			}
		})
	}
}

// TestBrokenKey: a key that is too short proves nothing, and one that is too long is not kept.
func TestBrokenKey(t *testing.T) {
	for name, test := range map[string]struct {
		length int
		says   string
	}{
		"too short": {15, "has no key of at least 16 bytes"},
		"shortest":  {16, ""},
		"longest":   {1 << 10, ""},
		"too long":  {1<<10 + 1, "more than 1024 bytes: restore it from a backup"},
	} {
		t.Run(name, func(t *testing.T) {
			p, keys := newPlace(t)
			secret := &corev1.Secret{
				ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: "lab-oaictl-key"}, Data: map[string][]byte{"key": []byte(strings.Repeat("k", test.length))},
			}
			if err := p.client.Create(t.Context(), secret); err != nil {
				t.Fatal(err)
			}
			mark, err := keys.Mark(t.Context(), clusterOf("ns", "lab", "1"))
			if (err == nil) != (test.says == "") || (mark == "") != (err != nil) || err != nil && !strings.Contains(err.Error(), test.says) {
				t.Errorf("it is %q, %v", mark, err)
			}
		})
	}
}
