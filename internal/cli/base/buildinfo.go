package base

import (
	"fmt"
	"runtime"
	"runtime/debug"
)

// buildInfo is what `version` says. It is the JSON form too.
type buildInfo struct {
	Version  string `json:"version"`
	Commit   string `json:"commit,omitempty"`
	Date     string `json:"date,omitempty"`
	Modified bool   `json:"modified,omitempty"`
	Go       string `json:"go"`
	Platform string `json:"platform"`
}

// ReadBuildInfo reads what the linker noted: the module's version and the
// commit that it was built from.
func ReadBuildInfo() buildInfo {
	info := buildInfo{Version: "unknown", Go: runtime.Version(), Platform: runtime.GOOS + "/" + runtime.GOARCH}
	build, ok := debug.ReadBuildInfo()
	if !ok {
		return info
	}
	info.Version = build.Main.Version
	for _, setting := range build.Settings {
		switch setting.Key {
		case "vcs.revision":
			info.Commit = setting.Value
		case "vcs.time":
			info.Date = setting.Value
		case "vcs.modified":
			info.Modified = setting.Value == "true"
		}
	}
	return info
}

func (b buildInfo) String() string {
	text := "oaictl " + b.Version
	if b.Commit != "" {
		text += fmt.Sprintf(" (%.12s", b.Commit)
		if b.Date != "" {
			text += ", " + b.Date
		}
		text += ")"
	}
	return text + fmt.Sprintf(" %s %s", b.Go, b.Platform)
}
