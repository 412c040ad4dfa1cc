package hubobjects_test

import (
	"testing"

	"github.com/oaictl/oaictl/internal/shared/hubobjects"
)

func TestYAMLQuotesHex(t *testing.T) {
	hints := hubobjects.Fields{"rootDeviceHints": hubobjects.Fields{"wwn": "0x60002ac00000000000000b00024c2d11", "serialNumber": "0x1f", "model": "0x1g"}}
	got, err := hubobjects.YAML(hubobjects.Fields{"hosts": []any{hints}})
	const want = "hosts:\n- rootDeviceHints:\n    model: 0x1g\n    serialNumber: \"0x1f\"\n    wwn: \"0x60002ac00000000000000b00024c2d11\"\n"
	if err != nil || string(got) != want {
		t.Errorf("%v\n%s", err, got)
	}
}
