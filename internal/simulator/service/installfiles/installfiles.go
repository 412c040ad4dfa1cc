// Package installfiles makes what an installation starts with: the install-config, the
// Ignition of nodes, the service's own manifests, and the new cluster's credentials.
package installfiles

import (
	"bytes"
	"cmp"
	"crypto/x509"
	"crypto/x509/pkix"
	_ "embed" // kubeconfig.yaml
	"encoding/base64"
	"encoding/json"
	"fmt"
	"math/big"
	"strings"
	"time"

	"sigs.k8s.io/yaml"

	"github.com/oaictl/oaictl/internal/simulator/pki"
	"github.com/oaictl/oaictl/internal/simulator/service/model"
	"github.com/oaictl/oaictl/internal/simulator/service/validate"
	"github.com/oaictl/oaictl/internal/simulator/service/wire"
	"github.com/oaictl/oaictl/internal/simulator/versions"
)

// MakeCredentials makes what the installer would; certificates are valid from now.
func MakeCredentials(now time.Time, password string) (*model.Credentials, error) {
	authority, err := pki.Make(&x509.Certificate{
		SerialNumber: big.NewInt(1), Subject: pkix.Name{OrganizationalUnit: []string{"openshift"}, CommonName: "kube-apiserver-lb-signer"},
		NotBefore: now.Add(-time.Hour), NotAfter: now.AddDate(10, 0, 0), IsCA: true, BasicConstraintsValid: true,
		KeyUsage: x509.KeyUsageCertSign | x509.KeyUsageKeyEncipherment | x509.KeyUsageDigitalSignature,
	}, nil)
	if err != nil {
		return nil, fmt.Errorf("making the cluster's authority: %w", err)
	}
	admin, err := pki.Make(&x509.Certificate{
		SerialNumber: big.NewInt(2), Subject: pkix.Name{Organization: []string{"system:masters"}, CommonName: "system:admin"},
		NotBefore: now.Add(-time.Hour), NotAfter: now.AddDate(10, 0, 0),
		KeyUsage: x509.KeyUsageDigitalSignature, ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageClientAuth},
	}, authority)
	if err != nil {
		return nil, fmt.Errorf("making the administrator's certificate: %w", err)
	}
	return &model.Credentials{CA: authority.CertPEM, Cert: admin.CertPEM, Key: admin.KeyPEM, Password: password}, nil
}

//go:embed kubeconfig.yaml
var kubeconfig string

// Kubeconfig is the administrator's access; ingress is the routes' certificate, if known.
func Kubeconfig(k *model.Credentials, name, domain, ingress string) []byte {
	ca := bytes.Clone(k.CA)
	if ingress != "" {
		ca = append(ca, []byte(ingress)...)
	}
	b64 := base64.StdEncoding.EncodeToString
	server := cmp.Or(k.Server, "https://api."+name+"."+domain+":6443")
	return fmt.Appendf(nil, kubeconfig, b64(ca), server, name, name, b64(k.Cert), b64(k.Key))
}

// Add makes the files of an installation with this install-config.
func Add(c *model.Cluster, text string) {
	config, err := yaml.JSONToYAML([]byte(text))
	if err != nil {
		config = []byte(text)
	}
	c.Objects["install-config.yaml"] = config
	c.Objects["metadata.json"] = []byte(model.InString(map[string]any{
		"clusterName": c.Name, "clusterID": c.OpenshiftClusterID, "infraID": c.Name + "-" + c.ID[:5]}))
	overrides := fmt.Sprintf("apiVersion: config.openshift.io/v1\nkind: ClusterVersion\nmetadata:\n  namespace: openshift-cluster-version\n "+
		" name: version\nspec:\n  clusterID: %s\n", c.OpenshiftClusterID)
	clusterConfig, err := yaml.Marshal(map[string]any{
		"apiVersion": "v1", "kind": "ConfigMap", "metadata": map[string]string{"name": "cluster-config-v1", "namespace": "kube-system"},
		"data": map[string]string{"install-config": string(config)},
	})
	if err != nil {
		clusterConfig = nil // texts: cannot fail
	}
	c.Objects["bootstrap.ign"] = []byte(model.InString(ignitionConfig{
		Ignition: ignitionHead{Version: "3.1.0"},
		Storage: ignitionStorage{[]ignitionFile{
			{Path: "/opt/openshift/manifests/cvo-overrides.yaml", Contents: ignitionSource{dataURL([]byte(overrides))}},
			{Path: "/opt/openshift/manifests/cluster-config.yaml", Contents: ignitionSource{dataURL(clusterConfig)}},
			{Path: "/root/.docker/config.json", Contents: ignitionSource{dataURL([]byte(c.PullSecret))}},
			// By this file etcd begins with two members, and gets the third when the bootstrap has become a node.
			{Path: "/opt/openshift/assisted-install-bootstrap", Contents: ignitionSource{"data:,"}},
		}},
	}))
	roles := []string{model.RoleMaster, model.RoleWorker}
	if c.ControlPlaneCount == 2 {
		roles = append(roles, model.RoleArbiter)
	}
	for _, role := range roles {
		c.Objects[role+".ign"] = PointerIgnition(ConfigServer(c, role), "", Authority(c))
	}
	addSystemManifests(c, roles)
}

// The part of an Ignition config that is needed here.
type (
	ignitionConfig struct {
		Ignition ignitionHead    `json:"ignition"`
		Storage  ignitionStorage `json:"storage"`
		Systemd  struct{}        `json:"systemd"`
	}
	ignitionHead struct {
		Version string `json:"version"`
	}
	ignitionStorage struct {
		Files []ignitionFile `json:"files,omitempty"`
	}
	ignitionFile struct {
		Path     string         `json:"path"`
		Contents ignitionSource `json:"contents"`
	}
	ignitionSource struct {
		Source string `json:"source"`
	}
)

// PointerIgnition is what a disk gets: it fetches the rest from url, whose certificate the authority has signed, and sets a host
// name if given. The authority is empty for a server without a certificate.
func PointerIgnition(url, hostname string, authority []byte) []byte {
	type none struct{}
	type source struct {
		Source       string `json:"source"`
		Verification none   `json:"verification"`
	}
	files, tls := []any{}, map[string]any{}
	if len(authority) > 0 {
		tls["certificateAuthorities"] = []source{{Source: dataURL(authority)}}
	}
	if hostname != "" {
		files = append(files, map[string]any{
			"group": none{}, "user": map[string]string{"name": "root"}, "path": "/etc/hostname", "overwrite": true, "mode": 0o644,
			"contents": source{Source: "data:," + hostname},
		})
	}
	return []byte(model.InString(map[string]any{
		"ignition": map[string]any{
			"config": map[string]any{"merge": []source{{Source: url}}, "replace": map[string]any{"verification": none{}}},
			"proxy":  none{}, "security": map[string]any{"tls": tls}, "timeouts": none{}, "version": "3.2.0",
		},
		"passwd": none{}, "storage": map[string]any{"files": files}, "systemd": none{},
	}))
}

func dataURL(content []byte) string {
	return "data:text/plain;charset=utf-8;base64," + base64.StdEncoding.EncodeToString(content)
}

// Authority has signed the certificate of ConfigServer. It is empty if that is an endpoint of the user.
func Authority(c *model.Cluster) []byte {
	if c.Credentials == nil || c.IgnitionEndpoint != nil && c.IgnitionEndpoint.URL != "" {
		return nil
	}
	return c.Credentials.CA
}

// ConfigServer is where the nodes of a new cluster fetch their configuration.
func ConfigServer(c *model.Cluster, pool string) string {
	if c.IgnitionEndpoint != nil && c.IgnitionEndpoint.URL != "" {
		return c.IgnitionEndpoint.URL + "/" + pool
	}
	return fmt.Sprintf("https://api-int.%s.%s:22623/config/%s", c.Name, c.BaseDNSDomain, pool)
}

// MergeJSON lays one JSON object over another: objects are merged, everything else is replaced.
func MergeJSON(base, over string) (string, error) {
	var a, b any
	if err := json.Unmarshal([]byte(base), &a); err != nil {
		return "", fmt.Errorf("reading the generated text: %w", err)
	}
	if err := json.Unmarshal([]byte(over), &b); err != nil {
		return "", wire.BadRequest("%s", err)
	}
	return model.InString(overlay(a, b)), nil
}

func overlay(a, b any) any {
	x, isA := a.(map[string]any)
	y, isB := b.(map[string]any)
	if !isA || !isB {
		return b
	}
	for k, v := range y {
		x[k] = overlay(x[k], v)
	}
	return x
}

// addSystemManifests puts the service's own manifests, by name, beside the user's.
func addSystemManifests(c *model.Cluster, roles []string) {
	add := func(name, content string) {
		c.Manifests["openshift/"+name] = model.Manifest{Content: []byte(content), System: true}
	}
	for _, role := range roles {
		add("50-"+role+"s-chrony-configuration.yaml", machineConfig(role, "50-"+role+"s-chrony-configuration"))
		add("50-"+role+"s-iscsi-nic-reapply.yaml", machineConfig(role, "50-"+role+"s-iscsi-nic-reapply"))
		if mode := encryptionManifest(c, role); mode != "" {
			add(fmt.Sprintf("99-openshift-%s-%s-encryption.yaml", role, mode), machineConfig(role, role+"-"+mode))
		}
	}
	for name, content := range c.Patches() {
		add(name, content)
	}
	if c.IsSingle() {
		add("dnsmasq-bootstrap-in-place.yaml", machineConfig(model.RoleMaster, "50-master-dnsmasq-configuration"))
	}
	addOperatorManifests(c, add)
}

// controllerManifest is what the controller in the new cluster applies for an operator once that is there.
type controllerManifest struct{ Name, Content string }

func addOperatorManifests(c *model.Cluster, add func(name, content string)) {
	var later []controllerManifest
	for _, o := range c.MonitoredOperators {
		if o.OperatorType != "olm" {
			continue
		}
		content := "# What the service has for " + o.Name + " stands here.\n"
		operator, _ := versions.FindOperator(o.Name)
		for _, name := range operator.Manifests {
			add(name, content)
		}
		later = append(later, controllerManifest{o.Name, base64.StdEncoding.EncodeToString([]byte(content))})
	}
	if len(later) == 0 {
		return
	}
	c.Objects["custom_manifests.json"] = []byte(model.InString(later))
	add("olm_operator_manifests.yaml",
		"apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: olm-operator-manifests\n  namespace: assisted-installer\n")
}

// encryptionManifest is how the disks of a role are encrypted, in the words of its manifest.
func encryptionManifest(c *model.Cluster, role string) string {
	if d := c.DiskEncryption; d != nil && validate.SelectsRole(d.EnableOn, role) {
		return strings.TrimSuffix(d.Mode, "v2")
	}
	return ""
}

func machineConfig(role, name string) string {
	return "apiVersion: machineconfiguration.openshift.io/v1\nkind: MachineConfig\nmetadata:\n  labels:\n    " +
		"machineconfiguration.openshift.io/role: " + role + "\n  name: " + name + "\n"
}
