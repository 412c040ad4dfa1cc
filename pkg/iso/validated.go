package iso

import (
	"crypto/sha256"
	"sync"

	"github.com/oaictl/oaictl/pkg/iso/ignition"
)

// validated remembers the last config that was found good: machines of one cluster mostly share
// theirs, and checking takes longer than all the rest.
type validated struct {
	mu       sync.Mutex
	digest   [sha256.Size]byte
	warnings []string
}

// check validates a config unless it is the one from before.
func (v *validated) check(config []byte) (warnings []string, err error) {
	digest := sha256.Sum256(config)
	v.mu.Lock()
	if v.digest == digest {
		defer v.mu.Unlock()
		return v.warnings, nil
	}
	v.mu.Unlock()
	report, err := ignition.Validate("the Ignition config", config)
	if err != nil {
		return nil, err
	}
	v.mu.Lock()
	defer v.mu.Unlock()
	v.digest, v.warnings = digest, report.Warnings()
	return v.warnings, nil
}
