package base

import (
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/oaictl/oaictl/internal/bytesize"
	"github.com/oaictl/oaictl/internal/cli/document"
	"github.com/oaictl/oaictl/internal/cli/printer"
	"github.com/oaictl/oaictl/internal/escape"
)

// PercentText is a percentage for a table, "" before there is any.
func PercentText(percent int) string {
	if percent == 0 {
		return ""
	}
	return strconv.Itoa(percent) + "%"
}

// ListText is a list for a cell of a table.
func ListText(list []string) string { return strings.Join(list, ",") }

// Facts writes names and values under each other, those without a value left
// out.
func Facts(text *strings.Builder, indent string, list [][2]string) {
	longest := 0
	for _, f := range list {
		if f[1] != "" {
			longest = max(longest, len(f[0]))
		}
	}
	for _, f := range list {
		if f[1] != "" {
			escape.Fprintf(text, "%s%-*s  %s\n", indent, longest+1, f[0]+":", f[1])
		}
	}
}

// When is a time for the table: how long ago on a terminal.
func (a *App) When(at *time.Time) string {
	if at == nil {
		return ""
	}
	return printer.Moment(*at, a.Clock.Now(), a.IO.OutTTY)
}

// HostTable says whose a host is only where those of several clusters are listed.
func (a *App) HostTable(items []document.Host, several bool) printer.Table {
	table := printer.Table{Empty: "no hosts", Columns: []printer.Column{
		{Name: "NAME"}, {Name: "ROLE"}, {Name: "STATE"}, {Name: "STAGE"}, {Name: "%", Right: true}, {Name: "SINCE"},
		{Name: "CLUSTER", Wide: !several}, {Name: "INFRAENV", Wide: !a.Globals.AllNamespaces},
		{Name: "ADDRESSES", Wide: true}, {Name: "MACS", Wide: true}, {Name: "SERIAL", Wide: true}, {Name: "BMC", Wide: true}, {Name: "ID", Wide: true}, {Name: "INFO", Wide: true},
	}}
	for _, h := range items {
		role := string(h.Role)
		if h.Bootstrap {
			role += " (bootstrap)"
		}
		table.Rows = append(table.Rows, []string{
			h.Name, role, string(h.State), StageText(h), PercentText(h.Percent), a.When(h.Since), h.ClusterID, h.InfraEnvID,
			ListText(h.Addresses), ListText(h.MACs), h.Serial, h.BMC, h.ID, h.StatusInfo,
		})
	}
	return table
}

// StageText is the stage of a host, and how far it is in it.
func StageText(h document.Host) string {
	text := h.Stage
	switch {
	case h.StageInfo == "", h.StageInfo == h.Stage:
	case strings.HasSuffix(h.StageInfo, "%"):
		text += " " + h.StageInfo
	default:
		text += ", " + h.StageInfo
	}
	if h.TimedOut {
		text += " (too long)"
	}
	return text
}

// Section writes a heading and the things below it, nothing for none.
func Section[T any](text *strings.Builder, heading string, things []T, write func(T) string) {
	if len(things) == 0 {
		return
	}
	fmt.Fprintf(text, "\n%s:\n", heading)
	for _, thing := range things {
		text.WriteString(write(thing))
	}
}

// Shortened keeps a value on a line; -o wide shows all of it.
func Shortened(value string, wide bool) string {
	const longest = 60
	value = strings.Join(strings.Fields(value), " ")
	if runes := []rune(value); !wide && len(runes) > longest {
		return string(runes[:longest-1]) + "…"
	}
	return value
}

// SizeText is a size as disks are sold.
func SizeText(bytes int64) string { return bytesize.Text(bytes) }

// Counted is a number of things in words: 1 host, 2 hosts.
func Counted(n int, thing string) string {
	if n == 1 {
		return "1 " + thing
	}
	return fmt.Sprintf("%d %ss", n, thing)
}
