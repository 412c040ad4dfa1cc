// Package names writes lists of names for people.
package names

import (
	"fmt"
	"strings"
)

// Few are names for a sentence: nobody reads hundreds of them.
func Few(names []string) string {
	const most = 8
	if len(names) <= most {
		return strings.Join(names, ", ")
	}
	return fmt.Sprintf("%s and %d more", strings.Join(names[:most-1], ", "), len(names)-most+1)
}
