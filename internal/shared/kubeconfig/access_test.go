package kubeconfig_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/oaictl/oaictl/internal/shared/check"
	"github.com/oaictl/oaictl/internal/shared/kubeconfig"
	"github.com/oaictl/oaictl/internal/shared/must"
)

// TestWhatGivesNoAccess: an access that reaches no cluster is refused, and the error has no secret.
func TestWhatGivesNoAccess(t *testing.T) {
	w := newWay(t, "lab.example.com")
	_, otherKey := certificate(t, "other", noon())
	change := func(pairs ...string) string { return w.filled(strings.NewReplacer(pairs...).Replace(installed)) }
	for name, tt := range map[string]struct{ text, want string }{
		"empty":             {"", "it has no context"},
		"no contexts":       {"kind: Config\nclusters: [{name: a, cluster: {server: 'https://a'}}]\n", "it has no context"},
		"current is gone":   {change("current-context: admin", "current-context: gone"), `its current context is "gone"; it has admin`},
		"no current, two":   {change("current-context: admin", "", "contexts:", "contexts:\n- {name: b, context: {}}"), "it has no current context; it has admin, b"},
		"no cluster":        {change("    cluster: lab", "    cluster: gone"), `its context "admin" is of the cluster "gone", which is not in it`},
		"no user":           {change("    user: admin", "    user: gone"), `its context "admin" is of the user "gone", which is not in it`},
		"no server":         {change("    server: {server}\n", ""), "its cluster has no server"},
		"no credentials":    {change("    client-certificate-data: {cert}\n    client-key-data: {key}\n", "    {}\n"), "its user has no credentials"},
		"no key":            {change("    client-key-data: {key}\n", ""), "its client certificate and key go together, and one of them is missing"},
		"no certificate":    {change("    client-certificate-data: {cert}\n", ""), "its client certificate and key go together, and one of them is missing"},
		"another's key":     {change("{key}", b64(otherKey)), "its client key is not that of its client certificate"},
		"key is none":       {change("{key}", b64(secret)), "its client key is not that of its client certificate"},
		"certificate none":  {change("{cert}", b64(secret)), "its client certificate cannot be read"},
		"printed":           {change("{cert}", "DATA+OMITTED", "{key}", "DATA+OMITTED", "{ca}", "DATA+OMITTED"), "its secrets were left out when it was printed"},
		"printed token":     {change("    client-certificate-data: {cert}\n    client-key-data: {key}\n", "    token: REDACTED\n"), "its secrets were left out when it was printed"},
		"files are missing": {change("certificate-authority-data: {ca}", "certificate-authority: gone.crt"), "its certificate-authority cannot be read: "},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := parse(t, tt.text).Access()
			if err == nil || !strings.HasPrefix(err.Error(), tt.want) || strings.Contains(err.Error(), secret) {
				t.Errorf("got %v, want %s", err, tt.want)
			}
		})
	}
}

// TestAccessIsWhole takes files along, and has paths lead to the same from elsewhere.
func TestAccessIsWhole(t *testing.T) {
	w, dir := newWay(t, "lab.example.com"), t.TempDir()
	for name, text := range map[string]string{"ca.crt": w.ca, "tls/me.crt": w.cert, "tls/me.key": w.key} {
		must.Do(t, os.MkdirAll(filepath.Dir(filepath.Join(dir, name)), 0o700))
		must.Do(t, os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600))
	}
	source := must.Get(kubeconfig.Parse(filepath.Join(dir, "kubeconfig"), []byte(w.filled(`
clusters: [{name: a, cluster: {server: '{server}', certificate-authority: ca.crt, proxy-url: 'http://proxy:3128'}}]
users: [{name: b, user: {client-certificate: tls/me.crt, client-key: tls/me.key, tokenFile: token, exec: {command: bin/login, apiVersion: client.authentication.k8s.io/v1, interactiveMode: Never}}}]
contexts: [{name: c, context: {cluster: a, user: b, namespace: mine}}]
`))))(t)
	a := must.Get(source.Access())(t)
	if name, domain := a.Name(); name != "lab" || domain != "example.com" {
		t.Errorf("it is called %q of %q", name, domain)
	}
	merged := must.Get(parse(t, "").Merge(nil, a, kubeconfig.Wish{Names: []string{"lab"}}))(t)
	text := string(merged.Text)
	for _, want := range []string{
		b64(w.ca), b64(w.cert), b64(w.key), "tokenFile: " + filepath.Join(dir, "token"), "command: " + filepath.Join(dir, "bin/login"), "proxy-url: http://proxy:3128", "namespace: mine",
	} {
		if !strings.Contains(text, want) {
			t.Errorf("there is no %s in\n%s", want, text)
		}
	}
	for _, gone := range []string{"ca.crt", "me.crt", "me.key", "current-context: lab"} {
		if strings.Contains(text, gone) {
			t.Errorf("there is still %s in\n%s", gone, text)
		}
	}
}

func TestNameOfTheServer(t *testing.T) {
	w := newWay(t, "x.y")
	for server, want := range map[string]string{
		"https://api.lab.example.com:6443": "lab|example.com", "https://API.Lab.Example.com": "lab|example.com", "https://api.lab.lan:6443/": "lab|lan",
		"https://api.lab:6443": "|", "https://api-int.lab.example.com:6443": "|", "https://192.0.2.1:6443": "|", "https://[2001:db8::1]:6443": "|", "https://localhost:6443": "|",
		"api.lab.example.com": "|", "://": "|", "https://api..example.com": "|",
	} {
		w.server = server
		name, domain := w.access(t, "").Name()
		check.Equal(t, name+"|"+domain, want, server)
	}
}

func TestSameCluster(t *testing.T) {
	lab := newWay(t, "lab.example.com")
	other, again := newWay(t, "other.example.com"), newWay(t, "lab.example.com")
	renewed, rotated, plain := lab.endingAt(t, noon()), lab, lab
	rotated.ca = again.ca + lab.ca // both signers, for a while
	plain.server = "HTTPS://API.lab.example.com:6443/"
	for name, tt := range map[string]struct {
		way  way
		id   string
		want bool
	}{
		"itself": {lab, "1", true}, "renewed": {renewed, "1", true}, "rotated": {rotated, "", true}, "spelt otherwise": {plain, "", true}, "nobody says its id": {lab, "", true},
		"another server": {other, "1", false}, "installed again": {again, "", false}, "another id": {lab, "2", false}, "the same id, all certificates new": {again, "1", true},
	} {
		check.Equal(t, lab.access(t, "1").SameCluster(tt.way.access(t, tt.id)), tt.want, name)
	}
}

func TestEnds(t *testing.T) {
	at := noon().Add(40 * time.Hour)
	if got, has := newWay(t, "lab.example.com").endingAt(t, at).access(t, "").Ends(); !has || !got.Equal(at) {
		t.Errorf("it ends at %v, %v", got, has)
	}
	token := "clusters: [{name: a, cluster: {server: 'https://a'}}]\nusers: [{name: a, user: {token: " + secret + "}}]\ncontexts: [{name: a, context: {cluster: a, user: a}}]\n"
	a := must.Get(parse(t, token).Access())(t)
	if _, has := a.Ends(); has {
		t.Error("a token has an end")
	}
}

// TestSelfContained: what came from elsewhere has no program run, and no file read.
func TestSelfContained(t *testing.T) {
	w := newWay(t, "lab.example.com")
	for text, want := range map[string]string{
		w.filled(installed): "", "": "",
		"users: [{name: a, user: {exec: {command: rm, apiVersion: client.authentication.k8s.io/v1beta1}}}]": "it has a program run for its credentials",
		"users: [{name: a, user: {auth-provider: {name: gcp, config: {cmd-path: rm}}}}]":                    "it has a program run for its credentials",
		"users: [{name: a, user: {tokenFile: /etc/shadow}}]":                                                "it names files of this machine as its credentials",
		"users: [{name: a, user: {client-key: /etc/key}}]":                                                  "it names files of this machine as its credentials",
		"users: [{name: a, user: {client-certificate: c}}]":                                                 "it names files of this machine as its credentials",
		"clusters: [{name: a, cluster: {certificate-authority: c}}]":                                        "it names a file of this machine as a certificate-authority",
	} {
		got := ""
		if err := parse(t, text).SelfContained(); err != nil {
			got = err.Error()
		}
		check.Equal(t, got, want, text)
	}
}

// TestConnection: what came from elsewhere is a way to its cluster, or is told what else to give. No file is read for it.
func TestConnection(t *testing.T) {
	w := newWay(t, "lab.example.com")
	config, err := kubeconfig.Connection([]byte(w.filled(installed)))
	if err != nil || config.Host != w.server || string(config.KeyData) != w.key {
		t.Errorf("it is %+v, %v", config, err)
	}
	const all = ": give one that has its certificates, keys and tokens in it"
	users := func(user string) string {
		return "clusters: [{name: a, cluster: {server: 'https://a'}}]\nusers: [{name: a, user: {" + user + "}}]\ncontexts: [{name: a, context: {cluster: a, user: a}}]\ncurrent-context: a\n"
	}
	for text, want := range map[string]string{
		users("tokenFile: " + filepath.Join(t.TempDir(), "gone")):                                          "it names files of this machine as its credentials" + all,
		users("exec: {command: rm, apiVersion: client.authentication.k8s.io/v1}"):                          "it has a program run for its credentials" + all,
		strings.Replace(w.filled(installed), "certificate-authority-data: ", "certificate-authority: ", 1): "it names a file of this machine as a certificate-authority" + all,
		users("token: {" + secret): "it is not valid YAML",
		"":                         "invalid configuration",
	} {
		if config, err := kubeconfig.Connection([]byte(text)); config != nil || err == nil || !strings.HasPrefix(err.Error(), want) || strings.Contains(err.Error(), secret) {
			t.Errorf("%.60q: %v, want %s", text, err, want)
		}
	}
}

// TestServerIsShown without a password.
func TestServerIsShown(t *testing.T) {
	w := newWay(t, "lab.example.com")
	w.server = "https://me:" + secret + "@api.lab.example.com:6443"
	if got := w.access(t, "").Server(); strings.Contains(got, secret) || !strings.Contains(got, "api.lab.example.com:6443") {
		t.Errorf("it is %s", got)
	}
	there := strings.ReplaceAll(mergedCluster, "{server}", "https://me:"+secret+"@other") + mergedUser + mergedContext
	_, err := parse(t, w.filled(there)).Merge(nil, w.access(t, ""), kubeconfig.Wish{Names: []string{"lab"}})
	if err == nil || strings.Contains(err.Error(), secret) {
		t.Errorf("got %v", err)
	}
}
