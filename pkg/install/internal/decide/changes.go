package decide

import (
	"strings"

	"github.com/oaictl/oaictl/internal/model"
	"github.com/oaictl/oaictl/internal/setting"
)

// changeOf is what a person is shown of a difference.
func changeOf(d setting.Difference, prefix string) model.Change {
	if strings.HasPrefix(string(d.Setting), "spec.") || d.Setting == setting.Approved {
		prefix = "" // not relative to the object, or no field of the file
	}
	return model.Change{Field: prefix + string(d.Setting), From: d.Have.Show(d.Setting), To: d.Want.Show(d.Setting)}
}
