// Package recordmark proves which record of a service belongs to a Cluster, where the service has no namespaces. The record
// carries a mark that is made of a random key, and of the namespace and the name of the Cluster. The key is in a Secret of
// that namespace. What users write into annotations, and the name, the age and the id of a record, prove nothing.
package recordmark

import (
	"context"
	"crypto/hmac"
	"crypto/rand"
	"crypto/sha256"
	"encoding/base32"
	"fmt"
	"regexp"
	"strings"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	clusterctlv1 "sigs.k8s.io/cluster-api/cmd/clusterctl/api/v1alpha3"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/oaictl/oaictl/internal/shared/clock"
	"github.com/oaictl/oaictl/pkg/install/model"
)

const (
	// dataKey is the key of the Secret that has the random key.
	dataKey = "key"
	// keyLength is how many bytes a new key has. A key has between keyShortest and keyLongest bytes.
	keyLength, keyShortest, keyLongest = 32, 16, 1 << 10
	// markLength is how many letters of 5 bits a fingerprint has.
	markLength = 32
	// askAgain is how long, in real time, the answer about a Secret counts that the cache does not show.
	askAgain = 10 * time.Second
)

// SecretName is the name of the Secret with the key of a Cluster.
func SecretName(cluster string) string { return cluster + "-oaictl-key" }

// Keys are the keys of Clusters. It is safe for concurrent use.
type Keys struct {
	// Cached shows by the cache of a manager whether a Secret has changed. The key itself is read from Live.
	Cached, Live client.Reader

	mu    sync.Mutex
	known map[types.NamespacedName]known
}

// known is what was read of the key of a Cluster.
type known struct {
	cluster types.UID
	version string // of the Secret; "" where there is none
	key     []byte // the last one that was there
	asked   time.Time
}

// Mark is the mark of the record of a Cluster, "" where the Cluster has no key.
func (k *Keys) Mark(ctx context.Context, cluster *clusterv1.Cluster) (string, error) {
	key, err := k.key(ctx, cluster)
	if err != nil || key == nil {
		return "", err
	}
	sum := hmac.New(sha256.New, key)
	_, _ = sum.Write([]byte(cluster.Namespace + "/" + cluster.Name)) // a hash takes all
	text := base32.StdEncoding.EncodeToString(sum.Sum(nil))
	return model.MarkOfCluster(strings.ToLower(text[:markLength])), nil
}

// key is the key of a Cluster, nil where there is none. It is read past the cache once the cache shows another Secret than
// the one that was read.
func (k *Keys) key(ctx context.Context, cluster *clusterv1.Cluster) ([]byte, error) {
	name := types.NamespacedName{Namespace: cluster.Namespace, Name: SecretName(cluster.Name)}
	cached := &corev1.Secret{}
	if err := k.Cached.Get(ctx, name, cached); client.IgnoreNotFound(err) != nil {
		return nil, fmt.Errorf("read Secret %s: %w", name, err)
	}
	k.mu.Lock()
	have := k.known[name]
	k.mu.Unlock()
	now := clock.Real().Now()
	same := cached.ResourceVersion != "" && cached.ResourceVersion == have.version
	recent := cached.ResourceVersion == "" && !have.asked.IsZero() && now.Sub(have.asked) < askAgain
	if have.cluster == cluster.UID && (same || recent) {
		return have.current(), nil
	}
	secret := &corev1.Secret{}
	err := k.Live.Get(ctx, name, secret)
	switch {
	case apierrors.IsNotFound(err):
		secret.ResourceVersion = ""
	case err != nil:
		return nil, fmt.Errorf("read Secret %s: %w", name, err)
	case len(secret.Data[dataKey]) < keyShortest:
		return nil, fmt.Errorf("the Secret %s has no key of at least %d bytes under %q, by which the cluster in the service is known: restore "+
			"it from a backup", name, keyShortest, dataKey)
	case len(secret.Data[dataKey]) > keyLongest:
		return nil, fmt.Errorf("the key under %q in the Secret %s, by which the cluster in the service is known, has more than %d bytes: "+
			"restore it from a backup",
			dataKey, name, keyLongest)
	}
	is := known{cluster: cluster.UID, version: secret.ResourceVersion, key: secret.Data[dataKey], asked: now}
	if is.key == nil && have.cluster == cluster.UID {
		is.key = have.key
	}
	k.keep(name, is)
	return is.current(), nil
}

// current is the key that the Secret has, nil where there is no Secret.
func (k *known) current() []byte {
	if k.version == "" {
		return nil
	}
	return k.key
}

func (k *Keys) keep(name types.NamespacedName, is known) {
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.known == nil {
		k.known = map[types.NamespacedName]known{}
	}
	k.known[name] = is
}

// Make makes the key of a Cluster that has none. A Secret that was deleted is made again with the key that it had, as long as
// this process knows that.
func (k *Keys) Make(ctx context.Context, writer client.Writer, cluster *clusterv1.Cluster) error {
	if key, err := k.key(ctx, cluster); err != nil || key != nil {
		return err
	}
	name := types.NamespacedName{Namespace: cluster.Namespace, Name: SecretName(cluster.Name)}
	k.mu.Lock()
	key := k.known[name].key
	k.mu.Unlock()
	if key == nil {
		key = make([]byte, keyLength)
		_, _ = rand.Read(key) // it never fails
	}
	secret := &corev1.Secret{
		ObjectMeta: metav1.ObjectMeta{Namespace: name.Namespace, Name: name.Name, Labels: map[string]string{
			clusterv1.ClusterNameLabel: cluster.Name, clusterctlv1.ClusterctlMoveLabel: "",
		}},
		Type: corev1.SecretTypeOpaque, Data: map[string][]byte{dataKey: key},
	}
	if err := writer.Create(ctx, secret); err != nil {
		k.Forget(client.ObjectKeyFromObject(cluster)) // it may be there since
		return fmt.Errorf("make Secret %s: %w", name, err)
	}
	k.keep(name, known{cluster: cluster.UID, version: secret.ResourceVersion, key: key, asked: clock.Real().Now()})
	return nil
}

// Delete deletes the key of a Cluster whose record is gone.
func (k *Keys) Delete(ctx context.Context, writer client.Writer, cluster *clusterv1.Cluster) error {
	secret := &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: cluster.Namespace, Name: SecretName(cluster.Name)}}
	if err := writer.Delete(ctx, secret); client.IgnoreNotFound(err) != nil {
		return fmt.Errorf("delete Secret %s/%s: %w", secret.Namespace, secret.Name, err)
	}
	k.Forget(client.ObjectKeyFromObject(cluster))
	return nil
}

// Forget drops what is known of the key of a Cluster.
func (k *Keys) Forget(cluster types.NamespacedName) {
	k.mu.Lock()
	defer k.mu.Unlock()
	delete(k.known, types.NamespacedName{Namespace: cluster.Namespace, Name: SecretName(cluster.Name)})
}

var (
	formerRun = regexp.MustCompile(`^[a-z2-7]{12}$`)
	onlyHex   = regexp.MustCompile(`^[a-f2-7]*$`)
)

// Former is the mark by which earlier releases knew the record of a control plane, given what is recorded on the
// control plane. It is "" for every other text: the marks of Clusters, and of runs of the command line, which are
// hexadecimal numbers.
func Former(noted string) string {
	if !formerRun.MatchString(noted) || onlyHex.MatchString(noted) {
		return ""
	}
	return noted
}
