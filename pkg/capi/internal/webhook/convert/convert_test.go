package convert

import (
	"math/rand"
	"reflect"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/apitesting/fuzzer"
	"k8s.io/apimachinery/pkg/api/equality"
	metafuzzer "k8s.io/apimachinery/pkg/apis/meta/fuzzer"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/runtime/serializer"
	"k8s.io/apimachinery/pkg/util/intstr"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	"sigs.k8s.io/cluster-api/util/conversion"
	"sigs.k8s.io/controller-runtime/pkg/client"
	webhookconversion "sigs.k8s.io/controller-runtime/pkg/webhook/conversion"
	"sigs.k8s.io/randfill"

	"github.com/oaictl/oaictl/pkg/capi/api"
	agentv1beta1 "github.com/oaictl/oaictl/pkg/capi/api/agent/v1beta1"
	agentv1 "github.com/oaictl/oaictl/pkg/capi/api/agent/v1beta2"
	bootstrapv1alpha1 "github.com/oaictl/oaictl/pkg/capi/api/bootstrap/v1alpha1"
	bootstrapv1 "github.com/oaictl/oaictl/pkg/capi/api/bootstrap/v1beta1"
	controlplanev1alpha2 "github.com/oaictl/oaictl/pkg/capi/api/controlplane/v1alpha2"
	controlplanev1 "github.com/oaictl/oaictl/pkg/capi/api/controlplane/v1beta1"
)

func FuzzConfig(f *testing.F) {
	fuzzKind(f, configs(), func() *bootstrapv1.OpenshiftAssistedConfig { return &bootstrapv1.OpenshiftAssistedConfig{} })
}

func FuzzConfigTemplate(f *testing.F) {
	fuzzKind(f, configTemplates(), func() *bootstrapv1.OpenshiftAssistedConfigTemplate {
		return &bootstrapv1.OpenshiftAssistedConfigTemplate{}
	})
}

func FuzzControlPlane(f *testing.F) {
	fuzzKind(f, controlPlanes(), func() *controlplanev1.OpenshiftAssistedControlPlane {
		return &controlplanev1.OpenshiftAssistedControlPlane{}
	})
}

func FuzzAgentCluster(f *testing.F) {
	fuzzKind(f, agentClusters(), func() *agentv1.AgentCluster { return &agentv1.AgentCluster{} })
}

func FuzzAgentMachine(f *testing.F) {
	fuzzKind(f, agentMachines(), func() *agentv1.AgentMachine { return &agentv1.AgentMachine{} })
}

func FuzzAgentMachineTemplate(f *testing.F) {
	fuzzKind(f, agentMachineTemplates(), func() *agentv1.AgentMachineTemplate { return &agentv1.AgentMachineTemplate{} })
}

// fuzzKind converts random objects of a kind to and fro between the hub and each other
// version.
func fuzzKind[H client.Object](f *testing.F, converters []webhookconversion.SpokeConverter[H], newHub func() H) {
	for seed := range int64(60) {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, seed int64) {
		fill := filler(t, seed)
		for _, c := range converters {
			hub := newHub()
			random(fill, hub)
			hubComesBack(t, c, hub, newHub)

			spoke := newSpoke(c)
			random(fill, spoke)
			spokeComesBack(t, c, spoke, newHub)

			other := newSpoke(c)
			random(fill, other)
			editCounts(t, c, hub, other, newHub)
		}
	})
}

func hubComesBack[H client.Object](t *testing.T, c webhookconversion.SpokeConverter[H], hub H, newHub func() H) {
	t.Helper()
	before, _ := hub.DeepCopyObject().(H)
	spoke := newSpoke(c)
	if err := c.ConvertHubToSpoke(t.Context(), hub, spoke); err != nil {
		t.Fatal(err)
	}
	if !equality.Semantic.DeepEqual(before, hub) {
		t.Fatalf("converting to %T changed the stored object:\n%s", spoke, cmp.Diff(before, hub))
	}
	after := newHub()
	kind := schema.GroupVersionKind{Group: "example.com", Version: "v1", Kind: "Hub"}
	after.GetObjectKind().SetGroupVersionKind(kind) // as the server asks for it
	if err := c.ConvertSpokeToHub(t.Context(), spoke, after); err != nil {
		t.Fatal(err)
	}
	if got := after.GetObjectKind().GroupVersionKind(); got != kind {
		t.Fatalf("converting from %T makes a %s", spoke, got)
	}
	after.GetObjectKind().SetGroupVersionKind(schema.GroupVersionKind{})
	// The reference in v1alpha2's form is about the present reference, or is nothing.
	delete(after.GetAnnotations(), controlplanev1.InfrastructureRefAnnotation)
	if !equality.Semantic.DeepEqual(before, after) {
		t.Fatalf("through %T:\n%s", spoke, cmp.Diff(before, after))
	}
}

func spokeComesBack[H client.Object](t *testing.T, c webhookconversion.SpokeConverter[H], spoke client.Object, newHub func() H) {
	t.Helper()
	hub := newHub()
	if err := c.ConvertSpokeToHub(t.Context(), spoke, hub); err != nil {
		t.Fatal(err)
	}
	after := newSpoke(c)
	if err := c.ConvertHubToSpoke(t.Context(), hub, after); err != nil {
		t.Fatal(err)
	}
	takeAnnotation(after, conversion.DataAnnotation)
	if !equality.Semantic.DeepEqual(spoke, after) {
		t.Fatalf("%T through the hub:\n%s", spoke, cmp.Diff(spoke, after))
	}
}

// editCounts changes everything that an older version says of an object, and expects to read
// it back.
func editCounts[H client.Object](t *testing.T, c webhookconversion.SpokeConverter[H], hub H, edit client.Object, newHub func() H) {
	t.Helper()
	spoke := newSpoke(c)
	if err := c.ConvertHubToSpoke(t.Context(), hub, spoke); err != nil {
		t.Fatal(err)
	}
	kept, there := spoke.GetAnnotations()[conversion.DataAnnotation]
	if there {
		metav1.SetMetaDataAnnotation(metaOf(edit), conversion.DataAnnotation, kept)
	}
	changed := newHub()
	if err := c.ConvertSpokeToHub(t.Context(), edit, changed); err != nil {
		t.Fatal(err)
	}
	again := newSpoke(c)
	if err := c.ConvertHubToSpoke(t.Context(), changed, again); err != nil {
		t.Fatal(err)
	}
	takeAnnotation(again, conversion.DataAnnotation)
	takeAnnotation(edit, conversion.DataAnnotation)
	// What older conditions show follows from today's where there are some.
	for _, object := range []client.Object{edit, again} {
		status := reflect.ValueOf(object).Elem().FieldByName("Status")
		if status.IsValid() {
			status.SetZero()
		}
	}
	if !equality.Semantic.DeepEqual(edit, again) {
		t.Fatalf("edited %T:\n%s", edit, cmp.Diff(edit, again))
	}
}

func newSpoke[H client.Object](c webhookconversion.SpokeConverter[H]) client.Object {
	object, _ := reflect.New(reflect.TypeOf(c.GetSpoke()).Elem()).Interface().(client.Object)
	return object
}

// random fills an object, without its kind, which the server sets.
func random(fill *randfill.Filler, object client.Object) {
	fill.Fill(object)
	object.GetObjectKind().SetGroupVersionKind(schema.GroupVersionKind{})
	takeAnnotation(object, conversion.DataAnnotation)
}

func filler(t *testing.T, seed int64) *randfill.Filler {
	t.Helper()
	scheme := runtime.NewScheme()
	if err := api.AddToScheme(scheme); err != nil {
		t.Fatal(err)
	}
	return fuzzer.FuzzerFor(fuzzer.MergeFuzzerFuncs(metafuzzer.Funcs, sound), rand.NewSource(seed), serializer.NewCodecFactory(scheme))
}

// sound fills what has to be as the programs that write these versions make it.
func sound(serializer.CodecFactory) []any {
	return []any{
		func(in *intstr.IntOrString, c randfill.Continue) { *in = intstr.FromInt32(c.Int31n(50)) },
		func(in *metav1.Duration, c randfill.Continue) {
			in.Duration = time.Duration(c.Int31()) * time.Second
		},
		func(in *bootstrapv1alpha1.OpenshiftAssistedConfigStatus, c randfill.Continue) {
			c.FillNoCustom(in)
			in.DataSecretName = pointerTo(valueOf(in.DataSecretName))
			if ref := in.InfraEnvRef; ref != nil {
				*ref = corev1.ObjectReference{APIVersion: "agent-install.openshift.io/v1beta1", Kind: "InfraEnv", Namespace: ref.Namespace, Name: ref.Name}
			}
		},
		func(in *clusterv1.ContractVersionedObjectReference, c randfill.Continue) {
			c.FillNoCustom(in)
			in.APIGroup = []string{"infrastructure.cluster.x-k8s.io", agentv1.Group}[c.Intn(2)]
		},
		func(in *corev1.ObjectReference, c randfill.Continue) {
			c.FillNoCustom(in)
			in.APIVersion = []string{"infrastructure.cluster.x-k8s.io/v1alpha5", agentv1.GroupVersion().String(), "v1"}[c.Intn(3)]
		},
		func(in *agentv1beta1.AgentMachineSpec, c randfill.Continue) {
			c.FillNoCustom(in)
			in.ProviderID = pointerTo(valueOf(in.ProviderID))
		},
		func(in *controlplanev1alpha2.OpenshiftAssistedControlPlaneStatus, c randfill.Continue) {
			c.FillNoCustom(in)
			in.Version = pointerTo(valueOf(in.Version))
			if ref := in.ClusterDeploymentRef; ref != nil {
				*ref = corev1.ObjectReference{APIVersion: "hive.openshift.io/v1", Kind: "ClusterDeployment", Namespace: ref.Namespace, Name: ref.Name}
			}
		},
	}
}
