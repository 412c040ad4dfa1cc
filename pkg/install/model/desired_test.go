package model_test

import (
	"strings"
	"testing"

	"github.com/oaictl/oaictl/pkg/install/internal/decidetest"
	"github.com/oaictl/oaictl/pkg/install/model"
)

// The query names what is to be brought along.
func TestQueryNamesReservedHosts(t *testing.T) {
	d := &model.Desired{Spec: decidetest.WithOwn(decidetest.WithReserved(decidetest.Sample(3, 0), "cp-0", "cp-2"),
		map[string]string{"cp-1": "own"})}
	if q := d.Query(); strings.Join(q.Agents, " ") != "pool/host-cp-0 pool/host-cp-2" || strings.Join(q.Alone, " ") != "own" {
		t.Errorf("%+v", q)
	}
}
