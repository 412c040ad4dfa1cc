package machine

import "strings"

// vendor is what a maker of BMCs does differently from the others. All that a
// BMC says of itself (which boot targets it knows, which actions it has) goes
// before it.
type vendor struct {
	name string
	// marks are words of which one stands in what the BMC says of its maker.
	marks []string
	// drives are the beginnings of the ids of virtual drives that take an image
	// from a URL, best first. Others come after them.
	drives []string
	// never are the beginnings of ids of drives that do not: they hold files that
	// were uploaded.
	never []string
	// targets are the names for a boot from the virtual CD drive, best first.
	targets []string
	// bodies are what InsertMedia wants beside the image, the likeliest first.
	// Another is tried where the BMC says that it does not understand one.
	bodies []insertBody
	// isoConfig: older boards have Supermicro's own drive and none of Redfish's.
	isoConfig bool
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
		{name: "iDRAC", marks: []string{"dell"}, drives: []string{"CD", "1"}, targets: []string{"Cd", "VCD-DVD"}, bodies: []insertBody{stated, plain, protocol}},
		{name: "iLO", marks: []string{"hpe", "hewlett"}, drives: []string{"2"}, targets: []string{"Cd"}, bodies: []insertBody{plain, stated}},
		{name: "XCC", marks: []string{"lenovo"}, drives: []string{"EXT"}, never: []string{"RDOC", "Remote"}, targets: []string{"Cd"}, bodies: []insertBody{stated, protocol, plain}},
		{name: "Supermicro", marks: []string{"supermicro", "super micro"}, drives: []string{"CD"}, targets: []string{"UsbCd", "Cd"}, bodies: []insertBody{protocol, stated, plain, bare}, isoConfig: true},
	}
}

// standard is everybody else, sushy-style emulators among them.
func standard() vendor {
	return vendor{name: "standard", drives: []string{"Cd", "CD", "DVD"}, targets: []string{"Cd", "UsbCd"}, bodies: []insertBody{stated, protocol, plain}}
}

// vendorOf finds the maker in what a BMC says of itself.
func vendorOf(said ...string) vendor {
	text := strings.ToLower(strings.Join(said, " "))
	for _, v := range vendors() {
		for _, mark := range v.marks {
			if strings.Contains(text, mark) {
				return v
			}
		}
	}
	return standard()
}

// rank says how good a drive is by its id: smaller is better, below zero never.
func (v *vendor) rank(id string) int {
	for _, no := range v.never {
		if strings.HasPrefix(id, no) {
			return -1
		}
	}
	for i, yes := range v.drives {
		if strings.HasPrefix(id, yes) {
			return i
		}
	}
	return len(v.drives)
}
