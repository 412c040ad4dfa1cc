package spec

import (
	"fmt"
	"regexp"
	"strings"
)

// RefusedByService are the hints by which the Assisted Installer finds no disk where it chooses the disk itself: for the
// Agent of a BareMetalHost, and on an agent-based medium. It ignores a hint that it does not read. It compares the others
// with what the machine reports, in one spelling (GetAcceptableDisksWithHints, internal/host/hostutil of the service). The
// Field of a problem is the name of the hint.
func (h DiskHints) RefusedByService() []Problem {
	const service = "the Assisted Installer"
	var all []Problem
	for _, row := range []struct {
		name, text string
		never      func(text string) (why, instead string) // nil: the service does not read the hint
	}{
		{"deviceName", h.DeviceName, neverDevice},
		{"wwn", h.WWN, neverWWN},
		{"wwnWithExtension", h.WWNWithExtension, nil},
		{"wwnVendorExtension", h.WWNVendorExtension, nil},
	} {
		switch {
		case row.text == "":
		case row.never == nil:
			all = append(all, Problem{
				Field:   row.name,
				Message: fmt.Sprintf("is not supported by %s, which chooses the disk here: it would be ignored", service),
				Remedy:  "write wwn as the machine reports it, or serialNumber, instead",
			})
		default:
			if why, instead := row.never(row.text); why != "" {
				message := fmt.Sprintf("%q matches no disk: %s chooses the disk here, and %s", row.text, service, why)
				all = append(all, Problem{Field: row.name, Message: message, Remedy: instead})
			}
		}
	}
	return all
}

// neverDevice finds paths that no disk of an inventory has as its path or by-path.
func neverDevice(path string) (why, instead string) {
	const byPath = "/dev/disk/by-path/"
	if strings.HasPrefix(path, byPath) || !strings.HasPrefix(path, "/dev/disk/") && !strings.HasPrefix(path, "/dev/mapper/") {
		return "", ""
	}
	return "only compares it with /dev/NAME and " + byPath + "…", "write the disk's by-path, or use wwn or serialNumber instead of " +
		"deviceName"
}

// hexWWN is a world-wide name as a number, of 8 or 16 bytes.
var hexWWN = regexp.MustCompile(`^(0[xX])?[0-9a-fA-F]{16}([0-9a-fA-F]{16})?$`)

// neverWWN finds spellings that differ from that of the kernel, which an inventory has.
func neverWWN(wwn string) (why, instead string) {
	if spelled := "0x" + strings.TrimPrefix(strings.ToLower(wwn), "0x"); hexWWN.MatchString(wwn) && wwn != spelled {
		return "compares it exactly with what the machine reports", fmt.Sprintf("write %q", spelled)
	}
	return "", ""
}
