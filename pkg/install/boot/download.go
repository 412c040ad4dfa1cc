package boot

import (
	"fmt"
	"time"

	"github.com/oaictl/oaictl/internal/bytesize"
	"github.com/oaictl/oaictl/internal/model"
	"github.com/oaictl/oaictl/pkg/install"
)

// downloading tells of the download of a live image, as events of the run that boots it.
// It is told of one thing at a time.
type downloading struct {
	*Machines

	began  time.Time
	last   string // what was told of how far it is
	failed string // why nothing came, as it was told
}

// tellEvery is how many bytes of a download whose size nobody knows are worth a
// line.
const tellEvery = 100_000_000

// show tells of a download that takes longer than a moment.
func (d *downloading) show(done, total int64) {
	now := d.config.Network.Now()
	if d.began.IsZero() {
		d.began = now
	}
	text := farText(done, total)
	if total <= 0 {
		text = bytesize.Text(done / tellEvery * tellEvery)
	}
	if now.Sub(d.began) < time.Second || text == d.last {
		return
	}
	d.last, d.failed = text, ""
	d.tell(install.Event{Type: model.EventHint, Severity: model.SeverityInfo, Reason: "Downloading", Message: "the live image that machines boot is downloaded: " + text})
}

// again tells why nothing comes, where that is tried again; the same reason once.
func (d *downloading) again(err error, _ time.Duration) {
	if err.Error() == d.failed {
		return
	}
	d.failed = err.Error()
	d.tell(install.Event{Type: model.EventWarning, Severity: model.SeverityWarning, Reason: "DownloadRetried", Message: fmt.Sprintf("the live image that machines boot does not come: %v; it is tried again", err)})
}

func (d *downloading) tell(e install.Event) {
	e.V, e.Time, e.Cluster, e.Key = 1, d.config.Clock.Now(), d.config.Desired.Spec.Metadata.Name, "images/base"
	d.config.Events(e)
}
