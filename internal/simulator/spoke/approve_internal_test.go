package spoke

import (
	"slices"
	"testing"
	"time"

	certificatesv1 "k8s.io/api/certificates/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes/fake"
)

// TestAnsweredRequestsAreRemoved an hour after they were answered, and what is pending stays, as does what a node has.
func TestAnsweredRequestsAreRemoved(t *testing.T) {
	request := func(name string, conditions ...certificatesv1.RequestConditionType) *certificatesv1.CertificateSigningRequest {
		r := &certificatesv1.CertificateSigningRequest{ObjectMeta: metav1.ObjectMeta{Name: name, UID: types.UID(name)}}
		for _, kind := range conditions {
			r.Status.Conditions = append(r.Status.Conditions, certificatesv1.CertificateSigningRequestCondition{Type: kind})
		}
		return r
	}
	all := []certificatesv1.CertificateSigningRequest{
		*request("approved", certificatesv1.CertificateApproved), *request("denied", certificatesv1.CertificateDenied), *request("pending"),
	}
	held := request("serving", certificatesv1.CertificateApproved) // made by a node that is there, a moment ago
	held.CreationTimestamp, held.Spec.Username = metav1.Now(), nodePrefix+"w-0"
	before := request("before", certificatesv1.CertificateApproved) // made before that node: by an earlier one of its name
	before.CreationTimestamp, before.Spec.Username = metav1.NewTime(held.CreationTimestamp.Add(-time.Minute)), nodePrefix+"w-0"
	all = append(all, *held, *before)
	nodes := []corev1.Node{{ObjectMeta: metav1.ObjectMeta{Name: "w-0", CreationTimestamp: held.CreationTimestamp}}}
	client := fake.NewClientset(&all[0], &all[1], &all[2], &all[3], &all[4])
	p := &operators{Spoke: &Spoke{core: client}, approvals: newApprovalMemory()}
	began := time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)
	for _, step := range []struct {
		after time.Duration
		want  []string
	}{
		{0, []string{"approved", "before", "denied", "pending", "serving"}},
		{answeredFor - time.Second, []string{"approved", "before", "denied", "pending", "serving"}},
		{answeredFor, []string{"pending", "serving"}},
		{2 * answeredFor, []string{"pending", "serving"}}, // of which those that are gone are no trouble
	} {
		if err := p.removeAnswered(t.Context(), &snapshot{now: metav1.NewTime(began.Add(step.after)), requests: all, nodes: nodes}); err != nil {
			t.Fatal(err)
		}
		list, err := client.CertificatesV1().CertificateSigningRequests().List(t.Context(), metav1.ListOptions{})
		if err != nil {
			t.Fatal(err)
		}
		var left []string
		for i := range list.Items {
			left = append(left, list.Items[i].Name)
		}
		slices.Sort(left)
		if !slices.Equal(left, step.want) {
			t.Errorf("after %s: %v, want %v", step.after, left, step.want)
		}
	}
}
