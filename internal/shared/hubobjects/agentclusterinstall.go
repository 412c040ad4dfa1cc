package hubobjects

import (
	"cmp"
	"encoding/json"
	"fmt"
	"maps"
	"slices"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/oaictl/oaictl/internal/shared/clustersettings"
	"github.com/oaictl/oaictl/internal/shared/hubapi"
	"github.com/oaictl/oaictl/pkg/install/model"
	"github.com/oaictl/oaictl/pkg/install/spec"
)

// InstallTable is the settings that an AgentClusterInstall holds.
func InstallTable() Table {
	userManaged, mirrors := inSpec("networking", "userManagedNetworking"), inSpec("mirrorRegistryRef")
	ignored := []Path{annotation(hubapi.AnnotationIgnoredClusterValidations), annotation(hubapi.AnnotationIgnoredHostValidations)}
	pools := []Path{inSpec("controlPlane"), inSpec("compute"), inSpec("arbiter")}
	return Table{
		field(model.SettingControlPlane, jsonForm[int](), inSpec("provisionRequirements", "controlPlaneAgents")...).with(userManaged),
		field(model.SettingWorkers, jsonForm[int](), inSpec("provisionRequirements", "workerAgents")...).meaning(0),
		field(model.SettingArbiters, orAbsent(jsonForm[int]()), inSpec("provisionRequirements", "arbiterAgents")...).meaning(0),
		field(model.SettingSSHKeys, text[string](), inSpec("sshPublicKey")...),
		field(model.SettingNetworkType, text[string](), inSpec("networking", "networkType")...),
		field(model.SettingMachineNetworks, under("cidr"), inSpec("networking", "machineNetwork")...).meaning([]string{}),
		field(model.SettingClusterNetworks, jsonForm[[]spec.ClusterNetwork](), inSpec("networking", "clusterNetwork")...).meaning([]string{}),
		field(model.SettingServiceNetworks, texts(), inSpec("networking", "serviceNetwork")...).meaning([]string{}),
		addresses(model.SettingAPIVIPs, "apiVIPs", "apiVIP"),
		addresses(model.SettingIngressVIPs, "ingressVIPs", "ingressVIP"),
		field(model.SettingLoadBalancer, balancer(), inSpec("loadBalancer",
			"type")...).owning(inSpec("loadBalancer")).meaning(spec.ClusterManaged),
		field(model.SettingUserManaged, jsonForm[bool](), userManaged...).orElse(field(model.SettingUserManaged, jsonForm[bool](), "status",
			"userManagedNetworking")),
		row(model.SettingPlatform, []Path{inSpec("platformType"), inSpec("external")}, writePlatform, readPlatform).with(userManaged),
		field(model.SettingProxy, proxies(), inSpec("proxy")...).meaning(spec.Proxy{}),
		field(model.SettingNTP, texts(), inSpec("ntpSources")...),
		row(model.SettingHyperthreading, pools, writePools, readPools).meaning(spec.RoleSet{spec.AllRoles}),
		field(model.SettingSchedulableControlPlane, jsonForm[bool](), inSpec("mastersSchedulable")...).meaning(false),
		field(model.SettingDiskEncryption, encryption(), inSpec("diskEncryption")...),
		row(model.SettingIgnitionEndpoint, []Path{inSpec("ignitionEndpoint")}, writeEndpoint, readEndpoint),
		field(model.SettingInstallConfigOverrides, text[string](), annotation(hubapi.AnnotationInstallConfigOverrides)...).with(mirrors),
		row(model.SettingIgnoredValidations, ignored, writeIgnored, readIgnored),
		row(model.SettingTags, []Path{label(hubapi.LabelConsumer)}, writeTag, readTag).with(label(hubapi.LabelCluster)),
	}
}

// AgentClusterInstall is how the cluster is installed, with ConfigMaps of manifests.
func (h *Maker) AgentClusterInstall(manifests []*unstructured.Unstructured, endpointCA string) *unstructured.Unstructured {
	if h.Cluster.Imported() {
		return h.importedInstall(endpointCA)
	}
	object, s := h.install(h.installSettings(), endpointCA)
	if len(manifests) > 0 {
		s["manifestsConfigMapRefs"] = NamesOf(manifests)
	}
	switch hold := h.Cluster.Spec.Hold; {
	case h.Hold != nil:
		s["holdInstallation"] = *h.Hold
	case h.Cluster.Present("spec.hold") || hold:
		s["holdInstallation"] = hold
	}
	return object
}

// install is an AgentClusterInstall with settings, and its spec.
func (h *Maker) install(settings model.Settings, endpointCA string) (object *unstructured.Unstructured, s Fields) {
	name := h.Cluster.Metadata.Name
	object = h.Object(hubapi.KindAgentClusterInstall, name)
	s = Fields{
		"clusterDeploymentRef": Fields{"name": name},
		"imageSetRef":          Fields{"name": h.Set},
		"networking":           Fields{},
	}
	object.Object["spec"] = s
	if err := InstallTable().Write(object.Object, settings); err != nil {
		h.Refuse("spec", err.Error(), "")
	}
	if endpoint, is := s["ignitionEndpoint"].(Fields); is && endpointCA != "" {
		endpoint["caCertificateReference"] = Fields{"name": endpointCA, "namespace": h.Namespace}
	}
	if ref := h.mirrorRef(); ref != nil {
		s["mirrorRegistryRef"] = ref
	}
	return object, s
}

// NamesOf are references to objects by their names.
func NamesOf(objects []*unstructured.Unstructured) []any {
	refs := make([]any, len(objects))
	for i, object := range objects {
		refs[i] = Fields{"name": object.GetName()}
	}
	return refs
}

// installSettings is what the file says of the installation. The platform that the
// service comes to by itself, bare metal, is left out where the file does not name it.
func (h *Maker) installSettings() model.Settings {
	c, settings := h.Cluster, networked(h.Cluster)
	if p := c.Spec.Platform; p.Type != "" && (p.Type != spec.BareMetal || c.Present("spec.platform")) {
		settings[model.SettingPlatform] = model.ValueOf(p)
	} else {
		delete(settings, model.SettingPlatform)
	}
	maps.Copy(settings, h.annotated())
	at := c.AtInstall() // without what is added later
	settings[model.SettingControlPlane] = model.ValueOf(at.ControlPlaneCount())
	settings[model.SettingWorkers] = model.ValueOf(at.WorkerCount())
	settings[model.SettingArbiters] = model.ValueOf(at.ArbiterCount())
	return settings
}

// InstallAnnotations are the annotations of the AgentClusterInstall.
func (h *Maker) InstallAnnotations() map[string]string {
	object := &unstructured.Unstructured{Object: Fields{}}
	_ = InstallTable().Write(object.Object, h.annotated()) // texts always fit
	return object.GetAnnotations()
}

func (h *Maker) annotated() model.Settings {
	settings := maps.Clone(clustersettings.IgnoredOf(h.Cluster))
	if settings == nil {
		settings = model.Settings{}
	}
	overrides, err := h.Cluster.InstallConfigOverrides()
	switch {
	case err != nil:
		h.Refuse("spec.overrides.installConfig", err.Error(), "")
	case overrides != "":
		settings[model.SettingInstallConfigOverrides] = model.ValueOf(overrides)
	}
	return settings
}

// Networking is the networks of a cluster.
func Networking(c *spec.Cluster) Fields {
	object := Fields{"spec": Fields{"networking": Fields{}}}
	settings := networked(c)
	maps.DeleteFunc(settings, func(name model.Setting, _ model.Value) bool {
		row, known := InstallTable().Row(name)
		return !known || row.Paths[0][1] != "networking"
	})
	_ = InstallTable().Write(object, settings) // settings of a file always fit
	networking, _ := object["spec"].(Fields)["networking"].(Fields)
	return networking
}

// networked is what the file says, and the manager of the network if the platform decides it and the file does not name
// it: the webhook would fill that in, and a hub without the webhook needs it in the object.
func networked(c *spec.Cluster) model.Settings {
	settings := clustersettings.OfCluster(c)
	if c.Spec.Network.UserManaged == nil && UserManagedByPlatform(c) {
		settings[model.SettingUserManaged] = model.ValueOf(true)
	}
	return settings
}

// UserManagedByPlatform reports whether a cluster's platform, or its single node, has the user manage the network.
func UserManagedByPlatform(c *spec.Cluster) bool {
	platform := c.Spec.Platform.Type
	return c.SingleNode() || platform == spec.NoneType || platform == spec.External
}

// addresses is a list of virtual addresses, which has an older field for a single one.
func addresses(name model.Setting, list, single string) Row {
	path := inSpec(list)
	return row(name, []Path{path}, func(object Fields, values []string) error {
		return unstructured.SetNestedField(object, AnyList(values), path...)
	}, func(object Fields) ([]string, bool, error) {
		content, _ := at(object, path...)
		values, _ := readTexts(content)
		one := textAt(object, inSpec(single)...)
		switch {
		case one == "":
			return values, len(values) > 0, nil
		case len(values) == 0:
			return []string{one}, true, nil
		case values[0] != one:
			return values, true, fmt.Errorf("spec.%s is %s and the first of spec.%s is %s; they have to be the same", single, one, list, values[0])
		}
		return values, true, nil
	}).meaning([]string{})
}

func balancer() form[spec.LoadBalancer] {
	return word(spelling[spec.LoadBalancer]{spec.ClusterManaged, "ClusterManaged"},
		spelling[spec.LoadBalancer]{spec.UserManaged, "UserManaged"})
}

// BalancerWord is the component that balances the load, in the service's word.
func BalancerWord(value spec.LoadBalancer) string { return wordOf(balancer(), value) }

func platformType() form[spec.PlatformType] {
	return word(
		spelling[spec.PlatformType]{spec.BareMetal, "BareMetal"}, spelling[spec.PlatformType]{spec.NoneType, "None"},
		spelling[spec.PlatformType]{spec.VSphere, "VSphere"}, spelling[spec.PlatformType]{spec.Nutanix, "Nutanix"},
		spelling[spec.PlatformType]{spec.External, "External"},
	)
}

// PlatformWord is a platform in the service's word.
func PlatformWord(value spec.PlatformType) string { return wordOf(platformType(), value) }

func writePlatform(object Fields, p spec.Platform) error {
	s := Fields{}
	Put(s, "platformType", PlatformWord(p.Type))
	if p.External != nil {
		external := Fields{"platformName": p.External.Name}
		Put(external, "cloudControllerManager", p.External.CloudControllerManager)
		s["external"] = external
	}
	return setAll(object, s)
}

func readPlatform(object Fields) (spec.Platform, bool, error) {
	kind := cmp.Or(textAt(object, inSpec("platformType")...), textAt(object, "status", "platformType"))
	if kind == "" {
		return spec.Platform{}, false, nil
	}
	value, err := platformType().read(kind)
	if err != nil {
		return spec.Platform{}, false, fmt.Errorf("spec.platformType %w", err)
	}
	out := spec.Platform{Type: value}
	external := spec.ExternalPlatform{
		Name:                   textAt(object, inSpec("external", "platformName")...),
		CloudControllerManager: textAt(object, inSpec("external", "cloudControllerManager")...),
	}
	if external != (spec.ExternalPlatform{}) {
		out.External = &external
	}
	return out, true, nil
}

// writePools sets the pools of the install-config; the service takes only hyperthreading from them. A role that is not
// in the set has it disabled.
func writePools(object Fields, roles spec.RoleSet) error {
	pool := func(name string, role spec.Role) Fields {
		return Fields{"name": name, "hyperthreading": HyperthreadingWord(roles, role)}
	}
	s := Fields{"controlPlane": pool("master", spec.ControlPlane), "compute": []any{pool("worker", spec.Worker)}}
	arbiters, _, _ := unstructured.NestedInt64(object, inSpec("provisionRequirements", "arbiterAgents")...)
	if arbiters > 0 || slices.Contains(roles, string(spec.Arbiter)) {
		s["arbiter"] = pool("arbiter", spec.Arbiter)
	}
	return setAll(object, s)
}

// HyperthreadingWord is what the pool of a role says, given the roles that have it.
func HyperthreadingWord(roles spec.RoleSet, role spec.Role) string {
	if slices.Contains(roles, spec.AllRoles) || slices.Contains(roles, string(role)) {
		return "Enabled"
	}
	return "Disabled"
}

// readPools are the roles with hyperthreading, as the service reads them: once one pool is
// named, the roles of those that are not have it disabled. A pool that does not say has
// it, by the default of the API server.
func readPools(object Fields) (spec.RoleSet, bool, error) {
	roles, said := spec.RoleSet{}, false
	read := func(content any, role spec.Role) {
		pool, named := content.(Fields)
		said = said || named
		if named && textAt(pool, "hyperthreading") != "Disabled" {
			roles = append(roles, string(role))
		}
	}
	s, _ := object["spec"].(Fields)
	read(s["controlPlane"], spec.ControlPlane)
	read(s["arbiter"], spec.Arbiter)
	compute, _ := s["compute"].([]any)
	for _, content := range compute {
		if pool, _ := content.(Fields); textAt(pool, "name") == "worker" && !slices.Contains(roles, string(spec.Worker)) {
			read(content, spec.Worker)
		}
	}
	if len(roles) == 0 {
		roles = spec.RoleSet{spec.NoRoles}
	}
	return roles, said, nil
}

func encryption() form[spec.DiskEncryption] {
	return form[spec.DiskEncryption]{
		write: func(d spec.DiskEncryption) any {
			out := Fields{}
			Put(out, "enableOn", d.On.ServiceWords())
			Put(out, "mode", clustersettings.EncryptionWord(d.Mode))
			if len(d.Tang) > 0 {
				out["tangServers"] = string(model.ValueOf(d.Tang))
			}
			return out
		},
		read: func(content any) (spec.DiskEncryption, error) {
			fields, err := as[Fields](content)
			out := spec.DiskEncryption{
				On:   clustersettings.RolesOf(cmp.Or(textAt(fields, "enableOn"), spec.NoRoles)),
				Mode: cmp.Or(clustersettings.CanonicalWord[spec.EncryptionMode](textAt(fields, "mode")), spec.TPM),
			}
			if servers := textAt(fields, "tangServers"); servers != "" && json.Unmarshal([]byte(servers), &out.Tang) != nil {
				out.Tang, err = nil, &insideError{"tangServers is not a JSON list of {url, thumbprint}"}
			}
			return out, err
		},
	}
}

// writeEndpoint sets the address, and leaves the reference to the certificate as it is.
func writeEndpoint(object Fields, endpoint spec.IgnitionEndpoint) error {
	return unstructured.SetNestedField(object, endpoint.URL, inSpec("ignitionEndpoint", "url")...)
}

// readEndpoint reads the address alone: the certificate is in a Secret.
func readEndpoint(object Fields) (spec.IgnitionEndpoint, bool, error) {
	url := textAt(object, inSpec("ignitionEndpoint", "url")...)
	return spec.IgnitionEndpoint{URL: url}, url != "", nil
}

func writeIgnored(object Fields, ignored spec.IgnoreValidations) error {
	for name, list := range map[string][]string{
		hubapi.AnnotationIgnoredClusterValidations: ignored.Cluster, hubapi.AnnotationIgnoredHostValidations: ignored.Hosts,
	} {
		if list == nil {
			continue
		}
		if err := unstructured.SetNestedField(object, joined(list), annotation(name)...); err != nil {
			return err
		}
	}
	return nil
}

func readIgnored(object Fields) (spec.IgnoreValidations, bool, error) {
	list := func(name string) []string { return clustersettings.Commas(textAt(object, annotation(name)...)) }
	return spec.IgnoreValidations{
		Cluster: list(hubapi.AnnotationIgnoredClusterValidations), Hosts: list(hubapi.AnnotationIgnoredHostValidations),
	}, true, nil
}

func writeTag(object Fields, tags []string) error {
	if len(tags) != 1 {
		return nil
	}
	return unstructured.SetNestedField(object, tags[0], label(hubapi.LabelConsumer)...)
}

func readTag(object Fields) ([]string, bool, error) {
	if tag := textAt(object, label(hubapi.LabelConsumer)...); tag != "" {
		return []string{tag}, true, nil
	}
	return []string{}, true, nil
}
