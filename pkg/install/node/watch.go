package node

import (
	"context"
	"reflect"

	certificates "k8s.io/api/certificates/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/oaictl/oaictl/internal/shared/kubewatch"
	"github.com/oaictl/oaictl/pkg/install/model"
)

// The stores of a connection: each holds by name what is read of the objects of a kind.
type (
	nodeStore    = kubewatch.Store[*corev1.Node, model.Node]
	requestStore = kubewatch.Store[*certificates.CertificateSigningRequest, request]
)

// watch begins to watch objects, until life ends. A change of what is read of them is news; a heartbeat is none.
func watch[O metav1.Object, V any, L runtime.Object](
	life context.Context, c *connection, what string, client kubewatch.Client[L], fields string, read func(O) V,
) *kubewatch.Store[O, V] {
	s := kubewatch.NewStore(kubewatch.Config[O, V]{
		What: what, Key: O.GetName, Read: read, Changed: func(O) { c.tell() },
		Same: func(a, b V) bool { return reflect.DeepEqual(a, b) },
	})
	go kubewatch.Follow(life, s, client, metav1.ListOptions{FieldSelector: fields}, client)
	return s
}

func (c *connection) watchRequests(life context.Context, signer string) *requestStore {
	return watch(life, c, "certificate requests", c.Certificates.CertificateSigningRequests(), "spec.signerName="+signer, readRequest)
}

// await waits for the first list. Its error is why nothing comes.
func await[O metav1.Object, V any](ctx context.Context, what string, s *kubewatch.Store[O, V]) error {
	err := s.Wait(ctx)
	if failing := s.Failing(); failing != nil {
		return listFault(what, failing)
	}
	if err != nil {
		return listFault(what, errNoList)
	}
	return nil
}
