package ignition

import (
	stdjson "encoding/json"
	"errors"
	"fmt"

	ignitionerrors "github.com/coreos/ignition/v2/config/shared/errors"
	"github.com/coreos/ignition/v2/config/v3_6/types"
	"github.com/coreos/vcontext/json"
	"github.com/coreos/vcontext/path"
	"github.com/coreos/vcontext/report"
)

// mostNested bounds how deep configs within configs are looked at.
const mostNested = 4

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
