package clusterspec

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"

	bootstrapv1 "github.com/oaictl/oaictl/pkg/capi/api/bootstrap/v1beta1"
	"github.com/oaictl/oaictl/pkg/capi/internal/clusterloop"
	"github.com/oaictl/oaictl/pkg/capi/internal/fieldmap"
	"github.com/oaictl/oaictl/pkg/capi/internal/machines"
	"github.com/oaictl/oaictl/pkg/capi/internal/userdata"
	"github.com/oaictl/oaictl/pkg/install/model"
	"github.com/oaictl/oaictl/pkg/install/spec"
)

// host is a Machine as one of the cluster's hosts. cluster is the desired state of the cluster, and have the host in
// the service, nil if it has not registered. ownName says that it keeps the hostname that it has by itself.
func (s *Source) host(ctx context.Context, c *Cluster, cluster *spec.ClusterSpec, m Machine,
	have *model.Host) (host spec.Host, ownName bool, err error) {
	host = knownHost(c, m)
	if m.Config == nil {
		return host, true, nil
	}
	if machines.WayOf(m.Machine, m.Infrastructure) == machines.Unknown {
		ref := m.Spec.InfrastructureRef
		return spec.Host{}, false, fmt.Errorf("waiting for the %s %s of Machine %s, which says how it boots: %w", ref.Kind, ref.Name, m.Name,
			clusterloop.ErrNotYet)
	}
	config := &m.Config.Spec
	fail := func(field string, err error) (spec.Host, bool, error) {
		return spec.Host{}, false, fmt.Errorf("OpenshiftAssistedConfig %s: %s: %w", m.Config.Name, field, err)
	}
	added, err := userdata.ConfigOf(m.Config)
	if err != nil {
		return fail("what goes into its Ignition", err)
	}
	known := metadataOf(m)
	host.Hostname, ownName = hostnameOf(m, &added, known)
	switch {
	case !ownName:
		known.Hostname = cmp.Or(host.Hostname, m.Name)
	case have != nil:
		known.Hostname = have.Hostname
	}
	fieldmap.CopyHost(&host, config)
	if host.ProviderID == "" && added.ProviderID != "" {
		if value, answered := userdata.Resolve(added.ProviderID, known); answered {
			host.ProviderID = value
		}
	}
	host.InstallerArgs = append(userdata.InstallerArgs(config.KernelArguments), config.InstallerArgs...)
	host.Labels = labelsOf(m, userdata.Labels(added, known))
	ignition, err := userdata.Install(added, known)
	if err != nil {
		return fail("the Ignition of the installed machine", err)
	}
	if host.Ignition, err = document(ignition); err != nil {
		return fail("the Ignition of the installed machine", err)
	}
	if host.Net, err = s.networkOf(ctx, m); err != nil {
		return spec.Host{}, false, err
	}
	if host.Discovery, err = s.discovery(ctx, cluster, m); err != nil {
		return fail("the discovery image", err)
	}
	if host.IgnitionEndpoint, err = s.tokenOf(ctx, m); err != nil {
		return fail("spec.ignitionEndpoint.tokenRef", err)
	}
	if host.Fencing, err = s.fencing(ctx, c, m, host.Hostname); err != nil {
		return fail("fencing", err)
	}
	return host, ownName, nil
}

// knownHost is as much of a Machine's host as it is known by.
func knownHost(c *Cluster, m Machine) spec.Host {
	return spec.Host{Name: m.Name, Role: roleOf(m), ProviderID: m.Spec.ProviderID, Match: matchOf(m), Arch: hostArch(c, m)}
}

// matchOf is by what the host of a Machine is known.
func matchOf(m Machine) spec.Match {
	if id := reservedHost(m); id != "" {
		return spec.Match{Agent: id}
	}
	if m.Config != nil {
		return spec.Match{InfraEnv: m.Config.Name}
	}
	return spec.Match{}
}

func roleOf(m Machine) spec.Role {
	switch {
	case machines.IsControlPlane(m.Machine):
		return spec.ControlPlane
	case machines.IsArbiter(m.Machine):
		return spec.Arbiter
	}
	return spec.Worker
}

// reservation is the host that an AgentMachine has reserved and may have: NAMESPACE/NAME of its Agent, over REST the ids of
// its InfraEnv and of the host. It is "" for none, and for a Machine that boots its own image. A user who may write
// AgentMachines gets by it no Agent of another namespace than Agents are taken from. Over REST the host is of a pool that
// is opened to the namespace, or of the Cluster's own cluster, as that was observed last.
func (s *Source) reservation(m *Machine, observed *model.Observed) string {
	if m.Infrastructure == nil || m.Infrastructure.GetKind() != machines.KindAgentMachine {
		return ""
	}
	within, name := machines.ReservedHost(m.Infrastructure)
	may := within == cmp.Or(s.Agents, m.Namespace)
	if !s.Hub {
		may = s.Pools.Has(m.Namespace, within) || isMember(name, observed)
	}
	if name == "" || !may {
		return ""
	}
	return within + "/" + name
}

// isMember reports whether a host belongs to the cluster that was observed.
func isMember(id string, observed *model.Observed) bool {
	if observed == nil || observed.Cluster == nil {
		return false
	}
	host := observed.HostByID(id)
	return host != nil && host.ClusterID == observed.Cluster.ID
}

// reservedHost is the host that the AgentMachine of a Machine has reserved and may have; "" for none.
func reservedHost(m Machine) string { return m.reserved }

// metadataOf is what is known of a machine outside of it.
func metadataOf(m Machine) userdata.Metadata {
	switch {
	case m.Enrolled != nil:
		return userdata.Metadata{Name: m.Enrolled.GetName(), UUID: string(m.Enrolled.GetUID()), Namespace: m.Enrolled.GetNamespace()}
	case m.Infrastructure != nil && m.Infrastructure.GetKind() == machines.KindAgentMachine:
		name := reservedHost(m)
		name = name[strings.LastIndex(name, "/")+1:]
		return userdata.Metadata{Name: name, UUID: name}
	}
	return userdata.Metadata{}
}

// hostnameOf is the hostname that is set: the one in the object, else the name of the Machine. A machine of a pool
// keeps its own, and so does one that names itself by its metadata before it registers; one that boots the image itself
// is given the name that its metadata is known to have.
func hostnameOf(m Machine, added *userdata.Config, known userdata.Metadata) (name string, own bool) {
	way := machines.WayOf(m.Machine, m.Infrastructure)
	switch {
	case m.Config.Spec.Hostname != "":
		return m.Config.Spec.Hostname, false
	case way == machines.Pool, added.Name != "" && way == machines.UserData:
		return "", true
	case added.Name != "":
		name, answered := userdata.Resolve(added.Name, known)
		return name, !answered
	}
	return "", false // which becomes the Machine's
}

// labelBareMetalHost is by what CAPM3 finds the node of a Metal3Machine, unless it has its provider id: the
// UID of its BareMetalHost.
const labelBareMetalHost = "metal3.io/uuid"

// labelsOf are the node's labels that are known outside of the machine. Those of the kubelet that only the machine can
// answer are in its Ignition.
func labelsOf(m Machine, kubelet map[string]string) map[string]string {
	labels := map[string]string{}
	if m.Enrolled != nil {
		labels[labelBareMetalHost] = string(m.Enrolled.GetUID())
	}
	maps.Copy(labels, m.Config.Spec.NodeLabels)
	maps.Copy(labels, kubelet)
	if len(labels) == 0 {
		return nil
	}
	return labels
}

func document(data []byte) (*spec.Document, error) {
	if len(data) == 0 {
		return nil, nil
	}
	var inline map[string]any
	if err := json.Unmarshal(data, &inline); err != nil {
		return nil, err
	}
	return &spec.Document{Inline: inline}, nil
}

// discovery is how the InfraEnv of a Machine is made; nil for a Machine of a pool, which has none. What is additional in
// its config is so to what is desired of the cluster.
func (s *Source) discovery(ctx context.Context, cluster *spec.ClusterSpec, m Machine) (*spec.HostDiscovery, error) {
	way := machines.WayOf(m.Machine, m.Infrastructure)
	if way == machines.Pool {
		return nil, nil
	}
	config := &m.Config.Spec
	out := &spec.HostDiscovery{
		SSHKeys: sshKeys(config.SSHAuthorizedKey), KernelArgs: config.DiscoveryKernelArguments, OSVersion: config.OSImageVersion,
	}
	if config.Proxy != nil {
		proxy := fieldmap.Proxy(config.Proxy)
		out.Proxy = &proxy
	}
	if len(config.AdditionalNTPSources) > 0 {
		all := slices.Concat(cluster.Network.NTP, cluster.Network.Defaults.NTP, config.AdditionalNTPSources)
		slices.Sort(all)
		out.NTP = slices.Compact(all)
	}
	if config.AdditionalTrustBundle != "" {
		out.TrustBundle = &spec.PublicSource{Inline: config.AdditionalTrustBundle}
		if shared := cluster.Registry.TrustBundle; shared != nil {
			out.TrustBundle.Inline = joinLines(shared.Inline, config.AdditionalTrustBundle)
		}
	}
	if config.NetworkDelay != nil {
		out.NetworkDelay = spec.Duration(config.NetworkDelay.Duration)
	}
	switch {
	case config.ImageType != "":
		out.Image = spec.ImageType(strings.TrimSuffix(config.ImageType, "-iso"))
	case way == machines.UserData:
		out.Image = spec.ImageFull // so that static networks are in the Ignition
	}
	override := config.DiscoveryIgnitionOverride
	if override == "" {
		override = m.Config.Annotations[bootstrapv1.DiscoveryIgnitionOverrideAnnotation]
	}
	var err error
	if out.Ignition, err = document([]byte(override)); err != nil {
		return nil, fmt.Errorf("the override of the discovery Ignition is not a JSON object: %w", err)
	}
	if ref := config.PullSecretRef; ref != nil && ref.Name != "" {
		if out.PullSecret, err = s.pullSecret(ctx, m.Namespace, ref); err != nil {
			return nil, err
		}
	}
	return out, nil
}

// keyToken is the key of the Secret that spec.ignitionEndpoint.tokenRef names.
const keyToken = "ignition-token"

func (s *Source) tokenOf(ctx context.Context, m Machine) (*spec.HostIgnitionEndpoint, error) {
	endpoint := m.Config.Spec.IgnitionEndpoint
	if endpoint == nil {
		return nil, nil
	}
	out := &spec.HostIgnitionEndpoint{Headers: endpoint.HTTPHeaders}
	if ref := endpoint.TokenRef; ref != nil && ref.Name != "" {
		source := spec.Source{SecretRef: &spec.SecretRef{Name: ref.Name}}
		if !s.Hub {
			text, err := s.secret(ctx, m.Namespace, ref.Name, keyToken)
			if err != nil {
				return nil, err
			}
			source = spec.NewSecret(text).Source()
		}
		out.Token = &source
	}
	return out, nil
}

// Keys of a Secret with the credentials of a BMC.
const (
	keyAddress  = "address"
	keyUsername = "username"
	keyPassword = "password"
)

// fencing is how a control plane machine is powered off by its peer: by what the control plane says of
// its hostname, else by what its BareMetalHost says of its BMC.
func (s *Source) fencing(ctx context.Context, c *Cluster, m Machine, hostname string) (*spec.Fencing, error) {
	wanted := c.ControlPlane.Spec.Config.Fencing
	if wanted == nil || !machines.IsControlPlane(m.Machine) {
		return nil, nil
	}
	for _, own := range wanted.Credentials {
		if own.Hostname != hostname && own.Hostname != m.Name {
			continue
		}
		return s.fencedBy(ctx, m.Namespace, own.SecretRef.Name, "", own.DisableCertificateVerification)
	}
	if m.Enrolled == nil {
		return nil, fmt.Errorf("spec.config.fencing has no credentials for %s, and no BareMetalHost has its BMC", m.Name)
	}
	bmc, _, _ := nested(m.Enrolled.Object, "spec", "bmc")
	address, _ := bmc["address"].(string)
	name, _ := bmc["credentialsName"].(string)
	insecure, _ := bmc["disableCertificateVerification"].(bool)
	return s.fencedBy(ctx, m.Namespace, name, address, insecure)
}

func (s *Source) fencedBy(ctx context.Context, namespace, secret, address string, insecure bool) (*spec.Fencing, error) {
	texts := map[string]string{keyAddress: address}
	for _, key := range []string{keyAddress, keyUsername, keyPassword} {
		if texts[key] != "" {
			continue
		}
		text, err := s.secret(ctx, namespace, secret, key)
		if err != nil {
			return nil, err
		}
		texts[key] = text
	}
	return &spec.Fencing{Address: texts[keyAddress], Credentials: spec.CredentialsOf(texts[keyUsername], spec.NewSecret(texts[keyPassword])),
		Insecure: &insecure}, nil
}

func nested(object map[string]any, path ...string) (map[string]any, bool, error) {
	for _, name := range path {
		below, is := object[name].(map[string]any)
		if !is {
			return nil, false, nil
		}
		object = below
	}
	return object, true, nil
}
