package model_test

import (
	"testing"

	"github.com/oaictl/oaictl/internal/shared/check"
	"github.com/oaictl/oaictl/pkg/install/model"
	"github.com/oaictl/oaictl/pkg/install/spec"
)

// TestValueOfIgnitionEndpoint: it is read as it was written, with a CA and without.
func TestValueOfIgnitionEndpoint(t *testing.T) {
	for _, want := range []spec.IgnitionEndpoint{{URL: "https://e"}, {URL: "https://e", CA: &spec.PublicSource{Inline: "PEM"}}} {
		var got spec.IgnitionEndpoint
		if err := model.ValueOf(want).Decode(&got); err != nil {
			t.Fatal(err)
		}
		check.Equal(t, got.URL, want.URL, "URL")
		check.Equal(t, got.CA == nil, want.CA == nil, "has no CA")
		check.Equal(t, got.CA.Text(), want.CA.Text(), "CA")
	}
}
