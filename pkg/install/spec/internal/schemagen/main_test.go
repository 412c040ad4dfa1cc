package main

import (
	"os"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/oaictl/oaictl/internal/shared/must"
)

// The checked-in schemas are the ones that the types make.
func TestSchemaIsFresh(t *testing.T) {
	t.Chdir("../..")
	for _, d := range documents() {
		want := must.Get(d.generate("."))(t)
		for _, file := range []string{"schema/" + d.out, "../../../docs/" + d.docs} {
			got := must.Get(os.ReadFile(file))(t)
			if diff := cmp.Diff(string(want), string(got)); diff != "" {
				t.Errorf("%s is stale, run go generate ./pkg/install/spec (-want +got):\n%s", file, diff)
			}
		}
	}
}
