package ztp

import (
	"fmt"
	"path"
	"regexp"
	"slices"
	"strings"

	"github.com/oaictl/oaictl/internal/hubapi"
	"github.com/oaictl/oaictl/internal/hubobjects"
	"github.com/oaictl/oaictl/pkg/install/convert/internal/settings"
	"github.com/oaictl/oaictl/pkg/install/convert/internal/source"
	"github.com/oaictl/oaictl/pkg/install/model"
	"github.com/oaictl/oaictl/pkg/install/spec"
)

func (r *Hub) agentClusterInstall(h *Objects, n *source.Node) {
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
		model.SettingLoadBalancer:           func(n *source.Node) { r.Balancer(n.Get("type")) },
		model.SettingIgnitionEndpoint:       func(n *source.Node) { r.ignitionEndpoint(h, n) },
		model.SettingInstallConfigOverrides: r.InstallOverrides,
		model.SettingIgnoredValidations:     func(*source.Node) { r.IgnoredValidations(n.Get("metadata", "annotations")) },
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
type reading map[model.Setting]func(*source.Node)

// fields carries over what an object says of the cluster, by the table of its kind.
func (r *Hub) fields(n *source.Node, table hubobjects.Table, own reading) {
	for _, row := range table {
		read, isOwn := own[row.Setting]
		if len(row.Paths) == 0 || isOwn && read == nil {
			continue
		}
		at := n.Get(row.Paths[0]...)
		if isOwn {
			read(at)
		} else {
			r.Field(string(row.Setting), at, settings.NoHost)
		}
	}
}

// hostFields carries over what an object says of a host.
func (r *Hub) hostFields(i int, n *source.Node, table hubobjects.Table, names ...model.Setting) {
	for _, row := range table {
		if slices.Contains(names, row.Setting) {
			r.Field("."+string(row.Setting), n.Get(row.Paths[0]...), i)
		}
	}
}

// fieldOf is the value of the first field that holds a setting of an object, by the table
// of its kind.
func fieldOf(n *source.Node, table hubobjects.Table, name model.Setting) *source.Node {
	row, _ := table.Row(name)
	return n.Get(row.Paths[0]...)
}

// IgnoredValidations carries over which validations may fail.
func (r *Hub) IgnoredValidations(notes *source.Node) {
	to := &r.Cluster.Spec.IgnoreValidations
	r.Ignored("spec.ignoreValidations.cluster", &to.Cluster, notes.Get(hubapi.AnnotationIgnoredClusterValidations))
	r.Ignored("spec.ignoreValidations.hosts", &to.Hosts, notes.Get(hubapi.AnnotationIgnoredHostValidations))
}

// userManaged carries over who manages the network, where the platform does not say it.
func (r *Hub) userManaged(n *source.Node) {
	if n == nil {
		return
	}
	p := r.Cluster.Spec.Platform.Type
	implied := p != spec.BareMetal && hubobjects.UserManagedByPlatform(r.Cluster)
	if is := n.Kind == source.BoolNode && source.Truth(n.Text); n.Kind == source.BoolNode && is == implied && p != spec.VSphere && p != spec.Nutanix {
		r.Means(n, "follows from the platform")
		return
	}
	r.Set("spec.network.userManaged", n)
}

// agentPools carries over the pools of AgentClusterInstall, which say nothing but
// hyperthreading. An API server fills in that a pool has it; the agent-based installer has
// none.
func (r *Hub) agentPools(s *source.Node) {
	object, workers := hubobjects.Fields{}, []any{}
	for key, name := range map[string]string{"controlPlane": "master", "arbiter": "arbiter"} {
		if pool := r.agentPool(s.Get(key), name); pool != nil {
			object[key] = pool
		}
	}
	words := map[*source.Node]string{}
	for _, item := range r.ListOf(s.Get("compute")) {
		name := item.Get("name").Peek()
		pool := r.agentPool(item, "worker")
		switch {
		case pool == nil:
		case name != "worker":
			r.LoseAs(item, source.Shown(item), "the service reads the pool worker alone")
			item.Take()
		default:
			words[item], _ = pool["hyperthreading"].(string)
			workers = append(workers, pool)
		}
	}
	object["compute"] = workers
	roles, said, _ := hubobjects.Read[spec.RoleSet](hubobjects.InstallTable(), model.SettingHyperthreading, hubobjects.Fields{"spec": object})
	if !said {
		return
	}
	for item, word := range words {
		if (word != "Disabled") != slices.Contains(roles, string(spec.Worker)) {
			r.LoseAs(item, source.Shown(item), "of several pools called worker one that has it counts")
		}
	}
	r.Cluster.Spec.Hyperthreading = r.named(roles, object["arbiter"] != nil)
}

// named is a set of roles, all of them by their one word. A cluster without arbiters may
// have a pool of them.
func (r *Hub) named(roles spec.RoleSet, arbiters bool) spec.RoleSet {
	all := []string{string(spec.ControlPlane), string(spec.Worker)}
	if arbiters || r.Cluster.ArbiterCount() > 0 {
		all = append(all, string(spec.Arbiter))
	}
	if len(slices.DeleteFunc(all, func(role string) bool { return slices.Contains(roles, role) })) == 0 {
		return spec.RoleSet{spec.AllRoles}
	}
	if r.Cluster.Spec.Topology.Arbiters == nil {
		roles = slices.DeleteFunc(roles, func(role string) bool { return role == string(spec.Arbiter) })
	}
	if len(roles) == 0 {
		roles = spec.RoleSet{spec.NoRoles}
	}
	return roles
}

// agentPool is what a pool says of hyperthreading; nil for no pool.
func (r *Hub) agentPool(n *source.Node, name string) hubobjects.Fields {
	if n = r.MapOf(n); n == nil {
		return nil
	}
	r.MeansIf(n.Get("name"), "is the name that this pool always has", name)
	r.Lose(n.Get("replicas"), "provisionRequirements says how many machines there are")
	word := n.Get("hyperthreading")
	switch text := r.Text(word); text {
	case "", "Enabled", "Disabled":
	default:
		r.Wrong(word, fmt.Sprintf("%q is not known here", text), "write Enabled or Disabled")
	}
	r.From("spec.hyperthreading", word)
	pool := hubobjects.Fields{"name": name, "hyperthreading": word.Peek()}
	if word.Peek() == "" && r.AgentBased {
		pool["hyperthreading"] = "Disabled"
	}
	return pool
}

func (r *Hub) ignitionEndpoint(h *Objects, n *source.Node) {
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
	versionInName = regexp.MustCompile(`^(?:img|openshift-v?|ocp-v?|v)?-?([0-9]+\.[0-9]+\.[0-9]+(?:-(?:rc|ec|fc)\.[0-9]+)?)(?:-(x86[-_]64|amd64|aarch64|arm64|ppc64le|s390x|multi))?(?:-appsub)?$`)
)

// ImageSetRef carries over what the name of a ClusterImageSet says.
func (r *Hub) ImageSetRef(h *Objects, ref *source.Node) {
	if ref == nil {
		return
	}
	o, name := &r.Cluster.Spec.OpenShift, r.Text(ref)
	if parts := ourSet.FindStringSubmatch(name); parts != nil {
		o.Version = parts[1]
		r.From("spec.openshift.version", ref)
	} else if r.AgentBased && !slices.ContainsFunc(h.ImageSets, func(set *source.Node) bool { return NameOf(set) == name }) {
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
