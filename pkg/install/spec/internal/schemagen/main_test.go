package main

import (
	"os"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// The checked-in schemas are the ones that the types make.
func TestSchemaIsFresh(t *testing.T) {
	t.Chdir("../..")
	for _, d := range documents() {
		want, err := d.generate(".")
		if err != nil {
			t.Fatal(err)
		}
		for _, file := range []string{"schema/" + d.out, "../../../docs/" + d.docs} {
			got, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(string(want), string(got)); diff != "" {
				t.Errorf("%s is stale, run go generate ./pkg/install/spec (-want +got):\n%s", file, diff)
			}
		}
	}
}
