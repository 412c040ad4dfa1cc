package ztp

import (
	"path"
	"regexp"
	"slices"
	"strings"

	"github.com/oaictl/oaictl/internal/shared/hubapi"
	"github.com/oaictl/oaictl/internal/shared/hubobjects"
	"github.com/oaictl/oaictl/pkg/install/convert/internal/fields"
	"github.com/oaictl/oaictl/pkg/install/convert/internal/input"
	"github.com/oaictl/oaictl/pkg/install/model"
	"github.com/oaictl/oaictl/pkg/install/spec"
)

func (r *Hub) agentClusterInstall(h *Objects, n *input.Node) {
	s := r.MapOf(n.Get("spec"))
	r.ObjectNames(n, "")
	if len(h.Deployments) > 0 {
		r.Reference(s.Get("clusterDeploymentRef", "name"), h.Deployments[0])
	}
	r.VIPs(s)
	r.Networking(s.Get("networking"))
	r.External(s.Get("external"))
	r.fields(n, hubobjects.InstallTable(), reading{
		model.SettingNetworkType: nil, model.SettingMachineNetworks: nil, model.SettingClusterNetworks: nil, model.SettingServiceNetworks: nil,
		model.SettingAPIVIPs: nil, model.SettingIngressVIPs: nil, model.SettingUserManaged: nil, model.SettingHyperthreading: nil,
		model.SettingLoadBalancer:           func(n *input.Node) { r.Balancer(n.Get("type")) },
		model.SettingIgnitionEndpoint:       func(n *input.Node) { r.ignitionEndpoint(h, n) },
		model.SettingInstallConfigOverrides: r.InstallOverrides,
		model.SettingIgnoredValidations:     func(*input.Node) { r.IgnoredValidations(n.Get("metadata", "annotations")) },
	})
	if s.Get("provisionRequirements") != nil && r.Cluster.Spec.Topology.Workers == nil {
		r.Cluster.Spec.Topology.Workers = new(0)
	}
	r.userManaged(fieldOf(n, hubobjects.InstallTable(), model.SettingUserManaged))
	r.agentPools(s)
	r.Hold(s.Get("holdInstallation"))
	r.MirrorMap(h, s.Get("mirrorRegistryRef"))
	r.manifestMaps(h, s)
	r.Rest(s.Get("clusterMetadata"), "is written by the service, or belongs to a cluster that is installed already")
}

// reading is how settings are read that stand in an object otherwise than their field is read
// elsewhere; nil for one that is read with others.
type reading map[model.Setting]func(*input.Node)

// fields carries over what an object says of the cluster, by the table of its kind.
func (r *Hub) fields(n *input.Node, table hubobjects.Table, own reading) {
	for _, row := range table {
		read, isOwn := own[row.Setting]
		if len(row.Paths) == 0 || isOwn && read == nil {
			continue
		}
		at := n.Get(row.Paths[0]...)
		if isOwn {
			read(at)
		} else {
			r.Field(string(row.Setting), at, fields.NoHost)
		}
	}
}

// hostFields carries over what an object says of a host.
func (r *Hub) hostFields(i int, n *input.Node, table hubobjects.Table, names ...model.Setting) {
	for _, row := range table {
		if slices.Contains(names, row.Setting) {
			r.Field("."+string(row.Setting), n.Get(row.Paths[0]...), i)
		}
	}
}

// fieldOf is the value of the first field that holds a setting of an object, by the table
// of its kind.
func fieldOf(n *input.Node, table hubobjects.Table, name model.Setting) *input.Node {
	row, _ := table.Row(name)
	return n.Get(row.Paths[0]...)
}

// IgnoredValidations carries over which validations may fail.
func (r *Hub) IgnoredValidations(notes *input.Node) {
	to := &r.Cluster.Spec.IgnoreValidations
	r.Ignored("spec.ignoreValidations.cluster", &to.Cluster, notes.Get(hubapi.AnnotationIgnoredClusterValidations))
	r.Ignored("spec.ignoreValidations.hosts", &to.Hosts, notes.Get(hubapi.AnnotationIgnoredHostValidations))
}

// userManaged carries over who manages the network, where the platform does not say it.
func (r *Hub) userManaged(n *input.Node) {
	if n == nil {
		return
	}
	p := r.Cluster.Spec.Platform.Type
	implied := p != spec.BareMetal && hubobjects.UserManagedByPlatform(r.Cluster)
	if is := n.Kind == input.BoolNode && input.Truth(n.Text); n.Kind == input.BoolNode && is == implied && p != spec.VSphere &&
		p != spec.Nutanix {
		r.Means(n, "follows from the platform")
		return
	}
	r.Set("spec.network.userManaged", n)
}

// agentPools carries over the pools of AgentClusterInstall, which say nothing but
// hyperthreading. Once one of them is named, the roles of those that are not have it
// disabled. An API server fills in that a pool has it; the agent-based installer has none.
func (r *Hub) agentPools(s *input.Node) {
	roles, controlPlane, arbiter := spec.RoleSet{}, r.MapOf(s.Get("controlPlane")), r.MapOf(s.Get("arbiter"))
	if r.agentPool(controlPlane, "master") {
		roles = append(roles, string(spec.ControlPlane))
	}
	if r.agentPool(arbiter, "arbiter") {
		roles = append(roles, string(spec.Arbiter))
	}
	workers, some := map[*input.Node]bool{}, false
	for _, item := range r.ListOf(s.Get("compute")) {
		name, pool := item.Get("name").Peek(), r.MapOf(item)
		has := r.agentPool(pool, "worker")
		switch {
		case pool == nil:
		case name != "worker":
			r.LoseAs(item, input.Shown(item), "the service reads the pool worker alone")
			item.Take()
		default:
			workers[item], some = has, some || has
		}
	}
	if some {
		roles = append(roles, string(spec.Worker))
	}
	if controlPlane == nil && arbiter == nil && len(workers) == 0 {
		return
	}
	for item, has := range workers {
		if has != some {
			r.LoseAs(item, input.Shown(item), "of several pools called worker one that has it counts")
		}
	}
	r.Cluster.Spec.Hyperthreading = r.NamedRoles(roles, arbiter != nil)
}

// agentPool says whether a pool has hyperthreading.
func (r *Hub) agentPool(n *input.Node, name string) bool {
	if n == nil {
		return false
	}
	r.MeansIf(n.Get("name"), "is the name that this pool always has", name)
	r.Lose(n.Get("replicas"), "provisionRequirements says how many machines there are")
	return r.HasHyperthreading(n.Get("hyperthreading"), !r.AgentBased)
}

func (r *Hub) ignitionEndpoint(h *Objects, n *input.Node) {
	if n = r.MapOf(n); n == nil {
		return
	}
	endpoint := &spec.IgnitionEndpoint{}
	r.Cluster.Spec.IgnitionEndpoint = endpoint
	r.From("spec.ignitionEndpoint", n)
	r.Set("spec.ignitionEndpoint.url", n.Get("url"))
	ref := n.Get("caCertificateReference")
	if ref == nil {
		return
	}
	secret := h.secret(ref.Get("name"))
	if secret == nil {
		r.Lose(ref, "the Secret is not in the input: put the certificate into spec.ignitionEndpoint.ca")
		return
	}
	r.Means(ref, "refers to a Secret of the input")
	ca := r.secretKey(secret, hubapi.KeyIgnitionCA)
	if text := r.Text(ca); text != "" {
		endpoint.CA = &spec.PublicSource{Inline: text}
		r.From("spec.ignitionEndpoint.ca", ca)
	}
}

// versionInName matches the version in the name of a ClusterImageSet, or in a tag.
var (
	ourSet        = regexp.MustCompile(`^openshift-v([0-9]+\.[0-9]+(?:\.[0-9]+(?:-(?:rc|ec|fc)\.[0-9]+)?)?(?:-multi)?)$`)
	versionInName = regexp.MustCompile(`^(?:img|openshift-v?|ocp-v?|v)?-?([0-9]+\.[0-9]+\.[0-9]+(?:-(?:rc|ec|fc)\.[0-9]+)?)` +
		`(?:-(x86[-_]64|amd64|aarch64|arm64|ppc64le|s390x|multi))?(?:-appsub)?$`)
)

// ImageSetRef carries over what the name of a ClusterImageSet says.
func (r *Hub) ImageSetRef(h *Objects, ref *input.Node) {
	if ref == nil {
		return
	}
	o, name := &r.Cluster.Spec.OpenShift, r.Text(ref)
	if parts := ourSet.FindStringSubmatch(name); parts != nil {
		o.Version = parts[1]
		r.From("spec.openshift.version", ref)
	} else if r.AgentBased && !slices.ContainsFunc(h.ImageSets, func(set *input.Node) bool { return NameOf(set) == name }) {
		ref.Taken = false
		r.Means(ref, "names a ClusterImageSet that is not among the files, and the agent-based installer knows no hub that has it")
	} else {
		o.ImageSet = name
		r.From("spec.openshift.imageSet", ref)
		if parts := versionInName.FindStringSubmatch(name); parts != nil {
			o.Version = parts[1]
			r.From("spec.openshift.version", ref)
		}
	}
	for _, set := range h.ImageSets {
		if NameOf(set) != name {
			continue
		}
		h.Used[set] = true
		image := set.Get("spec", "releaseImage")
		r.Set("spec.openshift.releaseImage", image)
		_, tag, _ := strings.Cut(path.Base(o.ReleaseImage), ":")
		if parts := versionInName.FindStringSubmatch(tag); parts != nil && o.Version == "" {
			o.Version = parts[1]
			r.From("spec.openshift.version", image)
		}
		r.ObjectNames(set, "")
		r.MeansIf(set.Get("metadata", "labels", "visible"), "is for the console of a hub", "true", "false")
	}
	if o.ReleaseImage != "" && o.Version != "" && hubobjects.IsImageSetOf(name, r.Cluster.Metadata.Name) {
		o.ImageSet = ""
	}
}
