package nodeplan

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"math/big"
	"strings"
	"testing"
	"time"

	"github.com/oaictl/oaictl/internal/shared/check"
	"github.com/oaictl/oaictl/internal/shared/must"
	"github.com/oaictl/oaictl/pkg/install/internal/pemcerts"
	"github.com/oaictl/oaictl/pkg/install/model"
	"github.com/oaictl/oaictl/pkg/install/spec"
)

// authority is a CA that is in force from a time on, for an hour.
func authority(t *testing.T, name string, from time.Time) (text string, read model.Certificate) {
	t.Helper()
	key := must.Get(ecdsa.GenerateKey(elliptic.P256(), rand.Reader))(t)
	template := &x509.Certificate{SerialNumber: big.NewInt(7), Subject: pkix.Name{CommonName: name}, NotBefore: from,
		NotAfter: from.Add(time.Hour), IsCA: true, BasicConstraintsValid: true}
	der := must.Get(x509.CreateCertificate(rand.Reader, template, template, &key.PublicKey, key))(t)
	text = string(pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der}))
	all := must.Get(pemcerts.Parse([]byte(text)))(t)
	return text, all[0]
}

// TestEndpoint compares the address that the service gives to hosts for their config with the cluster.
func TestEndpoint(t *testing.T) {
	own, read := authority(t, "own", now.Add(-time.Minute))
	other, _ := authority(t, "other", now.Add(-time.Minute))
	old, expired := authority(t, "old", now.Add(-2*time.Hour))
	early, _ := authority(t, "early", now.Add(time.Minute))
	const (
		inner  = "https://api-int.lab.example.com:22623/config"
		cannot = "blocked (now): IgnitionEndpoint: hosts cannot fetch their config from "
	)
	for name, test := range map[string]struct {
		url, ca string
		change  func(*Question)
		want    string
	}{
		"its own":                {inner, own, nil, ""},
		"its own, by address":    {"https://192.0.2.100:22623/config/", own, nil, ""},
		"several CAs":            {inner, other + old + own, nil, ""},
		"no CA, as a hub has it": {inner, "", nil, ""},
		"without TLS":            {"http://api.lab.example.com:22624/config", "", nil, ""},
		"another CA": {inner, other, nil, cannot + inner +
			", the address that the service gives them: its CA is not the one that signs the cluster's machine config server ("},
		"expired": {inner, old, nil, cannot + inner +
			", the address that the service gives them: its CA (CN=old) has expired at 2026-11-23T11:00:00Z"},
		"not yet": {inner, early, nil, cannot + inner +
			", the address that the service gives them: its CA (CN=early) is valid from 2026-11-23T12:01:00Z only"},
		"no certificate": {inner, "nonsense", nil, cannot + inner +
			", the address that the service gives them: its CA cannot be used: there is no certificate (PEM) in it"},
		"outer name, with TLS": {"https://api.lab.example.com:22623/config", own, nil,
			cannot + "https://api.lab.example.com:22623/config, the address that the service gives them: the certificate of the machine config server is for api-int.lab.example.com, 192.0.2.100, not for api.lab.example.com"},
		"wrong port": {"https://api-int.lab.example.com:22624/config", own, nil, cannot +
			"https://api-int.lab.example.com:22624/config, the address that the service gives them: the port 22623 is for https, 22624 for http"},
		"without path": {"https://api-int.lab.example.com:22623", own, nil, cannot +
			"https://api-int.lab.example.com:22623, the address that the service gives them: the machine config server has a pool's config at /config/POOL"},
		"elsewhere": {"https://ignition.example.com/lab", other, nil,
			"warn OtherIgnitionEndpoint: hosts fetch their config from ignition.example.com, but the cluster's own machine config server is api-int.lab.example.com, 192.0.2.100"},
		"elsewhere, old": {"https://ignition.example.com/lab", old, nil,
			cannot + "https://ignition.example.com/lab, the address that the service gives them: its CA (CN=old) has expired"},
		"a balancer's port": {"https://api-int.lab.example.com/config", own, nil, ""},
		"CA of the host":    {inner, other, func(q *Question) { q.Hosts[0].Want.Ignition = withCA(t) }, ""},
		"CA not known":      {inner, other, func(q *Question) { q.Observed.Spoke.ConfigServer.CAs = nil }, ""},
		"nothing known": {"https://api.lab.example.com:22623", other, func(q *Question) {
			q.Observed.Spoke.ConfigServer = model.ConfigServer{}
		}, ""},
		"installing":  {inner, old, func(q *Question) { q.Observed.Hosts[0].State = model.HostInstalling }, ""},
		"no endpoint": {"", "", nil, ""},
		"no endpoint, old CA": {"", "", func(q *Question) { q.Observed.Spoke.ConfigServer.CAs = []model.Certificate{expired} },
			"warn ConfigServerCAExpired: the CA of the cluster's machine config server (kube-system/root-ca) is valid until 2026-11-23T11:00:00Z"},
		"no endpoint, renewed": {"", "", func(q *Question) { q.Observed.Spoke.ConfigServer.CAs = []model.Certificate{expired, read} }, ""},
	} {
		t.Run(name, func(t *testing.T) {
			answer := Ahead(asked(func(q *Question) {
				q.Observed.Hosts[0].State, q.Observed.Hosts[0].Progress = model.HostReady, model.HostProgress{}
				q.Observed.Spoke.ConfigServer = model.ConfigServer{
					Hosts: []string{"api-int.lab.example.com", "192.0.2.100"}, CAs: []model.Certificate{read},
					CAFrom: "kube-system/root-ca", CAKey: "ca.crt",
				}
				endpoint := spec.IgnitionEndpoint{URL: test.url}
				if test.ca != "" {
					endpoint.CA = &spec.PublicSource{Inline: test.ca}
				}
				if test.url != "" {
					q.Observed.Cluster.Settings = model.Settings{model.SettingIgnitionEndpoint: model.ValueOf(endpoint)}
				}
				if test.change != nil {
					test.change(q)
				}
			}))
			got := said(answer)
			if got != test.want && (test.want == "" || !strings.Contains(got, test.want)) {
				t.Errorf("got  %s\nwant %s", got, test.want)
			}
			for _, b := range answer.Blockers {
				if len(b.Hosts) != 1 || b.Remedy == "" {
					t.Errorf("it holds up %v, and advises %q", b.Hosts, b.Remedy)
				}
			}
		})
	}
}

// TestEndpointAdvice: where the right CA is.
func TestEndpointAdvice(t *testing.T) {
	a := obstacles{&answerBuilder{spoke: &model.Spoke{ConfigServer: model.ConfigServer{CAFrom: "openshift-machine-config-operator/machine-config-server-ca",
		CAKey: "ca-bundle.crt"}}}}
	check.Equal(t, a.whereCA().String(), `the cluster's own CA: kubectl get configmap -n openshift-machine-config-operator machine-config-server-ca -o jsonpath='{.data.ca-bundle\.crt}'`)
}

// withCA is an Ignition config of a host that brings a CA.
func withCA(t *testing.T) *spec.Document {
	t.Helper()
	file := &spec.Nodes{Spec: spec.NodesSpec{Cluster: "lab", Hosts: []spec.Host{{
		Name: "w-1", Match: spec.Match{MAC: "52:54:00:00:00:01"},
		Ignition: &spec.Document{Inline: map[string]any{"ignition": map[string]any{
			"version": "3.2.0", "security": map[string]any{"tls": map[string]any{"certificateAuthorities": []any{map[string]any{"source": "data:,x"}}}},
		}}},
	}}}}
	c := must.Get(file.Resolve(t.Context(), ".", spec.Env{}, nil))(t)
	return c.Spec.Hosts[0].Ignition
}
