// Package words says what the library finds in the words of Cluster API's objects: by their fields, and with
// the commands that whoever applies objects types.
package words

import (
	"errors"
	"fmt"
	"regexp"
	"strings"
	"sync"

	bootstrapv1 "github.com/oaictl/oaictl/pkg/capi/api/bootstrap/v1beta1"
	"github.com/oaictl/oaictl/pkg/install"
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
	"spec.hold":                   "OpenshiftAssistedControlPlane spec.config.holdInstallation",
	"spec.hosts":                  "OpenshiftAssistedConfig",
}

// Problems are what is wrong with a cluster that was made of objects, a sentence each; nil for an error
// that says something else.
func Problems(err error) []string {
	problems, is := errors.AsType[*spec.Problems](err)
	if !is {
		return nil
	}
	var sentences []string
	for _, p := range problems.List {
		text := Text(p.Message)
		if p.Field != "" {
			text = fmt.Sprintf("%s: %s", fieldOf(p.Field), text)
		}
		if p.Remedy != "" {
			text += ": " + Text(p.Remedy)
		}
		sentences = append(sentences, text)
	}
	return sentences
}

// fieldOf is where the objects say what cluster.yaml says in a field.
func fieldOf(path string) string {
	longest := ""
	for prefix := range fields {
		if strings.HasPrefix(path, prefix) && len(prefix) > len(longest) {
			longest = prefix
		}
	}
	switch rest := strings.TrimPrefix(path, longest); {
	case longest == "":
		return path
	case longest == "spec.hosts":
		return fields[longest] + " " + rest
	}
	return fields[longest]
}

// paths finds fields of cluster.yaml in a text.
var paths = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`\bspec\.[a-z][A-Za-z.]*[A-Za-z]`) })

// Text is a text with the fields of the objects in place of those of cluster.yaml.
func Text(text string) string { return paths().ReplaceAllStringFunc(text, fieldOf) }

// Advise is what to do next, for somebody who applies objects. Other commands are typed as they are.
func Advise(a install.Advice) string {
	return Text(a.Render(func(command string) string {
		if strings.Contains(command, "-f FILE") {
			return "kubectl apply -f FILE"
		}
		return "oaictl " + command
	}))
}

// Sentence is what was found, with what to do about it.
func Sentence(message string, remedy install.Advice) string {
	if remedy == "" {
		return Text(message)
	}
	return Text(message) + ": " + Advise(remedy)
}

// Error is an error with what to do about it.
func Error(err error) string { return Sentence(err.Error(), install.NextOf(err)) }

// Reference names an object of the service by its id, which on a hub is NAMESPACE/NAME. A host has the
// namespace of its InfraEnv, within; it is empty for anything else.
func Reference(id, within string) *bootstrapv1.ObjectReference {
	if namespace, name, both := strings.Cut(id, "/"); both {
		return &bootstrapv1.ObjectReference{Namespace: namespace, Name: name}
	}
	namespace, _, both := strings.Cut(within, "/")
	if !both {
		namespace = ""
	}
	return &bootstrapv1.ObjectReference{Namespace: namespace, Name: id}
}
