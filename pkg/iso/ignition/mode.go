package ignition

import (
	"fmt"
	"strconv"

	"github.com/coreos/ignition/v2/config/v3_6/types"
	"github.com/coreos/vcontext/path"
	"github.com/coreos/vcontext/report"
)

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
