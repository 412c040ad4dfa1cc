package hub

import (
	"cmp"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"maps"
	"net/url"
	"slices"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/oaictl/oaictl/internal/shared/clustersettings"
	"github.com/oaictl/oaictl/internal/shared/explain"
	"github.com/oaictl/oaictl/internal/shared/hubapi"
	"github.com/oaictl/oaictl/internal/shared/hubapi/agentinstall"
	"github.com/oaictl/oaictl/internal/shared/hubobjects"
	"github.com/oaictl/oaictl/internal/shared/redact"
	"github.com/oaictl/oaictl/internal/shared/statuses"
	"github.com/oaictl/oaictl/pkg/install/hub/internal/kube"
	"github.com/oaictl/oaictl/pkg/install/internal/planeshared"
	"github.com/oaictl/oaictl/pkg/install/model"
	"github.com/oaictl/oaictl/pkg/install/spec"
)

// stageOf is how far a host is. For a host that is added to a cluster, the service asks that cluster before it writes
// the stage into the status, and leaves the status as it was if it does not reach the cluster: then what it has
// recorded of the host itself, in an annotation, is newer.
func stageOf(u *unstructured.Unstructured, status *agentinstall.AgentStatus) string {
	said, noted := status.Progress.CurrentStage, u.GetAnnotations()[hubapi.AnnotationCurrentStage]
	stages := status.Progress.ProgressStages
	if slices.Index(stages, noted) > slices.Index(stages, said) {
		return noted
	}
	return said
}

// ReadAgent is an Agent as a host at a time. A host is blocked once the service has refused the Agent's spec for some seconds.
// Whether the BareMetalHost exists that an Agent names is not looked up for Returns. An error says that the object cannot be
// read as an Agent.
func ReadAgent(u *unstructured.Unstructured, now time.Time) (model.Host, error) {
	wire, err := kube.Read[agentinstall.Agent](u)
	if err != nil {
		return model.Host{}, err
	}
	status := &wire.Status
	host := model.Host{
		ID: u.GetName(), InfraEnvID: kube.InfraEnvOf(u), ClusterID: kube.BoundTo(u), Day2: status.Kind == agentinstall.AgentKindAdded,
		State: statuses.Host(status.DebugInfo.State), Status: cmp.Or(status.DebugInfo.State, "discovering"),
		StatusInfo: redact.Text(status.DebugInfo.StateInfo),
		Since: latest(status.Conditions, hubapi.ConditionRequirementsMet, hubapi.ConditionInstalled, hubapi.ConditionBound,
			hubapi.ConditionConnected, hubapi.ConditionValidated),
		Role: statuses.Role(wire.Spec.Role), Suggested: statuses.Role(status.Role), Bootstrap: status.Bootstrap,
		Deleting: u.GetDeletionTimestamp() != nil, Registered: u.GetCreationTimestamp().Time, Validations: validationsOf(status.ValidationsInfo),
		Disk: cmp.Or(wire.Spec.InstallationDiskID, status.InstallationDiskID),
		Progress: model.HostProgress{
			Stage: stageOf(u, status), Info: status.Progress.ProgressInfo, Percent: int(status.Progress.InstallationPercentage),
			Stages: status.Progress.ProgressStages,
			Since:  moment(status.Progress.StageStartTime), Updated: moment(status.Progress.StageUpdateTime),
		},
	}
	if status.Progress.CurrentStage == "Rebooting" { // and it is dated
		host.Rebooted = host.Progress.Since
	}
	switch bound := host.ClusterID != ""; { // it was asked for, and the service has still to do it
	case bound && host.State == model.HostUnbound:
		host.State = model.HostBinding
	case !bound && (host.State == model.HostInstalled || host.State == model.HostAdded):
		host.State = model.HostReleasing
	}
	if c := find(status.Conditions, hubapi.ConditionConnected); c.isFalse() {
		host.CheckedIn = c.since()
	}
	host.Inventory = inventoryOf(&status.Inventory, u.GetName())
	if host.State == model.HostDiscovering {
		host.Inventory.Known = false // of the boot before, if any
	}
	host.Hostname = cmp.Or(wire.Spec.Hostname, status.Inventory.Hostname)
	host.Returns = model.ReturnByService
	if kube.Label(u, hubapi.LabelAgentBMH) != "" { // its controller writes its choice on the Agent again and again
		host.DiskByService, host.Returns = true, model.ReturnByHub
	}
	host.Inherited = inheritedLabels(u)
	host.Settings = hostSettings(u, host.Inherited)
	if text, standing := refused(u, status.Conditions, now); text != "" {
		host.Validations = append(host.Validations, specValidation(text, standing))
		if standing && host.State == model.HostReady { // for the service, with the settings that it had before
			host.State, host.StatusInfo = model.HostBlocked, text
		}
	}
	return host, nil
}

// inheritedLabels are the labels of a node that its Agent was given by the service,
// since its InfraEnv passes them on. Which they are stands in an annotation; taken
// away, they would come back.
func inheritedLabels(agent *unstructured.Unstructured) map[string]string {
	labels, _, _ := unstructured.NestedStringMap(agent.Object, "spec", "nodeLabels")
	inherited := clustersettings.Commas(agent.GetAnnotations()[hubapi.AnnotationInheritedNodeLabels])
	maps.DeleteFunc(labels, func(key, _ string) bool { return !slices.Contains(inherited, key) })
	return labels
}

func hostSettings(agent *unstructured.Unstructured, inherited map[string]string) model.Settings {
	s := hubobjects.AgentTable(hubobjects.HostSecrets{}).Settings(agent.Object)
	var labels map[string]string
	if len(inherited) > 0 && s[model.SettingLabels].Decode(&labels) == nil {
		maps.DeleteFunc(labels, func(key, _ string) bool { _, is := inherited[key]; return is })
		s[model.SettingLabels] = model.ValueOf(labels)
	}
	return s
}

func text(s model.Settings, key model.Setting, value string) {
	if value != "" {
		s[key] = model.ValueOf(value)
	}
}

func validationsOf(wire hubapi.Validations) []model.Validation {
	count := 0
	for _, checks := range wire {
		count += len(checks)
	}
	if count == 0 {
		return nil
	}
	out := make([]model.Validation, 0, count) // which is kept
	for _, category := range slices.Sorted(maps.Keys(wire)) {
		for _, v := range wire[category] {
			out = append(out, model.Validation{ID: v.ID, Category: category, Status: v.Status, Message: redact.Text(v.Message)})
		}
	}
	return out
}

// specValidation is what the service refuses in an object, as a validation: it blocks the install as one does. It fails
// only after it has been there for a while.
func specValidation(text string, standing bool) model.Validation {
	check := model.Validation{ID: explain.SpecSynced, Category: explain.CategoryKubeAPI, Status: "pending", Message: text}
	if standing {
		check.Status = checkFails
	}
	return check
}

// checkFails is the status of a check that fails, in the service's word.
const checkFails = "failure"

// inventoryOf is what an Agent's machine says of itself. An Agent is named by
// the machine's UUID. Zero before the first report.
func inventoryOf(wire *agentinstall.HostInventory, uuid string) model.Inventory {
	if wire.Hostname == "" && len(wire.Interfaces) == 0 && len(wire.Disks) == 0 {
		return model.Inventory{}
	}
	out := model.Inventory{
		Known: true, Hostname: wire.Hostname, UUID: uuid,
		Serial: wire.SystemVendor.SerialNumber, Manufacturer: wire.SystemVendor.Manufacturer, Product: wire.SystemVendor.ProductName,
		BMC: planeshared.BMCAddress(wire.BMCAddress, wire.BMCV6Address), CPUs: int(wire.CPU.Count),
		Arch: string(clustersettings.CanonicalWord[spec.Arch](wire.CPU.Architecture)), MemoryBytes: wire.Memory.PhysicalBytes,
		Interfaces: make([]model.Interface, 0, len(wire.Interfaces)),
		Disks:      make([]model.Disk, 0, len(wire.Disks)),
	}
	for _, nic := range wire.Interfaces {
		out.Interfaces = append(out.Interfaces, model.Interface{
			Name: nic.Name, MAC: strings.ToLower(nic.MACAddress), Up: nic.HasCarrier,
			Addresses: append(append([]string{}, nic.IPV4Addresses...), nic.IPV6Addresses...),
		})
	}
	for _, d := range wire.Disks {
		disk := model.Disk{
			ID: d.ID, Path: d.Path, ByID: d.ByID, ByPath: d.ByPath, HCTL: d.HCTL, Name: d.Name, Model: d.Model, Vendor: d.Vendor,
			Serial: d.Serial, WWN: d.WWN, Type: d.DriveType, SizeBytes: d.SizeBytes,
		}
		if e := d.InstallationEligibility; e != nil {
			disk.Eligible, disk.Reasons = e.Eligible, e.NotEligibleReasons
		}
		out.Disks = append(out.Disks, disk)
	}
	return out
}

// infraEnvOf is an InfraEnv as a neutral one, with the NMStateConfigs that it selects. Its version is that of the cluster
// that it is bound to, which no field of it says.
func infraEnvOf(u *unstructured.Unstructured, configs []*unstructured.Unstructured, cluster string) (model.InfraEnv, error) {
	wire, err := kube.Read[agentinstall.InfraEnv](u)
	if err != nil {
		return model.InfraEnv{}, err
	}
	env := model.InfraEnv{
		ID: kube.ID(u.GetNamespace(), u.GetName()), Name: u.GetName(), Created: u.GetCreationTimestamp().Time,
		ClusterID: kube.BoundTo(u), Owned: isOwned(u, cluster), Image: imageOf(wire),
	}
	env.Image.Created = kube.SpecChanged(u)
	for _, config := range configs {
		if at := kube.SpecChanged(config); at.After(env.Image.Created) {
			env.Image.Created = at
		}
	}
	env.Settings = hubobjects.InfraEnvTable().Settings(u.Object)
	networks, err := staticNetworks(configs)
	if err == nil && len(networks) > 0 {
		env.Settings[model.SettingStaticNetworks] = model.ValueOf(networks)
	}
	return env, err
}

// isOwned reports whether an object was made for a cluster of this name.
func isOwned(u *unstructured.Unstructured, cluster string) bool {
	return cluster != "" && kube.Label(u, hubapi.LabelCluster) == cluster
}

// staticNetworks are NMStateConfigs as networks of machines, by first MAC.
func staticNetworks(configs []*unstructured.Unstructured) ([]model.StaticNetwork, error) {
	networks := make([]model.StaticNetwork, 0, len(configs))
	for _, u := range configs {
		settings, err := hubobjects.NMStateConfigTable().ReadSettings(u.Object)
		if err != nil {
			return nil, fmt.Errorf("read NMStateConfig %s: %w", u.GetName(), err)
		}
		var network []model.StaticNetwork
		_ = settings[model.SettingStaticNetworks].Decode(&network) // none where the object says none
		for _, one := range network {
			for i, nic := range one.MACs {
				one.MACs[i].MAC = strings.ToLower(nic.MAC)
			}
			networks = append(networks, one)
		}
	}
	planeshared.SortNetworks(networks)
	return networks, nil
}

// selectedBy are the NMStateConfigs that an InfraEnv selects among those of its namespace.
func selectedBy(infraEnv *unstructured.Unstructured, configs []*unstructured.Unstructured) []*unstructured.Unstructured {
	labels, _, _ := unstructured.NestedStringMap(infraEnv.Object, "spec", "nmStateConfigLabelSelector", "matchLabels")
	if len(labels) == 0 {
		return nil
	}
	var out []*unstructured.Unstructured
	for _, u := range configs {
		has := u.GetLabels()
		fits := true
		for key, value := range labels {
			fits = fits && has[key] == value
		}
		if fits {
			out = append(out, u)
		}
	}
	return out
}

func imageOf(wire *agentinstall.InfraEnv) model.Image {
	c := find(wire.Status.Conditions, hubapi.ConditionImageCreated)
	image := model.Image{State: model.ImagePending, URL: wire.Status.ISODownloadURL, Type: wire.Spec.ImageType,
		Expires: expiry(wire.Status.ISODownloadURL)}
	switch {
	case c.isTrue() && wire.Status.ISODownloadURL != "":
		image.State = model.ImageReady
	case c.isTrue() && c.Reason == hubapi.ReasonInfraEnvAvailable:
		image.Info = "the hub makes none: its AgentServiceConfig switches the image service off, by " + hubapi.AnnotationEnableImageService
	case c.isFalse() && c.Reason == hubapi.ReasonImageCreationError:
		image.State, image.Info = model.ImageFailed, c.Message
	case !c.isTrue():
		image.Info = c.Message
	}
	return image
}

// expiry is when an image's URL ends, from its token (RFC 7519, exp); zero where it never does.
func expiry(address string) time.Time {
	parsed, err := url.Parse(address)
	if err != nil {
		return time.Time{}
	}
	candidates := []string{parsed.Query().Get("image_token"), parsed.Query().Get("api_key")}
	for i, part := range strings.Split(parsed.Path, "/") {
		if i > 0 && strings.Count(part, ".") == 2 {
			candidates = append(candidates, part)
		}
	}
	for _, token := range candidates {
		fields := strings.Split(token, ".")
		if len(fields) != 3 {
			continue
		}
		data, err := base64.RawURLEncoding.DecodeString(fields[1])
		if err != nil {
			continue
		}
		var claims struct {
			Ends int64 `json:"exp"`
		}
		if json.Unmarshal(data, &claims) == nil && claims.Ends > 0 {
			return time.Unix(claims.Ends, 0).UTC()
		}
	}
	return time.Time{}
}
