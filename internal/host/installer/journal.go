//go:build linux

package installer

import (
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"slices"
	"strings"

	"github.com/oaictl/oaictl/internal/host/hostfile"
)

const (
	installDir  = "/opt/install-dir"
	journalPath = installDir + "/oaictl-journal.json"
	bootIDPath  = "/proc/sys/kernel/random/boot_id"
)

// journal has the steps that are done. It lets an installer that was started again go on after them.
type journal struct {
	files hostfile.Files
	record
}

// record is the content of the journal's file.
type record struct {
	// Attempt says which installation this is.
	Attempt string `json:"attempt"`
	Done    []Name `json:"done"`
}

// attempt identifies an installation by its config, the start of the cluster's installation and the boot of the machine.
func attempt(c Config, started, bootID string) (string, error) {
	content, err := json.Marshal(c)
	if err != nil {
		return "", err
	}
	sum := sha256.Sum256(fmt.Appendf(content, "\n%s\n%s", started, strings.TrimSpace(bootID)))
	return fmt.Sprintf("%x", sum), nil
}

// openJournal reads the journal. It begins a new one, and says why, if there is none of this attempt.
func openJournal(files hostfile.Files, attempt string) (j *journal, fresh string) {
	j = &journal{files: files, record: record{Attempt: attempt}}
	content, err := files.Read(journalPath)
	if errors.Is(err, fs.ErrNotExist) {
		return j, "there is none yet"
	}
	var found record
	if err == nil {
		err = json.Unmarshal(content, &found)
	}
	switch {
	case err != nil:
		return j, "it cannot be read: " + err.Error()
	case found.Attempt != attempt:
		return j, "it is of another installation"
	}
	j.record = found
	return j, ""
}

func (j *journal) done(name Name) bool { return slices.Contains(j.Done, name) }

// mark writes that a step is done.
func (j *journal) mark(name Name) error {
	if j.done(name) {
		return nil
	}
	j.Done = append(j.Done, name)
	content, err := json.Marshal(j.record)
	if err == nil {
		err = j.files.Write(journalPath, content, onlyRoot)
	}
	if err != nil {
		return fmt.Errorf("note in the journal that the step %s is done: %w", name, err)
	}
	return nil
}

// discard removes the journal: the next installer begins anew.
func (j *journal) discard() error {
	j.Done = nil
	return j.files.Remove(journalPath)
}
