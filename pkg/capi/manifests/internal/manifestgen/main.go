// Command manifestgen writes, by controller-gen, what follows from the types in pkg/capi/api
// and from the markers in pkg/capi: the copying of objects, the CustomResourceDefinitions, the
// webhook configurations, and the reference of the kinds. Versions that are not stored any more
// have no types, and stay as they stand in the files. It is run by go generate.
package main

import (
	"bytes"
	"context"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"

	"sigs.k8s.io/yaml"
)

func main() {
	root := flag.String("root", ".", "root of the module")
	flag.Parse()
	if err := generate(context.Background(), *root); err != nil {
		fmt.Fprintln(os.Stderr, "manifestgen:", err)
		os.Exit(1)
	}
}

// head stands at the beginning of every file.
const head = "# Written by go generate ./pkg/capi/manifests.\n"

func generate(ctx context.Context, root string) error {
	scratch, err := os.MkdirTemp("", "manifestgen")
	if err != nil {
		return err
	}
	defer os.RemoveAll(scratch)
	if err := controllerGen(ctx, root, scratch); err != nil {
		return err
	}
	folder := filepath.Join(root, "pkg", "capi", "manifests")
	definitions, err := readAll(filepath.Join(scratch, "crd", "*.yaml"))
	if err != nil {
		return err
	}
	known, err := readAll(filepath.Join(folder, "crd", "*.yaml"))
	if err != nil {
		return err
	}
	crds := map[string][]any{}
	for _, definition := range definitions {
		readable(definition)
		keepOlder(definition, known)
		finish(definition)
		crds[nameOf(definition)+".yaml"] = []any{definition}
	}
	if err := writeAll(filepath.Join(folder, "crd"), crds); err != nil {
		return err
	}
	configurations, err := readAll(filepath.Join(scratch, "webhook", "*.yaml"))
	if err != nil {
		return err
	}
	if err := writeAll(filepath.Join(folder, "webhook"), byProvider(configurations)); err != nil {
		return err
	}
	page, err := reference(definitions)
	if err != nil {
		return err
	}
	return os.WriteFile(filepath.Join(root, "docs", "reference", "crds.md"), page, 0o644)
}

// controllerGen runs controller-gen, which writes below the folder scratch, except Go files.
func controllerGen(ctx context.Context, root, scratch string) error {
	tool := exec.CommandContext(ctx, filepath.Join(root, "test", "tools", "tool"), "controller-gen")
	tool.Stderr = os.Stderr
	path, err := tool.Output()
	if err != nil {
		return fmt.Errorf("building controller-gen: %w", err)
	}
	for _, args := range [][]string{
		{"object", "paths=./pkg/capi/api/..."},
		{"crd", "paths=./pkg/capi/api/...", "output:crd:dir=" + filepath.Join(scratch, "crd")},
		{"webhook", "paths=./pkg/capi/internal/webhook/...", "output:webhook:dir=" + filepath.Join(scratch, "webhook")},
	} {
		command := exec.CommandContext(ctx, strings.TrimSpace(string(path)), args...)
		command.Dir = root
		if out, err := command.CombinedOutput(); err != nil {
			return fmt.Errorf("controller-gen %s: %w\n%s", args[0], err, out)
		}
	}
	return nil
}

// object is one of Kubernetes.
type object = map[string]any

// readAll reads the objects in the files of a pattern.
func readAll(pattern string) ([]object, error) {
	names, err := filepath.Glob(pattern)
	if err != nil {
		return nil, err
	}
	var objects []object
	for _, name := range names {
		content, err := os.ReadFile(name)
		if err != nil {
			return nil, err
		}
		for document := range bytes.SplitSeq(content, []byte("\n---\n")) {
			var o object
			if err := yaml.Unmarshal(document, &o); err != nil {
				return nil, fmt.Errorf("%s: %w", name, err)
			}
			if o != nil {
				objects = append(objects, o)
			}
		}
	}
	return objects, nil
}

// writeAll makes a folder that has just these files.
func writeAll(folder string, files map[string][]any) error {
	if err := os.RemoveAll(folder); err != nil {
		return err
	}
	if err := os.MkdirAll(folder, 0o755); err != nil {
		return err
	}
	for name, objects := range files {
		text := []byte(head)
		for i, o := range objects {
			document, err := yaml.Marshal(o)
			if err != nil {
				return err
			}
			if i > 0 {
				text = append(text, "---\n"...)
			}
			text = append(text, document...)
		}
		if err := os.WriteFile(filepath.Join(folder, name), text, 0o644); err != nil {
			return err
		}
	}
	return nil
}

const (
	providerLabel = "cluster.x-k8s.io/provider"
	// service and namespace stand for those of the provider.
	service, namespace = "webhook-service", "system"
)

const (
	// aTime is a time as Go reads it. By its format date-time alone the API server stores times that Go refuses, such as
	// one with a small t, and a list with one of those can't be read, nor anything else that is in it.
	aTime = `^[0-9]{4}-[0-9]{2}-[0-9]{2}T([01][0-9]|2[0-3]):[0-5][0-9]:[0-5][0-9](\.[0-9]+)?(Z|[+-]([01][0-9]|2[0-3]):[0-5][0-9])$`
	// aQuantity is a quantity that is parsed quickly: 1e-1000000000 takes a processor for ever.
	aQuantity = `^[+-]?([0-9]{1,19}(\.[0-9]{0,19})?|\.[0-9]{1,19})([KMGTPE]i|[numkMGTPE]|[eE][+-]?[0-9]{1,2})?$`
)

// readable bounds the texts of a definition to those that the program reads.
func readable(o any) {
	switch o := o.(type) {
	case object:
		format, _ := o["format"].(string)
		pattern, _ := o["pattern"].(string)
		switch {
		case o["type"] == "string" && format == "date-time":
			o["pattern"] = aTime
		case o["x-kubernetes-int-or-string"] == true && strings.Contains(pattern, "KMGTPE"):
			o["pattern"] = aQuantity
		}
		for _, value := range o {
			readable(value)
		}
	case []any:
		for _, value := range o {
			readable(value)
		}
	}
}

// keepOlder adds the versions that no Go types say to a definition, as they stand in the files: what is older than the stored
// version does not change any more.
func keepOlder(definition object, known []object) {
	spec, _ := definition["spec"].(object)
	versions := list(spec, "versions")
	for _, before := range known {
		if nameOf(before) != nameOf(definition) {
			continue
		}
		for _, version := range list(before, "spec", "versions") {
			if at(version, "storage") == false {
				versions = append(versions, version)
			}
		}
	}
	slices.SortFunc(versions, func(a, b any) int { return strings.Compare(text(a, "name"), text(b, "name")) })
	spec["versions"] = versions
}

// finish has a definition with several versions converted by the provider's webhook.
func finish(definition object) {
	if len(list(definition, "spec", "versions")) < 2 {
		return
	}
	spec, _ := definition["spec"].(object)
	spec["conversion"] = object{
		"strategy": "Webhook",
		"webhook": object{
			"clientConfig":             object{"service": object{"name": service, "namespace": namespace, "path": "/convert"}},
			"conversionReviewVersions": []any{"v1"},
		},
	}
}

// providers are the providers by the API groups of their kinds.
var providers = map[string]string{
	"bootstrap.cluster.x-k8s.io":               "bootstrap-openshift-assisted",
	"controlplane.cluster.x-k8s.io":            "control-plane-openshift-assisted",
	"capi-provider.agent-install.openshift.io": "infrastructure-agent",
}

// byProvider are webhook configurations of each provider, by the names of their files.
func byProvider(configurations []object) map[string][]any {
	files := map[string][]any{}
	for _, configuration := range configurations {
		hooks := map[string][]any{}
		for _, hook := range list(configuration, "webhooks") {
			rule, _ := list(hook, "rules")[0].(object)
			group, _ := list(rule, "apiGroups")[0].(string)
			hooks[providers[group]] = append(hooks[providers[group]], hook)
		}
		for provider, own := range hooks {
			files[provider+".yaml"] = append(files[provider+".yaml"], object{
				"apiVersion": configuration["apiVersion"], "kind": configuration["kind"],
				"metadata": object{"name": provider + "-" + nameOf(configuration), "labels": object{providerLabel: provider}},
				"webhooks": own,
			})
		}
	}
	for _, objects := range files {
		slices.SortFunc(objects, func(a, b any) int { return strings.Compare(nameOf(a), nameOf(b)) })
	}
	return files
}

func nameOf(o any) string { return text(o, "metadata", "name") }

// at is what stands at a path of an object, nil for nothing.
func at(o any, path ...string) any {
	for _, name := range path {
		fields, _ := o.(object)
		o = fields[name]
	}
	return o
}

func list(o any, path ...string) []any {
	found, _ := at(o, path...).([]any)
	return found
}

func text(o any, path ...string) string {
	found, _ := at(o, path...).(string)
	return found
}
