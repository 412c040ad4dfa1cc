package status

import (
	"reflect"
	"strings"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"

	"github.com/oaictl/oaictl/internal/shared/clock"
	bootstrapv1 "github.com/oaictl/oaictl/pkg/capi/api/bootstrap/v1beta1"
)

// still is a clock that stands until it is moved.
type still struct {
	clock.Clock

	now time.Time
}

func (s *still) Now() time.Time { return s.now }

// served is an object, and the API server that has it.
func served(t *testing.T) (*bootstrapv1.OpenshiftAssistedConfig, client.Client) {
	t.Helper()
	scheme := runtime.NewScheme()
	if err := bootstrapv1.AddToScheme(scheme); err != nil {
		t.Fatal(err)
	}
	made := &bootstrapv1.OpenshiftAssistedConfig{ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: "c", UID: "u"}}
	return made, fake.NewClientBuilder().WithScheme(scheme).WithObjects(made).WithStatusSubresource(made).Build()
}

// TestWordsWait: what is more than words is written at once, news once they have stood for a while, and other words
// only so often.
func TestWordsWait(t *testing.T) {
	const moment = 10 * time.Second
	type step struct {
		status  metav1.ConditionStatus
		message string
		later   time.Duration
		written bool
	}
	for name, test := range map[string]struct {
		news  bool
		steps []step
	}{
		"progress": {false, []step{
			{metav1.ConditionFalse, "one", 0, true},
			{metav1.ConditionFalse, "one", 0, false},
			{metav1.ConditionFalse, "two", time.Second, false},
			{metav1.ConditionTrue, "three", 0, true},
			{metav1.ConditionTrue, "four", every - time.Second, false},
			{metav1.ConditionTrue, "four", time.Second, true},
			{metav1.ConditionTrue, "five", every, true},
			{metav1.ConditionTrue, "six", seldom - time.Second, false},
			{metav1.ConditionTrue, "six", time.Second, true},
			{metav1.ConditionTrue, "seven", seldom, true},
			{metav1.ConditionFalse, "eight", time.Second, true},
			{metav1.ConditionFalse, "nine", every, true},
		}},
		"news": {true, []step{
			{metav1.ConditionFalse, "no release; no network", 0, true},
			{metav1.ConditionFalse, "no network", time.Second, false},
			{metav1.ConditionFalse, "no network", stands - time.Second, false},
			{metav1.ConditionFalse, "no network", time.Second, true},
			{metav1.ConditionFalse, "no network", 0, false},
			// What comes and goes is not written, and waits from the start when it comes again.
			{metav1.ConditionFalse, "no disk", moment, false},
			{metav1.ConditionFalse, "no network", moment, false},
			{metav1.ConditionFalse, "no disk", moment, false},
			{metav1.ConditionFalse, "no memory", moment, false},
			{metav1.ConditionFalse, "no disk", moment, false},
			{metav1.ConditionFalse, "no disk", stands - time.Second, false},
			{metav1.ConditionFalse, "no disk", time.Second, true},
			// Even if only words change, they are written after a while.
			{metav1.ConditionFalse, "no memory", every - time.Second, false},
			{metav1.ConditionFalse, "no clock", time.Second, true},
			{metav1.ConditionTrue, "", 0, true},
		}},
		"news that are none any more": {false, []step{
			{metav1.ConditionFalse, "Trouble: no network", 0, true},
			{metav1.ConditionFalse, "2 of 3 hosts", time.Second, false},
			{metav1.ConditionFalse, "3 of 3 hosts", stands - time.Second, false},
			{metav1.ConditionFalse, "3 of 3 hosts", time.Second, true},
			{metav1.ConditionFalse, "ready", stands, false},
		}},
	} {
		t.Run(name, func(t *testing.T) {
			_, c := served(t)
			now := &still{Clock: clock.Real(), now: time.Date(2030, 1, 1, 0, 0, 0, 0, time.UTC)}
			w := New(now)
			for _, step := range test.steps {
				now.now = now.now.Add(step.later)
				before := &bootstrapv1.OpenshiftAssistedConfig{}
				if err := c.Get(t.Context(), client.ObjectKey{Namespace: "ns", Name: "c"}, before); err != nil {
					t.Fatal(err)
				}
				after := before.DeepCopy()
				after.Status.Conditions = []metav1.Condition{{Type: "HostValidated", Status: step.status, Reason: "Any", Message: step.message}}
				var words Words
				if test.news || strings.HasPrefix(step.message, "Trouble") {
					words.News = []string{"HostValidated"}
				}
				written, again, err := w.Write(t.Context(), c, before, after, words)
				if err != nil {
					t.Fatal(err)
				}
				same := reflect.DeepEqual(before.Status, after.Status)
				if written != step.written || (again > 0) != (!written && !same) || test.news && again > stands+time.Second {
					t.Errorf("%s %s: written %t, again in %s", step.status, step.message, written, again)
				}
			}
		})
	}
}

// TestFieldsThatAreProgress: what stands beside them is not.
func TestFieldsThatAreProgress(t *testing.T) {
	made, c := served(t)
	w := New(&still{Clock: clock.Real(), now: time.Date(2030, 1, 1, 0, 0, 0, 0, time.UTC)})
	for i, step := range []struct {
		namespace, name string
		writes          bool
	}{{"a", "one", true}, {"a", "two", false}, {"b", "two", true}} {
		before := &bootstrapv1.OpenshiftAssistedConfig{}
		if err := c.Get(t.Context(), client.ObjectKeyFromObject(made), before); err != nil {
			t.Fatal(err)
		}
		after := before.DeepCopy()
		after.Status.AgentRef = &bootstrapv1.ObjectReference{Namespace: step.namespace, Name: step.name}
		written, _, err := w.Write(t.Context(), c, before, after, Words{Progress: []string{"agentRef.name", "infraEnvRef.name"}})
		if err != nil || written != step.writes {
			t.Errorf("step %d: written %t, %v", i, written, err)
		}
	}
}

// TestStaleReadingIsNotWrittenAgain: if a cache still shows the status from before a write, the same status is not
// written again, but further changes are.
func TestStaleReadingIsNotWrittenAgain(t *testing.T) {
	stale, c := served(t)
	if err := c.Get(t.Context(), client.ObjectKeyFromObject(stale), stale); err != nil {
		t.Fatal(err)
	}
	w := New(&still{Clock: clock.Real(), now: time.Date(2030, 1, 1, 0, 0, 0, 0, time.UTC)})
	for i, step := range []struct {
		secret string
		came   int // the second at which its condition came to be
		writes bool
	}{{"c", 1, true}, {"c", 1, false}, {"c", 2, false}, {"d", 2, true}} {
		after := stale.DeepCopy()
		after.Status.DataSecretName = step.secret
		after.Status.Conditions = []metav1.Condition{{Type: "Ready", Status: metav1.ConditionTrue, Reason: "Ready", LastTransitionTime: metav1.NewTime(time.Unix(int64(step.came), 0))}}
		written, again, err := w.Write(t.Context(), c, stale, after, Words{})
		if err != nil || written != step.writes || again != 0 {
			t.Errorf("step %d: written %t, again in %s, %v", i, written, again, err)
		}
	}
}

// TestReadingsInBetween: a cache that shows one write but not the next is behind as well. Once it has caught up, a
// status that another client has written is corrected.
func TestReadingsInBetween(t *testing.T) {
	first, c := served(t)
	w := New(&still{Clock: clock.Real(), now: time.Date(2030, 1, 1, 0, 0, 0, 0, time.UTC)})
	read := func() *bootstrapv1.OpenshiftAssistedConfig {
		t.Helper()
		now := &bootstrapv1.OpenshiftAssistedConfig{}
		if err := c.Get(t.Context(), client.ObjectKeyFromObject(first), now); err != nil {
			t.Fatal(err)
		}
		return now
	}
	write := func(shown *bootstrapv1.OpenshiftAssistedConfig, secret string, writes bool) {
		t.Helper()
		after := shown.DeepCopy()
		after.Status.DataSecretName = secret
		if written, _, err := w.Write(t.Context(), c, shown, after, Words{}); err != nil || written != writes {
			t.Errorf("%s: written %t, %v", secret, written, err)
		}
	}
	shown := []*bootstrapv1.OpenshiftAssistedConfig{read()}
	write(shown[0], "a", true)
	shown = append(shown, read())
	write(shown[1], "b", true)
	write(shown[1], "b", false)
	write(shown[0], "b", false)
	write(shown[0], "c", true)
	other := read()
	other.Status.DataSecretName = "theirs"
	if err := c.Status().Update(t.Context(), other); err != nil {
		t.Fatal(err)
	}
	write(read(), "c", true)
}
