package convert_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/oaictl/oaictl/pkg/install/convert"
)

// TestReadPassesOverKustomization has kustomize's own file beside what it takes,
// with and without what says that it is kustomize's.
func TestReadPassesOverKustomization(t *testing.T) {
	objects := fmt.Sprintf(deployment, "a", "a") + "---\n" + install + "---\n" + strings.Replace(infraEnv, "spec: {}", "spec: {pullSecretRef: {name: p}}", 1)
	objects = strings.NewReplacer("clusterName: a", "clusterName: a, baseDomain: example.com, pullSecretRef: {name: p}", "spec: {}", "spec: {provisionRequirements: {controlPlaneAgents: 1}, networking: {userManagedNetworking: true}}").Replace(objects)
	for _, head := range []string{"", "apiVersion: kustomize.config.k8s.io/v1beta1\nkind: Kustomization\n"} {
		for _, name := range []string{"kustomization.yaml", "kustomization.yml"} {
			files := memory{"in/objects.yaml": []byte(objects), "in/" + name: []byte(head + "resources: [objects.yaml]\nsecretGenerator: [{name: x, literals: [k=hunter2]}]\n")}
			c, err := convert.Read(t.Context(), "in", convert.Options{Env: files.env(), Version: "4.20", AcceptUnknownHosts: true})
			if err != nil {
				t.Errorf("%s: %v", name, err)
				continue
			}
			told := ""
			for _, loss := range c.Losses {
				told += fmt.Sprintln(loss.Path, loss.Value, loss.Why)
			}
			if !strings.Contains(told, "tells kustomize which files to take") || strings.Contains(told, "hunter2") {
				t.Errorf("%s: %s", name, told)
			}
		}
	}
}
