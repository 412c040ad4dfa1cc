// Package webhook admits the objects of the three Cluster API providers: it fills in what
// Cluster API's contract needs, refuses what cannot work, and converts between versions.
//
// A refusal names the field and what to do. The rules are those of cluster.yaml
// ([github.com/oaictl/oaictl/pkg/install/spec]) and of what machines get
// ([github.com/oaictl/oaictl/pkg/capi/internal/userdata]); the webhooks apply them, and report errors by the fields of
// the objects. Checks that need another object are not made here: the controllers report them in conditions.
//
// Nothing that is there already is held up: an object that is being deleted, or has an unchanged spec, is admitted, and
// what was wrong before an update is not a reason to refuse it. An object that was there elsewhere, and is moved here
// or restored, is admitted, too: what is wrong with it is a warning.
package webhook

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/api/equality"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"sigs.k8s.io/cluster-api/util/topology"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/webhook/admission"

	agentv1 "github.com/oaictl/oaictl/pkg/capi/api/agent/v1beta2"
	bootstrapv1 "github.com/oaictl/oaictl/pkg/capi/api/bootstrap/v1beta1"
	controlplanev1 "github.com/oaictl/oaictl/pkg/capi/api/controlplane/v1beta1"
	"github.com/oaictl/oaictl/pkg/capi/internal/webhook/convert"
)

// Register makes a manager serve the webhooks of all three providers. Its scheme has to know every version of their
// kinds.
func Register(mgr ctrl.Manager) error {
	return errors.Join(RegisterBootstrap(mgr), RegisterControlPlane(mgr), RegisterInfrastructure(mgr))
}

// RegisterBootstrap makes a manager serve the webhooks of the bootstrap provider.
func RegisterBootstrap(mgr ctrl.Manager) error {
	setDefaults(mgr, "/mutate-bootstrap-cluster-x-k8s-io-v1beta1-openshiftassistedconfigtemplate", configTemplateDefaulter{})
	return errors.Join(
		ctrl.NewWebhookManagedBy(mgr, &bootstrapv1.OpenshiftAssistedConfig{}).
			WithValidator(configs()).WithConverter(convert.Kind(&bootstrapv1.OpenshiftAssistedConfig{})).Complete(),
		ctrl.NewWebhookManagedBy(mgr, &bootstrapv1.OpenshiftAssistedConfigTemplate{}).
			WithValidator(configTemplates()).WithConverter(convert.Kind(&bootstrapv1.OpenshiftAssistedConfigTemplate{})).Complete(),
	)
}

// RegisterControlPlane makes a manager serve the webhooks of the control plane provider.
func RegisterControlPlane(mgr ctrl.Manager) error {
	setDefaults(mgr, "/mutate-controlplane-cluster-x-k8s-io-v1beta1-openshiftassistedcontrolplane", controlPlaneDefaulter{})
	return errors.Join(
		ctrl.NewWebhookManagedBy(mgr, &controlplanev1.OpenshiftAssistedControlPlane{}).
			WithValidator(controlPlanes()).WithConverter(convert.Kind(&controlplanev1.OpenshiftAssistedControlPlane{})).Complete(),
		ctrl.NewWebhookManagedBy(mgr, &controlplanev1.OpenshiftAssistedControlPlaneTemplate{}).
			WithValidator(controlPlaneTemplates()).Complete(),
	)
}

// RegisterInfrastructure makes a manager serve the webhooks of the infrastructure provider.
func RegisterInfrastructure(mgr ctrl.Manager) error {
	return errors.Join(
		ctrl.NewWebhookManagedBy(mgr, &agentv1.AgentCluster{}).
			WithValidator(agentClusters()).WithConverter(convert.Kind(&agentv1.AgentCluster{})).Complete(),
		ctrl.NewWebhookManagedBy(mgr, &agentv1.AgentClusterTemplate{}).
			WithValidator(agentClusterTemplates()).Complete(),
		ctrl.NewWebhookManagedBy(mgr, &agentv1.AgentMachine{}).
			WithValidator(agentMachines()).WithConverter(convert.Kind(&agentv1.AgentMachine{})).Complete(),
		ctrl.NewWebhookManagedBy(mgr, &agentv1.AgentMachineTemplate{}).
			WithValidator(agentMachineTemplates()).WithConverter(convert.Kind(&agentv1.AgentMachineTemplate{})).Complete(),
	)
}

// setDefaults makes a manager serve the webhook that fills in the objects of a kind.
func setDefaults[T runtime.Object](mgr ctrl.Manager, path string, defaulter admission.Defaulter[T]) {
	hook := admission.WithDefaulter(mgr.GetScheme(), defaulter)
	hook.Handler = leftToSchema{hook.Handler}
	mgr.GetWebhookServer().Register(path, hook)
}

// leftToSchema admits what cannot be decoded. The API server asks the schema next, which names the field.
type leftToSchema struct{ admission.Handler }

// Handle answers a request.
func (h leftToSchema) Handle(ctx context.Context, request admission.Request) admission.Response {
	response := h.Handler.Handle(ctx, request)
	if response.Result != nil && response.Result.Code == http.StatusBadRequest {
		return admission.Allowed("")
	}
	return response
}

// validator admits the objects of a kind.
type validator[T client.Object] struct {
	kind schema.GroupKind
	// content is all that the rules below look at: where it stays, an update is admitted.
	content func(T) any
	// check says what is wrong with an object by itself.
	check func(context.Context, T) (admission.Warnings, field.ErrorList)
	// isTaken says of an object that is to be made that it is in use already: it is moved here, or restored. A user who
	// only claims that gains nothing: the controllers check the rules of cluster.yaml again. Nil for a kind that has no
	// such objects.
	isTaken func(T) bool
	// change says which changes are not allowed. Nil allows all.
	change func(before, after T) field.ErrorList
	// template is the part that only a topology may change, in a dry run. Nil for a kind that is no template.
	template func(T) any
}

// ValidateCreate admits an object that is to be made.
func (v validator[T]) ValidateCreate(ctx context.Context, object T) (admission.Warnings, error) {
	warnings, wrong := v.check(ctx, object)
	if v.isTaken != nil && v.isTaken(object) {
		for _, e := range shown(wrong) {
			warnings = append(warnings, e.Field+": "+e.Detail)
		}
		return some(warnings), nil
	}
	return some(warnings), v.refusal(object, wrong)
}

// ValidateUpdate admits an object that is changed.
func (v validator[T]) ValidateUpdate(ctx context.Context, before, after T) (admission.Warnings, error) {
	// An object that is no longer in use has to be right as a new one has to: until now its errors were only warnings.
	isNew := v.isTaken != nil && v.isTaken(before) && !v.isTaken(after)
	if !after.GetDeletionTimestamp().IsZero() || !isNew && equality.Semantic.DeepEqual(v.content(before), v.content(after)) {
		return nil, nil
	}
	warnings, wrong := v.check(ctx, after)
	if len(wrong) > 0 && !isNew {
		_, known := v.check(ctx, before)
		wrong = without(wrong, known)
	}
	if v.change != nil {
		wrong = append(wrong, v.change(before, after)...)
	}
	if v.template != nil && !equality.Semantic.DeepEqual(v.template(before), v.template(after)) && !triedOut(ctx, after) {
		wrong = append(wrong, field.Forbidden(field.NewPath("spec", "template"),
			"a template cannot be changed, because the objects that were made from it would not change: create a template with another "+
				"name, and change the references to it"))
	}
	return some(warnings), v.refusal(after, wrong)
}

// ValidateDelete admits every deletion.
func (v validator[T]) ValidateDelete(context.Context, T) (admission.Warnings, error) { return nil, nil }

func (v validator[T]) refusal(object T, wrong field.ErrorList) error {
	if len(wrong) == 0 {
		return nil
	}
	return apierrors.NewInvalid(v.kind, object.GetName(), shown(wrong))
}

// mostShown is how many problems of an object are shown. The time and memory that a text of all of them takes grow with the
// square of their number, and one object may have thousands.
const mostShown = 20

// some are the warnings that are shown.
func some(warnings admission.Warnings) admission.Warnings {
	return warnings[:min(len(warnings), mostShown)]
}

// shown are the problems of an object that are shown, in their order.
func shown(wrong field.ErrorList) field.ErrorList {
	slices.SortStableFunc(wrong, func(a, b *field.Error) int {
		return cmp.Or(strings.Compare(a.Field, b.Field), strings.Compare(a.Detail, b.Detail))
	})
	if more := len(wrong) - mostShown; more > 1 {
		wrong = append(wrong[:mostShown:mostShown], invalidAt(wrong[mostShown].Field, fmt.Sprintf("%d more problems are not shown", more)))
	}
	return wrong
}

// without are the errors that are not among others.
func without(errs, others field.ErrorList) field.ErrorList {
	known := map[string]bool{}
	for _, e := range others {
		known[e.Error()] = true
	}
	var rest field.ErrorList
	for _, e := range errs {
		if !known[e.Error()] {
			rest = append(rest, e)
		}
	}
	return rest
}

// triedOut reports whether a request is a topology's, which asks what would become of a template.
func triedOut(ctx context.Context, object client.Object) bool {
	request, err := admission.RequestFromContext(ctx)
	return err == nil && topology.IsDryRunRequest(request, object)
}
