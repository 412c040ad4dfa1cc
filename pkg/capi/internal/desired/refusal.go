package desired

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/oaictl/oaictl/pkg/capi/internal/installation"
	"github.com/oaictl/oaictl/pkg/install/release"
	"github.com/oaictl/oaictl/pkg/install/spec"
)

// fields are where Cluster API's objects say what cluster.yaml says, by the beginning of its path. The
// longest that fits counts.
var fields = map[string]string{
	"metadata.name":               "OpenshiftAssistedControlPlane spec.config.clusterName",
	"metadata.tags":               "OpenshiftAssistedControlPlane spec.config.tags",
	"spec.openshift.version":      "OpenshiftAssistedControlPlane spec.distributionVersion",
	"spec.openshift.arch":         "OpenshiftAssistedControlPlane spec.config.cpuArchitecture",
	"spec.openshift.releaseImage": "OpenshiftAssistedControlPlane spec.config.releaseImage",
	"spec.openshift.imageSet":     "OpenshiftAssistedControlPlane spec.config.imageSetRef",
	"spec.baseDomain":             "OpenshiftAssistedControlPlane spec.config.baseDomain",
	"spec.pullSecret":             "OpenshiftAssistedControlPlane spec.config.pullSecretRef",
	"spec.sshKeys":                "OpenshiftAssistedControlPlane spec.config.sshAuthorizedKey",
	"spec.topology.controlPlane":  "OpenshiftAssistedControlPlane spec.replicas",
	"spec.topology.arbiters":      "OpenshiftAssistedControlPlane spec.config.arbiterReplicas",
	"spec.topology.fencing":       "OpenshiftAssistedControlPlane spec.config.fencing",
	"spec.network.vips.api":       "OpenshiftAssistedControlPlane spec.config.apiVIPs",
	"spec.network.vips.ingress":   "OpenshiftAssistedControlPlane spec.config.ingressVIPs",
	"spec.network.vips":           "OpenshiftAssistedControlPlane spec.config.apiVIPs, ingressVIPs",
	"spec.network.machine":        "OpenshiftAssistedControlPlane spec.config.machineNetwork",
	"spec.network.cluster":        "Cluster spec.clusterNetwork.pods, or OpenshiftAssistedControlPlane spec.config.clusterNetwork",
	"spec.network.service":        "Cluster spec.clusterNetwork.services, or OpenshiftAssistedControlPlane spec.config.serviceNetwork",
	"spec.network.type":           "OpenshiftAssistedControlPlane spec.config.networkType",
	"spec.network.mtu":            "OpenshiftAssistedControlPlane spec.config.mtu",
	"spec.network.ntp":            "OpenshiftAssistedControlPlane spec.config.ntpSources",
	"spec.network.defaults.ntp":   "OpenshiftAssistedControlPlane spec.config.additionalNTPSources",
	"spec.network.loadBalancer":   "OpenshiftAssistedControlPlane spec.config.loadBalancer",
	"spec.network.userManaged":    "OpenshiftAssistedControlPlane spec.config.userManagedNetworking",
	"spec.platform":               "OpenshiftAssistedControlPlane spec.config.platform",
	"spec.proxy":                  "OpenshiftAssistedControlPlane spec.config.proxy",
	"spec.diskEncryption":         "OpenshiftAssistedControlPlane spec.config.diskEncryption",
	"spec.hyperthreading":         "OpenshiftAssistedControlPlane spec.config.hyperthreading",
	"spec.registry":               "OpenshiftAssistedControlPlane spec.config.mirrors, imageRegistryRef, additionalTrustBundle",
	"spec.manifests":              "OpenshiftAssistedControlPlane spec.config.manifestsConfigMapRefs",
	"spec.operators":              "OpenshiftAssistedControlPlane spec.config.operators",
	"spec.bundles":                "OpenshiftAssistedControlPlane spec.config.bundles",
	"spec.ignitionEndpoint":       "OpenshiftAssistedControlPlane spec.config.ignitionEndpoint",
	"spec.overrides":              "OpenshiftAssistedControlPlane spec.config.installConfigOverrides",
	"spec.hosts":                  "OpenshiftAssistedConfig",
}

// inObjects says what is wrong by the fields of the objects, and not by those of a cluster.yaml that
// nobody wrote.
func inObjects(err error) error {
	problems, is := errors.AsType[*spec.Problems](err)
	if !is {
		return err
	}
	refusal := &installation.Refusal{}
	for _, p := range problems.List {
		text := p.Message
		if p.Field != "" {
			text = fmt.Sprintf("%s: %s", fieldOf(p.Field), p.Message)
		}
		if p.Remedy != "" {
			text += ": " + p.Remedy
		}
		refusal.Problems = append(refusal.Problems, text)
	}
	return refusal
}

func fieldOf(path string) string {
	longest := ""
	for prefix := range fields {
		if strings.HasPrefix(path, prefix) && len(prefix) > len(longest) {
			longest = prefix
		}
	}
	if longest == "" {
		return path
	}
	if rest := strings.TrimPrefix(path, longest); longest == "spec.hosts" {
		return fields[longest] + " " + rest
	}
	return fields[longest]
}

// mirrorsOf reads mirrors from a registries.conf: containers-registries.conf(5), version 2.
func mirrorsOf(text string) ([]spec.Mirror, error) {
	registries, err := release.ParseRegistries([]byte(text))
	if err != nil {
		return nil, err
	}
	var out []spec.Mirror
	for _, r := range registries {
		m := spec.Mirror{Source: cmp.Or(r.Location, r.Prefix)}
		for _, target := range r.Mirrors {
			m.Mirrors = append(m.Mirrors, target.Location)
			m.Insecure = m.Insecure || target.Insecure
		}
		if len(m.Mirrors) > 0 {
			out = append(out, m)
		}
	}
	return out, nil
}

// ownedBy reports whether an object of a kind of Cluster API owns another.
func ownedBy(owners []metav1.OwnerReference, kind string) bool {
	return slices.ContainsFunc(owners, func(o metav1.OwnerReference) bool { return o.Kind == kind })
}
