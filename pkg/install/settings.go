package install

import (
	"github.com/oaictl/oaictl/internal/setting"
	"strings"
)

// changeOf is what a person is shown of a difference.
func changeOf(d setting.Difference, prefix string) Change {
	if strings.HasPrefix(string(d.Setting), "spec.") || d.Setting == setting.Approved {
		prefix = "" // not relative to the object, or no field of the file
	}
	return Change{Field: prefix + string(d.Setting), From: d.Have.Show(d.Setting), To: d.Want.Show(d.Setting)}
}
