package spec

import (
	"fmt"
	"io"
	"log/slog"
	"net/url"
	"slices"
	"strings"
	"time"
)

// Words are the values that a field of one of these types may have, in the order in
// which they are shown, and those by other spellings that are understood on input; nil
// for any other type.
func Words(field any) (values []string, spellings map[string]string) {
	switch field.(type) {
	case Role:
		return list(ControlPlane, Worker, Arbiter, Auto), map[string]string{"master": "control-plane", "controlplane": "control-plane",
			"auto-assign": "auto"}
	case Arch:
		return list(X86, ARM, Power, Z, Multi), map[string]string{"aarch64": "arm64", "amd64": "x86_64", "x86-64": "x86_64"}
	case PlatformType:
		return list(BareMetal, NoneType, VSphere, Nutanix, External), nil
	case NetworkType: // those that the service accepts; OpenShiftSDN ended with 4.14
		return []string{ovnKubernetes, "Calico", "Cilium", "CiscoACI", openShiftSDN, "None"}, nil
	case LoadBalancer:
		return list(ClusterManaged, UserManaged), nil
	case EncryptionMode:
		return list(TPM, Tang), map[string]string{"tpmv2": "tpm"}
	case BootMethod:
		return list(BootRedfish, BootMetal3, "ipxe", bootISO, "none"), nil
	case ImageType:
		return list(ImageMinimal, ImageFull, ImageDisconnected),
			map[string]string{"minimal-iso": "minimal", "full-iso": "full", "disconnected-iso": "disconnected"}
	case BindMode:
		return list(BindEarly, BindLate), nil
	case ManifestFolder:
		return list(FolderManifests, FolderOpenShift), nil
	case BondMode:
		return []string{"active-backup", "lacp", "balance-rr", "balance-xor", "broadcast", "balance-tlb", "balance-alb"},
			map[string]string{"802.3ad": "lacp"}
	case IPXEScript:
		return list(IPXEAlways, IPXEBootOrder), nil
	case IPFamily:
		return []string{"v4", "v6"}, nil
	case FirmwareMode: // in metal3's words
		return []string{"UEFI", "UEFISecureBoot", "legacy"}, nil
	case TaintEffect: // in Kubernetes' words
		return []string{"NoSchedule", "PreferNoSchedule", "NoExecute"}, nil
	case CleaningMode: // in metal3's words
		return []string{"disabled", "metadata"}, nil
	}
	return nil, nil
}

func list[T ~string](words ...T) []string {
	texts := make([]string, len(words))
	for i, word := range words {
		texts[i] = string(word)
	}
	return texts
}

// canonical is the value that a text means, in any spelling.
func canonical(field any, text string) (value string, ok bool) {
	values, spellings := Words(field)
	if slices.Contains(values, text) {
		return text, true
	}
	value, ok = spellings[text]
	return value, ok
}

// Role is what a machine becomes.
type Role string

// The roles, in neutral words. The service's word for control-plane, master,
// is understood on input.
const (
	ControlPlane Role = "control-plane"
	Worker       Role = "worker"
	Arbiter      Role = "arbiter"
	Auto         Role = "auto"
)

// Arch is a CPU architecture, spelled as the service spells it.
type Arch string

// The architectures that OpenShift knows. Multi is a release for all of them.
const (
	X86   Arch = "x86_64"
	ARM   Arch = "arm64"
	Power Arch = "ppc64le"
	Z     Arch = "s390x"
	Multi Arch = "multi"
)

// PlatformType is an infrastructure that a cluster integrates with.
type PlatformType string

// The platforms that the service installs.
const (
	BareMetal PlatformType = "baremetal"
	NoneType  PlatformType = "none"
	VSphere   PlatformType = "vsphere"
	Nutanix   PlatformType = "nutanix"
	External  PlatformType = "external"
)

// NetworkType is a cluster network plug-in.
type NetworkType string

const (
	openShiftSDN  = "OpenShiftSDN"
	ovnKubernetes = "OVNKubernetes"
)

// LoadBalancer says which component balances the load over the machines.
type LoadBalancer string

// The kinds of load balancer.
const (
	ClusterManaged LoadBalancer = "cluster-managed"
	UserManaged    LoadBalancer = "user-managed"
)

// EncryptionMode is where a disk's key is kept.
type EncryptionMode string

// The modes of disk encryption. The service's word for tpm is tpmv2.
const (
	TPM  EncryptionMode = "tpm"
	Tang EncryptionMode = "tang"
)

// BootMethod is how the discovery image gets to the machines. With redfish oaictl
// boots them through their BMCs, with metal3 the hub does, from BareMetalHosts. With
// iso and ipxe a person, or something else, boots them; none says that they are booted
// already.
type BootMethod string

// The ways to boot that something depends on.
const (
	BootRedfish BootMethod = "redfish"
	BootMetal3  BootMethod = "metal3"
	bootISO     BootMethod = "iso"
)

// ImageType is a kind of discovery image.
type ImageType string

// The kinds of discovery image.
const (
	ImageMinimal      ImageType = "minimal"
	ImageFull         ImageType = "full"
	ImageDisconnected ImageType = "disconnected"
)

// BindMode says when hosts are bound to the cluster.
type BindMode string

// The ways to bind.
const (
	BindEarly BindMode = "early"
	BindLate  BindMode = "late"
)

// ManifestFolder is a folder of manifests on the installation side.
type ManifestFolder string

// The folders of the installer: Manifests is applied with the cluster's own
// manifests, OpenShift with those of its components.
const (
	FolderManifests ManifestFolder = "manifests"
	FolderOpenShift ManifestFolder = "openshift"
)

// BondMode is how the ports of a bond share the work, in the words of the
// kernel's bonding driver, with lacp for 802.3ad.
type BondMode string

// TaintEffect is what a taint does to pods that do not tolerate it.
type TaintEffect string

// RoleSet is a set of roles: all, none, or some of control-plane, worker and
// arbiter. Text with commas and the service's words (masters, workers,
// arbiters) are understood on input.
type RoleSet []string

// AllRoles and NoRoles are the two sets that have a word of their own.
const (
	AllRoles = "all"
	NoRoles  = "none"
)

// setWords are the members of sets of roles in order, with the service's words for
// them.
func setWords() [][]string {
	return [][]string{{AllRoles}, {NoRoles}, {string(ControlPlane), "masters", "master"}, {string(Arbiter), "arbiters"},
		{string(Worker), "workers"}}
}

// Normalise brings the members to one spelling and order; unknown are those that are no
// role.
func (r RoleSet) Normalise() (set RoleSet, unknown []string) {
	have := map[string]bool{}
	for _, member := range r {
		i := slices.IndexFunc(setWords(), func(words []string) bool { return slices.Contains(words, strings.ToLower(member)) })
		if i < 0 {
			unknown = append(unknown, member)
			continue
		}
		have[setWords()[i][0]] = true
	}
	for _, words := range setWords() {
		if have[words[0]] {
			set = append(set, words[0])
		}
	}
	return set, unknown
}

// ServiceWords is the set as the service writes it: "all", "none", or some of
// "masters", "arbiters" and "workers", in that order with commas. An empty set is
// empty.
func (r RoleSet) ServiceWords() string {
	set, _ := r.Normalise()
	var texts []string
	for _, words := range setWords() {
		if !slices.Contains(set, words[0]) {
			continue
		}
		if len(words) == 1 {
			return words[0]
		}
		texts = append(texts, words[1])
	}
	return strings.Join(texts, ",")
}

// StringList is a list of texts, or one text with commas.
type StringList []string

func splitList(text string) []string {
	list := []string{}
	for part := range strings.SplitSeq(text, ",") {
		if part = strings.TrimSpace(part); part != "" {
			list = append(list, part)
		}
	}
	return list
}

// Duration is a length of time, written as in Go: 90s, 60m, 1h30m.
type Duration time.Duration

// String is the duration as time.Duration writes it.
func (d Duration) String() string { return time.Duration(d).String() }

// MarshalText writes the duration as it is written in cluster.yaml.
func (d Duration) MarshalText() ([]byte, error) { return []byte(d.String()), nil }

func parseDuration(text string) (Duration, error) {
	parsed, err := time.ParseDuration(text)
	switch {
	case err != nil:
		err = fmt.Errorf("%q is not a length of time", text)
	case parsed < 0:
		err = fmt.Errorf("%q is negative", text)
	}
	return Duration(parsed), err
}

// ProxyURL is the address of a proxy, which prints without its password.
type ProxyURL string

// Reveal is the address with user and password.
func (p ProxyURL) Reveal() string { return string(p) }

// String is the address with the password replaced by xxxxx: all before the last @
// where it cannot be parsed.
func (p ProxyURL) String() string {
	parsed, err := url.Parse(string(p))
	if err == nil && parsed.Host != "" {
		return parsed.Redacted()
	}
	if at := strings.LastIndex(string(p), "@"); at >= 0 {
		return "xxxxx" + string(p)[at:]
	}
	return string(p)
}

// Format writes the address without its password, for every verb.
func (p ProxyURL) Format(state fmt.State, _ rune) { _, _ = io.WriteString(state, p.String()) }

// MarshalText writes the address without its password.
func (p ProxyURL) MarshalText() ([]byte, error) { return []byte(p.String()), nil }

// LogValue keeps the password out of logs.
func (p ProxyURL) LogValue() slog.Value { return slog.StringValue(p.String()) }
