package hub

import (
	"errors"
	"strings"
	"testing"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"

	"github.com/oaictl/oaictl/internal/clock"
	"github.com/oaictl/oaictl/pkg/install"
)

// An Agent that takes the name of one that went is another one, and the one that
// is waited for is gone.
func TestGoneByIdentity(t *testing.T) {
	p, at := filledPlane(t, "lab")
	p.clock = clock.Scaled(6000)
	before, again := agentWith(nil), agentWith(nil)
	before.SetUID(types.UID("first"))
	again.SetUID(types.UID("second"))
	put(t, at, again)
	w := &writer{Plane: p, at: at, cluster: "lab"}
	if err := w.gone(t.Context(), agents(), before); err != nil {
		t.Errorf("the one before: %v", err)
	}
	if err := w.gone(t.Context(), agents(), again); install.CodeOf(err) != install.CodeTimeout {
		t.Errorf("the one that is there: %v", err)
	}
}

// Whoever deletes and hears nothing of it any more learns why, and blames no
// controller.
func TestGoneUnheard(t *testing.T) {
	for name, test := range map[string]struct {
		failing error
		code    install.Code
		says    string
	}{
		"taken away": {apierrors.NewForbidden(schema.GroupResource{Resource: "agents"}, "", errors.New("no")), install.CodeAuth, "may not watch agents"},
		"out":        {errors.New("connection refused"), install.CodeFailure, "connection refused"},
	} {
		p, at := filledPlane(t, "lab")
		p.clock = clock.Scaled(6000)
		u := agentWith(nil)
		put(t, at, u)
		at.shelf(agents()).heard(test.failing)
		err := (&writer{Plane: p, at: at, cluster: "lab"}).gone(t.Context(), agents(), u)
		if install.CodeOf(err) != test.code || !strings.Contains(err.Error(), test.says) {
			t.Errorf("%s: got %v", name, err)
		}
	}
}

// A deletion that was broken off behind the ClusterDeployment is brought to its
// end by the next one.
func TestDeleteGoesOn(t *testing.T) {
	s := newStage(t)
	s.settle()
	if err := s.client(clusterDeployments()).Delete(t.Context(), s.namespace, metav1.DeleteOptions{}); err != nil {
		t.Fatal(err)
	}
	s.until("without a ClusterDeployment", func(o *install.Observed) bool { return o.Cluster == nil })
	if err := s.plane.DeleteCluster(t.Context(), s.namespace+"/"+s.namespace); err != nil {
		t.Fatal(err)
	}
	if list, err := s.client(agentInstalls()).List(t.Context(), metav1.ListOptions{}); err != nil || len(list.Items) > 0 {
		t.Errorf("%d are left, %v", len(list.Items), err)
	}
}
