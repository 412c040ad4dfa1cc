//go:build linux

package machine

import (
	"slices"
	"strings"
)

// known says when a program only looks at the machine.
type known struct {
	looks bool // it does, with options that are known
	// with are the starts of argument lists with which it does. Any other arguments change the machine.
	with [][]string
	// options are all that may follow: many a program that looks writes a file, or runs another program, with one option
	// more. One that ends with = has its value in the same argument.
	options []string
}

// programs are all that oaictl-host runs.
var programs = map[string]known{
	// inventory
	"biosdevname":         {looks: true, options: []string{"-i"}},
	"dmidecode":           {looks: true, options: []string{"-t"}},
	"findmnt":             {looks: true, options: []string{"--df", "--noheadings", "--output", "--raw", "--target"}},
	"ipmitool":            {with: [][]string{{"lan", "print"}, {"lan6", "print"}}},
	"lsblk":               {looks: true, options: []string{"--bytes", "--json", "--output", "-o"}},
	"lscpu":               {looks: true, options: []string{"-J"}},
	"sg_inq":              {looks: true, options: []string{"-p"}},
	"systemd-detect-virt": {looks: true, options: []string{"--vm"}},
	// network
	"arping":   {looks: true, options: []string{"-c", "-w", "-I"}},
	"chronyc":  {with: [][]string{{"-n", "sources"}, {"sources"}}},
	"dhclient": {},
	// The output is standard output: -oX would write any file.
	"nmap": {with: [][]string{{"-sn", "-PR", "-n", "-oX", "-"}, {"-6", "-sn", "-n", "-oX", "-"}}, options: []string{"-e"}},
	"ping": {looks: true, options: []string{"-n", "-q", "-c", "-W", "-I", "-M", "-s"}},
	// logs
	"coredumpctl":         {with: [][]string{{"list"}}, options: []string{"--no-legend"}},
	"dmesg":               {with: [][]string{{"--ctime"}}},
	"installer-gather.sh": {},
	// services and containers
	"hostnamectl": {},
	"journalctl":  {looks: true, options: []string{"--all", "--no-pager", "-D", "--since=", "-u"}},
	"oc":          {with: [][]string{{"adm", "must-gather"}}, options: []string{"--kubeconfig=", "--dest-dir=", "--image="}},
	"podman": {
		with:    [][]string{{"images"}, {"image", "inspect"}, {"ps"}},
		options: []string{"--format", "--format=", "--quiet"},
	},
	"shutdown": {},
	"systemctl": {
		with:    [][]string{{"show"}, {"is-active"}, {"status"}, {"list-units"}},
		options: []string{"--no-legend", "-P"},
	},
	// disks
	"coreos-installer": {},
	"dmsetup":          {},
	"fsfreeze":         {},
	"growpart":         {},
	"kpartx":           {},
	"lvs":              {looks: true, options: []string{"-v"}},
	"mdadm":            {},
	"mount":            {},
	"multipath":        {},
	"nvme":             {},
	"ostree":           {},
	"partx":            {},
	"pvremove":         {},
	"pvs":              {looks: true, options: []string{"-v", "--reportformat", "-o"}},
	"rpm-ostree":       {},
	"rsync":            {},
	"setenforce":       {},
	"ssh":              {},
	"ssh-keygen":       {},
	"udevadm":          {with: [][]string{{"settle"}}, options: []string{"--timeout="}},
	"umount":           {},
	"vgchange":         {},
	"vgremove":         {},
	"vgs":              {looks: true, options: []string{"-v"}},
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
		if len(c.Args) >= len(start) && slices.Equal(c.Args[:len(start)], start) && p.knows(c.Args[len(start):]) {
			return Looks, true
		}
	}
	if p.looks && p.knows(c.Args) {
		return Looks, true
	}
	return Changes, true
}

// knows reports whether all options in a list of arguments are among those of a command that looks.
func (k known) knows(args []string) bool {
	return !slices.ContainsFunc(args, func(arg string) bool {
		if !strings.HasPrefix(arg, "-") {
			return false
		}
		name, _, joined := strings.Cut(arg, "=")
		if joined {
			name += "="
		}
		return !slices.Contains(k.options, name)
	})
}
