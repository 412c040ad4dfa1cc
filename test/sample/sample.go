// Package sample has the clusters by which it is tested what is made of a
// cluster.yaml: the examples, and files that say something in every field.
package sample

import (
	_ "embed"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/oaictl/oaictl/pkg/install/spec"
)

// Examples are the names of the clusters in examples/.
func Examples(t *testing.T) []string {
	t.Helper()
	files, err := filepath.Glob("../../../examples/*/cluster.yaml")
	if err != nil || len(files) == 0 {
		t.Fatalf("no examples: %v", err)
	}
	var names []string
	for _, file := range files {
		names = append(names, filepath.Base(filepath.Dir(file)))
	}
	return names
}

// Example is one of them.
func Example(t *testing.T, name string) *spec.Cluster {
	t.Helper()
	c, err := spec.Load(t.Context(), "../../../examples/"+name+"/cluster.yaml", spec.OSEnv())
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// Fields are the paths of everything that cluster.yaml may say.
func Fields() []string { return fieldsOf(reflect.TypeFor[spec.Cluster](), "") }

// fieldsOf are the paths below a field; what is read from a file or variable is one field.
func fieldsOf(of reflect.Type, path string) []string {
	for of.Kind() == reflect.Pointer || of.Kind() == reflect.Slice {
		of = of.Elem()
	}
	switch of {
	case reflect.TypeFor[spec.Source](), reflect.TypeFor[spec.PublicSource](), reflect.TypeFor[spec.Credentials](),
		reflect.TypeFor[spec.Document]():
		return []string{path}
	}
	var out []string
	if of.Kind() == reflect.Struct {
		for i := range of.NumField() {
			if name, _, _ := strings.Cut(of.Field(i).Tag.Get("yaml"), ","); name != "" && name != "-" {
				out = append(out, fieldsOf(of.Field(i).Type, strings.TrimPrefix(path+"."+name, "."))...)
			}
		}
	}
	if out == nil {
		return []string{path}
	}
	return out
}

// OwnerOf is the entry of a table that a field belongs to, "" for none.
func OwnerOf[T any](table map[string]T, field string) string {
	for field != "" {
		if _, owned := table[field]; owned {
			return field
		}
		field = field[:max(strings.LastIndexByte(field, '.'), 0)]
	}
	return ""
}

// Env reads variables from a table of the test.
func Env() spec.Env {
	env := spec.OSEnv()
	env.LookupEnv = func(name string) (string, bool) {
		text, set := map[string]string{
			"PULL": `{"auths":{"quay.io":{"auth":"dXNlcjpwYXNz"}}}`, "BMC": "root:calvin", "TOKEN": "t0ken", "CA": certificate,
			"KUBECONFIG_OF_OLD": "apiVersion: v1\nkind: Config\n",
		}[name]
		return text, set
	}
	return env
}

// Parse reads a cluster.yaml.
func Parse(t *testing.T, text string) *spec.Cluster {
	t.Helper()
	c, err := spec.Parse(t.Context(), "cluster.yaml", []byte(text), Env())
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// Golden compares with a file of testdata, or writes it.
func Golden(t *testing.T, update bool, name, got string) {
	t.Helper()
	file := filepath.Join("testdata", name)
	if update {
		if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(file, []byte(got), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(string(want), got); diff != "" {
		t.Errorf("%s (-want +got):\n%s", file, diff)
	}
}

// All are the examples and [Clusters], except those that are installed already.
func All(t *testing.T) map[string]func() *spec.Cluster {
	t.Helper()
	all := map[string]func() *spec.Cluster{}
	for _, name := range Examples(t) {
		all[name] = func() *spec.Cluster { return Example(t, name) }
	}
	for name, text := range Clusters() {
		if name == "imported" {
			continue
		}
		all[name] = func() *spec.Cluster { return Parse(t, text) }
	}
	return all
}

// Head is how a file begins.
const Head = "apiVersion: oaictl.io/v1alpha1\nkind: Cluster\nmetadata: {name: lab}\n"

//go:embed clusters/ca.pem
var certificate string

//go:embed clusters/every-field.yaml
var everyField string

// EveryField says something in every field that a hub has a place for, save
// those that exclude each other, which EveryOtherField has.
func EveryField() string { return everyField }

// EveryOtherField says what EveryField cannot.
//
//go:embed clusters/every-other-field.yaml
var EveryOtherField string

// External is a cluster on a platform of its own, with machines of an image that exists.
//
//go:embed clusters/external.yaml
var External string

// Imported is a cluster that is installed already, to which hosts are added.
//
//go:embed clusters/imported.yaml
var Imported string

// LaterWorker is a single node to which a worker is added once it is installed.
//
//go:embed clusters/later-worker.yaml
var LaterWorker string

// Clusters are files that say everything, by name.
func Clusters() map[string]string {
	return map[string]string{"every-field": EveryField(), "every-other-field": EveryOtherField, "external": External, "imported": Imported}
}
