package node

import (
	"testing"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/metadata/fake"

	"github.com/oaictl/oaictl/internal/shared/clock"
	"github.com/oaictl/oaictl/internal/shared/must"
	"github.com/oaictl/oaictl/internal/shared/workloadclient"
	"github.com/oaictl/oaictl/pkg/install/model"
)

// TestWhichPodsLeave as kubectl drain has it (k8s.io/kubectl/pkg/drain/filters.go).
func TestWhichPodsLeave(t *testing.T) {
	owned := func(kind, version, name string) func(*corev1.Pod) {
		return func(p *corev1.Pod) {
			p.OwnerReferences = []metav1.OwnerReference{{APIVersion: version, Kind: kind, Name: name, Controller: new(true)}}
		}
	}
	var (
		deployed = owned("ReplicaSet", "apps/v1", "web")
		daemon   = owned("DaemonSet", "apps/v1", "agent")
		orphan   = owned("DaemonSet", "apps/v1", "gone")
		emptyDir = func(p *corev1.Pod) {
			p.Spec.Volumes = []corev1.Volume{{Name: "tmp", VolumeSource: corev1.VolumeSource{EmptyDir: &corev1.EmptyDirVolumeSource{}}}}
		}
		mirror   = func(p *corev1.Pod) { p.Annotations = map[string]string{corev1.MirrorPodAnnotationKey: "x"} }
		finished = func(p *corev1.Pod) { p.Status.Phase = corev1.PodFailed }
		deleted  = func(p *corev1.Pod) { p.DeletionTimestamp = new(metav1.NewTime(clock.Real().Now().Add(-time.Minute))) }
	)
	const gone = "Pods of the DaemonSet gone, which does not exist any more (use --force to delete its pods)"
	scheme := fake.NewTestScheme()
	must.Do(t, metav1.AddMetaToScheme(scheme))
	set := &metav1.PartialObjectMetadata{
		TypeMeta:   metav1.TypeMeta{APIVersion: appsv1.SchemeGroupVersion.String(), Kind: "DaemonSet"},
		ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "agent"},
	}
	c := &connection{Client: &workloadclient.Client{Metadata: fake.NewSimpleMetadataClient(scheme, set)}, clock: clock.Real(), time: &serverTime{clock: clock.Real()}}
	for _, test := range []struct {
		name    string
		pod     []func(*corev1.Pod)
		how     model.DrainOptions
		leaves  bool
		refused string
	}{
		{"of a controller", []func(*corev1.Pod){deployed}, model.DrainOptions{}, true, ""},
		{"of no controller", nil, model.DrainOptions{}, false, unmanaged},
		{"of no controller, by force", nil, model.DrainOptions{Force: true}, true, ""},
		{"of no controller, finished", []func(*corev1.Pod){finished}, model.DrainOptions{}, true, ""},
		{"of a DaemonSet", []func(*corev1.Pod){daemon}, model.DrainOptions{Force: true}, false, ofDaemonSet},
		{"of a DaemonSet, ignored", []func(*corev1.Pod){daemon}, model.DrainOptions{IgnoreDaemonSets: true}, false, ""},
		{"of a DaemonSet, finished", []func(*corev1.Pod){daemon, finished}, model.DrainOptions{}, true, ""},
		{"of a DaemonSet that is gone", []func(*corev1.Pod){orphan}, model.DrainOptions{IgnoreDaemonSets: true}, false, gone},
		{"of a DaemonSet that is gone, by force", []func(*corev1.Pod){orphan}, model.DrainOptions{Force: true}, true, ""},
		{"of a DaemonSet that is gone, by force, with data", []func(*corev1.Pod){orphan, emptyDir}, model.DrainOptions{Force: true}, false, localStorage},
		{"of a DaemonSet of another group", []func(*corev1.Pod){owned("DaemonSet", "example.com/v1", "agent")}, model.DrainOptions{}, true, ""},
		{"static", []func(*corev1.Pod){mirror}, model.DrainOptions{Force: true}, false, ""},
		{"with data", []func(*corev1.Pod){deployed, emptyDir}, model.DrainOptions{Force: true}, false, localStorage},
		{"with data that may go", []func(*corev1.Pod){deployed, emptyDir}, model.DrainOptions{DeleteEmptyDirData: true}, true, ""},
		{"with data, finished", []func(*corev1.Pod){deployed, emptyDir, finished}, model.DrainOptions{}, true, ""},
		{"deleted", []func(*corev1.Pod){deployed, deleted}, model.DrainOptions{}, true, ""},
		{"deleted long ago", []func(*corev1.Pod){deployed, deleted}, model.DrainOptions{SkipWaitForDelete: 10}, false, ""},
		{"deleted a moment ago", []func(*corev1.Pod){deployed, deleted}, model.DrainOptions{SkipWaitForDelete: 600}, true, ""},
	} {
		pod := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "a"}, Status: corev1.PodStatus{Phase: corev1.PodRunning}}
		for _, change := range test.pod {
			change(pod)
		}
		leaves, refused, err := c.leaves(t.Context(), pod, test.how)
		if err != nil || leaves != test.leaves || refused != test.refused {
			t.Errorf("%s: leaves %v, refused %q, %v", test.name, leaves, refused, err)
		}
	}
}
