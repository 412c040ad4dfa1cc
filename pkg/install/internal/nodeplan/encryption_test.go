package nodeplan

import (
	"testing"

	"github.com/oaictl/oaictl/internal/shared/check"
	"github.com/oaictl/oaictl/pkg/install/model"
)

func TestEncryption(t *testing.T) {
	tpm, tang := &model.DiskEncryption{TPM: true}, &model.DiskEncryption{Tang: []string{"http://tang-1", "http://tang-2"}}
	has := func(version string) func(*Question) {
		return func(q *Question) { q.Observed.Hosts[0].Inventory = model.Inventory{Known: true, TPM: version} }
	}
	for name, test := range map[string]struct {
		encryption *model.DiskEncryption
		change     func(*Question)
		want       string
	}{
		"none":            {nil, has("none"), ""},
		"TPM 2.0":         {tpm, has("2.0"), ""},
		"TPM 1.2":         {tpm, has("1.2"), "blocked (person): NoTPM: the disks of the pool worker are encrypted with a TPM 2.0, but w-1 has a TPM of version 1.2"},
		"no TPM":          {tpm, has("none"), "blocked (person): NoTPM: the disks of the pool worker are encrypted with a TPM 2.0, but w-1 has no TPM that is enabled"},
		"a hub's silence": {tpm, has(""), ""},
		"told by the service": {tpm, func(q *Question) {
			has("none")(q)
			q.Observed.Hosts[0].Validations = []model.Validation{{ID: checkEncryption, Status: "failure"}}
		}, ""},
		"checked, and passes": {tpm, func(q *Question) {
			has("none")(q) // it looks at the first volume only
			q.Observed.Hosts[0].Validations = []model.Validation{{ID: checkEncryption, Status: "success"}}
		}, "blocked (person): NoTPM: the disks of the pool worker are encrypted with a TPM 2.0, but w-1 has no TPM that is enabled"},
		"installing": {tpm, func(q *Question) { has("none")(q); q.Observed.Hosts[0].State = model.HostInstalling }, ""},
		"to boot": {tpm, func(q *Question) { q.Hosts[0].Have = nil },
			"warn PoolEncryptsDisks: the pool worker encrypts disks (rendered-served): to join, w-1 needs a TPM 2.0, enabled in the firmware"},
		"to boot, by Tang": {tang, func(q *Question) { q.Hosts[0].Have = nil },
			"warn PoolEncryptsDisks: the pool worker encrypts disks (rendered-served): to join, w-1 needs network access to the Tang servers http://tang-1, http://tang-2"},
		"Tang, which the service checks": {tang, has("none"), ""},
		"both, of which it checks one": {&model.DiskEncryption{TPM: true, Tang: []string{"http://tang-1"}}, has("2.0"),
			"warn PoolEncryptsDisks: the pool worker encrypts disks (rendered-served): to join, w-1 needs a TPM 2.0, enabled in the firmware, network access to the Tang servers http://tang-1"},
		"another pin": {&model.DiskEncryption{Pins: []string{"pkcs11"}}, func(q *Question) { q.Hosts[0].Have = nil },
			"warn PoolEncryptsDisks: the pool worker encrypts disks with the Clevis pin pkcs11 (rendered-served). The service does not know this pin, and its check refuses w-1"},
	} {
		t.Run(name, func(t *testing.T) {
			got := said(Ahead(asked(func(q *Question) {
				q.Observed.Hosts[0].State, q.Observed.Hosts[0].Progress = model.HostReady, model.HostProgress{}
				q.Observed.Spoke.Pools[1].Encryption, q.Observed.Spoke.Pools[1].Served = test.encryption, "rendered-served"
				test.change(q)
			})))
			check.Same(t, test.want, got)
		})
	}
}
