package kubeconfig

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"k8s.io/client-go/tools/clientcmd"

	"github.com/oaictl/oaictl/internal/shared/check"
	"github.com/oaictl/oaictl/internal/shared/must"
)

const relative = `apiVersion: v1
kind: Config
current-context: x
contexts: [{name: x, context: {cluster: c, user: u}}, {name: other, context: {cluster: c, user: v}}]
clusters: [{name: c, cluster: {server: "https://api.lab.example.com:6443", certificate-authority: pki/ca.crt}}]
users:
- {name: u, user: {tokenFile: ../token}}
- {name: v, user: {exec: {apiVersion: client.authentication.k8s.io/v1, command: ./login, interactiveMode: Never}}}
`

// TestAnywhere: paths go from where the kubeconfig lies, as for kubectl.
func TestAnywhere(t *testing.T) {
	dir := t.TempDir()
	c := must.Get(Parse(filepath.Join(dir, "kubeconfig"), []byte(relative)))(t)
	text := must.Get(c.Anywhere())(t)
	got := must.Get(clientcmd.Load(text))(t)
	for want, path := range map[string]string{
		filepath.Join(dir, "pki", "ca.crt"):       got.Clusters["c"].CertificateAuthority,
		filepath.Join(filepath.Dir(dir), "token"): got.AuthInfos["u"].TokenFile,
		filepath.Join(dir, "login"):               got.AuthInfos["v"].Exec.Command,
	} {
		check.Equal(t, path, want)
	}
	whole := strings.NewReplacer("pki/ca.crt", "/ca.crt", "../token", "/token", "./login", "login").Replace(relative)
	c = must.Get(Parse("kubeconfig", []byte(whole)))(t)
	check.Equal(t, string(must.Get(c.Anywhere())(t)), whole, "one without relative paths is written anew")
}

// TestKept: what is kept elsewhere names no file of certificates, and has no other context.
func TestKept(t *testing.T) {
	dir := t.TempDir()
	must.Do(t, os.MkdirAll(filepath.Join(dir, "pki"), 0o700))
	must.Do(t, os.WriteFile(filepath.Join(dir, "pki", "ca.crt"), []byte("the CA"), 0o600))
	c := must.Get(Parse(filepath.Join(dir, "kubeconfig"), []byte(strings.Replace(relative, "tokenFile: ../token", "token: secret", 1))))(t)
	text := must.Get(c.Kept())(t)
	kept := must.Get(Parse("kept", text))(t)
	if err := kept.SelfContained(); err != nil || len(kept.api.Contexts) != 1 || string(kept.api.Clusters["c"].CertificateAuthorityData) != "the CA" || kept.api.AuthInfos["u"].Token != "secret" {
		t.Errorf("%v\n%s", err, text)
	}
	check.Equal(t, string(must.Get(kept.Kept())(t)), string(text), "kept once more it is another")
	must.Do(t, os.Remove(filepath.Join(dir, "pki", "ca.crt")))
	check.Says(t, check.Err(c.Kept()), "its certificate-authority cannot be read", "without its CA")
}
