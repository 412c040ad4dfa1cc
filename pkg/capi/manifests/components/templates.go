package components

import (
	"bytes"
	"fmt"
	"io/fs"
	"path"
	"text/template"
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
		{Name: "compact", About: "Three nodes that are control plane and workers; Metal3 boots machines from a disk image with user data.", Replicas: "3", Metal3: true, Image: true, VIPs: true},
		{Name: "ha", About: "A control plane and workers; Metal3 boots machines from a disk image with user data.", Replicas: asManyAsAsked, Metal3: true, Image: true, VIPs: true},
		{Name: "metal3", About: "A control plane and workers; Metal3 boots machines from the discovery image (live ISO).", Replicas: asManyAsAsked, Metal3: true, VIPs: true},
	}
}

// Group is the API group of the machines.
func (f flavour) Group() string {
	if f.Metal3 {
		return "infrastructure.cluster.x-k8s.io"
	}
	return "capi-provider.agent-install.openshift.io"
}

// Infrastructure begins the names of the kinds of the machines.
func (f flavour) Infrastructure() string {
	if f.Metal3 {
		return "Metal3"
	}
	return "Agent"
}

// Machines are the names of the templates of machines.
func (f flavour) Machines() []string { return []string{"control-plane", "workers"} }

func (f flavour) file() string {
	if f.Name == "" {
		return templatePrefix + ".yaml"
	}
	return templatePrefix + "-" + f.Name + ".yaml"
}

// clusterTemplates are the templates of clusters, and the ClusterClasses.
func clusterTemplates() ([]File, error) {
	t, err := template.ParseFS(own, "templates/cluster.yaml.tmpl")
	if err != nil {
		return nil, err
	}
	var out []File
	for _, f := range flavours() {
		var text bytes.Buffer
		if err := t.Execute(&text, f); err != nil {
			return nil, fmt.Errorf("write %s: %w", f.file(), err)
		}
		out = append(out, File{f.file(), text.Bytes()})
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
