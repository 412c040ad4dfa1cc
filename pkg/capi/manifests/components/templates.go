package components

import (
	"fmt"
	"io/fs"
	"path"

	"github.com/oaictl/oaictl/internal/shared/texttemplate"
)

// flavour is a kind of cluster that there is a template of.
type flavour struct {
	// Name is that of clusterctl's --flavor; "" is the template that is taken without one.
	Name, About string
	// Replicas are those of the control plane.
	Replicas string
	// Metal3 says that machines are Metal3Machines; otherwise they are a pool's.
	Metal3 bool
	// Image says that machines boot a disk image; otherwise Metal3Machines boot the discovery image.
	Image bool
	// VIPs says that the cluster has virtual addresses.
	VIPs bool
}

const asManyAsAsked = "${CONTROL_PLANE_MACHINE_COUNT}"

func flavours() []flavour {
	const pool = "Machines of a pool: hosts that have booted the discovery image already, and were approved."
	return []flavour{
		{Name: "", About: pool, Replicas: asManyAsAsked, VIPs: true},
		{Name: "agents", About: pool, Replicas: asManyAsAsked, VIPs: true},
		{Name: "sno", About: "A single node, which Metal3 boots from a disk image with user data.", Replicas: "1", Metal3: true, Image: true},
		{Name: "compact", About: "Three nodes that are control plane and workers; Metal3 boots machines from a disk image with user data.",
			Replicas: "3", Metal3: true, Image: true, VIPs: true},
		{Name: "ha", About: "A control plane and workers; Metal3 boots machines from a disk image with user data.", Replicas: asManyAsAsked,
			Metal3: true, Image: true, VIPs: true},
		{Name: "metal3", About: "A control plane and workers; Metal3 boots machines from the discovery image (live ISO).",
			Replicas: asManyAsAsked, Metal3: true, VIPs: true},
	}
}

// values are what the template is filled with.
func (f flavour) values() texttemplate.Values {
	group, infrastructure := "capi-provider.agent-install.openshift.io", "Agent"
	if f.Metal3 {
		group, infrastructure = "infrastructure.cluster.x-k8s.io", "Metal3"
	}
	return texttemplate.Values{
		"Name": f.Name, "About": f.About, "Replicas": f.Replicas, "Metal3": f.Metal3, "Image": f.Image, "VIPs": f.VIPs,
		"Group":          group,                             // of the machines
		"Infrastructure": infrastructure,                    // begins the names of their kinds
		"Machines":       []any{"control-plane", "workers"}, // the names of their templates
	}
}

func (f flavour) file() string {
	if f.Name == "" {
		return templatePrefix + ".yaml"
	}
	return templatePrefix + "-" + f.Name + ".yaml"
}

// clusterTemplates are the templates of clusters, and the ClusterClasses.
func clusterTemplates() ([]File, error) {
	var out []File
	for _, f := range flavours() {
		text, err := execute("templates/cluster.yaml.tmpl", f.values())
		if err != nil {
			return nil, fmt.Errorf("write %s: %w", f.file(), err)
		}
		out = append(out, File{f.file(), text})
	}
	for _, prefix := range []string{templatePrefix, classPrefix} {
		names, err := fs.Glob(own, path.Join("templates", prefix+"-*.yaml"))
		if err != nil {
			return nil, err
		}
		for _, name := range names {
			data, err := own.ReadFile(name)
			if err != nil {
				return nil, err
			}
			out = append(out, File{path.Base(name), data})
		}
	}
	return out, nil
}
