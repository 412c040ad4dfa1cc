package clusterinstance

import (
	"encoding/json"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/oaictl/oaictl/internal/shared/clustersettings"
	"github.com/oaictl/oaictl/internal/shared/hubapi"
	"github.com/oaictl/oaictl/internal/shared/hubobjects"
	"github.com/oaictl/oaictl/internal/shared/statuses"
	"github.com/oaictl/oaictl/pkg/install/convert/internal/fields"
	"github.com/oaictl/oaictl/pkg/install/convert/internal/losses"
	"github.com/oaictl/oaictl/pkg/install/convert/internal/output"
	"github.com/oaictl/oaictl/pkg/install/render"
	"github.com/oaictl/oaictl/pkg/install/spec"
)

// The templates that come with the SiteConfig operator for the Assisted
// Installer, and the namespace that Advanced Cluster Management keeps them in.
const (
	clusterTemplates  = "ai-cluster-templates-v1"
	nodeTemplates     = "ai-node-templates-v1"
	templateNamespace = "open-cluster-management"
)

type writer struct{ *output.Writer }

// Write makes SiteConfig's description of a cluster and the objects
// that it refers to, as one file in the order to apply, and what of the cluster it
// has no place for. The error is about a document in the file that cannot be read,
// or manifests that no ConfigMap takes.
func Write(c *spec.Cluster, secrets bool) ([]output.File, []losses.Loss, error) {
	w := &writer{output.New(c, secrets)}
	w.LoseAll(fields.Lost("writers", "clusterinstance"))
	all := []*unstructured.Unstructured{w.NamespaceObject()}
	set := w.ImageSet()
	if set != nil {
		all = append(all, set)
	} else if image := c.Spec.OpenShift.ReleaseImage; image != "" {
		w.Lose("spec.openshift.releaseImage", image, "the ClusterImageSet "+w.Set+" says which release is installed")
	}
	all = append(all, w.PullSecret()...)
	manifests := w.ManifestMaps()
	instance, credentials := w.instance(manifests)
	maker := hubobjects.Maker{Refusals: hubobjects.Refusals{Cluster: w.Collector.Cluster}, Namespace: w.Maker.Namespace}
	all = append(slices.Concat(all, credentials, manifests, maker.Classifications()), instance)
	if !secrets && c.Spec.PullSecret.SecretRef == nil {
		w.Lose("spec.pullSecret", losses.Plain(c.Spec.PullSecret),
			"secrets were not asked for; the Secret "+hubobjects.PullSecretName(c)+" has to be there")
	}
	var text strings.Builder
	if err := (&render.Objects{Cluster: all}).WriteYAML(&text); err != nil {
		return nil, nil, err
	}
	w.File("clusterinstance.yaml", secrets, text.String())
	return w.Result()
}

func (w *writer) instance(
	manifests []*unstructured.Unstructured,
) (instance *unstructured.Unstructured, credentials []*unstructured.Unstructured) {
	c, set := w.Maker.Cluster, w.Maker.Cluster.Spec
	object := w.Object("ClusterInstance", c.Metadata.Name)
	object.SetAPIVersion("siteconfig.open-cluster-management.io/v1alpha1")
	s := fields.Written(w.Writer, fields.ClusterInstance, nil)
	output.Over(s, hubobjects.Fields{
		"clusterType":            clusterType(c),
		"clusterImageSetNameRef": w.Set,
		"pullSecretRef":          hubobjects.Fields{"name": hubobjects.PullSecretName(c)},
		"templateRefs":           []any{hubobjects.Fields{"name": clusterTemplates, "namespace": templateNamespace}},
	})
	if set.Platform.External != nil {
		w.Lose("spec.platform.external", losses.Plain(set.Platform.External), "ClusterInstance has no field for it")
	}
	if d := set.DiskEncryption; d != nil {
		s["diskEncryption"] = w.encryption(d)
	}
	hubobjects.Put(s, "installConfigOverrides", w.overrides())
	if len(manifests) > 0 {
		s["extraManifestsRefs"] = hubobjects.NamesOf(manifests)
	}
	w.extras(s)
	w.infraEnv(s)
	nodes := []any{}
	roles := rolesOf(c)
	for i := range set.Hosts {
		node, secrets := w.node(&set.Hosts[i], roles[set.Hosts[i].Name])
		nodes, credentials = append(nodes, node), append(credentials, secrets...)
	}
	s["nodes"] = nodes
	object.Object["spec"] = s
	return object, credentials
}

func clusterType(c *spec.Cluster) string {
	switch {
	case c.SingleNode():
		return "SNO"
	case c.ArbiterCount() > 0:
		return "HighlyAvailableArbiter"
	default:
		return "HighlyAvailable"
	}
}

// encryption is disk encryption, which SiteConfig knows for all roles at once.
func (w *writer) encryption(d *spec.DiskEncryption) hubobjects.Fields {
	out := hubobjects.Fields{"type": "tpm2"}
	if d.Mode == spec.Tang {
		out["type"] = "tang"
		list := []any{}
		for _, server := range d.Tang {
			list = append(list, hubobjects.Fields{"url": server.URL, "thumbprint": server.Thumbprint})
		}
		out["tang"] = list
	}
	switch on := d.On.ServiceWords(); on {
	case "all", "":
	case "none":
		return hubobjects.Fields{"type": "none"}
	default:
		w.Lose("spec.diskEncryption.enableOn", hubobjects.AnyList(d.On), "ClusterInstance encrypts the machines of every role")
	}
	return out
}

// overrides are the file's, with the trust bundle, for which there is no field.
func (w *writer) overrides() string {
	c := w.Maker.Cluster
	text, err := c.InstallConfigOverrides()
	if err != nil {
		w.Refuse("spec.overrides.installConfig", err.Error(), "")
		return ""
	}
	bundle := c.TrustBundle()
	if bundle == "" {
		return text
	}
	if len(c.Spec.Registry.Mirrors) == 0 {
		w.Lose("spec.registry.trustBundle", losses.Plain(c.Spec.Registry.TrustBundle),
			"is trusted by the cluster, but not while machines are discovered")
	}
	own := hubobjects.Fields{"additionalTrustBundle": bundle}
	var theirs hubobjects.Fields
	if text != "" {
		err = json.Unmarshal([]byte(text), &theirs)
	}
	var out []byte
	if err == nil {
		out, err = json.Marshal(output.Over(own, theirs))
	}
	if err != nil {
		w.Refuse("spec.overrides.installConfig", err.Error(), "")
	}
	return string(out)
}

func (w *writer) extras(s hubobjects.Fields) {
	c := w.Maker.Cluster
	if len(c.Metadata.Tags) == 1 {
		s["extraLabels"] = hubobjects.Fields{hubapi.KindAgentClusterInstall: hubobjects.Fields{hubapi.LabelConsumer: c.Metadata.Tags[0]}}
	}
	notes := w.InstallAnnotations()
	delete(notes, hubapi.AnnotationInstallConfigOverrides) // stands in installConfigOverrides
	if len(notes) > 0 {
		s["extraAnnotations"] = hubobjects.Fields{hubapi.KindAgentClusterInstall: hubobjects.AnyMap(notes)}
	}
}

func (w *writer) infraEnv(s hubobjects.Fields) {
	own := hubobjects.Maker{Refusals: hubobjects.Refusals{Cluster: w.Collector.Cluster}}
	env := &unstructured.Unstructured{Object: hubobjects.Fields{}}
	own.HubFields(env)
	extra := func(name string, texts map[string]string) {
		if len(texts) == 0 {
			return
		}
		all, _ := s[name].(hubobjects.Fields)
		if all == nil {
			all = hubobjects.Fields{}
			s[name] = all
		}
		all[hubapi.KindInfraEnv] = hubobjects.AnyMap(texts)
	}
	extra("extraLabels", env.GetLabels())
	extra("extraAnnotations", env.GetAnnotations())
}

func nodeMetal3(out hubobjects.Fields, host *spec.Host) {
	if host.BMC == nil {
		return
	}
	notes := map[string]string{}
	hubobjects.Metal3Fields(host.BMC.Metal3, out, notes)
	if word := notes[hubapi.AnnotationBMHInspect]; word != "" {
		out["ironicInspect"] = word
		delete(notes, hubapi.AnnotationBMHInspect)
	}
	if pool := host.MachineConfigPool; pool != "" {
		notes[hubapi.AnnotationBMACMachineConfigPool] = pool
	}
	if len(notes) > 0 {
		out["extraAnnotations"] = hubobjects.Fields{hubapi.KindBareMetalHost: hubobjects.AnyMap(notes)}
	}
}

// rolesOf is what each host becomes: what the file says, or, in the order of the
// file, the control plane until it is full, then workers.
func rolesOf(c *spec.Cluster) map[string]spec.Role {
	free := c.ControlPlaneCount()
	for _, host := range c.Spec.Hosts {
		if host.Role == spec.ControlPlane {
			free--
		}
	}
	roles := map[string]spec.Role{}
	for _, host := range c.Spec.Hosts {
		switch {
		case host.Role != spec.Auto && host.Role != "":
			roles[host.Name] = host.Role
		case free > 0:
			roles[host.Name], free = spec.ControlPlane, free-1
		default:
			roles[host.Name] = spec.Worker
		}
	}
	return roles
}

func (w *writer) node(host *spec.Host, role spec.Role) (out hubobjects.Fields, credentials []*unstructured.Unstructured) {
	c := w.Maker.Cluster
	out = fields.Written(w.Writer, fields.ClusterInstanceNode, host)
	output.Over(out, hubobjects.Fields{
		"role":                  statuses.RoleWord(role),
		"automatedCleaningMode": "disabled",
		"templateRefs":          []any{hubobjects.Fields{"name": nodeTemplates, "namespace": templateNamespace}},
	})
	if role != host.Role {
		w.LoseHost(host, "role", string(host.Role), "a node has a role: it is made "+string(role))
	}
	credentials = w.nodeBMC(out, host)
	hubobjects.Put(out, "cpuArchitecture", clustersettings.KernelArch(host.Arch))
	config, interfaces, static, err := hubobjects.NMStateOf(c, host)
	switch {
	case err != nil:
		w.RefuseHost(host, "net.nmstate", err.Error(), "")
	case static:
		out["nodeNetwork"] = hubobjects.Fields{"config": config, "interfaces": hubobjects.InterfaceFields(interfaces)}
	}
	nodeMetal3(out, host)
	return out, credentials
}

// nodeBMC is how the machine is booted. That a node has no BMC is told as a loss.
func (w *writer) nodeBMC(out hubobjects.Fields, host *spec.Host) []*unstructured.Unstructured {
	if host.BMC == nil {
		w.LoseHost(host, "bmc", nil, "is missing: SiteConfig boots every node by its BMC; add bmcAddress and bmcCredentialsName")
		return nil
	}
	name := hubobjects.BMCSecretName(w.Maker.Cluster, host)
	out["bmcAddress"] = w.AddressOrLoss(host)
	out["bmcCredentialsName"] = hubobjects.Fields{"name": name}
	if host.BMC.Credentials.SecretRef != nil {
		return nil
	}
	user, password, known := host.BMC.Credentials.Login()
	if !w.Secrets || !known || password.IsZero() {
		w.LoseHost(host, "bmc.credentials", losses.Plain(host.BMC.Credentials),
			"secrets were not asked for, or stand on a hub in part; the Secret "+name+" has to be there")
		return nil
	}
	return w.Secret(name, "Opaque", map[string]string{"username": user, "password": password.Reveal()})
}
