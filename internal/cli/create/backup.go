package create

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"strings"
	"time"

	"github.com/oaictl/oaictl/pkg/install"
	"github.com/oaictl/oaictl/pkg/install/model"
)

// backupFile is the name of the file that records which user has said that there is a backup.
const backupFile = "etcd-backups.jsonl"

// backupFor is how long a backup counts after the user has confirmed it.
const backupFor = 24 * time.Hour

// backupLine is one line of it.
type backupLine struct {
	Time      time.Time `json:"time"`
	ClusterID string    `json:"clusterID"`
	Node      string    `json:"node"` // before whose replacement it was taken
	By        string    `json:"by"`   // "--backup-taken", or "answer"
}

// backup asks the user to confirm that there is a backup of etcd, and records that. A user who continues a replacement
// is not asked again.
func (o *replaceOptions) backup(ctx context.Context, p *replacement) error {
	node, id := p.removed().Node, p.found.Ref.ID
	by := "--backup-taken"
	if !o.Backup {
		if known, err := o.hasBackup(ctx, p); known || err != nil {
			return err
		}
		command := model.Advicef("oc debug --as-root node/%s -- chroot /host /usr/local/bin/cluster-backup.sh /home/core/assets/backup", p.removed().Beside)
		fault := &model.Fault{
			Code: model.CodeNeedsUser, Permanent: true, Op: "replace", On: node, Err: errors.New("there is to be a backup of etcd first"),
			Next: model.Advicef("%s; then run the same command again with --backup-taken", command),
		}
		if !o.CanAsk() {
			return fault
		}
		o.Say("A backup of etcd comes first: %s", o.Hint(command))
		if taken, err := o.Ask("has it been taken, and copied from the node?"); !taken || err != nil {
			return errors.Join(err, fault)
		}
		by = "answer"
	}
	line, err := json.Marshal(backupLine{Time: o.Clock.Now().UTC(), ClusterID: id, Node: o.old, By: by})
	if err != nil {
		return err
	}
	return install.Directory(o.Dir).Append(ctx, p.found.Ref, backupFile, append(line, '\n'))
}

// hasBackup reports whether the user has confirmed that before.
func (o *replaceOptions) hasBackup(ctx context.Context, p *replacement) (bool, error) {
	data, err := install.Directory(o.Dir).Record(ctx, p.found.Ref, backupFile)
	if err != nil {
		return false, err
	}
	for text := range bytes.Lines(data) {
		var line backupLine
		if json.Unmarshal(text, &line) != nil {
			continue // of another node or cluster
		}
		if line.ClusterID == p.found.Ref.ID && strings.EqualFold(line.Node, o.old) && o.Clock.Now().Sub(line.Time) < backupFor {
			return true, nil
		}
	}
	return false, nil
}
