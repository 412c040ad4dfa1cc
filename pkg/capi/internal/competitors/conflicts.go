// Package competitors finds what must not run beside the providers: the projects whose kinds they have taken
// over, and operators that would bring those back. Two that reconcile the same objects install the same
// hosts twice.
package competitors

import (
	"context"
	"fmt"
	"path"
	"slices"
	"strings"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	coordinationv1 "k8s.io/api/coordination/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// Found is something that must not be there, and what to do about it.
type Found struct {
	What, Remedy string
}

// Result is what was found, and what could not be checked.
type Result struct {
	// Found are the providers that run.
	Found []Found
	// Foreign are kinds of the providers that are there as another project has them: that is no
	// hindrance to install the providers, which replaces them, and one to run them.
	Foreign []Found
	// Missing are the definitions of kinds that are not there.
	Missing []string
	// Unknown says what could not be checked, and why.
	Unknown []string
}

// Kind is a kind of the providers.
type Kind struct {
	// Definition is the name of its CustomResourceDefinition.
	Definition string
	// Stored is the version that is stored; "" for any.
	Stored string
}

// Search says what is searched for.
type Search struct {
	// Client reads without a cache.
	Client client.Reader
	// Infrastructure and Assisted select projects: those with machines of a pool, and those with
	// OpenshiftAssistedConfigs and control planes.
	Infrastructure, Assisted bool
	// Kinds are those of the providers, and those that they need.
	Kinds []Kind
	// Now is the time by the clock of the caller.
	Now time.Time
}

const (
	assisted = "cluster-api-provider-openshift-assisted"
	agent    = "cluster-api-provider-agent"
)

// images are the last words of the images of the managers of other projects.
var images = map[string]string{
	"cluster-api-bootstrap-provider-openshift-assisted":    assisted,
	"cluster-api-controlplane-provider-openshift-assisted": assisted,
	"cluster-api-provider-openshift-assisted":              assisted,
	"cluster-api-provider-agent":                           agent,
	"cluster-api-agent-provider":                           agent,
}

// deployments are the names that other projects give their managers, wherever their images come from.
var deployments = map[string]string{
	"capoa-bootstrap-controller-manager":            assisted,
	"capoa-controlplane-controller-manager":         assisted,
	"cluster-api-provider-agent-controller-manager": agent,
}

// leases are the names of the leases of other projects.
var leases = map[string]string{
	"08dff33b.cluster.x-k8s.io":           assisted,
	"09dff44b.cluster.x-k8s.io":           assisted,
	"7605f49b.agent-install.openshift.io": agent,
}

// components are those of a MultiClusterEngine that bring the other projects, without what marks a preview.
var components = map[string]string{
	"cluster-api-provider-openshift-assisted": assisted,
	"hypershift": agent,
}

const previewSuffix = "-preview"

// Find looks for what must not run beside the providers.
func (s Search) Find(ctx context.Context) (Result, error) {
	var r Result
	for _, look := range []struct {
		subject string
		find    func(context.Context) ([]Found, error)
	}{
		{"the Deployments of all namespaces", s.deployments},
		{"the Leases of all namespaces", s.leases},
		{"MultiClusterEngines", s.engines},
		{"CustomResourceDefinitions", func(ctx context.Context) ([]Found, error) { return nil, s.definitions(ctx, &r) }},
	} {
		found, err := look.find(ctx)
		switch {
		case apierrors.IsForbidden(err):
			r.Unknown = append(r.Unknown, look.subject+" may not be read: "+err.Error())
			continue
		case err != nil:
			return r, fmt.Errorf("look at %s: %w", look.subject, err)
		}
		r.Found = append(r.Found, found...)
	}
	return r, nil
}

// concerns reports whether a project has kinds that are asked for.
func (s Search) concerns(project string) bool {
	return project == assisted && s.Assisted || project == agent && s.Infrastructure
}

// page is how many objects are read at once.
const page = 500

// each reads the objects of a list, page by page.
func (s Search) each(ctx context.Context, list client.ObjectList, visit func()) error {
	next := ""
	for {
		if err := s.Client.List(ctx, list, client.Limit(page), client.Continue(next)); err != nil {
			return err
		}
		visit()
		if next = list.GetContinue(); next == "" {
			return nil
		}
	}
}

func (s Search) deployments(ctx context.Context) ([]Found, error) {
	var found []Found
	list := &appsv1.DeploymentList{}
	err := s.each(ctx, list, func() {
		for i := range list.Items {
			d := &list.Items[i]
			project := projectOf(d)
			if !s.concerns(project) || ptr.Deref(d.Spec.Replicas, 1) == 0 && d.Status.Replicas == 0 {
				continue
			}
			found = append(found, Found{
				fmt.Sprintf("Deployment %s in namespace %s runs %s", d.Name, d.Namespace, project),
				fmt.Sprintf("kubectl scale deployment -n %s %s --replicas=0", d.Namespace, d.Name),
			})
		}
	})
	return found, err
}

// projectOf is the project whose manager a Deployment runs, "" for none.
func projectOf(d *appsv1.Deployment) string {
	if project := deployments[d.Name]; project != "" {
		return project
	}
	for i := range d.Spec.Template.Spec.Containers {
		name := path.Base(d.Spec.Template.Spec.Containers[i].Image)
		name, _, _ = strings.Cut(name, "@")
		name, _, _ = strings.Cut(name, ":")
		for image, project := range images {
			if strings.HasPrefix(name, image) || strings.HasPrefix(name, "origin-"+image) || strings.HasPrefix(name, "ose-"+image) {
				return project
			}
		}
	}
	return ""
}

// slack is for how long after its end a Lease still counts as held: clocks differ.
const slack = 30 * time.Second

func (s Search) leases(ctx context.Context) ([]Found, error) {
	var found []Found
	list := &coordinationv1.LeaseList{}
	err := s.each(ctx, list, func() {
		for i := range list.Items {
			l := &list.Items[i]
			project := leases[l.Name]
			if !s.concerns(project) || ptr.Deref(l.Spec.HolderIdentity, "") == "" || l.Spec.RenewTime == nil {
				continue
			}
			ends := l.Spec.RenewTime.Add(time.Duration(ptr.Deref(l.Spec.LeaseDurationSeconds, 0)) * time.Second)
			if s.Now.After(ends.Add(slack)) {
				continue // no process holds it any more
			}
			found = append(found, Found{
				fmt.Sprintf("Lease %s in namespace %s is kept by %s, a manager of %s", l.Name, l.Namespace, *l.Spec.HolderIdentity, project),
				"stop that manager",
			})
		}
	})
	return found, err
}

// engines finds the operators of the multicluster engine that bring the other projects, or may: only a
// component that is switched off brings nothing.
func (s Search) engines(ctx context.Context) ([]Found, error) {
	list := &unstructured.UnstructuredList{}
	list.SetAPIVersion("multicluster.openshift.io/v1")
	list.SetKind("MultiClusterEngineList")
	err := s.Client.List(ctx, list)
	if meta.IsNoMatchError(err) || apierrors.IsNotFound(err) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	var found []Found
	for i := range list.Items {
		off := switchedOff(&list.Items[i])
		for component, project := range components {
			if !s.concerns(project) || off[component] {
				continue
			}
			found = append(found, Found{
				fmt.Sprintf("MultiClusterEngine %s has its component %s not switched off, which brings the kinds of %s", list.Items[i].GetName(),
					component, project),
				fmt.Sprintf("set enabled: false for %s in spec.overrides.components of MultiClusterEngine %s (%s%s in older releases)", component,
					list.Items[i].GetName(), component, previewSuffix),
			})
		}
	}
	slices.SortFunc(found, func(a, b Found) int { return strings.Compare(a.What, b.What) })
	return found, nil
}

// switchedOff are the components of a MultiClusterEngine that are switched off.
func switchedOff(engine *unstructured.Unstructured) map[string]bool {
	off := map[string]bool{}
	list, _, _ := unstructured.NestedSlice(engine.Object, "spec", "overrides", "components")
	for _, each := range list {
		component, _ := each.(map[string]any)
		name, _ := component["name"].(string)
		if enabled, said := component["enabled"].(bool); said && !enabled {
			off[strings.TrimSuffix(name, previewSuffix)] = true
		} else if said {
			off[strings.TrimSuffix(name, previewSuffix)] = false
		}
	}
	return off
}

func (s Search) definitions(ctx context.Context, r *Result) error {
	for _, kind := range s.Kinds {
		definition := &unstructured.Unstructured{}
		definition.SetAPIVersion("apiextensions.k8s.io/v1")
		definition.SetKind("CustomResourceDefinition")
		err := s.Client.Get(ctx, client.ObjectKey{Name: kind.Definition}, definition)
		if apierrors.IsNotFound(err) {
			r.Missing = append(r.Missing, kind.Definition)
			continue
		}
		if err != nil {
			return err
		}
		if stored := storedVersion(definition); kind.Stored != "" && stored != kind.Stored {
			r.Foreign = append(r.Foreign, Found{
				fmt.Sprintf("CustomResourceDefinition %s stores version %s, and not %s", kind.Definition, stored, kind.Stored),
				"it is another project's: clusterctl init or upgrade replaces it, and its objects stay",
			})
		}
	}
	return nil
}

func storedVersion(definition *unstructured.Unstructured) string {
	versions, _, _ := unstructured.NestedSlice(definition.Object, "spec", "versions")
	for _, each := range versions {
		version, _ := each.(map[string]any)
		if version["storage"] == true {
			name, _ := version["name"].(string)
			return name
		}
	}
	return "none"
}
