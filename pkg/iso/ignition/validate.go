package ignition

import (
	"crypto/sha256"
	stdjson "encoding/json"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"sync"

	"github.com/coreos/go-semver/semver"
	ignitionerrors "github.com/coreos/ignition/v2/config/shared/errors"
	"github.com/coreos/ignition/v2/config/v3_6/types"
	"github.com/coreos/vcontext/json"
	"github.com/coreos/vcontext/path"
	"github.com/coreos/vcontext/report"
)

// maxNested bounds how deep configs within configs are looked at.
const maxNested = 4

// Validate checks a config of specification 3.0 to Newest. The report holds
// everything that was found, warnings included, with its place; the error is an
// *Invalid where any of it is an Error. name is for texts only.
func Validate(name string, data []byte) (Report, error) {
	return validate(name, data, 0)
}

func validate(name string, data []byte, depth int) (Report, error) {
	r := Report{Name: name}
	found, err := r.check(data, depth)
	r.take(found, data)
	if err != nil && !r.Fatal() {
		r.refused(err, data)
	}
	if r.Fatal() {
		return r, &Invalid{Report: r}
	}
	return r, nil
}

// check reads the version, and applies the rules of the specification and those
// of this package.
func (r *Report) check(data []byte, depth int) (report.Report, error) {
	version, found, err := versionOf(data)
	if err != nil {
		return found, err
	}
	r.Version = version.String()
	s, err := specificationOf(version)
	if err != nil {
		return found, err
	}
	if s.judge(data, true) > clean {
		if found, err = s.check(data); err != nil {
			return found, err
		}
	}
	found.Merge(checks(data, depth))
	return found, nil
}

// refused adds the entry of a config that was refused as a whole.
func (r *Report) refused(err error, data []byte) {
	e := Entry{Severity: Error, Message: err.Error()}
	at := path.New("json", "ignition", "version")
	switch {
	case errors.Is(err, ignitionerrors.ErrEmpty):
		e.Message = "the config is empty"
	case errors.Is(err, ignitionerrors.ErrInvalidVersion):
		e.Path, e.Message = spell(at), "the config does not say which specification it follows"
	case errors.Is(err, ignitionerrors.ErrUnknownVersion):
		e.Path, e.Message = spell(at), fmt.Sprintf("specification %s is not understood, only 3.0.0 to %s", r.Version, Newest)
	}
	if document, err := json.UnmarshalToContext(data); err == nil {
		place := report.Report{Entries: []report.Entry{{Context: at}}}
		place.Correlate(document)
		if start := place.Entries[0].Marker.StartP; start != nil {
			e.Line, e.Column = position(data, start.Index)
		}
	}
	r.Entries = append(r.Entries, e)
}

// checks finds what the rules of the specification leave to the booting machine.
// It reads the document as it stands, since translating it to a newer
// specification changes modes; all specifications are subsets of the newest.
func checks(data []byte, depth int) report.Report {
	var (
		config types.Config
		found  report.Report
	)
	if err := stdjson.Unmarshal(data, &config); err != nil {
		found.AddOnError(path.New("json"), err)
		return found
	}
	checkModes(config, &found)
	checkResources(config, depth, &found)
	if len(found.Entries) == 0 {
		return found
	}
	if document, err := json.UnmarshalToContext(data); err == nil {
		found.Correlate(document)
	}
	return found
}

// checkModes warns about modes that were meant as octal numbers. JSON has only
// decimal ones: 644 is 01204, and 0644 is written 420.
func checkModes(config types.Config, found *report.Report) {
	for i, f := range config.Storage.Files {
		checkMode(f.Mode, path.New("json", "storage", "files", i, "mode"), found)
	}
	for i, d := range config.Storage.Directories {
		checkMode(d.Mode, path.New("json", "storage", "directories", i, "mode"), found)
	}
}

func checkMode(mode *int, at path.ContextPath, found *report.Report) {
	if mode == nil || sensible(*mode) {
		return
	}
	meant, err := strconv.ParseInt(strconv.Itoa(*mode), 8, 32)
	if err != nil || !sensible(int(meant)) {
		return
	}
	found.AddOnWarn(at, fmt.Errorf("mode %d is octal %#o; if %#o is meant, write %d: JSON numbers are decimal", *mode, *mode, meant, meant))
}

// sensible tells whether anybody wants such a mode: the owner may read, nobody
// writes or executes who may not read, and nobody may do more than who is nearer.
func sensible(mode int) bool {
	owner, group, others := mode>>6&7, mode>>3&7, mode&7
	for _, who := range []int{owner, group, others} {
		if who != 0 && who&4 == 0 {
			return false
		}
	}
	return mode > 0 && mode <= 0o7777 && owner != 0 && group&^owner == 0 && others&^group == 0
}

// maxRemembered bounds what a Checker keeps: as many configs as there are pools
// of machines, with room to spare.
const maxRemembered = 64

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
	if c.found == nil || len(c.found) >= maxRemembered {
		c.found = map[[sha256.Size]byte]Report{}
	}
	c.found[key] = r
}
