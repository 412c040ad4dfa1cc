//go:build linux

package host

import (
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/base64"
	"encoding/json"
	"encoding/pem"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"math/big"
	"net"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/vincent-petithory/dataurl"
	"sigs.k8s.io/yaml"

	"github.com/oaictl/oaictl/internal/host/controller"
	"github.com/oaictl/oaictl/internal/host/hostfile"
	"github.com/oaictl/oaictl/internal/host/machine"
	"github.com/oaictl/oaictl/internal/host/service"
	"github.com/oaictl/oaictl/internal/shared/clock"
)

const (
	osSpace = "openshift-machine-config-operator"
	// configServerLog is on the bootstrap.
	configServerLog = "/var/log/containers/machine-config-server-1.log"
	rendered        = "rendered-master-1"
	masterKey       = "node-role.kubernetes.io/"
)

// encapsulated is a config that a machine-config-server gives, with the operating system of the release.
func encapsulated() []byte {
	config := fields{"spec": fields{"osImageURL": "quay.io/x/os@sha256:" + strings.Repeat("b", 64)}}
	content, _ := json.Marshal(config)
	ignition, _ := json.Marshal(fields{
		"ignition": fields{"version": "3.2.0"}, "storage": fields{"files": []fields{{
			"path": "/etc/ignition-machine-config-encapsulated.json", "mode": 420, "contents": fields{"source": dataurl.EncodeBytes(content)},
		}}},
	})
	return ignition
}

// Fetch implements installer.Fetcher.
func (s *site) Fetch(context.Context, string, []byte) ([]byte, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if !s.serving {
		return nil, errors.New("connection refused")
	}
	return encapsulated(), nil
}

// startBootkube begins the temporary control plane, on the machine that is the bootstrap.
func (b *box) startBootkube() {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.bootkube == "active" {
		return
	}
	b.bootkube, b.progress = "active", "active"
	s := b.site
	s.mu.Lock()
	s.bootstrap = b
	s.mu.Unlock()
	b.group.Go(func() {
		s.pause(40 * time.Second)
		s.fill(b)
		s.mu.Lock()
		s.serving = true
		s.mu.Unlock()
		if len(s.boxes) == 1 {
			s.pause(2 * time.Minute)
			b.put("opt/openshift/master.ign", string(encapsulated()))
		} else {
			s.awaitNodes(b, min(s.masters()-1, 2))
			s.startController(b)
			s.pause(12 * time.Minute) // workers come meanwhile, and ask this machine for their config
		}
		b.put("opt/openshift/.bootkube.done", "")
		b.mu.Lock()
		defer b.mu.Unlock()
		b.bootkube, b.progress = "inactive", "inactive"
	})
}

func (s *site) masters() int {
	masters := 0
	for _, b := range s.boxes {
		if b.nodeRole() == "master" {
			masters++
		}
	}
	return masters
}

// nodeRole is the role of the node that the machine becomes.
func (b *box) nodeRole() string {
	if b.role == "" {
		return "master"
	}
	return b.role
}

// awaitNodes waits for ready control plane nodes other than the bootstrap.
func (s *site) awaitNodes(b *box, needed int) {
	for s.ctx.Err() == nil {
		ready := 0
		s.mu.Lock()
		for _, other := range s.boxes {
			if other != b && other.nodeRole() == "master" && s.ready[other.name] {
				ready++
			}
		}
		s.mu.Unlock()
		if ready >= needed {
			return
		}
		s.pause(5 * time.Second)
	}
}

// fill makes what bootkube makes in the cluster.
func (s *site) fill(b *box) {
	var config string
	s.ask(http.MethodGet, "/clusters/"+s.cluster+"/downloads/files?file_name=install-config.yaml", nil, &config)
	s.api.Put("", "configmaps", fields{
		"metadata": fields{"name": "cluster-config-v1", "namespace": "kube-system"}, "data": fields{"install-config": config},
	})
	s.api.Put("config.openshift.io", "proxies", fields{"metadata": fields{"name": "cluster"}})
	s.api.Put("", "configmaps", fields{
		"metadata": fields{"name": "openshift-install-manifests", "namespace": "openshift-config"}, "data": fields{"invoker": "assisted-service"},
	})
	s.api.Put("", "configmaps", fields{
		"metadata": fields{"name": "default-ingress-cert", "namespace": "openshift-config-managed"}, "data": fields{"ca-bundle.crt": s.authority()},
	})
	s.api.Put("config.openshift.io", "clusterversions", fields{
		"metadata": fields{"name": "version", "creationTimestamp": time.Now().UTC().Format(time.RFC3339)},
		"status":   fields{"desired": fields{"version": "4.21.0"}},
	})
	s.api.Put("machineconfiguration.openshift.io", "machineconfigs", fields{"metadata": fields{"name": rendered}})
	s.console("False", "it starts")
	s.api.Put("", "pods", fields{
		"metadata": fields{"name": "controller-1", "namespace": "assisted-installer", "labels": fields{"job-name": "assisted-installer-controller"}},
		"status":   fields{"phase": "Running"},
	})
	s.api.Put("", "pods", fields{
		"metadata": fields{"name": "mcs-1", "namespace": osSpace, "labels": fields{"k8s-app": "machine-config-server"}},
	})
	s.api.Mu.Lock()
	defer s.api.Mu.Unlock()
	s.api.Logs["assisted-installer/controller-1"] = "the log of the controller"
	s.api.Logs[osSpace+"/mcs-1"] = ""
}

// console says whether the last operator is available.
func (s *site) console(available, message string) {
	s.api.Put("config.openshift.io", "clusteroperators", fields{"metadata": fields{"name": "console"}, "status": fields{
		"versions": []any{fields{"name": "operator", "version": "4.21.0"}},
		"conditions": []any{
			fields{"type": "Available", "status": available, "message": message}, fields{"type": "Progressing", "status": "True", "message": message},
		},
	}})
}

// authority is a certificate authority in PEM.
func (s *site) authority() string {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		s.t.Error(err)
		return ""
	}
	form := &x509.Certificate{
		SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: "ingress"}, IsCA: true, BasicConstraintsValid: true,
		NotBefore: time.Now(), NotAfter: time.Now().Add(24 * time.Hour),
	}
	der, err := x509.CreateCertificate(rand.Reader, form, form, key.Public(), key)
	if err != nil {
		s.t.Error(err)
	}
	return string(pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der}))
}

// left says that a machine went down. The control plane of a bootstrap ends with it.
func (s *site) left(b *box) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.bootstrap == b {
		s.bootstrap = nil
	}
}

// join lets a machine that booted from its disk become a node.
func (s *site) join(b *box, ignition string) {
	if len(s.boxes) == 1 {
		s.startController(b)
	} else {
		if !strings.Contains(ignition, `"ignition"`) {
			s.t.Errorf("%s boots with %.100q", b.name, ignition)
		}
		s.askForConfig(b)
	}
	s.pause(2 * time.Minute)
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		s.t.Error(err)
		return
	}
	s.request(b, key, false)
	s.awaitApproval(b.name + "-client")
	s.node(b, "False")
	s.request(b, key, true)
	s.pause(time.Minute)
	s.node(b, "True")
	s.mu.Lock()
	s.ready[b.name] = true
	all := len(s.ready) == len(s.boxes)
	s.mu.Unlock()
	if all {
		s.pause(2 * time.Minute)
		s.console("True", "All is well")
	}
}

// askForConfig asks a machine-config-server for the config that the Ignition config of the machine names. The bootstrap has none
// for workers yet: these ask until another one answers.
func (s *site) askForConfig(b *box) {
	line := fmt.Sprintf("I0101 1 api.go:109] Pool %s requested by address:\"%s:41234\" User-Agent:\"Ignition/2.14.0\"\n", b.nodeRole(), b.address)
	for s.ctx.Err() == nil {
		s.mu.Lock()
		bootstrap := s.bootstrap
		s.mu.Unlock()
		if bootstrap == nil {
			s.api.Mu.Lock()
			s.api.Logs[osSpace+"/mcs-1"] += line
			s.api.Mu.Unlock()
			return
		}
		log, err := bootstrap.files.Append(configServerLog, 0o600)
		if err == nil {
			_, err = log.WriteString(line)
			err = errors.Join(err, log.Close())
		}
		if err != nil {
			s.t.Error(err)
		}
		if b.nodeRole() != "worker" {
			return
		}
		s.pause(20 * time.Second)
	}
}

func (s *site) node(b *box, ready string) {
	s.api.Put("", "nodes", fields{
		"metadata": fields{
			"name": b.name, "labels": fields{masterKey + b.nodeRole(): ""},
			"annotations": fields{
				"machineconfiguration.openshift.io/currentConfig": rendered, "machineconfiguration.openshift.io/desiredConfig": rendered,
			},
		}, "status": fields{
			"conditions": []any{fields{"type": "Ready", "status": ready}},
			"addresses": []any{
				fields{"type": "Hostname", "address": b.name}, fields{"type": "InternalIP", "address": b.address.String()},
			},
		},
	})
}

// request makes a request of the kubelet for a certificate: its first one, or that for its server.
func (s *site) request(b *box, key *ecdsa.PrivateKey, serving bool) {
	form := &x509.CertificateRequest{
		Subject:            pkix.Name{Organization: []string{"system:nodes"}, CommonName: "system:node:" + b.name},
		SignatureAlgorithm: x509.ECDSAWithSHA256,
	}
	name, spec := b.name+"-client", fields{
		"signerName": "kubernetes.io/kube-apiserver-client-kubelet", "usages": []any{"digital signature", "client auth"},
		"username": "system:serviceaccount:" + osSpace + ":node-bootstrapper",
		"groups":   []any{"system:serviceaccounts", "system:serviceaccounts:" + osSpace, "system:authenticated"},
	}
	if serving {
		form.DNSNames, form.IPAddresses = []string{b.name}, []net.IP{b.address.AsSlice()}
		name, spec = b.name+"-serving", fields{
			"signerName": "kubernetes.io/kubelet-serving", "usages": []any{"digital signature", "server auth"},
			"username": "system:node:" + b.name, "groups": []any{"system:nodes", "system:authenticated"},
		}
	}
	der, err := x509.CreateCertificateRequest(rand.Reader, form, key)
	if err != nil {
		s.t.Error(err)
	}
	spec["request"] = base64.StdEncoding.EncodeToString(pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE REQUEST", Bytes: der}))
	s.api.Put("certificates.k8s.io", "certificatesigningrequests", fields{
		"apiVersion": "certificates.k8s.io/v1", "kind": "CertificateSigningRequest", "metadata": fields{"name": name}, "spec": spec,
	})
}

func (s *site) approved(name string) bool {
	status, _ := s.api.Get("certificates.k8s.io", "certificatesigningrequests", "", name)["status"].(fields)
	conditions, _ := status["conditions"].([]any)
	return slices.ContainsFunc(conditions, func(c any) bool { return c.(fields)["type"] == "Approved" })
}

// awaitApproval waits for the controller, or for the service of the bootstrap that approves all requests.
func (s *site) awaitApproval(name string) {
	for s.ctx.Err() == nil && !s.approved(name) {
		s.pause(5 * time.Second)
		s.mu.Lock()
		approves := s.bootstrap != nil
		s.mu.Unlock()
		if approves {
			return
		}
	}
}

// startController runs the controller as the manifests say that the bootstrap wrote.
func (s *site) startController(bootstrap *box) {
	s.controller.Do(func() {
		env, files := s.job(bootstrap), hostfile.Files{Root: s.t.TempDir()}
		if err := files.Write("/etc/assisted-installer-controller/token", []byte(env[tokenKey]), 0o400); err != nil {
			s.t.Error(err)
		}
		delete(env, tokenKey)
		tail := &controller.Tail{}
		log := slog.New(slog.NewTextHandler(io.MultiWriter(lines{s}, tail), nil))
		s.group.Go(func() {
			s.exit <- controller.Program{
				Getenv: func(name string) string { return env[name] }, Files: files, Temporary: files.Root, Runner: &machine.Recorder{},
				Clock: clock.Real(), Log: log, Recent: tail.Bytes, Connect: s.api.Connect,
				Service: func(a controller.Access) (controller.Service, error) {
					return service.New(service.Config{
						URL: a.URL, Token: a.Token, Insecure: a.SkipVerification, Dial: s.dial, Log: log, Clock: clock.Real(),
					})
				},
			}.Run(s.ctx)
		})
	})
}

const tokenKey = "pull-secret-token"

// job reads the environment of the controller, and its token, from the manifests.
func (s *site) job(bootstrap *box) map[string]string {
	type variable struct {
		Name, Value string
		ValueFrom   struct {
			ConfigMapKeyRef struct{ Key string } `json:"configMapKeyRef"`
		} `json:"valueFrom"`
	}
	data, env := map[string]string{}, map[string]string{}
	var variables []variable
	const folder = "/opt/openshift/manifests"
	names, err := bootstrap.files.List(folder)
	if err != nil {
		s.t.Error(err)
	}
	for _, name := range names {
		content, err := bootstrap.files.Read(folder + "/" + name)
		var object struct {
			Kind       string
			Data       map[string]string
			StringData map[string]string `json:"stringData"`
			Spec       struct {
				Template struct {
					Spec struct{ Containers []struct{ Env []variable } }
				}
			}
		}
		if err := errors.Join(err, yaml.Unmarshal(content, &object)); err != nil {
			s.t.Errorf("read the manifest %s: %v", name, err)
		}
		switch object.Kind {
		case "ConfigMap":
			data = object.Data
		case "Secret":
			env[tokenKey] = object.StringData[tokenKey]
		case "Job":
			variables = object.Spec.Template.Spec.Containers[0].Env
		}
	}
	for _, v := range variables {
		if env[v.Name] = v.Value; v.ValueFrom.ConfigMapKeyRef.Key != "" {
			env[v.Name] = data[v.ValueFrom.ConfigMapKeyRef.Key]
		}
	}
	return env
}
