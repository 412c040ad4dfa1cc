// Command crds writes the CustomResourceDefinitions in manifests/, by which the
// tests set up a hub: those of Hive, of the AgentClusterInstall and of the Bare
// Metal Operator from the types that these projects publish, and those of
// agent-install.openshift.io from oaictl's own types.
//
// It is a module of its own, so that what those types need never meets what
// oaictl needs.
package main

import (
	_ "embed" // additions.yaml
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"reflect"
	"strings"

	"sigs.k8s.io/yaml"
)

// origin is a package of types, and the definitions that are wanted of it.
type origin struct {
	folder string // where controller-gen runs: the module that knows the package
	pkg    string
	crds   []string // plural.group
}

func origins() []origin {
	return []origin{
		{".", "github.com/openshift/hive/apis/hive/v1", []string{"clusterdeployments.hive.openshift.io", "clusterimagesets.hive.openshift.io"}},
		{".", "github.com/openshift/assisted-service/api/hiveextension/v1beta1", []string{"agentclusterinstalls.extensions.hive.openshift.io"}},
		{".", "github.com/metal3-io/baremetal-operator/apis/metal3.io/v1alpha1",
			[]string{"baremetalhosts.metal3.io", "preprovisioningimages.metal3.io"}},
		{"../..", "./internal/shared/hubapi/agentinstall", []string{
			"agentclassifications.agent-install.openshift.io", "agents.agent-install.openshift.io",
			"infraenvs.agent-install.openshift.io", "nmstateconfigs.agent-install.openshift.io",
		}},
	}
}

func main() {
	if len(os.Args) != 3 {
		fmt.Fprintln(os.Stderr, "usage: crds CONTROLLER-GEN FOLDER")
		os.Exit(2)
	}
	if err := generate(os.Args[1], os.Args[2]); err != nil {
		fmt.Fprintln(os.Stderr, "crds:", err)
		os.Exit(1)
	}
}

func generate(controllerGen, folder string) error {
	if err := os.RemoveAll(folder); err != nil {
		return err
	}
	if err := os.MkdirAll(folder, 0o755); err != nil {
		return err
	}
	scratch, err := os.MkdirTemp("", "crds")
	if err != nil {
		return err
	}
	defer os.RemoveAll(scratch)
	for _, from := range origins() {
		if err := read(controllerGen, scratch, from); err != nil {
			return err
		}
		for _, name := range from.crds {
			if err := write(scratch, folder, name); err != nil {
				return fmt.Errorf("%s of %s: %w", name, from.pkg, err)
			}
		}
	}
	return nil
}

// read runs controller-gen. Descriptions are left out: the API server does not
// need them. One type of the Bare Metal Operator has a floating-point number.
func read(controllerGen, scratch string, from origin) error {
	command := exec.Command(controllerGen, "crd:maxDescLen=0,allowDangerousTypes=true", "paths="+from.pkg, "output:crd:dir="+scratch)
	command.Dir = from.folder
	if out, err := command.CombinedOutput(); err != nil {
		return fmt.Errorf("controller-gen on %s: %w\n%s", from.pkg, err, out)
	}
	return nil
}

func write(scratch, folder, name string) error {
	plural, group, _ := strings.Cut(name, ".")
	content, err := os.ReadFile(filepath.Join(scratch, group+"_"+plural+".yaml"))
	if err != nil {
		return err
	}
	var crd map[string]any
	if err := yaml.Unmarshal(content, &crd); err != nil {
		return err
	}
	var additions []addition
	if err := yaml.UnmarshalStrict(additionsFile, &additions); err != nil {
		return err
	}
	for _, a := range additions {
		if a.CRD == name {
			if err := add(crd, a); err != nil {
				return fmt.Errorf("adding %s: %w", a.Field, err)
			}
		}
	}
	content, err = yaml.Marshal(crd)
	if err != nil {
		return err
	}
	const head = "# Written by go generate ./internal/kubetest; see test/crds.\n"
	return os.WriteFile(filepath.Join(folder, name+".yaml"), append([]byte(head), content...), 0o644)
}

// add puts a field into every version of a definition. One that is there already,
// as it is meant to be, has no business in the table any more.
func add(crd map[string]any, a addition) error {
	spec, _ := crd["spec"].(map[string]any)
	versions, _ := spec["versions"].([]any)
	for _, each := range versions {
		version, _ := each.(map[string]any)
		at, _ := version["schema"].(map[string]any)
		at, _ = at["openAPIV3Schema"].(map[string]any)
		path := strings.Split(a.Field, ".")
		for i, name := range path {
			properties, ok := at["properties"].(map[string]any)
			if !ok {
				return fmt.Errorf("%s has no properties", strings.Join(path[:i], "."))
			}
			if i == len(path)-1 {
				if reflect.DeepEqual(properties[name], a.Schema) {
					return fmt.Errorf("the types have it: remove it from the table")
				}
				properties[name] = a.Schema
				break
			}
			if at, ok = properties[name].(map[string]any); !ok {
				return fmt.Errorf("no field %s", strings.Join(path[:i+1], "."))
			}
		}
	}
	if len(versions) == 0 {
		return fmt.Errorf("no versions")
	}
	return nil
}

// addition is a field that the service knows and that the types, which are those
// of April 2025, do not.
type addition struct {
	CRD    string `json:"crd"`
	Field  string `json:"field"` // from the object's root: spec.networking.networkType
	Schema any    `json:"schema"`
	Why    string `json:"why"`
}

//go:embed additions.yaml
var additionsFile []byte
