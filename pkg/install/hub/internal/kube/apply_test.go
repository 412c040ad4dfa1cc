package kube

import (
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/oaictl/oaictl/internal/shared/check"
)

func TestAnother(t *testing.T) {
	for name, test := range map[string]struct {
		err  error
		want bool
	}{
		"nothing":           {nil, false},
		"another version":   {statusError(409, metav1.StatusReasonConflict, "the object has been modified"), true},
		"another identity":  {statusError(422, metav1.StatusReasonInvalid, "invalid", metav1.StatusCause{Field: "metadata.uid"}), true},
		"an invalid field":  {statusError(422, metav1.StatusReasonInvalid, "invalid", metav1.StatusCause{Field: "spec.apiVIPs"}), false},
		"another's field":   {statusError(409, metav1.StatusReasonConflict, "conflict", metav1.StatusCause{Type: metav1.CauseTypeFieldManagerConflict}), false},
		"refused by a hook": {statusError(409, metav1.StatusReasonConflict, `admission webhook "x" denied the request: no`), false},
	} {
		check.Equal(t, isOtherObject(test.err), test.want, name)
	}
}
