package base

import (
	"fmt"

	"github.com/oaictl/oaictl/pkg/install/render"
	"github.com/oaictl/oaictl/pkg/install/spec"
)

// CheckBackend refuses a file that says what the backend has no place for, all of it
// at once and before anything is asked of the backend.
func (a *App) CheckBackend(c *spec.Cluster) error {
	if a.Globals.Backend == BackendHub {
		_, err := render.Hub(c, render.Options{Namespace: a.Globals.Kube.Scope(), Later: true})
		return err
	}
	return checkREST(c)
}

// checkImportREST refuses of an installed cluster what a REST service does not take,
// and asks for what it needs.
func checkImportREST(c *spec.Cluster, report func(field, message, remedy string)) {
	if !c.Imported() {
		return
	}
	if c.Spec.Import.ClusterID == "" {
		report("spec.import.clusterID", "is missing: a REST service knows an installed cluster by it", "write what the cluster says: oc get clusterversion version -o jsonpath='{.spec.clusterID}'; or give --backend hub")
	}
	if c.Spec.Import.Kubeconfig.SecretRef != nil {
		report("spec.import.kubeconfig.secretRef", "names a Secret on a hub, which a REST service does not know", "leave the kubeconfig out: a REST service takes none; or give --backend hub")
	}
}

// checkREST refuses what only a hub can do: it has objects and controllers of its
// own.
func checkREST(c *spec.Cluster) error {
	problems := &spec.Problems{}
	report := func(field, message, remedy string) {
		file, line, column := c.Position(field)
		problems.List = append(problems.List, spec.Problem{File: file, Line: line, Column: column, Field: field, Message: message, Remedy: remedy})
	}
	if o := c.Spec.OpenShift; o.ImageSet != "" && o.Version == "" {
		report("spec.openshift.imageSet", "names an object of a hub, which a REST service does not know", `write the version as well: version: "4.20"; or give --backend hub`)
	}
	if c.Spec.PullSecret.SecretRef != nil {
		report("spec.pullSecret.secretRef", "names a Secret on a hub, which a REST service does not know", "name a file, a variable or a program that has it; or give --backend hub")
	}
	if c.Spec.Boot.Method == spec.BootMetal3 {
		report("spec.boot.method", fmt.Sprintf("is %s: a hub boots the machines then, and a REST service does not", spec.BootMetal3), "write redfish, and oaictl boots them; or give --backend hub")
	}
	for _, field := range []string{"agentLabels", "nodeLabels", "classifications", "ironic", "ipxe"} {
		if name := "spec.hub." + field; c.Present(name) {
			report(name, "is a matter of a hub, and a REST service has nothing of the kind", "leave it out, or give --backend hub")
		}
	}
	checkImportREST(c, report)
	if len(problems.List) == 0 {
		return nil
	}
	return problems
}
