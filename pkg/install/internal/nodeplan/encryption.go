package nodeplan

import (
	"fmt"
	"slices"

	"github.com/oaictl/oaictl/internal/shared/listtext"
	"github.com/oaictl/oaictl/pkg/install/model"
)

// tpmVersion is the only one that disks are encrypted by.
const tpmVersion = "2.0"

// checkEncryption is the service's own check of a host's means to encrypt its disk. It looks at
// the first volume of the config alone, and at Tang only where that has no TPM.
const checkEncryption = "disk-encryption-requirements-satisfied"

// disksUnlock holds the hosts without the TPM that their pools' disks are encrypted by, and says
// before they boot what is needed of them: a host that cannot encrypt its disk stops at its first
// boot, after its disk was written.
func (a *obstacles) disksUnlock(hosts []Host) {
	waiting := map[string][]string{}
	for _, h := range hosts {
		p := a.spoke.Pool(pool(h))
		if p == nil || p.Encryption == nil || installStarted(h.Have) {
			continue
		}
		if h.Have == nil || !h.Have.Inventory.Known || p.Encryption.TPM && len(p.Encryption.Tang) > 0 {
			waiting[p.Name] = append(waiting[p.Name], h.Name)
		}
		a.hasTPM(h, p)
	}
	for i := range a.spoke.Pools {
		if p := &a.spoke.Pools[i]; len(waiting[p.Name]) > 0 {
			a.needed(p, waiting[p.Name])
		}
	}
}

func (a *obstacles) hasTPM(h Host, p *model.Pool) {
	if h.Have == nil || !p.Encryption.TPM {
		return
	}
	has := h.Have.Inventory.TPM
	told := slices.ContainsFunc(h.Have.Validations, func(v model.Validation) bool { return v.ID == checkEncryption && v.Status == "failure" })
	if has == "" || has == tpmVersion || told {
		return
	}
	what := "has a TPM of version " + has
	if has == "none" {
		what = "has no TPM that is enabled"
	}
	a.block(model.Blocker{
		Key: string(scopeOf(h)) + "/tpm", Scope: scopeOf(h), Reason: "NoTPM", Cure: model.CurePerson, Since: h.Have.Registered,
		Hosts:   []string{h.Name},
		Message: fmt.Sprintf("the disks of the pool %s are encrypted with a TPM %s, but %s %s", p.Name, tpmVersion, h.Name, what),
		Remedy: "enable the TPM in the machine's firmware and boot the discovery image again, or choose a pool for the host that does " +
			"not encrypt disks with a TPM",
	})
}

// needed says what hosts have to have that have not shown it.
func (a *obstacles) needed(p *model.Pool, hosts []string) {
	e := p.Encryption
	var means []string
	if e.TPM {
		means = append(means, "a TPM "+tpmVersion+", enabled in the firmware")
	}
	if len(e.Tang) > 0 {
		means = append(means, "network access to the Tang servers "+listtext.ListText(e.Tang))
	}
	w := model.Warning{
		Key: "spoke/pool/" + p.Name + "/encryption", Scope: model.ScopeCluster, Reason: "PoolEncryptsDisks",
		Message: fmt.Sprintf("the pool %s encrypts disks (%s): to join, %s needs %s", p.Name, p.Served, listtext.ListText(hosts),
			listtext.ListText(means)),
	}
	if len(e.Pins) > 0 {
		w.Message = fmt.Sprintf("the pool %s encrypts disks with the Clevis pin %s (%s). The service does not know this pin, and "+
			"its check refuses %s", p.Name,
			listtext.ListText(e.Pins), p.Served, listtext.ListText(hosts))
		w.Next = model.Advicef("tell the service to ignore its check %s: spec.ignoreValidations.hosts", checkEncryption)
	}
	a.warn(w)
}
