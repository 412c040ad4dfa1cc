package objects

import (
	"encoding/json"
	"strings"
	"time"

	"github.com/go-openapi/strfmt"
	"github.com/openshift/assisted-service/models"

	"github.com/oaictl/oaictl/pkg/install/model"
)

// The models of the generated client are older than the service may be. What
// came later stands beside them here, and hides what they have of that name.

// Cluster is a cluster as the service sends it.
type Cluster struct {
	models.Cluster
	Hosts           skipped    `json:"hosts"` // read by themselves
	NtpSources      list       `json:"ntp_sources"`
	OperatorBundles bundleList `json:"operator_bundles"`
	ConnectivityMap skipped    `json:"connectivity_majority_groups"`
	FeatureUsage    skipped    `json:"feature_usage"`
}

// IsInstalled reports whether it is the record of the installed cluster that calls itself so.
func (c *Cluster) IsInstalled(openShiftID string) bool {
	return strings.EqualFold(c.OpenshiftClusterID.String(), openShiftID)
}

// Host is a host as the service sends it.
type Host struct {
	models.Host
	FencingCredentials fencingWire `json:"fencing_credentials"`
	// What is large and not read.
	Connectivity skipped `json:"connectivity"`
	ImagesStatus skipped `json:"images_status"`
	Resolutions  skipped `json:"domain_name_resolutions"`
	FreeAddress  skipped `json:"free_addresses"`
}

// InfraEnv is an InfraEnv as the service sends it.
type InfraEnv struct {
	models.InfraEnv
	NtpSources   list `json:"ntp_sources"`
	NetworkDelay int  `json:"network_discovery_delay_seconds"`
}

type skipped struct{}

// UnmarshalJSON takes no notice.
func (skipped) UnmarshalJSON([]byte) error { return nil }

// MarshalJSON writes nothing of interest.
func (skipped) MarshalJSON() ([]byte, error) { return []byte("null"), nil }

// list is a list that is sent as an array, as an array in a text, or as a text
// with commas, depending on the field and the service's age.
type list []string

// UnmarshalJSON reads all three forms. Anything else is an empty list.
func (l *list) UnmarshalJSON(data []byte) error {
	*l = nil
	var array []string
	if json.Unmarshal(data, &array) == nil {
		*l = array
		return nil
	}
	var text string
	if json.Unmarshal(data, &text) == nil {
		*l = splitList(text)
	}
	return nil
}

func splitList(text string) list {
	var array []string
	if json.Unmarshal([]byte(text), &array) == nil {
		return array
	}
	return strings.FieldsFunc(text, func(r rune) bool { return r == ',' || r == ' ' })
}

// bundleList is the ids of operator bundles, sent as texts or as objects.
type bundleList []string

// UnmarshalJSON reads both. What is neither is left out.
func (b *bundleList) UnmarshalJSON(data []byte) error {
	*b = nil
	var items []json.RawMessage
	_ = json.Unmarshal(data, &items) // what is no list has no items
	for _, item := range items {
		var id string
		var object struct {
			ID string `json:"id"`
		}
		if json.Unmarshal(item, &id) != nil && json.Unmarshal(item, &object) == nil {
			id = object.ID
		}
		if id != "" {
			*b = append(*b, id)
		}
	}
	return nil
}

// fencingWire is the address of a host's fencing credentials; the rest is not
// kept. They are sent as an object, or as one in a text.
type fencingWire struct{ Address string }

// UnmarshalJSON reads both. What is neither has no address.
func (f *fencingWire) UnmarshalJSON(data []byte) error {
	var text string
	if json.Unmarshal(data, &text) == nil {
		data = []byte(text)
	}
	var object struct {
		Address string `json:"address"`
	}
	if json.Unmarshal(data, &object) == nil {
		f.Address = object.Address
	}
	return nil
}

// Time is a timestamp of the service; its zero, the year 1, means that there is none.
func Time(t strfmt.DateTime) time.Time {
	at := time.Time(t)
	if at.Year() <= 1 {
		return time.Time{}
	}
	return at.UTC()
}

func value[T any](pointer *T) T {
	if pointer == nil {
		var zero T
		return zero
	}
	return *pointer
}

// inText reads JSON that stands in a text; what cannot be read is the zero T.
func inText[T any](text string) (T, bool) {
	var out T
	if text == "" || json.Unmarshal([]byte(text), &out) != nil {
		var zero T
		return zero, false
	}
	return out, true
}

// The service's tags are one text with commas; each may hold letters, digits,
// underscores and spaces.
const (
	ownTag    = "oaictl"
	runPrefix = model.RunTagPrefix
)

// runMark is a run's mark as it may stand in a tag.
func runMark(run string) string {
	return strings.Trim(strings.Map(func(r rune) rune {
		if r == '_' || (r >= '0' && r <= '9') || (r >= 'A' && r <= 'Z') || (r >= 'a' && r <= 'z') {
			return r
		}
		return '_'
	}, run), "_")
}

// WriteTags is the text that marks a cluster as ours, with the user's tags behind.
func WriteTags(run string, users []string) string {
	tags := []string{ownTag}
	if mark := runMark(run); mark != "" {
		tags = append(tags, runPrefix+mark)
	}
	return strings.Join(append(tags, users...), ",")
}

// readTags takes a cluster's tags apart. ours is the mark of the run that asks:
// its own clusters come back with the mark as it was given, not as it had to
// be written.
func readTags(text, ours string) (owned bool, run string, users []string) {
	for tag := range strings.SplitSeq(text, ",") {
		tag = strings.TrimSpace(tag)
		mark, isRun := strings.CutPrefix(tag, runPrefix)
		switch {
		case tag == "":
		case tag == ownTag:
			owned = true
		case isRun && mark != "" && run != "": // the first one is what oaictl wrote
		case isRun && mark != "":
			run = mark
			if ours != "" && mark == runMark(ours) {
				run = ours
			}
		default:
			users = append(users, tag)
		}
	}
	return owned, run, users
}
