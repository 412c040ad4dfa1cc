package versions

import (
	"fmt"
	"strconv"
	"strings"
)

// Number is an OpenShift version taken apart. Patch is -1 where the text named
// only a minor version ("4.21").
type Number struct {
	Major, Minor, Patch int
	// Pre is the pre-release part without its hyphen, such as "rc.4".
	Pre string
	// Multi says that the text ended in "-multi", which asks for the release
	// image that carries every architecture.
	Multi bool
}

// ParseNumber reads "4.21", "4.21.28", "4.22.0-rc.4" and each of them with a
// "-multi" suffix.
func ParseNumber(text string) (Number, error) {
	rest, multi := strings.CutSuffix(text, "-multi")
	rest, pre, hasPre := strings.Cut(rest, "-")
	parts := strings.Split(rest, ".")
	if len(parts) != 2 && len(parts) != 3 || hasPre && (pre == "" || len(parts) == 2) {
		return Number{}, fmt.Errorf("reading version %q: want MAJOR.MINOR or MAJOR.MINOR.PATCH", text)
	}
	fields := [3]int{0, 0, -1}
	for i, part := range parts {
		n, err := strconv.ParseUint(part, 10, 16)
		if err != nil || len(part) > 1 && part[0] == '0' {
			return Number{}, fmt.Errorf("reading version %q: %q is not a number", text, part)
		}
		fields[i] = int(n)
	}
	return Number{Major: fields[0], Minor: fields[1], Patch: fields[2], Pre: pre, Multi: multi}, nil
}

// Line is the version's minor release, such as "4.21".
func (n Number) Line() string { return fmt.Sprintf("%d.%d", n.Major, n.Minor) }

// String is the version in full, as the service spells it.
func (n Number) String() string {
	text := n.Line()
	if n.Patch >= 0 {
		text += "." + strconv.Itoa(n.Patch)
	}
	if n.Pre != "" {
		text += "-" + n.Pre
	}
	if n.Multi {
		text += "-multi"
	}
	return text
}

// AtLeast compares minor releases only, which is how the service decides what a
// version can do: 4.22.0-rc.4 is at least 4.22.
func (n Number) AtLeast(line string) bool {
	other, err := ParseNumber(line)
	if err != nil {
		return false
	}
	return n.Major > other.Major || n.Major == other.Major && n.Minor >= other.Minor
}

// AtLeast is Number.AtLeast for a version given as text. A text that is no
// version is at least nothing.
func AtLeast(version, line string) bool {
	n, err := ParseNumber(version)
	return err == nil && n.AtLeast(line)
}
