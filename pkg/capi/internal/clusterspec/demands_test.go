package clusterspec

import (
	"errors"
	"testing"

	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	bootstrapv1 "github.com/oaictl/oaictl/pkg/capi/api/bootstrap/v1beta1"
	controlplanev1 "github.com/oaictl/oaictl/pkg/capi/api/controlplane/v1beta1"
	"github.com/oaictl/oaictl/pkg/capi/internal/clusterloop"
	"github.com/oaictl/oaictl/pkg/install/spec"
)

// TestDemands: what is asked of the host of a Machine is known before anything is of an installation.
func TestDemands(t *testing.T) {
	type plane = *controlplanev1.OpenshiftAssistedControlPlane
	for name, of := range map[string]struct {
		change  func(plane)
		configs map[string]string // architectures
		want    Demands
	}{
		"nothing":                        {},
		"of the cluster":                 {change: func(c plane) { c.Spec.Config.CPUArchitecture = "aarch64" }, want: Demands{Arch: spec.ARM}},
		"of the control plane":           {change: func(c plane) { c.Spec.OpenshiftAssistedConfigSpec.CPUArchitecture = "x86_64" }, want: Demands{Arch: spec.X86}},
		"of its own config":              {configs: map[string]string{"cp-0-config": "arm64"}, want: Demands{Arch: spec.ARM}},
		"of another config":              {configs: map[string]string{"w-0-config": "arm64"}, want: Demands{Arch: spec.ARM}},
		"of configs that differ":         {configs: map[string]string{"w-0-config": "arm64", "cp-0-config": "x86_64"}, want: Demands{Arch: spec.X86}},
		"of others that differ":          {configs: map[string]string{"w-0-config": "arm64", "cp-1-config": "x86_64"}, want: Demands{Arch: spec.Multi}},
		"of the cluster, before configs": {change: func(c plane) { c.Spec.Config.CPUArchitecture = "x86_64" }, configs: map[string]string{"cp-0-config": "arm64"}, want: Demands{Arch: spec.X86}},
		"of its config, in one of several": {
			change: func(c plane) { c.Spec.Config.CPUArchitecture = "multi" }, configs: map[string]string{"cp-0-config": "arm64"}, want: Demands{Arch: spec.ARM},
		},
		"of a single node": {change: func(c plane) { c.Spec.Replicas = ptr.To[int32](1) }, want: Demands{SingleNode: true}},
	} {
		t.Run(name, func(t *testing.T) {
			list := objects(t)
			for _, o := range list {
				switch o := o.(type) {
				case plane:
					if of.change != nil {
						of.change(o)
					}
				case *bootstrapv1.OpenshiftAssistedConfig:
					o.Spec.CPUArchitecture = of.configs[o.Name]
				}
			}
			if got, err := sourceOf(t, list).Demands(t.Context(), lab, "cp-0"); err != nil || got != of.want {
				t.Errorf("%+v, %v", got, err)
			}
		})
	}
	var without []client.Object
	for _, o := range objects(t) {
		if _, is := o.(plane); !is {
			without = append(without, o)
		}
	}
	if got, err := sourceOf(t, without).Demands(t.Context(), lab, "cp-0"); !errors.Is(err, clusterloop.ErrNotYet) {
		t.Errorf("without a control plane: %+v, %v", got, err)
	}
}
