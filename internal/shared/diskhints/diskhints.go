// Package diskhints reads root device hints. Each component that chooses a disk by them has rules that differ a little, and
// the package knows those of each.
package diskhints

import (
	"fmt"
	"slices"
	"strings"

	"github.com/oaictl/oaictl/pkg/install/model"
	"github.com/oaictl/oaictl/pkg/install/spec"
)

// Chooser is the component that chooses the disk which hints describe.
type Chooser string

// The components that choose.
const (
	// Oaictl chooses over REST, and on a hub for an Agent without a BareMetalHost.
	Oaictl Chooser = ""
	// Service is one function of the assisted-service. Its bare-metal-agent controller calls it for the
	// Agent of a BareMetalHost, and the agent-based installer calls it on its medium.
	Service Chooser = "the Assisted Installer"
)

// gigabyte is a gigabyte of minSizeGigabytes. Ironic alone counts in GiB, and it chooses no disk here.
const gigabyte = 1_000_000_000

// hint is how the components read one hint.
type hint struct {
	name string
	// text is the value of the hint, "" where it is not given.
	text func(h *spec.DiskHints) string
	// value is what a disk has in its place.
	value func(d *model.Disk) string
	// oaictl and service say whether a disk has what the hint asks for. service is nil for a hint
	// that the service does not read.
	oaictl, service func(h *spec.DiskHints, d *model.Disk) bool
}

// hints is the one table of hints and of the components that read them. The service's column is
// GetAcceptableDisksWithHints of assisted-service, internal/host/hostutil/host_utils.go.
func hints() []hint {
	return []hint{
		{
			name: "deviceName",
			text: func(h *spec.DiskHints) string { return h.DeviceName }, value: func(d *model.Disk) string { return d.Path },
			oaictl:  func(h *spec.DiskHints, d *model.Disk) bool { return d.IsNamed(h.DeviceName) },
			service: func(h *spec.DiskHints, d *model.Disk) bool { return h.DeviceName == d.Path || h.DeviceName == d.ByPath },
		},
		{
			name: "hctl",
			text: func(h *spec.DiskHints) string { return h.HCTL }, value: func(d *model.Disk) string { return d.HCTL },
			oaictl:  func(h *spec.DiskHints, d *model.Disk) bool { return h.HCTL == d.HCTL },
			service: func(h *spec.DiskHints, d *model.Disk) bool { return h.HCTL == d.HCTL },
		},
		{
			name: "model",
			text: func(h *spec.DiskHints) string { return h.Model }, value: func(d *model.Disk) string { return d.Model },
			oaictl:  func(h *spec.DiskHints, d *model.Disk) bool { return containsFold(d.Model, h.Model) },
			service: func(h *spec.DiskHints, d *model.Disk) bool { return strings.Contains(d.Model, h.Model) },
		},
		{
			name: "vendor",
			text: func(h *spec.DiskHints) string { return h.Vendor }, value: func(d *model.Disk) string { return d.Vendor },
			oaictl:  func(h *spec.DiskHints, d *model.Disk) bool { return containsFold(d.Vendor, h.Vendor) },
			service: func(h *spec.DiskHints, d *model.Disk) bool { return strings.Contains(d.Vendor, h.Vendor) },
		},
		{
			name: "serialNumber",
			text: func(h *spec.DiskHints) string { return h.SerialNumber }, value: func(d *model.Disk) string { return d.Serial },
			oaictl:  func(h *spec.DiskHints, d *model.Disk) bool { return strings.EqualFold(h.SerialNumber, d.Serial) },
			service: func(h *spec.DiskHints, d *model.Disk) bool { return h.SerialNumber == d.Serial },
		},
		{
			name: "minSizeGigabytes",
			text: func(h *spec.DiskHints) string {
				if h.MinSizeGigabytes == 0 {
					return ""
				}
				return fmt.Sprint(h.MinSizeGigabytes)
			},
			value:   func(d *model.Disk) string { return fmt.Sprint(d.SizeBytes / gigabyte) },
			oaictl:  largeEnough,
			service: largeEnough,
		},
		{
			name: "wwn",
			text: func(h *spec.DiskHints) string { return h.WWN }, value: func(d *model.Disk) string { return d.WWN },
			oaictl: func(h *spec.DiskHints, d *model.Disk) bool {
				// Where the vendor's extension is in another row, the WWN is the first part.
				return digits(d.WWN) == digits(h.WWN) || h.WWNVendorExtension != "" && strings.HasPrefix(digits(d.WWN), digits(h.WWN))
			},
			service: func(h *spec.DiskHints, d *model.Disk) bool { return h.WWN == d.WWN },
		},
		{
			name: "wwnWithExtension",
			text: func(h *spec.DiskHints) string { return h.WWNWithExtension }, value: func(d *model.Disk) string { return d.WWN },
			oaictl: func(h *spec.DiskHints, d *model.Disk) bool { return digits(d.WWN) == digits(h.WWNWithExtension) },
		},
		{
			name: "wwnVendorExtension",
			text: func(h *spec.DiskHints) string { return h.WWNVendorExtension }, value: func(d *model.Disk) string { return d.WWN },
			oaictl: func(h *spec.DiskHints, d *model.Disk) bool {
				return strings.HasSuffix(digits(d.WWN), digits(h.WWNVendorExtension))
			},
		},
		{
			name: "rotational",
			text: func(h *spec.DiskHints) string {
				if h.Rotational == nil {
					return ""
				}
				return fmt.Sprint(*h.Rotational)
			},
			value:   func(d *model.Disk) string { return fmt.Sprint(rotates(d)) },
			oaictl:  func(h *spec.DiskHints, d *model.Disk) bool { return *h.Rotational == rotates(d) },
			service: func(h *spec.DiskHints, d *model.Disk) bool { return *h.Rotational == rotates(d) },
		},
	}
}

func containsFold(text, part string) bool {
	return strings.Contains(strings.ToLower(text), strings.ToLower(part))
}

func largeEnough(h *spec.DiskHints, d *model.Disk) bool {
	return d.SizeBytes/gigabyte >= int64(h.MinSizeGigabytes)
}

func rotates(d *model.Disk) bool { return d.Type == "HDD" }

// digits is a world-wide name without what spellings of it differ in.
func digits(wwn string) string { return strings.TrimPrefix(strings.ToLower(wwn), "0x") }

// Fits reports whether a disk has all that hints ask for, as the component reads them. Whether it can be installed on
// is another question: see Eligible.
func Fits(h spec.DiskHints, d *model.Disk, by Chooser) bool { return len(missing(&h, d, by)) == 0 }

// missing are the hints that a disk does not fit.
func missing(h *spec.DiskHints, d *model.Disk, by Chooser) (rows []hint) {
	for _, row := range hints() {
		reads := row.oaictl
		if by == Service {
			reads = row.service
		}
		if row.text(h) != "" && reads != nil && !reads(h, d) {
			rows = append(rows, row)
		}
	}
	return rows
}

// Candidates are the disks that hints fit, as the component reads them, and that can be installed on. A
// multipath device stands in the place of its paths. Without any, the error says why.
func Candidates(h spec.DiskHints, disks []model.Disk, by Chooser) ([]*model.Disk, error) {
	if refused := h.RefusedByService(); by == Service && len(refused) > 0 {
		return nil, fmt.Errorf("the hint %s %s; %s", refused[0].Field, refused[0].Message, refused[0].Remedy)
	}
	var fitting []*model.Disk
	for i := range disks {
		if d := &disks[i]; !d.Media && Fits(h, d, by) {
			fitting = append(fitting, d)
		}
	}
	if len(fitting) == 0 {
		return nil, fmt.Errorf("no disk fits the hints%s; there are %s", nearly(&h, disks, by), List(disks))
	}
	whole, err := wholeDisks(&h, fitting, disks, by)
	if err != nil {
		return nil, err
	}
	found := slices.DeleteFunc(slices.Clone(whole), func(d *model.Disk) bool { return !d.Eligible })
	if len(found) == 0 {
		return nil, fmt.Errorf("%s fits the hints but cannot be installed on: %s", whole[0].Label(), strings.Join(whole[0].Reasons, "; "))
	}
	return found, nil
}

// wholeDisks puts multipath devices in the place of their paths. It is an error to choose a path: the hints
// name it, or its device does not fit them, and the service would write to the path below the device.
func wholeDisks(h *spec.DiskHints, fitting []*model.Disk, disks []model.Disk, by Chooser) (whole []*model.Disk, err error) {
	for _, d := range fitting {
		device := DeviceOf(d, disks)
		switch {
		case device == nil || d.Eligible && !device.Eligible:
		case slices.Contains(fitting, device) || by == Oaictl && !namesPath(h, d):
			d = device
		case device.Eligible:
			const text = "%s fits the hints, but it is a path of the multipath device %s, which is the disk to install on"
			return nil, fmt.Errorf(text, d.Label(), device.Label())
		}
		if !slices.Contains(whole, d) {
			whole = append(whole, d)
		}
	}
	return whole, nil
}

// namesPath reports whether hints mean a single path of a multipath device.
func namesPath(h *spec.DiskHints, d *model.Disk) bool {
	return h.HCTL != "" || slices.Contains([]string{d.Path, d.ByPath, "/dev/" + d.Name}, h.DeviceName)
}

// nearly says which hints keep a disk from being chosen only because the component reads them exactly.
func nearly(h *spec.DiskHints, disks []model.Disk, by Chooser) string {
	if by == Oaictl {
		return ""
	}
	for i := range disks {
		d := &disks[i]
		if d.Media || !Fits(*h, d, Oaictl) {
			continue
		}
		var texts []string
		for _, row := range missing(h, d, by) {
			texts = append(texts, fmt.Sprintf("%s is %q, where %s has %q", row.name, row.text(h), d.Path, row.value(d)))
		}
		return fmt.Sprintf(" as %s reads them, which chooses the disk here and compares exactly: %s", by, strings.Join(texts, ", "))
	}
	return ""
}
