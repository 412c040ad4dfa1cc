package capi

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/runtime"
	kubescheme "k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/oaictl/oaictl/internal/shared/clock"
	"github.com/oaictl/oaictl/pkg/capi/internal/competitors"
	"github.com/oaictl/oaictl/pkg/capi/manifests/components"
	"github.com/oaictl/oaictl/pkg/install/model"
)

// Obstacle is something that must not be there beside the providers, and what to do about it.
type Obstacle = competitors.Found

// Report is what a look at a management cluster has found.
type Report struct {
	// Running are other projects with the same kinds, and operators that bring them. The providers do
	// not start beside them.
	Running []Obstacle
	// Foreign are kinds that are there as another project has them. Installing the providers replaces
	// them.
	Foreign []Obstacle
	// Missing are the CustomResourceDefinitions of kinds that are not there: of the providers, of
	// Cluster API's core and, unless another backend is asked for, of a hub.
	Missing []string
	// Unknown says what could not be checked.
	Unknown []string
}

// Migration is the page that says how to come from other projects.
const Migration = "docs/capi.md, \"Coming from other providers\""

// Hinders reports whether the providers do not start.
func (r *Report) Hinders() bool { return len(r.Running)+len(r.Foreign) > 0 }

// MissingHub are the kinds of a hub that are not there: the providers work with one, and do not bring it.
func (r *Report) MissingHub() []string {
	return slices.DeleteFunc(slices.Clone(r.Missing), func(name string) bool { return !slices.Contains(hubKinds, name) })
}

// String says what conflicts, in one line.
func (r *Report) String() string {
	var texts []string
	for _, o := range slices.Concat(r.Running, r.Foreign) {
		texts = append(texts, o.What+": "+o.Remedy)
	}
	return strings.Join(texts, "; ") + "; see " + Migration
}

// kinds of Cluster API's core, and of a hub, that the providers need.
var (
	coreKinds = []string{"clusters.cluster.x-k8s.io", "machines.cluster.x-k8s.io", "machinedeployments.cluster.x-k8s.io",
		"machinesets.cluster.x-k8s.io"}
	hubKinds = []string{
		"agentclusterinstalls.extensions.hive.openshift.io", "agents.agent-install.openshift.io", "clusterdeployments.hive.openshift.io",
		"infraenvs.agent-install.openshift.io",
	}
)

// Check looks at a management cluster for what the providers of some options need, and for what must not
// run beside them.
func Check(ctx context.Context, connection *rest.Config, options Options) (*Report, error) {
	options.complete()
	scheme := runtime.NewScheme()
	if err := kubescheme.AddToScheme(scheme); err != nil {
		return nil, err
	}
	reader, err := client.New(connection, client.Options{Scheme: scheme})
	if err != nil {
		return nil, unreachable(connection, err)
	}
	search := competitors.Search{
		Client: reader, Now: clock.Real().Now(), Infrastructure: slices.Contains(options.Providers, Infrastructure),
		Assisted: slices.Contains(options.Providers, Bootstrap) || slices.Contains(options.Providers, ControlPlane),
	}
	for _, name := range options.Providers {
		p, err := components.Of(string(name))
		if err != nil {
			return nil, err
		}
		kinds, err := p.Kinds()
		if err != nil {
			return nil, err
		}
		for _, kind := range kinds {
			search.Kinds = append(search.Kinds, competitors.Kind(kind))
		}
	}
	needed := slices.Clone(coreKinds)
	if options.Service == nil {
		needed = append(needed, hubKinds...)
	}
	for _, name := range needed {
		search.Kinds = append(search.Kinds, competitors.Kind{Definition: name})
	}
	result, err := search.Find(ctx)
	if err != nil {
		return nil, unreachable(connection, err)
	}
	return &Report{Running: result.Found, Foreign: result.Foreign, Missing: result.Missing, Unknown: result.Unknown}, nil
}

// unreachable is the error of an API server that does not answer, or not as one does.
func unreachable(connection *rest.Config, err error) error {
	return &model.Fault{Code: model.CodeFailure, Op: "look at the management cluster", On: connection.Host, Err: err,
		Next: "check --kubeconfig and --context"}
}

// missing is the error of a management cluster without what the providers need, nil for none.
func (r *Report) missing() error {
	if len(r.Missing) == 0 {
		return nil
	}
	next := model.Advice("install Cluster API and the providers: clusterctl init --bootstrap openshift-assisted --control-plane " +
		"openshift-assisted --infrastructure agent, with the clusterctl.yaml that {controller manifests} writes")
	if !slices.ContainsFunc(r.Missing, func(name string) bool { return !slices.Contains(hubKinds, name) }) {
		next = "install the infrastructure operator, which makes a cluster a hub, or reach an assisted-service over REST with --backend rest " +
			"--service-url URL"
	}
	return &model.Fault{
		Code: model.CodeFailure, Op: "start the providers", Permanent: true,
		Err: fmt.Errorf("the management cluster has no CustomResourceDefinition %s", strings.Join(r.Missing, ", ")), Next: next,
	}
}
