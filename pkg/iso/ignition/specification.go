package ignition

import (
	"errors"

	"github.com/coreos/go-semver/semver"
	ignitionerrors "github.com/coreos/ignition/v2/config/shared/errors"
	"github.com/coreos/ignition/v2/config/util"
	"github.com/coreos/ignition/v2/config/v3_0"
	"github.com/coreos/ignition/v2/config/v3_1"
	"github.com/coreos/ignition/v2/config/v3_2"
	"github.com/coreos/ignition/v2/config/v3_3"
	"github.com/coreos/ignition/v2/config/v3_4"
	"github.com/coreos/ignition/v2/config/v3_5"
	"github.com/coreos/ignition/v2/config/v3_6"
	"github.com/coreos/vcontext/report"
)

// Newest is the newest stable specification that is understood.
const Newest = "3.6.0"

// specification is what is done with the configs of one.
type specification struct {
	// check applies the rules to a config of just this specification, and finds
	// the places of what it finds.
	check func(data []byte) (report.Report, error)
	// judge applies the rules for less: it tells only how bad what it finds is.
	judge func(data []byte, strict bool) verdict
	// merge takes configs that are valid, of this and of earlier specifications.
	merge func(configs [][]byte) ([]byte, error)
}

// specifications are those of 3.N.0, by N.
func specifications() []specification {
	return []specification{
		specified(0, v3_0.Parse, v3_0.ParseCompatibleVersion, v3_0.Merge),
		specified(1, v3_1.Parse, v3_1.ParseCompatibleVersion, v3_1.Merge),
		specified(2, v3_2.Parse, v3_2.ParseCompatibleVersion, v3_2.Merge),
		specified(3, v3_3.Parse, v3_3.ParseCompatibleVersion, v3_3.Merge),
		specified(4, v3_4.Parse, v3_4.ParseCompatibleVersion, v3_4.Merge),
		specified(5, v3_5.Parse, v3_5.ParseCompatibleVersion, v3_5.Merge),
		specified(6, v3_6.Parse, v3_6.ParseCompatibleVersion, v3_6.Merge),
	}
}

// specified brings the functions of one specification, each with config types of
// its own, into one form.
func specified[Config any](
	minor int64,
	parse, translate func([]byte) (Config, report.Report, error),
	merge func(parent, child Config) Config,
) specification {
	return specification{
		check: func(data []byte) (report.Report, error) {
			_, found, err := parse(data)
			return found, err
		},
		judge: judge[Config],
		merge: func(configs [][]byte) ([]byte, error) { return mergeAs(translate, merge, minor, configs) },
	}
}

// specificationOf finds the specification that a config says it follows.
func specificationOf(version semver.Version) (specification, error) {
	known := specifications()
	stable := version.Major == 3 && version.Patch == 0 && version.PreRelease == "" && version.Metadata == ""
	if !stable || version.Minor < 0 || version.Minor >= int64(len(known)) {
		return specification{}, ignitionerrors.ErrUnknownVersion
	}
	return known[version.Minor], nil
}

// versionOf reads which specification a config says it follows.
func versionOf(data []byte) (semver.Version, report.Report, error) {
	version, found, err := util.GetConfigVersion(data)
	if err != nil && len(found.Entries) == 0 && !errors.Is(err, ignitionerrors.ErrEmpty) {
		err = ignitionerrors.ErrInvalidVersion
	}
	return version, found, err
}
