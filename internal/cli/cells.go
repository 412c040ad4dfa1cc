package cli

import (
	"strconv"
	"strings"
)

// percentText is a percentage for a table, "" before there is any.
func percentText(percent int) string {
	if percent == 0 {
		return ""
	}
	return strconv.Itoa(percent) + "%"
}

func number(n int) string { return strconv.Itoa(n) }

// listText is a list for a cell of a table.
func listText(list []string) string { return strings.Join(list, ",") }
