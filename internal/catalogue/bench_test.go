package catalogue_test

import (
	"testing"

	"github.com/oaictl/oaictl/internal/catalogue"
)

func BenchmarkLookup(b *testing.B) {
	for b.Loop() {
		catalogue.Validation(catalogue.SubjectHost, "ntp-synced")
	}
}

func BenchmarkSuggest(b *testing.B) {
	for b.Loop() {
		catalogue.Suggest(catalogue.KindEvent, "host_status_update")
	}
}
