package bmc

import (
	"encoding/json"
	"fmt"
	"path"
	"slices"
	"strings"

	"github.com/stmcginnis/gofish/common"
	"github.com/stmcginnis/gofish/redfish"

	"github.com/oaictl/oaictl/pkg/install/model"
)

type system struct {
	*redfish.ComputerSystem
	path    string
	vendor  vendor
	targets []string // the boot targets that the BMC knows, nil where it does not say
	media   string   // path of the collection of its own virtual drives, "" if none
	manager []string // paths of its managers
}

// systemParts is what gofish does not give out of a system.
type systemParts struct {
	Boot struct {
		Targets []string `json:"BootSourceOverrideTarget@Redfish.AllowableValues"`
	}
	VirtualMedia common.Link
	Links        struct {
		ManagedBy common.Links
	}
}

func (c *connection) findSystem(at address, id string) (*system, error) {
	where := at.system
	if where == "" || id != "" {
		var err error
		if where, err = c.systemPath(id); err != nil {
			return nil, err
		}
	}
	found, err := redfish.GetComputerSystem(c, where)
	if err != nil {
		return nil, c.explain(err)
	}
	var parts systemParts
	if err := json.Unmarshal(found.RawData, &parts); err != nil {
		return nil, c.explain(err)
	}
	return &system{
		ComputerSystem: found, path: where, targets: parts.Boot.Targets,
		media: parts.VirtualMedia.String(), manager: parts.Links.ManagedBy.ToStrings(),
		vendor: vendorOf(c.Service.Vendor, c.Service.Product, string(c.Service.Oem), found.Manufacturer),
	}, nil
}

func (c *connection) systemPath(id string) (string, error) {
	all, err := common.GetCollection(c, systems)
	if err != nil {
		return "", c.explain(err)
	}
	names := make([]string, 0, len(all.ItemLinks))
	for _, link := range all.ItemLinks {
		names = append(names, path.Base(link))
	}
	switch at := slices.Index(names, id); {
	case id != "" && at >= 0:
		return all.ItemLinks[at], nil
	case id == "" && len(names) == 1:
		return all.ItemLinks[0], nil
	case len(names) == 0:
		return "", &bmcError{kind: model.TroubleOther, text: "its BMC has no system"}
	case id == "":
		return "", &bmcError{kind: model.TroubleOther, text: "its BMC has several systems, and bmc.system does not choose one: " +
			strings.Join(names, ", ")}
	}
	return "", &bmcError{kind: model.TroubleOther, text: fmt.Sprintf("its BMC has no system %q; it has %s", id, strings.Join(names, ", "))}
}

func (s *system) bootTarget() string {
	for _, target := range s.vendor.targets {
		if slices.Contains(s.targets, target) {
			return target
		}
	}
	return s.vendor.targets[0]
}

// targetsDrive reports whether the boot override, if it stands, is to a CD drive.
func (s *system) targetsDrive() bool {
	return slices.Contains(s.vendor.targets, string(s.Boot.BootSourceOverrideTarget))
}

// bootsOnce reports whether the next boot, and only that, is from a CD drive.
func (s *system) bootsOnce() bool {
	return s.targetsDrive() && s.Boot.BootSourceOverrideEnabled == redfish.OnceBootSourceOverrideEnabled
}

// bootStays reports whether all boots are from a CD drive until that is taken back. There are BMCs that know nothing
// else.
func (s *system) bootStays() bool {
	return s.targetsDrive() && s.Boot.BootSourceOverrideEnabled == redfish.ContinuousBootSourceOverrideEnabled
}

// vendor is what a maker of BMCs does differently from the others. All that a
// BMC says of itself (which boot targets it knows, which actions it has) goes
// before it.
type vendor struct {
	name  string
	marks []string // words: one of them is in what the BMC says of its maker
	// drives are the beginnings of the ids of virtual drives that take an image
	// from a URL, best first. Others come after them.
	drives []string
	// never are the beginnings of ids of drives that do not: they hold files that
	// were uploaded.
	never   []string
	targets []string // the names for a boot from the virtual CD drive, best first
	// bodies are what InsertMedia wants beside the image, the likeliest first.
	// Another is tried where the BMC says that it does not understand one.
	bodies    []insertBody
	isoConfig bool // older boards have Supermicro's own drive and none of Redfish's
}

// insertBody says which fields of VirtualMedia.InsertMedia are sent.
type insertBody struct {
	state    bool // Inserted and WriteProtected
	protocol bool // TransferProtocolType
	method   bool // TransferMethod
}

var ( // the bodies, by what is in them
	plain    = insertBody{}
	stated   = insertBody{state: true}
	protocol = insertBody{state: true, protocol: true, method: true}
	bare     = insertBody{protocol: true} // for those that know neither Inserted nor WriteProtected
)

// vendors is the table. What is in it comes from the makers' Redfish guides and
// from what OpenStack's sushy and Ironic had to learn of them.
func vendors() []vendor {
	return []vendor{
		{name: "iDRAC", marks: []string{"dell"}, drives: []string{"CD", "1"}, targets: []string{"Cd", "VCD-DVD"},
			bodies: []insertBody{stated, plain, protocol}},
		{name: "iLO", marks: []string{"hpe", "hewlett"}, drives: []string{"2"}, targets: []string{"Cd"}, bodies: []insertBody{plain, stated}},
		{name: "XCC", marks: []string{"lenovo"}, drives: []string{"EXT"}, never: []string{"RDOC", "Remote"}, targets: []string{"Cd"},
			bodies: []insertBody{stated, protocol, plain}},
		{name: "Supermicro", marks: []string{"supermicro", "super micro"}, drives: []string{"CD"}, targets: []string{"UsbCd", "Cd"},
			bodies: []insertBody{protocol, stated, plain, bare}, isoConfig: true},
	}
}

func vendorOf(said ...string) vendor {
	text := strings.ToLower(strings.Join(said, " "))
	for _, v := range vendors() {
		if slices.ContainsFunc(v.marks, func(mark string) bool { return strings.Contains(text, mark) }) {
			return v
		}
	}
	// Everybody else, sushy-style emulators among them.
	return vendor{name: "standard", drives: []string{"Cd", "CD", "DVD"}, targets: []string{"Cd", "UsbCd"},
		bodies: []insertBody{stated, protocol, plain}}
}

// rank says how good a drive is by its id: smaller is better, below zero never.
func (v *vendor) rank(id string) int {
	begins := func(prefix string) bool { return strings.HasPrefix(id, prefix) }
	if slices.ContainsFunc(v.never, begins) {
		return -1
	}
	if i := slices.IndexFunc(v.drives, begins); i >= 0 {
		return i
	}
	return len(v.drives)
}
