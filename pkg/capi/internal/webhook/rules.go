package webhook

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/util/validation/field"

	bootstrapv1 "github.com/oaictl/oaictl/pkg/capi/api/bootstrap/v1beta1"
	controlplanev1 "github.com/oaictl/oaictl/pkg/capi/api/controlplane/v1beta1"
	"github.com/oaictl/oaictl/pkg/capi/internal/fieldmap"
	"github.com/oaictl/oaictl/pkg/install/spec"
)

// Placeholders for what an object leaves to other objects, so that the rules of cluster.yaml can be applied. The
// version is the newest that the rules know, so that none is too old.
const (
	someName       = "cluster"
	someDomain     = "example.com"
	someVersion    = "4.29.0"
	someHost       = "machine"
	somePullSecret = `{"auths":{"registry.example.com":{"auth":"bmFtZTpwYXNzd29yZA=="}}}`
	someBMC        = "redfish+https://192.0.2.1/redfish/v1/Systems/1"
)

// wanted is a cluster with one host, as cluster.yaml would say it, made of an object so that the rules for cluster.yaml
// can be applied to it.
type wanted struct {
	cluster *spec.Cluster
	// controlPlane and config are where the fields of the two specs stand in the object. One
	// that is nil is not part of it, and no rule is broken there.
	controlPlane, config *field.Path
	// partial says that other objects may add to it, so that nothing is missing.
	partial bool
	wrong   field.ErrorList
}

func newWanted() *wanted {
	n := 3
	return &wanted{cluster: &spec.Cluster{
		APIVersion: spec.APIVersion, Kind: spec.Kind, Metadata: spec.Metadata{Name: someName},
		Spec: spec.ClusterSpec{
			BaseDomain: someDomain, OpenShift: spec.OpenShift{Version: someVersion},
			PullSecret:         spec.NewSecret(somePullSecret).Source(),
			Topology:           spec.Topology{ControlPlane: &n, Arbiters: new(int), Workers: new(int)},
			Platform:           spec.Platform{Type: spec.NoneType},
			Hosts:              []spec.Host{{Name: someHost, Match: spec.Match{InfraEnv: someHost}}},
			AcceptUnknownHosts: true,
		},
	}}
}

// problems are what is wrong, by the fields of the object.
func (w *wanted) problems(ctx context.Context) field.ErrorList {
	err := w.cluster.Resolve(ctx, ".", spec.Env{})
	problems, is := errors.AsType[*spec.Problems](err)
	if err != nil && !is {
		return append(w.wrong, field.InternalError(field.NewPath("spec"), err))
	}
	all := w.wrong
	if is {
		for _, p := range problems.List {
			if told := w.told(p); told != nil {
				all = append(all, told)
			}
		}
	}
	return all
}

// told is a problem by the field of the object, nil where the object does not have it.
func (w *wanted) told(p spec.Problem) *field.Error {
	place, below, ok := fieldmap.LookUp(p.Field)
	if !ok || w.leftToOthers(p) {
		return nil
	}
	var parent *field.Path
	switch place.By {
	case fieldmap.ByControlPlane:
		parent = w.controlPlane
	case fieldmap.ByConfig:
		parent = w.config
	}
	if parent == nil {
		return nil
	}
	at := parent.String() + "." + place.At + below
	if slices.ContainsFunc(w.wrong, func(e *field.Error) bool { return e.Field == at }) {
		return nil
	}
	text := w.inObjects(p.Message)
	if remedy := w.inObjects(p.Remedy); remedy != "" {
		text += ": " + remedy
	}
	return invalidAt(at, text)
}

// leftToOthers reports whether another object may make a problem go away.
func (w *wanted) leftToOthers(p spec.Problem) bool {
	n := w.cluster.Spec.Network
	switch {
	case w.partial && p.Message == "is missing", strings.Contains(p.Message, "needs the manifests of its vendor"):
		return true // ConfigMaps may have them
	case strings.HasPrefix(p.Field, "spec.network.cluster") && len(n.Cluster) == 0,
		strings.HasPrefix(p.Field, "spec.network.service") && len(n.Service) == 0:
		return true // the Cluster says them
	case strings.Contains(p.Message, " the default cluster network"), strings.Contains(p.Message, " the default service network"):
		return true
	}
	return false
}

var fileFields = regexp.MustCompile(`\b(spec|metadata)(\.[a-zA-Z]+(\[\d+\])?)+`)

// inObjects is a text about cluster.yaml, with the fields of the objects in place of its own.
func (w *wanted) inObjects(text string) string {
	return fileFields.ReplaceAllStringFunc(fieldmap.Reword(text), func(path string) string {
		place, below, ok := fieldmap.LookUp(path)
		switch {
		case !ok:
			return path
		case place.By == fieldmap.ByControlPlane:
			return "spec." + place.At + below
		case place.By == fieldmap.ByConfig || place.By == fieldmap.ByCluster:
			return place.At + below + " of the " + string(place.By)
		default:
			return "the " + strings.TrimPrefix(place.At, "the ")
		}
	})
}

// addControlPlane takes over the settings of a cluster.
func (w *wanted) addControlPlane(s *controlplanev1.OpenshiftAssistedControlPlaneTemplateResourceSpec, at *field.Path) {
	w.controlPlane = at
	config, to := &s.Config, &w.cluster.Spec
	if config.ClusterName != "" {
		w.cluster.Metadata.Name = config.ClusterName
	}
	domain := to.BaseDomain
	fieldmap.Copy(w.cluster, config)
	if config.BaseDomain == "" && w.partial {
		to.BaseDomain = domain
	}
	if s.DistributionVersion != "" {
		to.OpenShift.Version = s.DistributionVersion
	}
	to.OpenShift.Arch = archOf(config.CPUArchitecture, s.OpenshiftAssistedConfigSpec.CPUArchitecture)
	to.SSHKeys = keysOf(config.SSHAuthorizedKey)
	if workers := valueOf(config.RequiredWorkers); workers > 0 {
		to.Topology.Workers = new(int(workers))
		to.Topology.Required.Workers = to.Topology.Workers
	}
	to.Topology.Arbiters = new(int(valueOf(config.ArbiterReplicas)))
	if to.Topology.Fencing {
		to.Hosts[0].Fencing = &spec.Fencing{Address: someBMC, Credentials: spec.CredentialsOf("name", spec.NewSecret("password"))}
	}
	w.addPlatform(config)
	w.addEncryption(config.DiskEncryption)
	w.addImages(config)
	if e := config.IgnitionEndpoint; e != nil {
		to.IgnitionEndpoint = &spec.IgnitionEndpoint{URL: e.URL}
	}
	if text := config.InstallConfigOverrides; text != "" {
		w.object(text, at.Child("config", "installConfigOverrides"), &to.Overrides.InstallConfig)
	}
}

// addPlatform takes over the platform. Without one, virtual addresses make it BareMetal.
func (w *wanted) addPlatform(config *controlplanev1.OpenshiftAssistedControlPlaneConfigSpec) {
	p := &w.cluster.Spec.Platform
	switch {
	case config.Platform.Type != "":
		p.Type = spec.PlatformType(strings.ToLower(string(config.Platform.Type)))
	case len(config.APIVIPs)+len(config.IngressVIPs) > 0 && valueOf(w.cluster.Spec.Topology.ControlPlane) != 1:
		p.Type = spec.BareMetal
	}
}

func (w *wanted) addEncryption(e *controlplanev1.DiskEncryption) {
	if e == nil {
		return
	}
	var servers []spec.TangServer
	if e.TangServers != "" {
		at := w.controlPlane.Child("config", "diskEncryption", "tangServers")
		if err := json.Unmarshal([]byte(e.TangServers), &servers); err != nil {
			w.wrong = append(w.wrong, invalid(at, `is not a JSON list of servers: write `+
				`[{"url": "http://tang.example.com:7500", "thumbprint": "…"}]`))
			return
		}
	}
	if e.EnableOn == "" || e.EnableOn == "none" {
		return
	}
	mode := spec.EncryptionMode(strings.TrimSuffix(e.Mode, "v2"))
	w.cluster.Spec.DiskEncryption = &spec.DiskEncryption{Mode: mode, On: strings.Split(string(e.EnableOn), ","), Tang: servers}
}

func (w *wanted) addImages(config *controlplanev1.OpenshiftAssistedControlPlaneConfigSpec) {
	to := &w.cluster.Spec
	for _, m := range config.Mirrors {
		to.Registry.Mirrors = append(to.Registry.Mirrors, spec.Mirror{Source: m.Source, Mirrors: m.Mirrors, Insecure: m.Insecure})
	}
	if config.AdditionalTrustBundle != "" {
		to.Registry.TrustBundle = &spec.PublicSource{Inline: config.AdditionalTrustBundle}
	}
	for i, o := range config.Operators {
		operator := spec.Operator{Name: o.Name}
		if o.Properties != "" {
			w.object(o.Properties, w.controlPlane.Child("config", "operators").Index(i).Child("properties"), &operator.Properties)
		}
		to.Operators = append(to.Operators, operator)
	}
}

// addConfig takes over the settings of a machine.
func (w *wanted) addConfig(s *bootstrapv1.OpenshiftAssistedConfigSpec, at *field.Path) {
	w.config = at
	host := &w.cluster.Spec.Hosts[0]
	host.Hostname = s.Hostname
	host.Arch = spec.Arch(s.CPUArchitecture)
	host.Labels = s.NodeLabels
	host.InstallerArgs = s.InstallerArgs
	fieldmap.CopyHost(host, s)
	host.Addresses = slices.Clone(host.Addresses) // which are filled in
	proxy := fieldmap.Proxy(s.Proxy)
	host.Discovery = &spec.HostDiscovery{
		SSHKeys: keysOf(s.SSHAuthorizedKey), Proxy: &proxy, NTP: s.AdditionalNTPSources, KernelArgs: s.DiscoveryKernelArguments,
		OSVersion: s.OSImageVersion, Image: spec.ImageType(strings.TrimSuffix(s.ImageType, "-iso")),
	}
	if s.AdditionalTrustBundle != "" {
		host.Discovery.TrustBundle = &spec.PublicSource{Inline: s.AdditionalTrustBundle}
	}
	w.cluster.Spec.Hub.AgentLabels = s.AgentLabels
	if d := s.NetworkDelay; d != nil && d.Duration < 0 {
		w.wrong = append(w.wrong, invalid(at.Child("networkDelay"), "is negative: write how long to wait, as 30s"))
	} else if d != nil && d.Duration%time.Second != 0 {
		w.wrong = append(w.wrong, invalid(at.Child("networkDelay"), "is not a whole number of seconds: write it as 30s"))
	}
}

// object reads JSON text that has to be an object.
func (w *wanted) object(text string, at *field.Path, to *map[string]any) {
	if err := json.Unmarshal([]byte(text), to); err != nil || *to == nil {
		w.wrong = append(w.wrong, invalid(at, `is not a JSON object: write it as {"name": value}`))
	}
}

func keysOf(text string) []spec.PublicSource {
	if strings.TrimSpace(text) == "" {
		return nil
	}
	return []spec.PublicSource{{Inline: text}}
}

// invalid is an error about a field, which does not repeat the value: it may be long, or a
// secret.
func invalid(at *field.Path, text string) *field.Error { return invalidAt(at.String(), text) }

func invalidAt(at, text string) *field.Error {
	return &field.Error{Type: field.ErrorTypeInvalid, Field: at, BadValue: field.OmitValueType{}, Detail: text}
}

// immutable is an error about a field that may not be changed.
func immutable(at *field.Path, format string, args ...any) *field.Error {
	return field.Forbidden(at, fmt.Sprintf(format, args...))
}

// archOf is the architecture of a cluster: the one in the object, else that of its machines.
func archOf(cluster, machines string) spec.Arch {
	words, spellings := spec.Words(spec.Arch(""))
	switch _, other := spellings[machines]; {
	case cluster != "" || machines == "":
		return spec.Arch(cluster)
	case other || slices.Contains(words, machines):
		return spec.Arch(machines)
	}
	return spec.Multi
}

func valueOf[T any](p *T) (value T) {
	if p != nil {
		value = *p
	}
	return value
}
