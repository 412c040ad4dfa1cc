package spec

import (
	"fmt"
	"slices"
	"strings"
)

// astray is a default that does not do for a host. However many hosts there are, it is
// one problem: of the default, told with the first of them.
type astray struct {
	field, key string // the default; what of it, where several things can be wrong
	of         int    // the first host
	own        string // the field of the host that the problem is about if it is the only one; "" if it is the default's
	message    string
	remedy     string
	more       int // hosts for which it does not do either
}

const defaultsField = "spec.network.defaults"

// defaultAstray keeps what is wrong with a default, to be reported once.
func (k *checker) defaultAstray(wrong astray) {
	for i := range k.astray {
		if k.astray[i].field == wrong.field && k.astray[i].key == wrong.key {
			if k.astray[i].of != wrong.of {
				k.astray[i].more++
			}
			return
		}
	}
	k.astray = append(k.astray, wrong)
}

// defaultMissing is that neither a host nor the defaults have what the host needs. A
// default that is no address is reported already.
func (k *checker) defaultMissing(host int, name, need string) {
	field := defaultsField + "." + name
	if k.IsFailed(field) || slices.ContainsFunc(k.problems.List, func(p Problem) bool { return p.Field == field }) {
		return
	}
	k.defaultAstray(astray{
		field: field, of: host, own: hostField(host, "net."+name),
		message: fmt.Sprintf("is missing: %s has a static address and needs %s", k.hostLabel(host), need),
		remedy:  fmt.Sprintf("write %s here, or in the net of each host", name),
	})
}

// gatewayAstray is a gateway that a host does not reach: its own, or that of the defaults.
func (k *checker) gatewayAstray(host int, field, message string) {
	if !strings.HasPrefix(field, defaultsField) {
		k.Report(field, message, "")
		return
	}
	k.defaultAstray(astray{field: field, of: host, message: message, remedy: "correct it, or write the gateway of those hosts in their net"})
}

func (k *checker) defaultsAstray() {
	for _, wrong := range k.astray {
		if wrong.more == 0 && wrong.own != "" {
			wrong.field = wrong.own
		}
		if wrong.more > 0 {
			wrong.message += fmt.Sprintf("; %s", moreHosts(wrong.more))
		}
		k.Report(wrong.field, wrong.message, wrong.remedy)
	}
}

func moreHosts(n int) string {
	if n == 1 {
		return "one more host has the same problem"
	}
	return fmt.Sprintf("%d more hosts have the same problem", n)
}
