package userdata

import (
	"cmp"
	"embed"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/coreos/ignition/v2/config/v3_1/types"

	"github.com/oaictl/oaictl/pkg/iso/ignition"
)

// files are the units, and the program that they run on the machine.
//
//go:embed files
var files embed.FS

// Names of the units and files that configs are made of. Users order units of their own by
// these names, and cluster-api-provider-openshift-assisted has the same.
const (
	metadataUnit   = "configdrive-metadata.service"
	hostnameUnit   = "set-hostname.service"
	labelsUnit     = "kubelet-customlabels.service"
	labelsDropin   = "kubelet-customlabels.conf"
	providerIDUnit = "capoa-inject-provider-id.service"
	preUnit        = "capoa-pre-bootstrap.service"
	postUnit       = "capoa-post-bootstrap.service"

	program        = "oaictl-machine"
	bin            = "/usr/local/bin/"
	metadataFile   = "/etc/oaictl/metadata.json"
	nodeFile       = "/etc/oaictl/node.json"
	waitForNode    = "600" // seconds
	kubeletUnit    = "kubelet.service"
	kubeletDropin  = "20-oaictl-labels.conf"
	executable     = 0o755
	secretProgram  = 0o700
	secret         = 0o600
	minimalVersion = "3.1.0"
)

// Discovery is the service's discovery Ignition with what a machine needs beside it: the
// metadata of its config drive in /etc/metadata_env, its hostname before the agent starts,
// and the user's override. A caller that has the service merge the override, as an
// InfraEnv does, leaves it out of the Config.
func Discovery(discovery []byte, c Config) ([]byte, error) {
	b := builder{}
	b.program()
	b.unit(metadataUnit)
	if c.Name != "" {
		b.node(node{Hostname: parse(c.Name)})
		b.unit(hostnameUnit)
	}
	added, err := b.config()
	if err != nil {
		return nil, err
	}
	configs := [][]byte{discovery, added}
	if len(c.DiscoveryOverride) > 0 {
		configs = append(configs, c.DiscoveryOverride)
	}
	for i, name := range []string{"the discovery Ignition", "what is added to it", "the discovery Ignition override"}[:len(configs)] {
		if _, err := ignition.Validate(name, configs[i]); err != nil {
			return nil, err
		}
	}
	config, err := ignition.Merge(configs...)
	if err != nil {
		return nil, fmt.Errorf("make the user data: %w", err)
	}
	return config, nil
}

// Install is the Ignition override of the installed system: the commands that run once, what
// the kubelet and the hostname need of metadata that is known on the machine only, and the
// user's override. It is nil where there is none of it. Labels, hostname and provider ID that
// m answers are not in it: the caller has them from Labels and Resolve.
func Install(c Config, m Metadata) ([]byte, error) {
	b := builder{}
	n, err := unknown(c, m)
	if err != nil {
		return nil, err
	}
	if n.Hostname != nil || n.Labels != nil || n.ProviderID != nil {
		b.node(n)
	}
	if n.Hostname != nil {
		b.unit(hostnameUnit)
	}
	if n.Labels != nil {
		b.unit(labelsUnit)
		b.dropin(kubeletUnit, kubeletDropin, labelsDropin)
	}
	if err := b.commands(c); err != nil {
		return nil, err
	}
	if n.ProviderID != nil {
		b.unit(providerIDUnit, "@SECONDS@", waitForNode)
	}
	var configs [][]byte
	if len(b.made.Systemd.Units) > 0 {
		b.program()
		b.json(metadataFile, m.variables())
		b.unit(metadataUnit)
	}
	if len(b.made.Systemd.Units) > 0 || len(c.InstallOverride) > 0 {
		made, err := b.config()
		if err != nil {
			return nil, err
		}
		configs = append(configs, made)
	}
	if len(c.InstallOverride) > 0 {
		if err := checkOverride("the Ignition override", c.InstallOverride, newestTaken); err != nil {
			return nil, err
		}
		configs = append(configs, c.InstallOverride)
	}
	if len(configs) == 0 {
		return nil, nil
	}
	config, err := ignition.Merge(configs...)
	if err != nil {
		return nil, fmt.Errorf("make the Ignition override of the installed system: %w", err)
	}
	return config, nil
}

// node is what the machine resolves by its own metadata, the content of nodeFile.
type node struct {
	Hostname   []part            `json:"hostname,omitempty"`
	Labels     map[string][]part `json:"labels,omitempty"`
	ProviderID []part            `json:"providerID,omitempty"`
}

// unknown is what of a config only the machine can resolve.
func unknown(c Config, m Metadata) (node, error) {
	var n node
	if _, known := Resolve(c.Name, m); !known && m.Hostname == "" {
		n.Hostname = parse(c.Name)
	}
	if _, known := Resolve(c.ProviderID, m); !known {
		n.ProviderID = parse(c.ProviderID)
	}
	for _, key := range slices.Sorted(maps.Keys(c.Labels)) {
		if _, known := Resolve(c.Labels[key], m); known {
			continue
		}
		if !kubeletMaySet(key) {
			return node{}, fmt.Errorf("label %s: no kubelet may set it, and %s is known on the machine only", key, c.Labels[key])
		}
		if n.Labels == nil {
			n.Labels = map[string][]part{}
		}
		n.Labels[key] = parse(c.Labels[key])
	}
	return n, nil
}

// kubeletMaySet reports whether a kubelet starts with such a label: of those of Kubernetes
// it takes only some.
func kubeletMaySet(key string) bool {
	domain, _, qualified := strings.Cut(key, "/")
	if !qualified || !within(domain, "kubernetes.io") && !within(domain, "k8s.io") {
		return true
	}
	return within(domain, "kubelet.kubernetes.io") || within(domain, "node.kubernetes.io") ||
		domain == "node-role.kubernetes.io" || slices.Contains(kubeletLabels, key)
}

func within(domain, parent string) bool {
	return domain == parent || strings.HasSuffix(domain, "."+parent)
}

// kubeletLabels are the labels below kubernetes.io that kubelets take beside whole domains.
var kubeletLabels = []string{
	"beta.kubernetes.io/arch", "beta.kubernetes.io/instance-type", "beta.kubernetes.io/os",
	"failure-domain.beta.kubernetes.io/region", "failure-domain.beta.kubernetes.io/zone",
	"kubernetes.io/arch", "kubernetes.io/hostname", "kubernetes.io/os",
	"topology.kubernetes.io/region", "topology.kubernetes.io/zone",
}

// builder collects units and files.
type builder struct {
	made types.Config
	err  error
}

func (b *builder) config() ([]byte, error) {
	b.made.Ignition.Version = minimalVersion
	if b.err != nil {
		return nil, fmt.Errorf("make an Ignition config: %w", b.err)
	}
	config, err := json.Marshal(b.made)
	if err != nil {
		return nil, fmt.Errorf("make an Ignition config: %w", err)
	}
	return config, nil
}

// commands adds the scripts that run once.
func (b *builder) commands(c Config) error {
	if len(c.PreCommands) == 0 && len(c.PostCommands) == 0 {
		return nil
	}
	sentinels, err := cleanPlace(cmp.Or(c.SentinelDir, DefaultSentinelDir))
	if err != nil {
		return fmt.Errorf("directory of the sentinels: %w", err)
	}
	kubeconfig, err := cleanPlace(cmp.Or(c.Kubeconfig, DefaultKubeconfig))
	if err != nil {
		return fmt.Errorf("kubeconfig of the commands: %w", err)
	}
	add := func(unit string, commands []string) {
		if len(commands) == 0 {
			return
		}
		script := "#!/usr/bin/bash\nset -euo pipefail\n" + strings.Join(commands, "\n") + "\n"
		b.file(bin+strings.TrimSuffix(unit, ".service")+".sh", secretProgram, []byte(script))
		b.unit(unit, "@SENTINELS@", sentinels, "@KUBECONFIG@", kubeconfig, "@SECONDS@", waitForNode)
	}
	add(preUnit, c.PreCommands)
	add(postUnit, c.PostCommands)
	return nil
}

func (b *builder) program() { b.file(bin+program, executable, []byte(b.embedded(program))) }

func (b *builder) node(n node) { b.json(nodeFile, n) }

func (b *builder) json(path string, content any) {
	text, err := plainJSON(content)
	if err != nil {
		b.err = err
	}
	b.file(path, secret, text)
}

func (b *builder) file(path string, mode int, content []byte) {
	source, overwrite := "data:;base64,"+base64.StdEncoding.EncodeToString(content), true
	f := types.File{Node: types.Node{Path: path, Overwrite: &overwrite}}
	f.Contents.Source, f.Mode = &source, &mode
	b.made.Storage.Files = append(b.made.Storage.Files, f)
}

// unit adds an embedded unit with its placeholders replaced.
func (b *builder) unit(name string, replace ...string) {
	enabled, contents := true, strings.NewReplacer(replace...).Replace(b.embedded(name))
	b.made.Systemd.Units = append(b.made.Systemd.Units, types.Unit{Name: name, Enabled: &enabled, Contents: &contents})
}

func (b *builder) dropin(unit, name, embedded string) {
	contents := b.embedded(embedded)
	b.made.Systemd.Units = append(b.made.Systemd.Units, types.Unit{
		Name:    unit,
		Dropins: []types.Dropin{{Name: name, Contents: &contents}},
	})
}

func (b *builder) embedded(name string) string {
	content, err := files.ReadFile("files/" + name)
	if err != nil {
		b.err = err
	}
	return string(content)
}
