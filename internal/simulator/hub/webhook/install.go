// Package webhook has the verdicts of the service's and Hive's admission webhooks.
package webhook

import (
	"cmp"
	"fmt"
	"reflect"
	"slices"
	"strings"

	"github.com/oaictl/oaictl/internal/hubapi"
	"github.com/oaictl/oaictl/internal/hubapi/hive"
	"github.com/oaictl/oaictl/internal/simulator/hub/condition"
	"github.com/oaictl/oaictl/internal/simulator/hub/objects"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

// began tells whether the installation has begun, or ended: from then on its spec is frozen.
func began(aci *objects.Object) bool {
	return slices.Contains([]string{hubapi.ReasonInstallationInProgress, hubapi.ReasonInstallationFailed, hubapi.ReasonInstallationCompleted,
		hubapi.ReasonClusterInstalling}, condition.ReasonOf(aci, hubapi.ConditionCompleted))
}

// defaultUserManaged is who manages the network where nothing says so: nil where the service leaves it open.
func defaultUserManaged(s *objects.InstallSpec) *bool {
	managed := func(b bool) *bool { return &b }
	switch s.PlatformType {
	case "":
		return managed(s.ProvisionRequirements.ControlPlaneAgents == 1)
	case hive.PlatformBareMetal:
		return managed(false)
	case hive.PlatformNone, hive.PlatformExternal:
		return managed(true)
	}
	return nil
}

// DefaultInstall fills in who manages the network, and tells whether it changed anything.
func DefaultInstall(aci *objects.Object) (bool, error) {
	spec, err := objects.Spec[objects.InstallSpec](aci)
	if err != nil || spec.Networking.UserManagedNetworking != nil || began(aci) {
		return false, err
	}
	managed := defaultUserManaged(&spec)
	if managed == nil {
		return false, nil
	}
	return true, unstructured.SetNestedField(aci.Object, *managed, "spec", "networking", "userManagedNetworking")
}

// ValidateInstall is the verdict on a new AgentClusterInstall, or a new version of an old one.
func ValidateInstall(old, now *objects.Object) error {
	spec, err := objects.Spec[objects.InstallSpec](now)
	if err != nil {
		return apierrors.NewBadRequest(err.Error())
	}
	var before objects.InstallSpec
	if old != nil {
		if before, err = objects.Spec[objects.InstallSpec](old); err != nil {
			return apierrors.NewBadRequest(err.Error())
		}
		if !reflect.DeepEqual(before.ImageSetRef, spec.ImageSetRef) {
			return apierrors.NewBadRequest("Attempted to change AgentClusterInstall.ImageSetRef which is immutable")
		}
		if began(old) {
			return frozen(old, now)
		}
		// What is left out now is judged by what it was.
		spec.PlatformType = cmp.Or(spec.PlatformType, before.PlatformType)
		if spec.Networking.UserManagedNetworking == nil {
			spec.Networking.UserManagedNetworking = before.Networking.UserManagedNetworking
		}
	}
	if text := platformFault(&spec); text != "" {
		return apierrors.NewConflict(hubapi.AgentClusterInstalls().GroupResource(), now.GetName(), fmt.Errorf("%s", text))
	}
	return nil
}

// platformFault says why platform, network management and nodes do not go together; "" if they do.
func platformFault(s *objects.InstallSpec) string {
	managed := s.Networking.UserManagedNetworking
	on, off := managed != nil && *managed, managed != nil && !*managed
	single := s.ProvisionRequirements.ControlPlaneAgents == 1
	kind := strings.ToLower(s.PlatformType) // as the service says it
	switch s.PlatformType {
	case "":
		if single && s.ProvisionRequirements.WorkerAgents == 0 && off { // with workers the service does not look
			return "UserManagedNetworking must be set to true with SNO"
		}
	case hive.PlatformBareMetal, hive.PlatformNutanix:
		if on {
			return fmt.Sprintf("Can't set %s platform with user-managed-networking enabled", kind)
		}
		if single && s.PlatformType == hive.PlatformBareMetal {
			return fmt.Sprintf("Can't set %s platform on single node OpenShift", kind)
		}
	case hive.PlatformNone, hive.PlatformExternal:
		if off {
			return fmt.Sprintf("Can't set %s platform with user-managed-networking disabled", kind)
		}
		if s.PlatformType == hive.PlatformExternal && s.External == nil {
			return "External setting must be set when using platform type external"
		}
	}
	if s.External != nil && s.PlatformType != hive.PlatformExternal {
		return "External settings can only be set with external platform type"
	}
	return ""
}

// frozen refuses what may not change once an installation has begun; empty is as good as absent.
func frozen(old, now *objects.Object) error {
	free := []string{"clusterMetadata", "ignitionEndpoint"}
	if reason := condition.ReasonOf(old, hubapi.ConditionCompleted); reason == hubapi.ReasonInstallationCompleted || reason == hubapi.ReasonInstallationFailed {
		free = append(free, "provisionRequirements")
	}
	if changed := changedFields(old, now, free); len(changed) > 0 {
		return apierrors.NewBadRequest(fmt.Sprintf("Attempted to change AgentClusterInstall.Spec which is immutable after install started, "+
			"except for ClusterMetadata,IgnitionEndpoint fields. Unsupported change: \n%s", strings.Join(changed, "\n")))
	}
	return nil
}

func changedFields(old, now *objects.Object, free []string) []string {
	before, after := specOf(old), specOf(now)
	names := map[string]bool{}
	for name := range before {
		names[name] = true
	}
	for name := range after {
		names[name] = true
	}
	var changed []string
	for name := range names {
		if !slices.Contains(free, name) && objects.ToJSON(before[name]) != objects.ToJSON(after[name]) {
			changed = append(changed, name)
		}
	}
	slices.Sort(changed)
	return changed
}

func specOf(o *objects.Object) map[string]any {
	spec, _, _ := unstructured.NestedMap(o.Object, "spec")
	prune(spec)
	return spec
}

func prune(fields map[string]any) {
	objects.DropZero(fields)
	for name, value := range fields {
		if inner, ok := value.(map[string]any); ok {
			if prune(inner); len(inner) == 0 {
				delete(fields, name)
			}
		}
	}
}
