package ignition

import (
	"crypto/sha256"
	"fmt"
	"slices"
	"sync"

	"github.com/coreos/go-semver/semver"
)

// mostRemembered bounds what a Checker keeps: as many configs as there are pools
// of machines, with room to spare.
const mostRemembered = 64

// Checker validates configs and remembers what it found by their content, for who
// makes images of many machines out of few configs. The zero value is ready; it may
// be used by several goroutines at once.
type Checker struct {
	mu    sync.Mutex
	found map[[sha256.Size]byte]Report
}

// Validate is the package's Validate, at the price of a digest where the same
// content was validated before.
func (c *Checker) Validate(name string, data []byte) (Report, error) {
	key := sha256.Sum256(data)
	r, known := c.recall(key)
	if !known {
		r, _ = Validate(name, data) // the error is made of the report below
		c.remember(key, r)
	}
	r.Name, r.Entries = name, slices.Clone(r.Entries)
	if r.Fatal() {
		return r, &Invalid{Report: r}
	}
	return r, nil
}

// Merge is the package's Merge, for which configs that were validated before need
// not be again. What it makes of them is.
func (c *Checker) Merge(configs ...[]byte) ([]byte, error) {
	return merge(func(name string, data []byte) (semver.Version, error) {
		r, known := c.recall(sha256.Sum256(data))
		if !known || r.Fatal() {
			return valid(name, data)
		}
		version, err := semver.NewVersion(r.Version)
		if err != nil {
			return semver.Version{}, fmt.Errorf("%s: read its version: %w", name, err)
		}
		return *version, nil
	}, configs)
}

func (c *Checker) recall(key [sha256.Size]byte) (Report, bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	r, known := c.found[key]
	return r, known
}

func (c *Checker) remember(key [sha256.Size]byte, r Report) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.found == nil || len(c.found) >= mostRemembered {
		c.found = map[[sha256.Size]byte]Report{}
	}
	c.found[key] = r
}
