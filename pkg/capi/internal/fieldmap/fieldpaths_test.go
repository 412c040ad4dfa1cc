package fieldmap

import (
	"reflect"
	"strings"
	"testing"

	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"

	bootstrapv1 "github.com/oaictl/oaictl/pkg/capi/api/bootstrap/v1beta1"
	controlplanev1 "github.com/oaictl/oaictl/pkg/capi/api/controlplane/v1beta1"
	"github.com/oaictl/oaictl/pkg/install/spec"
)

// TestEveryFieldHasItsPlace compares the two schemas: everything that cluster.yaml can say of a cluster, Cluster API's
// objects can say, too, or the table says why not.
func TestEveryFieldHasItsPlace(t *testing.T) {
	fields := map[string]bool{}
	leaves(reflect.TypeFor[spec.Metadata](), "metadata", "yaml", fields)
	leaves(reflect.TypeFor[spec.ClusterSpec](), "spec", "yaml", fields)
	if len(fields) < 100 {
		t.Fatalf("only %d fields of cluster.yaml were found", len(fields))
	}
	for field := range fields {
		if _, _, ok := LookUp(field); !ok {
			t.Errorf("%s of cluster.yaml has no place in Cluster API's objects: add a field, or the reason to the table", field)
		}
	}
	for _, p := range all() {
		used := false
		for field := range fields {
			used = used || covers(p.File, field)
		}
		if !used {
			t.Errorf("cluster.yaml has no field %s", p.File)
		}
	}
}

func TestPlacesAreFieldsOfTheObjects(t *testing.T) {
	specs := map[Teller]reflect.Type{
		ByControlPlane: reflect.TypeFor[controlplanev1.OpenshiftAssistedControlPlaneSpec](),
		ByConfig:       reflect.TypeFor[bootstrapv1.OpenshiftAssistedConfigSpec](),
		ByCluster:      reflect.TypeFor[clusterv1.ClusterSpec](),
	}
	for _, p := range all() {
		of, known := specs[p.By]
		if !known {
			if len(p.At) < 20 {
				t.Errorf("%s: %q is no reason", p.File, p.At)
			}
			continue
		}
		if err := walkTo(of, p.At); err != "" {
			t.Errorf("%s: %s of %s: %s", p.File, p.At, p.By, err)
		}
	}
}

// TestEveryFieldOfConfigIsMeant finds fields of spec.config that nothing in cluster.yaml
// explains, and are not Cluster API's own.
func TestEveryFieldOfConfigIsMeant(t *testing.T) {
	own := map[string]string{
		"config.imageRegistryRef": "mirrors and certificates as the provider before took them",
		"config.capabilities":     "a field of the install-config, which cluster.yaml overrides",
	}
	fields := map[string]bool{}
	leaves(reflect.TypeFor[controlplanev1.OpenshiftAssistedControlPlaneConfigSpec](), "config", "json", fields)
	for field := range fields {
		meant := false
		for _, p := range all() {
			meant = meant || p.By == ByControlPlane && (covers(field, p.At) || covers(p.At, field))
		}
		for prefix := range own {
			meant = meant || covers(prefix, field)
		}
		if !meant {
			t.Errorf("%s says something that cluster.yaml does not", field)
		}
	}
}

func TestLookUp(t *testing.T) {
	for path, want := range map[string]string{
		"spec.network.machine[1]":                 "config.machineNetwork[1].cidr",
		"spec.network.cluster[2].hostPrefix":      "config.clusterNetwork[2].hostPrefix",
		"spec.registry.mirrors[0].mirrors[3]":     "config.mirrors[0].mirrors[3]",
		"spec.hosts[0].taints[4].key":             "taints[4].key",
		"spec.hosts[0].labels.example.com/rack":   "nodeLabels.example.com/rack",
		"spec.sshKeys[7]":                         "config.sshAuthorizedKey",
		"spec.network.vips":                       "config.apiVIPs",
		"spec.network.vips.api":                   "config.apiVIPs",
		"spec.network.machine":                    "config.machineNetwork",
		"spec.registry.mirrors[2].mirrors":        "config.mirrors[2].mirrors",
		"spec.diskEncryption.tang[1].url":         "config.diskEncryption.tangServers.url",
		"spec.hosts[0].disk.hints.wwn":            "rootDeviceHints.wwn",
		"spec.overrides.installConfig.pullSecret": "config.installConfigOverrides.pullSecret",
	} {
		found, below, ok := LookUp(path)
		if got := found.At + below; !ok || got != want {
			t.Errorf("%s is said by %q, want %q", path, got, want)
		}
	}
	if _, _, ok := LookUp("spec.networks"); ok {
		t.Error("spec.networks is found, though spec.network is something else")
	}
}

// leaves are the fields below a type, except those of a type that has a form of its own.
func leaves(of reflect.Type, path, tag string, found map[string]bool) {
	switch of.Kind() {
	case reflect.Pointer:
		leaves(of.Elem(), path, tag, found)
		return
	case reflect.Slice:
		leaves(of.Elem(), path+"[]", tag, found)
		return
	case reflect.Struct:
	default:
		found[path] = true
		return
	}
	deeper := false
	for field := range of.Fields() {
		name, options, _ := strings.Cut(field.Tag.Get(tag), ",")
		switch {
		case !field.IsExported() || name == "-":
		case field.Anonymous && (name == "" || options == "inline"):
			leaves(field.Type, path, tag, found)
			deeper = true
		case name != "":
			leaves(field.Type, path+"."+name, tag, found)
			deeper = true
		}
	}
	if !deeper {
		found[path] = true
	}
}

// walkTo follows a path through the JSON names of a type, and says where it ends early.
func walkTo(of reflect.Type, path string) string {
	for name := range strings.SplitSeq(path, ".") {
		name, index := strings.CutSuffix(name, "[]")
		for of.Kind() == reflect.Pointer {
			of = of.Elem()
		}
		next := fieldNamed(of, name)
		if next == nil {
			return "there is no " + name
		}
		if of = next; index {
			if of.Kind() != reflect.Slice {
				return name + " is no list"
			}
			of = of.Elem()
		}
	}
	return ""
}

func fieldNamed(of reflect.Type, name string) reflect.Type {
	if of.Kind() != reflect.Struct {
		return nil
	}
	for field := range of.Fields() {
		if tag, _, _ := strings.Cut(field.Tag.Get("json"), ","); tag == name {
			return field.Type
		}
		if field.Anonymous {
			if found := fieldNamed(field.Type, name); found != nil {
				return found
			}
		}
	}
	return nil
}
