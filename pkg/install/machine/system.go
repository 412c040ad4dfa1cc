package machine

import (
	"encoding/json"
	"fmt"
	"path"
	"slices"
	"strings"

	"github.com/stmcginnis/gofish/common"
	"github.com/stmcginnis/gofish/redfish"
)

// system is the machine itself, as its BMC shows it.
type system struct {
	*redfish.ComputerSystem
	path   string
	vendor vendor
	// targets are the boot targets that the BMC knows, nil where it does not say.
	targets []string
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

// findSystem reads the system that an address or bmc.system means: without
// either, the only one.
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
		return "", &trouble{kind: kindOther, text: "its BMC has no system"}
	case id == "":
		return "", &trouble{kind: kindOther, text: "its BMC has several systems, and bmc.system does not say which: " + strings.Join(names, ", ")}
	}
	return "", &trouble{kind: kindOther, text: fmt.Sprintf("its BMC has no system %q, but %s", id, strings.Join(names, ", "))}
}

// bootTarget is the BMC's word for its virtual CD drive.
func (s *system) bootTarget() string {
	for _, target := range s.vendor.targets {
		if slices.Contains(s.targets, target) {
			return target
		}
	}
	return s.vendor.targets[0]
}

// targetsDrive says whether the boot override, if it stands, is to a CD drive.
func (s *system) targetsDrive() bool {
	return slices.Contains(s.vendor.targets, string(s.Boot.BootSourceOverrideTarget))
}

// bootsOnce says whether the next boot, and only that, is from a CD drive.
func (s *system) bootsOnce() bool {
	return s.targetsDrive() && s.Boot.BootSourceOverrideEnabled == redfish.OnceBootSourceOverrideEnabled
}

// bootStays says whether all boots are from a CD drive until that is taken back.
// There are BMCs that know nothing else.
func (s *system) bootStays() bool {
	return s.targetsDrive() && s.Boot.BootSourceOverrideEnabled == redfish.ContinuousBootSourceOverrideEnabled
}
