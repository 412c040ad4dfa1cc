package cli

import (
	"bytes"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"io"
	"math/big"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/rogpeppe/go-internal/testscript"
	"k8s.io/client-go/tools/clientcmd"

	"github.com/oaictl/oaictl/internal/cli/app"
	"github.com/oaictl/oaictl/internal/cli/streams"
	"github.com/oaictl/oaictl/internal/shared/clock"
	"github.com/oaictl/oaictl/internal/shared/must"
	"github.com/oaictl/oaictl/internal/simulator"
	"github.com/oaictl/oaictl/pkg/install/spec"
)

// TestKubeconfigScripts runs the scripts of `oaictl kubeconfig`. Each has a simulated
// service in which the cluster sno is installed, and its results in the folder results.
func TestKubeconfigScripts(t *testing.T) {
	examples := must.Get(filepath.Abs("../../examples"))(t)
	service, results := installedOnSimulator(t, filepath.Join(examples, "sno", "cluster.yaml"))
	made := must.Get(os.ReadFile(filepath.Join(results, "sno", "auth", "kubeconfig")))(t)
	testscript.Run(t, testscript.Params{
		Dir: "testdata/script-kubeconfig", UpdateScripts: *updateScripts, RequireExplicitExec: true,
		Setup: func(env *testscript.Env) error {
			front := &agedService{to: service, made: made}
			server := httptest.NewServer(front)
			env.Defer(server.Close)
			env.Values[agedKey{}] = front
			for name, value := range map[string]string{
				"SERVICE": server.URL, "EXAMPLES": examples, "NO_PROXY": "*", "HOME": env.WorkDir, "KUBECONFIG": "",
				"XDG_CONFIG_HOME": filepath.Join(env.WorkDir, "config"),
			} {
				env.Setenv(name, value)
			}
			return os.CopyFS(filepath.Join(env.WorkDir, "results"), os.DirFS(results))
		},
		Cmds: map[string]func(*testscript.TestScript, bool, []string){
			"exits": exits,
			// kubeconfig DAYS FILE: that of the cluster, whose client certificate ends so many
			// days from now.
			"kubeconfig": func(ts *testscript.TestScript, _ bool, arguments []string) {
				days, err := strconv.Atoi(arguments[0])
				ts.Check(err)
				text, err := aged(made, time.Now().AddDate(0, 0, days))
				ts.Check(err)
				ts.Check(os.MkdirAll(filepath.Dir(ts.MkAbs(arguments[1])), 0o700))
				ts.Check(os.WriteFile(ts.MkAbs(arguments[1]), text, 0o600))
			},
			// serves FILE: what the service has as the kubeconfig.
			"serves": func(ts *testscript.TestScript, _ bool, arguments []string) {
				text := []byte(ts.ReadFile(arguments[0]))
				ts.Value(agedKey{}).(*agedService).has.Store(&text)
			},
			// mode MODE FILE
			"mode": func(ts *testscript.TestScript, _ bool, arguments []string) {
				info, err := os.Stat(ts.MkAbs(arguments[1]))
				ts.Check(err)
				if got := strconv.FormatUint(uint64(info.Mode().Perm()), 8); got != arguments[0] {
					ts.Fatalf("%s has the mode %s", arguments[1], got)
				}
			},
		},
	})
}

type agedKey struct{}

// agedService is a proxy before a service, and serves another kubeconfig if one is set.
type agedService struct {
	to   string
	made []byte
	has  atomic.Pointer[[]byte]
}

func (s *agedService) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	to, err := url.Parse(s.to)
	if err != nil {
		http.Error(w, err.Error(), http.StatusBadGateway)
		return
	}
	proxy := httputil.NewSingleHostReverseProxy(to)
	if has := s.has.Load(); has != nil && r.URL.Query().Get("file_name") == "kubeconfig" {
		proxy.ModifyResponse = func(answer *http.Response) error {
			answer.Body, answer.ContentLength = io.NopCloser(bytes.NewReader(*has)), int64(len(*has))
			answer.Header.Set("Content-Length", strconv.Itoa(len(*has)))
			return nil
		}
	}
	proxy.ServeHTTP(w, r)
}

// installedOnSimulator installs a file's cluster, and says where the service is and what
// create cluster has left.
func installedOnSimulator(t *testing.T, file string) (address, results string) {
	t.Helper()
	cluster := must.Get(spec.Load(t.Context(), file, spec.OSEnv()))(t)
	fast := clock.Scaled(1000)
	s := must.Get(simulator.Start(t.Context(), simulator.Config{Clock: fast, Seed: 1, Cluster: cluster}))(t)
	t.Cleanup(func() { _ = s.Close() })
	results = t.TempDir()
	var problems strings.Builder
	a := app.New(app.Identify([]string{"oaictl", "create", "cluster", "-f", file, "--service-url", s.URL(), "--dir", results, "--progress", "plain"}),
		streams.Streams{In: strings.NewReader(""), Out: io.Discard, Err: &problems}, streams.Env{})
	a.Clock = fast
	if code := execute(t.Context(), a); code != 0 {
		t.Fatalf("create cluster ends with %d:\n%s", code, problems.String())
	}
	return s.URL(), results
}

// aged is a kubeconfig with another client certificate, which ends at some time.
func aged(text []byte, ends time.Time) ([]byte, error) {
	config, err := clientcmd.Load(text)
	if err != nil {
		return nil, err
	}
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return nil, err
	}
	admin := &x509.Certificate{
		SerialNumber: big.NewInt(ends.Unix()), Subject: pkix.Name{Organization: []string{"system:masters"}, CommonName: "system:admin"},
		NotBefore: ends.AddDate(-10, 0, 0), NotAfter: ends,
	}
	der, err := x509.CreateCertificate(rand.Reader, admin, admin, &key.PublicKey, key)
	if err != nil {
		return nil, err
	}
	secret, err := x509.MarshalECPrivateKey(key)
	if err != nil {
		return nil, err
	}
	for _, user := range config.AuthInfos {
		user.ClientCertificateData = pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der})
		user.ClientKeyData = pem.EncodeToMemory(&pem.Block{Type: "EC PRIVATE KEY", Bytes: secret})
	}
	return clientcmd.Write(*config)
}
