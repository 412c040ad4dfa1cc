package spec

import (
	"fmt"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/oaictl/oaictl/pkg/install/spec/internal/values"
)

var clusterUUID = regexp.MustCompile(`^[0-9a-fA-F]{8}(-[0-9a-fA-F]{4}){3}-[0-9a-fA-F]{12}$`)

// queryError begins the values that the hub itself gives where a query fails.
const queryError = "QUERYERROR"

func (k *checker) hub() {
	h := k.cluster.Spec.Hub
	k.AgentLabels("spec.hub.agentLabels", h.AgentLabels)
	k.AgentLabels("spec.hub.nodeLabels", h.NodeLabels)
	k.classifications(h.Classifications)
	k.image("spec.hub.ironic.image", h.Ironic.Image)
	for i, family := range h.Ironic.IPFamilies {
		if slices.Contains(h.Ironic.IPFamilies[:i], family) {
			k.Report(fmt.Sprintf("spec.hub.ironic.ipFamilies[%d]", i), fmt.Sprintf("%s appears here twice", family), "")
		}
	}
	if pool := k.cluster.Spec.InfraEnv.Ref; pool != "" {
		for field, said := range map[string]bool{
			"agentLabels": h.AgentLabels != nil, "nodeLabels": h.NodeLabels != nil, "ipxe": h.IPXE != "",
			"ironic": h.Ironic.Agent || h.Ironic.Image != "" || h.Ironic.IPFamilies != nil,
		} {
			k.ReportIf(said, "spec.hub."+field, "is a matter of the InfraEnv "+pool+", which exists already and is not changed",
				"leave it out, or leave spec.infraEnv.ref out to have an InfraEnv made")
		}
	}
	for i := range k.cluster.Spec.Hosts {
		k.metal3(i)
	}
}

func (k *checker) classifications(list []Classification) {
	for i, c := range list {
		field := fmt.Sprintf("spec.hub.classifications[%d]", i)
		if k.Required(field+".label", c.Label, "name the label") && !values.IsLabelName(c.Label) {
			k.Report(field+".label", fmt.Sprintf("%q cannot be the name of a label", c.Label),
				"use letters, digits, dashes, dots and underscores, without a domain: the hub adds its own")
		}
		switch {
		case !k.Required(field+".value", c.Value, "write the value that the label gets"):
		case strings.HasPrefix(c.Value, queryError):
			k.Report(field+".value", "begins with "+queryError+", which the hub uses for a query that fails", "use another value")
		case !values.IsLabelName(c.Value):
			k.Report(field+".value", fmt.Sprintf("%q cannot be the value of a label", c.Value),
				"use at most 63 letters, digits, dashes, dots and underscores")
		}
		k.Required(field+".query", strings.TrimSpace(c.Query),
			`write a jq query with the result true or false, such as ".cpu.count > 16"`)
		for _, before := range list[:i] {
			if c.Label != "" && before.Name() == c.Name() {
				k.Report(field, fmt.Sprintf("%s with the value %s appears twice here, ignoring case", c.Label, c.Value),
					"write one query, with `or` between its parts")
				break
			}
		}
	}
}

// Name distinguishes a classification in the name of its object.
func (c Classification) Name() string {
	return strings.Trim(strings.Map(func(r rune) rune {
		switch {
		case r == '_' || r == '.':
			return '-'
		case r >= 'A' && r <= 'Z':
			return r - 'A' + 'a'
		}
		return r
	}, c.Label+"-"+c.Value), "-")
}

// HubBoots reports whether a hub boots a host of the cluster, through a BareMetalHost.
func (c *Cluster) HubBoots(h *Host) bool {
	return c.Spec.Boot.Method == BootMetal3 && h.BMC != nil && h.Match.Agent == ""
}

func (k *checker) metal3(i int) {
	bmc := k.cluster.Spec.Hosts[i].BMC
	if bmc == nil || bmc.Metal3 == nil {
		return
	}
	field := hostField(i, "bmc.metal3")
	if method := k.cluster.Spec.Boot.Method; method != BootMetal3 {
		k.Report(field, fmt.Sprintf("needs boot.method metal3, but the method is %s", method),
			"write spec.boot.method: metal3, or leave it out")
		return
	}
	k.AgentLabels(field+".agentLabels", bmc.Metal3.AgentLabels)
	switch timeout := time.Duration(bmc.Metal3.DrainTimeout); {
	case timeout < 0:
		k.Report(field+".drainTimeout", "is negative", "")
	case timeout > 0 && !bmc.Metal3.RemoveNode:
		k.Report(field+".drainTimeout", "is the time to drain a node before its removal, but removeNode is not true",
			"write removeNode: true too")
	}
}

const liveVersion = `write the version of the live system to boot, such as "4.20"`

func (k *checker) discoveryImage() {
	const field = "spec.discovery.osVersion"
	version := k.cluster.Spec.Discovery.OSVersion
	switch {
	case version == "":
	case !releaseVersion.MatchString(version):
		k.Report(field, fmt.Sprintf("%q is not a version of OpenShift", version), liveVersion)
	case k.cluster.Spec.InfraEnv.Ref != "":
		k.Report(field, "is a matter of the InfraEnv "+k.cluster.Spec.InfraEnv.Ref+", which exists already and is not changed",
			"leave it out, or leave spec.infraEnv.ref out to have an InfraEnv made")
	}
}

// imported refuses settings about how a cluster is installed: this one is installed already, and such a setting would
// seem to have been applied.
func (k *checker) imported() {
	c := k.cluster
	k.Valid("spec.import.clusterID", c.Spec.Import.ClusterID, clusterUUID.MatchString, "%q is not a UUID",
		"write the output of: kubectl get clusterversion version -o jsonpath='{.spec.clusterID}'")
	for _, field := range installFields(reflect.TypeFor[ClusterSpec](), "spec") {
		k.ReportIf(c.Present(field), field, "says how a cluster is installed, but this one is installed already",
			"omit it, or omit spec.import")
	}
	if c.source.file != "" && len(c.Spec.Hosts) == 0 && !c.Spec.AcceptUnknownHosts { // a caller that builds it in code may add some later
		k.Report("spec.hosts", "is missing, so there is nothing to add to the cluster", "list the hosts to add")
	}
	k.ReportIf(c.WorkerCount() < 0, "spec.topology.workers", "is negative", "")
}

// installFields are the fields below a type that say how a cluster is installed.
func installFields(of reflect.Type, path string) (fields []string) {
	for field := range of.Fields() {
		key := fieldKey(field)
		at := values.Join(path, key)
		switch {
		case key == "":
		case field.Tag.Get("when") == "install":
			fields = append(fields, at)
		case field.Type.Kind() == reflect.Struct:
			fields = append(fields, installFields(field.Type, at)...)
		}
	}
	return fields
}
