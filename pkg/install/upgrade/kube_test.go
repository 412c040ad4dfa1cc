//go:build e2e

package upgrade

import (
	"fmt"
	"os"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/client-go/dynamic"

	"github.com/oaictl/oaictl/internal/kubetest"
	"github.com/oaictl/oaictl/internal/shared/check"
	"github.com/oaictl/oaictl/internal/shared/must"
	"github.com/oaictl/oaictl/pkg/install/model"
)

// versionKind is ClusterVersion, with the rules of the real one that a request could break.
const versionKind = `
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: clusterversions.config.openshift.io}
spec:
  group: config.openshift.io
  scope: Cluster
  names: {kind: ClusterVersion, listKind: ClusterVersionList, plural: clusterversions, singular: clusterversion}
  versions:
  - name: v1
    served: true
    storage: true
    subresources: {status: {}}
    schema:
      openAPIV3Schema:
        type: object
        properties:
          status: {type: object, x-kubernetes-preserve-unknown-fields: true}
          spec:
            type: object
            properties:
              channel: {type: string}
              clusterID: {type: string}
              desiredUpdate:
                type: object
                properties:
                  version: {type: string}
                  image: {type: string}
                  force: {type: boolean}
                  architecture: {type: string, enum: [Multi, ""]}
                  mode: {type: string, enum: [Preflight]}
                  acceptRisks: {type: array, items: {type: object, properties: {name: {type: string}}}}
                x-kubernetes-validations:
                - {rule: 'has(self.architecture) && has(self.image) ? (self.architecture == "" || self.image == "") : true', message: cannot set both Architecture and Image}
                - {rule: 'has(self.architecture) && self.architecture != "" ? self.version != "" : true', message: Version must be set if Architecture is set}
`

var hub kubetest.Shared

func TestMain(m *testing.M) { os.Exit(hub.Run(m)) }

// TestUpgradeOnAnAPIServer takes a cluster over a gate and another channel to the next minor version,
// on a real API server.
func TestUpgradeOnAnAPIServer(t *testing.T) {
	api := hub.Start(t)
	must.Do(t, api.Apply(t.Context(), object(t, versionKind)))
	c := must.Get(dynamic.NewForConfig(api.Config))(t)
	for _, name := range []string{ackNamespace, gateNamespace} {
		_, err := api.Client.CoreV1().Namespaces().Create(t.Context(), &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: name}}, metav1.CreateOptions{})
		if err != nil && !apierrors.IsAlreadyExists(err) {
			t.Fatal(err)
		}
	}
	gates := configMap(gateNamespace, gateName, map[string]string{"ack-4.19-kube": "Agree"})
	must.Get(api.Client.CoreV1().ConfigMaps(gateNamespace).Create(t.Context(), gates, metav1.CreateOptions{}))(t)
	of := object(t, theVersion)
	of.SetResourceVersion("")
	status := of.Object["status"]
	unstructured.RemoveNestedField(of.Object, "spec", "desiredUpdate", "image") // with an architecture there is none
	must.Get(c.Resource(clusterVersions).Create(t.Context(), of, metav1.CreateOptions{}))(t)
	report := func(edit func(map[string]any)) {
		t.Helper()
		of := must.Get(c.Resource(clusterVersions).Get(t.Context(), clusterVersionName, metav1.GetOptions{}))(t)
		if of.Object["status"] == nil {
			of.Object["status"] = status
		}
		is := of.Object["status"].(map[string]any)
		is["observedGeneration"] = of.GetGeneration()
		edit(is)
		must.Get(c.Resource(clusterVersions).UpdateStatus(t.Context(), of, metav1.UpdateOptions{}))(t)
	}
	report(func(map[string]any) {})
	want := &Want{Version: "4.20.5", Channel: "eus-4.20", Acknowledge: []string{"ack-4.19-kube"}}
	revision := ""
	expect := func(phase model.Verdict, writes bool) {
		t.Helper()
		d, err := turn(t, c, want)
		if err != nil || d.Verdict != phase || (d.request != nil) != writes {
			t.Fatalf("it is %+v, %v, and should be %s", d, err, phase)
		}
		s := must.Get(Read(t.Context(), c, at(0), want))(t)
		if !writes && s.version.ResourceVersion != revision {
			t.Errorf("%s writes, without saying so", phase)
		}
		revision = s.version.ResourceVersion
	}
	quiet := func(phase model.Verdict) {
		t.Helper()
		for range 3 {
			expect(phase, false)
		}
	}
	expect(model.VerdictWorking, true)  // the channel
	expect(model.VerdictBlocked, false) // which the operator has not read yet
	report(func(map[string]any) {})
	expect(model.VerdictWorking, true) // the gate
	expect(model.VerdictWorking, true) // the update
	quiet(model.VerdictWaiting)
	report(func(map[string]any) {})
	revision = ""
	s := must.Get(Read(t.Context(), c, at(0), want))(t)
	check.Same(t, &desiredUpdate{Version: "4.20.5"}, s.version.Asked)
	revision = s.version.ResourceVersion
	quiet(model.VerdictWaiting)
	history := func(state string) func(map[string]any) {
		return func(status map[string]any) {
			release := map[string]any{"version": "4.20.5", "image": "quay.io/x@sha256:25"}
			status["desired"] = release
			entry := map[string]any{"version": "4.20.5", "image": "quay.io/x@sha256:25", "state": state, "startedTime": at(-5).Format(time.RFC3339)}
			list := status["history"].([]any)
			if list[0].(map[string]any)["version"] == "4.20.5" {
				list = list[1:]
			}
			status["history"] = append([]any{entry}, list...)
		}
	}
	for _, stage := range []struct {
		state string
		phase model.Verdict
	}{{"Partial", model.VerdictWaiting}, {"Completed", model.VerdictInstalled}} {
		report(history(stage.state))
		s = must.Get(Read(t.Context(), c, at(0), want))(t)
		revision = s.version.ResourceVersion
		quiet(stage.phase)
	}
	t.Run("what has changed meanwhile stays", func(t *testing.T) {
		next := &Want{Version: "4.20.6", AcceptConditional: true}
		s, err := Read(t.Context(), c, at(0), next)
		if err != nil {
			t.Fatal(err)
		}
		d := s.Decide(next)
		if d.request == nil {
			t.Fatalf("it is %+v", d)
		}
		report(func(status map[string]any) { status["versionHash"] = "other" })
		if err := d.Write(t.Context(), c); !apierrors.IsConflict(err) {
			t.Errorf("the error is %v", err)
		}
		check.Equal(t, must.Get(turn(t, c, next))(t).Verdict, model.VerdictWorking, "the next time it is")
		if s, err = Read(t.Context(), c, at(0), next); err != nil || fmt.Sprint(*s.version.Asked) != fmt.Sprint(desiredUpdate{Version: "4.20.6", Image: "quay.io/x@sha256:26"}) {
			t.Errorf("asked for is %+v, %v", s.version.Asked, err)
		}
	})
}
