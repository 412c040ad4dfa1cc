package clusterinstance

import (
	"github.com/oaictl/oaictl/internal/hubapi"
	"github.com/oaictl/oaictl/pkg/install/convert/internal/settings"
	"github.com/oaictl/oaictl/pkg/install/convert/internal/source"
	"github.com/oaictl/oaictl/pkg/install/convert/internal/ztp"
	"github.com/oaictl/oaictl/pkg/install/spec"
)

// nodesOnly tells what only SiteConfig acts on.
func (r *reader) nodesOnly(s *source.Node) {
	for key, why := range map[string]string{
		"extraLabels":         "labels objects that SiteConfig makes",
		"extraAnnotations":    "annotates objects that SiteConfig makes",
		"suppressedManifests": "leaves out objects that SiteConfig makes",
		"pruneManifests":      "deletes objects that SiteConfig has made",
		"reinstall":           "installs once more with SiteConfig: oaictl does with its own verbs",
		"ironicInspect":       "oaictl needs no inspection",
		"hostRef":             "the machine is an object of the hub: write its bmc and match here",
	} {
		at := s.Get(key)
		r.MeansEmpty(at, "is empty")
		r.MeansIf(at, "is the default", "")
		r.Rest(at, why)
	}
}

// templates takes the templates that SiteConfig comes with: they make the
// objects that oaictl makes, too.
func (r *reader) templates(n *source.Node, usual string) {
	for _, ref := range r.ListOf(n) {
		if ref.Get("name").Peek() == usual {
			r.Means(ref, "makes the objects that oaictl makes")
		}
	}
	r.Rest(n, "templates make what they say, which is not looked at")
}

// node carries a node over, which a BareMetalHost boots.
func (r *reader) node(h *ztp.Objects, n *source.Node) {
	if n = r.MapOf(n); n == nil {
		return
	}
	i := r.AddHost(n)
	to := r.Host(i)
	source.SetText(r.Account, settings.HostField(i, "name"), &to.Name, n.Get("hostName"))
	role := n.Get("role")
	if role == nil {
		to.Role = spec.ControlPlane
	}
	r.Role(i, role)
	source.SetText(r.Account, settings.HostField(i, "match.mac"), &to.Match.MAC, n.Get("bootMACAddress"))
	r.Hints(i, n.Get("rootDeviceHints"))
	r.bmc(h, i, n)
	r.Network(i, n.Get("nodeNetwork", "interfaces"), n.Get("nodeNetwork", "config"))
	r.NodeLabels(i, n.Get("nodeLabels"))
	r.InstallerArgs(i, n.Get("installerArgs"))
	r.HostIgnition(i, n.Get("ignitionConfigOverride"))
	if arch := n.Get("cpuArchitecture"); arch != nil && settings.ArchOf(arch.Peek()) == r.Cluster.Spec.OpenShift.Arch {
		r.Means(arch, "is that of the cluster")
	} else {
		source.SetText(r.Account, settings.HostField(i, "arch"), &to.Arch, arch)
		to.Arch = settings.ArchOf(string(to.Arch))
	}
	source.SetText(r.Account, settings.HostField(i, "machineConfigPool"), &to.MachineConfigPool, n.Get("extraAnnotations", hubapi.KindBareMetalHost, hubapi.AnnotationBMACMachineConfigPool))
	r.Metal3(i, n.Get("bootMode"), n.Get("automatedCleaningMode"), n.Get("ironicInspect"), n.Get("extraAnnotations", hubapi.KindBareMetalHost))
	r.templates(n.Get("templateRefs"), "ai-node-templates-v1")
	r.nodesOnly(n)
}

func (r *reader) bmc(h *ztp.Objects, i int, n *source.Node) {
	address := n.Get("bmcAddress")
	if r.BMC(i, address, address, nil) {
		r.Cluster.Spec.Boot.Method = spec.BootMetal3
		r.Credentials(h, i, n.Get("bmcCredentialsName", "name"))
		return
	}
	r.Rest(n.Get("bmcCredentialsName"), "goes with the address of the BMC, which is left behind")
}
