package install

import "github.com/oaictl/oaictl/pkg/install/spec"

// Fits says whether a disk has all that root device hints ask for, as metal3
// reads them. Whether it can be installed on is another question: see Eligible.
func (d *Disk) Fits(hints spec.DiskHints) bool { return fits(hints, d) }
