package ztp

import (
	"cmp"
	"encoding/json"
	"fmt"
	"regexp"
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
	"github.com/oaictl/oaictl/pkg/install/model"
	"github.com/oaictl/oaictl/pkg/install/spec"
)

type writer struct{ *output.Writer }

// Write makes the files that the agent-based installer keeps in its image
// (cluster-manifests/, mirror/, openshift/, hostconfig/, operators.yaml,
// fencing-credentials.yaml), and what of the cluster they have no place for. The
// error is about a document in the file that cannot be read.
func Write(c *spec.Cluster, secrets bool) ([]output.File, []losses.Loss, error) {
	w := &writer{output.New(c, secrets)}
	w.LoseAll(fields.Lost("writers", "agent-based", "ztp"))
	w.clusterManifests()
	w.mirrorFiles()
	w.OpenShiftFolder()
	w.operatorFile()
	w.hostConfigs()
	w.fencingFile()
	return w.Result()
}

// clusterManifests are the objects of a hub that the client in the image reads.
func (w *writer) clusterManifests() {
	const folder = "cluster-manifests/"
	c := w.Maker.Cluster
	c.Spec.IgnitionEndpoint, c.Spec.IgnoreValidations = nil, spec.IgnoreValidations{}
	w.releaseFile(folder)
	w.ObjectFile(folder+"cluster-deployment.yaml", false, w.ClusterDeployment())
	install := w.AgentClusterInstall(nil, "")
	for _, field := range []string{"mirrorRegistryRef", "holdInstallation"} {
		unstructured.RemoveNestedField(install.Object, "spec", field)
	}
	_, overrides := install.GetAnnotations()[hubapi.AnnotationInstallConfigOverrides]
	w.ObjectFile(folder+"agent-cluster-install.yaml", w.HasPassword() || overrides, install)
	w.infraEnvFiles(folder)
	w.pullSecretFile(folder + "pull-secret.yaml")
}

var releaseVersion = regexp.MustCompile(`^\d+\.\d+\.\d+(-[0-9A-Za-z.-]+)?$`)

// releaseImage is the image of the release: the one that the file names, else
// the one that Red Hat publishes by its version and architecture. ok is false
// where the version is not an exact one.
func releaseImage(c *spec.Cluster) (image string, ok bool) {
	o := c.Spec.OpenShift
	if o.ReleaseImage != "" {
		return o.ReleaseImage, true
	}
	version := strings.TrimSuffix(o.Version, "-multi")
	if !releaseVersion.MatchString(version) {
		return "", false
	}
	arch := cmp.Or(o.Arch, spec.X86)
	if version != o.Version {
		arch = spec.Multi
	}
	return "quay.io/openshift-release-dev/ocp-release:" + version + "-" + clustersettings.KernelArch(arch), true
}

func (w *writer) releaseFile(folder string) {
	c := w.Maker.Cluster
	w.Set, _ = hubobjects.ImageSetNames(w.Maker.Namespace, c.Metadata.Name)
	image, ok := releaseImage(c)
	if !ok {
		w.Lose("spec.openshift.version", c.Spec.OpenShift.Version,
			"the files name the release by its image: write a version of three parts, or spec.openshift.releaseImage")
		return
	}
	set := hubobjects.NewObject(hubapi.KindClusterImageSet, c, "", w.Set)
	set.Object["spec"] = hubobjects.Fields{"releaseImage": image}
	w.ObjectFile(folder+"cluster-image-set.yaml", false, set)
}

// infraEnvFiles are the one InfraEnv of the image, whose selector all networks match.
func (w *writer) infraEnvFiles(folder string) {
	c := w.Maker.Cluster
	arch := w.oneArch()
	bound := *c
	bound.Spec.InfraEnv, bound.Spec.Boot.Image = spec.InfraEnv{}, ""
	settings, err := clustersettings.OfInfraEnv(&bound, arch)
	if err != nil {
		w.Refuse("spec.discovery.ignition", err.Error(), "")
	}
	w.Maker.Cluster = &bound
	env := w.InfraEnv(model.InfraEnvPlan{Name: c.Metadata.Name, Arch: arch, Settings: settings})
	w.Maker.Cluster = c
	for _, field := range []string{"mirrorRegistryRef", "agentLabels"} {
		unstructured.RemoveNestedField(env.Object, "spec", field)
	}
	_, ignition, _ := unstructured.NestedString(env.Object, "spec", "ignitionConfigOverride")
	w.ObjectFile(folder+"infraenv.yaml", w.HasPassword() || ignition, env)
	var networks []*unstructured.Unstructured
	for _, host := range hubobjects.SortedHosts(c) {
		if config := w.NMStateConfig(c.Metadata.Name, host); config != nil {
			config.SetLabels(map[string]string{hubapi.LabelInfraEnv: c.Metadata.Name})
			networks = append(networks, config)
		}
	}
	if len(networks) > 0 {
		w.ObjectFile(folder+"nmstateconfig.yaml", false, networks...)
	}
}

// oneArch is the architecture of the one image; hosts of another are lost to it.
func (w *writer) oneArch() spec.Arch {
	c := w.Collector.Cluster
	if c.Spec.OpenShift.Arch != spec.Multi {
		return c.Spec.OpenShift.Arch
	}
	arch := spec.X86
	if hosts := c.Spec.Hosts; len(hosts) > 0 && !slices.ContainsFunc(hosts,
		func(h spec.Host) bool { return cmp.Or(h.Arch, spec.X86) == spec.X86 }) {
		arch = hosts[0].Arch
	}
	for i := range c.Spec.Hosts {
		if h := &c.Spec.Hosts[i]; cmp.Or(h.Arch, spec.X86) != arch {
			w.LoseHost(h, "arch", string(h.Arch), fmt.Sprintf("the files make one image, for %s", arch))
		}
	}
	return arch
}

// pullSecretFile is the pull secret in stringData, the only form that the client reads.
func (w *writer) pullSecretFile(file string) {
	c := w.Collector.Cluster
	if !w.PullSecretKnown() {
		return
	}
	secret := w.Object(hubapi.KindSecret, c.Metadata.Name+"-pull-secret")
	secret.Object["type"] = "kubernetes.io/dockerconfigjson"
	secret.Object["stringData"] = hubobjects.Fields{hubapi.KeyPullSecret: c.PullSecret().Reveal()}
	w.ObjectFile(file, true, secret)
}

func (w *writer) mirrorFiles() {
	c := w.Maker.Cluster
	if conf := c.RegistriesConf(); conf != "" {
		w.File("mirror/registries.conf", false, conf)
		if bundle := c.TrustBundle(); bundle != "" {
			w.File("mirror/ca-bundle.crt", false, bundle)
		}
	}
}

func (w *writer) operatorFile() {
	var list []any
	for i, o := range w.Collector.Cluster.Spec.Operators {
		entry := hubobjects.Fields{"name": o.Name}
		if len(o.Properties) > 0 {
			properties, err := json.Marshal(o.Properties)
			if err != nil {
				w.Refuse(fmt.Sprintf("spec.operators[%d].properties", i), err.Error(), "")
			}
			entry["properties"] = string(properties)
		}
		list = append(list, entry)
	}
	if list != nil {
		w.YAMLFile("operators.yaml", false, list)
	}
}

func (w *writer) hostConfigs() {
	c := w.Collector.Cluster
	for _, host := range hubobjects.SortedHosts(c) {
		macs := output.MACsOf(c, host)
		if len(macs) == 0 {
			w.LoseHost(host, "name", host.Name, "has no MAC address, by which alone the agent-based installer recognises machines")
			continue
		}
		if host.Hostname != "" {
			w.LoseHost(host, "hostname", host.Hostname, "the files name no host; it keeps the name that it has by itself")
		}
		folder := "hostconfig/" + host.Name + "/"
		w.File(folder+"mac_addresses", false, strings.Join(macs, "\n")+"\n")
		if host.Role != spec.Auto {
			w.File(folder+"role", false, statuses.RoleWord(host.Role))
		}
		if hints := w.HintFields(host); len(hints) > 0 {
			w.YAMLFile(folder+"root-device-hints.yaml", false, hints)
		}
	}
}

func (w *writer) fencingFile() {
	var list []any
	for _, host := range hubobjects.SortedHosts(w.Collector.Cluster) {
		entry, ok := w.FencingEntry(host)
		if !ok {
			continue
		}
		if macs := output.MACsOf(w.Collector.Cluster, host); len(macs) > 0 {
			entry["macaddress"] = macs[0]
		} else {
			entry["hostname"] = host.Hostname
		}
		list = append(list, entry)
	}
	if list != nil {
		w.YAMLFile("fencing-credentials.yaml", true, hubobjects.Fields{"credentials": list})
	}
}
