package spoke

import (
	"slices"
	"testing"
	"time"

	certificatesv1 "k8s.io/api/certificates/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes/fake"
)

// TestAnsweredRequestsAreRemoved an hour after they were answered, and what is pending stays.
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
	client := fake.NewClientset(&all[0], &all[1], &all[2])
	p := &operators{Spoke: &Spoke{core: client}, approvals: newApprovalMemory()}
	began := time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)
	for _, step := range []struct {
		after time.Duration
		want  []string
	}{
		{0, []string{"approved", "denied", "pending"}},
		{answeredFor - time.Second, []string{"approved", "denied", "pending"}},
		{answeredFor, []string{"pending"}},
		{2 * answeredFor, []string{"pending"}}, // of which those that are gone are no trouble
	} {
		if err := p.removeAnswered(t.Context(), &world{now: metav1.NewTime(began.Add(step.after)), requests: all}); err != nil {
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
