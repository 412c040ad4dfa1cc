package fields

import (
	"fmt"
	"slices"

	"github.com/oaictl/oaictl/internal/shared/hubobjects"
	"github.com/oaictl/oaictl/pkg/install/convert/internal/input"
	"github.com/oaictl/oaictl/pkg/install/model"
	"github.com/oaictl/oaictl/pkg/install/spec"
)

// PlatformType carries a platform over, in the words of AgentClusterInstall.
func (r *Reader) PlatformType(n *input.Node) {
	if n == nil {
		return
	}
	word := r.Text(n)
	platform, _, err := hubobjects.Read[spec.Platform](hubobjects.InstallTable(), model.SettingPlatform, SpecOf("platformType", n))
	if err != nil {
		r.Wrong(n, fmt.Sprintf("%q is not known here", word), "write BareMetal, None, VSphere, Nutanix or External")
	}
	r.Cluster.Spec.Platform.Type = platform.Type
	r.From("spec.platform", n)
}

// External carries over what an external platform is called, and who brings its controllers.
func (r *Reader) External(n *input.Node) {
	if n = r.MapOf(n); n == nil {
		return
	}
	r.Cluster.Spec.Platform.External = &spec.ExternalPlatform{}
	r.From("spec.platform.external", n)
	r.Set("spec.platform.external.name", n.Get("platformName"))
	ccm := n.Get("cloudControllerManager")
	if ccm.Peek() != "" || ccm == nil {
		r.Set("spec.platform.external.cloudControllerManager", ccm)
	}
	r.MeansIf(ccm, "is the default", "")
}

// Hold carries over whether the installation is held.
func (r *Reader) Hold(n *input.Node) {
	if held := r.Boolean(n); input.IsTrue(held) {
		r.Cluster.Spec.Hold = true
		r.From("spec.hold", n)
	}
}

// DiskEncryption carries over encryption, which is of no disk unless it says whose.
func (r *Reader) DiskEncryption(n *input.Node) {
	if n = r.MapOf(n); n == nil || len(n.Children) == 0 {
		return
	}
	mode, on, servers := n.Get("mode"), n.Get("enableOn"), n.Get("tangServers")
	r.Text(mode)
	r.Text(on)
	d, _, _ := hubobjects.Read[spec.DiskEncryption](hubobjects.InstallTable(), model.SettingDiskEncryption, SpecOf("diskEncryption", n))
	d.Tang = nil // they are read one by one
	r.Cluster.Spec.DiskEncryption = &d
	r.From("spec.diskEncryption", n)
	r.From("spec.diskEncryption.mode", mode)
	r.From("spec.diskEncryption.enableOn", on)
	if servers.Peek() != "" || servers != nil && servers.Kind == input.ListNode {
		r.Tang(r.Embed(servers))
	} else {
		r.Text(servers)
	}
	if slices.Equal(d.On, spec.RoleSet{spec.NoRoles}) && mode == nil && len(d.Tang) == 0 {
		r.Cluster.Spec.DiskEncryption = nil // nothing is encrypted, by nothing
	}
}

// SpecOf is an object that says one thing, as the table of its kind reads it.
func SpecOf(name string, n *input.Node) hubobjects.Fields {
	return hubobjects.Fields{"spec": hubobjects.Fields{name: n.Plain()}}
}
