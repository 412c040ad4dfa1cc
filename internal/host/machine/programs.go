//go:build linux

package machine

import "slices"

// known says when a program only looks at the machine.
type known struct {
	looks bool // it always does
	// with are the starts of argument lists with which it does. Any other arguments change the machine.
	with [][]string
}

// programs are all that oaictl-host runs.
var programs = map[string]known{
	// inventory
	"biosdevname":         {looks: true},
	"dmidecode":           {looks: true},
	"file":                {looks: true},
	"findmnt":             {looks: true},
	"ipmitool":            {with: [][]string{{"lan", "print"}, {"lan6", "print"}}},
	"lsblk":               {looks: true},
	"lscpu":               {looks: true},
	"sg_inq":              {looks: true},
	"systemd-detect-virt": {looks: true},
	// network
	"arping":   {looks: true},
	"chronyc":  {with: [][]string{{"-n", "sources"}, {"sources"}}},
	"dhclient": {},
	"nmap":     {looks: true},
	"ping":     {looks: true},
	// logs
	"coredumpctl":         {with: [][]string{{"list"}}},
	"dmesg":               {with: [][]string{{"--ctime"}}},
	"installer-gather.sh": {},
	// services and containers
	"hostnamectl": {},
	"journalctl":  {looks: true},
	"oc":          {with: [][]string{{"adm", "must-gather"}}},
	"podman":      {with: [][]string{{"images"}, {"image", "inspect"}, {"ps"}, {"info"}, {"version"}}},
	"shutdown":    {},
	"systemctl":   {with: [][]string{{"show"}, {"is-active"}, {"status"}, {"list-units"}}},
	// disks
	"coreos-installer": {},
	"dmsetup":          {with: [][]string{{"ls"}, {"info"}, {"deps"}, {"table"}}},
	"fsfreeze":         {},
	"growpart":         {},
	"kpartx":           {},
	"lvs":              {looks: true},
	"mdadm":            {with: [][]string{{"--examine"}, {"--detail"}}},
	"mount":            {},
	"multipath":        {},
	"nvme":             {},
	"ostree":           {},
	"partx":            {},
	"pvremove":         {},
	"pvs":              {looks: true},
	"rpm-ostree":       {},
	"rsync":            {},
	"setenforce":       {},
	"ssh":              {},
	"ssh-keygen":       {},
	"udevadm":          {with: [][]string{{"info"}, {"settle"}}},
	"umount":           {},
	"vgchange":         {},
	"vgremove":         {},
	"vgs":              {looks: true},
	"wipefs":           {},
	"xfs_growfs":       {},
	// boot
	"bootlist": {},
}

// effectOf says what a command does, and whether its program is known. Programs are found in PATH: a name has no folder.
func effectOf(c Command) (Effect, bool) {
	p, found := programs[c.Name]
	if !found {
		return Changes, false
	}
	for _, start := range p.with {
		if len(c.Args) >= len(start) && slices.Equal(c.Args[:len(start)], start) {
			return Looks, true
		}
	}
	if p.looks {
		return Looks, true
	}
	return Changes, true
}
