package main

import (
	"os"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// The checked-in schema is the one that the types make.
func TestSchemaIsFresh(t *testing.T) {
	t.Chdir("../..")
	want, err := generate(".")
	if err != nil {
		t.Fatal(err)
	}
	for _, file := range []string{"schema/schema.json", "../../../docs/cluster.schema.json"} {
		got, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(string(want), string(got)); diff != "" {
			t.Errorf("%s is stale, run go generate ./pkg/install/spec (-want +got):\n%s", file, diff)
		}
	}
}
