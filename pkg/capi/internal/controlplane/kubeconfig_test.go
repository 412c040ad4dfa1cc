package controlplane

import (
	"bytes"
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/sha256"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/json"
	"encoding/pem"
	"errors"
	"fmt"
	"math/big"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/tools/clientcmd"
	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"
	"k8s.io/client-go/tools/events"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	"sigs.k8s.io/cluster-api/util/conditions"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"

	"github.com/oaictl/oaictl/internal/shared/clock"
	"github.com/oaictl/oaictl/internal/shared/workloadclient"
	controlplanev1 "github.com/oaictl/oaictl/pkg/capi/api/controlplane/v1beta1"
	"github.com/oaictl/oaictl/pkg/capi/internal/clusterloop"
	"github.com/oaictl/oaictl/pkg/install"
	"github.com/oaictl/oaictl/pkg/install/model"
)

// copies is a service that has a kubeconfig.
type copies struct {
	install.Backend

	data  []byte
	err   error
	reads *int // how often it was read; nil where that is not counted
}

func (c copies) Credential(context.Context, string, string) ([]byte, error) {
	if c.reads != nil {
		*c.reads++
	}
	return c.data, c.err
}

// kubeconfigOf is a kubeconfig of a server, which a user of a name and authorities trust.
func kubeconfigOf(t *testing.T, server, user, authorities string) []byte {
	t.Helper()
	data, err := clientcmd.Write(clientcmdapi.Config{
		CurrentContext: "c", Contexts: map[string]*clientcmdapi.Context{"c": {Cluster: "lab", AuthInfo: "admin"}},
		Clusters:  map[string]*clientcmdapi.Cluster{"lab": {Server: server, CertificateAuthorityData: []byte(authorities)}},
		AuthInfos: map[string]*clientcmdapi.AuthInfo{"admin": {Username: user, Password: "x"}},
	})
	if err != nil {
		t.Fatal(err)
	}
	return data
}

// authorityOf is the certificate (PEM) by which a server is trusted.
func authorityOf(server *httptest.Server) string {
	return string(pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: server.Certificate().Raw}))
}

// loopback allows API servers of this machine.
func loopback() workloadclient.Connector {
	return workloadclient.Connector{Allow: []netip.Prefix{netip.MustParsePrefix("127.0.0.0/8"), netip.MustParsePrefix("::1/128")}}
}

// handing is a control plane whose management cluster has a Secret of the kubeconfig: what is in it, and what it was made of.
func handing(t *testing.T, service []byte, have, taken []byte) *scope {
	t.Helper()
	s, _ := observed()
	s.view.Observed.Cluster.Kubeconfig = service != nil
	objects := []client.Object{}
	if have != nil {
		made := &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: "lab-kubeconfig", UID: "1"}, Data: map[string][]byte{"value": have}}
		if taken != nil {
			made.Annotations = map[string]string{annotationTaken: fmt.Sprintf("%x", sha256.Sum256(taken))}
		}
		objects = append(objects, made)
	}
	s.client = fake.NewClientBuilder().WithScheme(clientgoscheme.Scheme).WithObjects(objects...).Build()
	s.Live, s.Workloads, s.Clock = s.client, &Workloads{Connector: loopback()}, clock.Real()
	s.installations = clusterloop.New(clusterloop.Config{Connect: func(string) (install.Backend, error) { return copies{data: service}, nil }, Clock: s.Clock})
	return s
}

// TestKubeconfigThatIsHandedOut: the service's copy is written where it has another than before, what a person has put
// into the Secret since stays, and a service without a copy leaves it alone.
func TestKubeconfigThatIsHandedOut(t *testing.T) {
	old, renewed, persons := kubeconfigOf(t, "https://a", "old", ""), kubeconfigOf(t, "https://a", "renewed", ""), kubeconfigOf(t, "https://a", "person", "")
	for name, test := range map[string]struct {
		service, have, taken, want []byte
	}{
		"there is none":                        {service: old, want: old},
		"it is written":                        {service: old, have: old, taken: old, want: old},
		"the service has another":              {service: renewed, have: old, taken: old, want: renewed},
		"a person has put another":             {service: old, have: persons, taken: old, want: persons},
		"and the service has another since":    {service: renewed, have: persons, taken: old, want: renewed},
		"of a version before":                  {service: old, have: old, want: old},
		"somebody has a file of ours read":     {service: old, have: tokenFrom(t, "https://a", "gone"), taken: old, want: old},
		"somebody has broken it":               {service: old, have: []byte("{"), taken: old, want: old},
		"the service has none":                 {have: persons, want: persons},
		"the service has none, and no one has": {},
	} {
		t.Run(name, func(t *testing.T) {
			s := handing(t, test.service, test.have, test.taken)
			got, err := s.kubeconfigHandout().handOut(t.Context())
			if err != nil || !bytes.Equal(got, test.want) {
				t.Errorf("handed out is %s, %v", got, err)
			}
			there := &corev1.Secret{}
			switch err := s.client.Get(t.Context(), s.kubeconfigSecret(), there); {
			case err != nil && test.want != nil:
				t.Error(err)
			case !bytes.Equal(there.Data["value"], test.want):
				t.Errorf("the Secret has %s", there.Data["value"])
			}
			before := there.ResourceVersion
			if _, err := s.kubeconfigHandout().handOut(t.Context()); err != nil {
				t.Error(err)
			}
			if _ = s.client.Get(t.Context(), s.kubeconfigSecret(), there); there.ResourceVersion != before {
				t.Error("it is written again")
			}
		})
	}
}

// TestServiceCopyIsReadSeldom: the service is asked for its copy again once an hour has passed, and at once where the Secret
// has another kubeconfig than the one that was compared.
func TestServiceCopyIsReadSeldom(t *testing.T) {
	old := kubeconfigOf(t, "https://a", "old", "")
	s, reads := handing(t, old, old, old), 0
	at := &moved{Clock: clock.Real(), now: time.Date(2026, 11, 1, 0, 0, 0, 0, time.UTC)}
	s.Clock = at
	s.installations = clusterloop.New(clusterloop.Config{Connect: func(string) (install.Backend, error) { return copies{data: old, reads: &reads}, nil }, Clock: at})
	looks := func(want int, after string) {
		t.Helper()
		for range 5 {
			if got, err := s.kubeconfigHandout().handOut(t.Context()); err != nil || len(got) == 0 {
				t.Errorf("handed out is %s, %v", got, err)
			}
		}
		if reads != want {
			t.Errorf("after %s the service's copy was read %d times, not %d", after, reads, want)
		}
	}
	looks(1, "five looks")
	at.now = at.now.Add(copyAgain - time.Second)
	looks(1, "nearly an hour")
	at.now = at.now.Add(time.Second)
	looks(2, "an hour")
	made := &corev1.Secret{}
	if err := s.client.Get(t.Context(), s.kubeconfigSecret(), made); err != nil {
		t.Fatal(err)
	}
	if err := s.kubeconfigHandout().writeKubeconfig(t.Context(), made, kubeconfigOf(t, "https://a", "person", "")); err != nil {
		t.Fatal(err)
	}
	looks(3, "a person has put another kubeconfig there")
}

// labelled is a cache, which has only Secrets with the label of their Cluster.
type labelled struct{ client.Client }

func (l labelled) Get(ctx context.Context, key client.ObjectKey, into client.Object, options ...client.GetOption) error {
	err := l.Client.Get(ctx, key, into, options...)
	if err == nil && into.GetLabels()[clusterv1.ClusterNameLabel] == "" {
		return apierrors.NewNotFound(corev1.Resource("secrets"), key.Name)
	}
	return err
}

// TestKubeconfigWithoutItsLabel: a Secret that a user has made without the label of its Cluster is used as any other,
// and given the label.
func TestKubeconfigWithoutItsLabel(t *testing.T) {
	old, persons := kubeconfigOf(t, "https://a", "old", ""), kubeconfigOf(t, "https://a", "person", "")
	for name, test := range map[string]struct {
		service, have, taken, want []byte
	}{
		"the service has none":             {have: persons, want: persons},
		"the service has one":              {service: old, have: persons, taken: old, want: persons},
		"it was created again by somebody": {service: old, have: persons, want: old},
		"the service has made it itself":   {service: old, want: old},
	} {
		t.Run(name, func(t *testing.T) {
			s := handing(t, test.service, test.have, test.taken)
			s.client = labelled{s.client}
			for range 2 {
				if got, err := s.kubeconfigHandout().handOut(t.Context()); err != nil || !bytes.Equal(got, test.want) {
					t.Errorf("handed out is %s, %v", got, err)
				}
			}
			there := &corev1.Secret{}
			if err := s.client.Get(t.Context(), s.kubeconfigSecret(), there); err != nil || there.Labels[clusterv1.ClusterNameLabel] != "lab" {
				t.Errorf("the cache has %v, %v", there.Labels, err)
			}
		})
	}
}

// TestClusterThatWasTakenInIsUpgraded: a service that has taken in an installed cluster has no kubeconfig of it. By the
// Secret's, the control plane is initialized, and the cluster asked for its updates.
func TestClusterThatWasTakenInIsUpgraded(t *testing.T) {
	asked := map[string]int{}
	api := httptest.NewTLSServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		asked[r.URL.Path]++
		http.NotFound(w, r)
	}))
	defer api.Close()
	s := handing(t, nil, kubeconfigOf(t, api.URL, "admin", authorityOf(api)), nil)
	s.Recorder = &events.FakeRecorder{}
	s.Answers = func(context.Context, []byte) error { return nil }
	if _, err := s.kubeconfig(t.Context()); err != nil {
		t.Log(err) // there is no ClusterVersion here
	}
	if !conditions.IsTrue(s.plane, controlplanev1.InitializedCondition) || !conditions.IsTrue(s.plane, controlplanev1.KubeconfigAvailableCondition) {
		t.Errorf("it is not initialized: %+v", s.plane.Status.Conditions)
	}
	if asked["/apis/config.openshift.io/v1/clusterversions/version"] == 0 {
		t.Errorf("asked is %v", asked)
	}
	if c := conditions.Get(handingNone(t).plane, controlplanev1.KubeconfigAvailableCondition); c == nil || c.Status != metav1.ConditionFalse {
		t.Errorf("without a Secret, it says %+v", c)
	}
}

// TestKubeconfigWhileTheServiceIsAway: what is in the Secret is used while the service's copy cannot be read, and that
// is reported. Where nothing in it can be used, there is no kubeconfig.
func TestKubeconfigWhileTheServiceIsAway(t *testing.T) {
	for name, test := range map[string]struct {
		have   []byte
		status metav1.ConditionStatus
	}{
		"there is one":           {have: kubeconfigOf(t, "https://a", "old", ""), status: metav1.ConditionTrue},
		"there is none":          {status: metav1.ConditionFalse},
		"somebody has broken it": {have: []byte("{"), status: metav1.ConditionFalse},
	} {
		t.Run(name, func(t *testing.T) {
			s := handing(t, []byte("its copy"), test.have, test.have)
			s.installations = clusterloop.New(clusterloop.Config{Connect: func(string) (install.Backend, error) {
				return copies{err: errors.New("the service is away")}, nil
			}, Clock: s.Clock})
			s.view.Observed.Spoke, s.Recorder = nil, &events.FakeRecorder{}
			initialized := false
			s.Answers = func(context.Context, []byte) error { initialized = true; return nil }
			_, err := s.kubeconfig(t.Context())
			there := test.status == metav1.ConditionTrue
			if there != (err == nil) || initialized != there {
				t.Errorf("initialized is %v, %v", initialized, err)
			}
			if c := conditions.Get(s.plane, controlplanev1.KubeconfigAvailableCondition); c == nil || c.Status != test.status || !strings.Contains(c.Message, "the service is away") {
				t.Errorf("it says %+v", c)
			}
		})
	}
}

// handingNone is a control plane without any kubeconfig of its installed cluster, after it was requested.
func handingNone(t *testing.T) *scope {
	t.Helper()
	s := handing(t, nil, nil, nil)
	if _, err := s.kubeconfig(t.Context()); err != nil {
		t.Fatal(err)
	}
	return s
}

// tokenFrom is a kubeconfig of a server that makes a client send the content of a file of its own machine.
func tokenFrom(t *testing.T, server, file string) []byte {
	t.Helper()
	config, err := clientcmd.Load(kubeconfigOf(t, server, "", ""))
	if err != nil {
		t.Fatal(err)
	}
	config.AuthInfos["admin"] = &clientcmdapi.AuthInfo{TokenFile: file}
	data, err := clientcmd.Write(*config)
	if err != nil {
		t.Fatal(err)
	}
	return data
}

// TestNoFileOfOursIsSent: a user who may write the Secret of a kubeconfig cannot make the manager send the content of
// one of its own files, such as its token, to the server of that kubeconfig. The error says what is wrong with the
// kubeconfig, and what to put there.
func TestNoFileOfOursIsSent(t *testing.T) {
	asked := 0
	api := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { asked++ }))
	defer api.Close()
	file := filepath.Join(t.TempDir(), "token")
	if err := os.WriteFile(file, []byte("the manager's"), 0o600); err != nil {
		t.Fatal(err)
	}
	data := tokenFrom(t, api.URL, file)
	s := handing(t, nil, data, nil)
	s.Answers = NewReadyCheck(loopback())
	if _, err := s.kubeconfig(t.Context()); err == nil {
		t.Error("it is used")
	}
	const want = "the kubeconfig in Secret lab-kubeconfig cannot be used: it names files of this machine as its credentials: give one that has its certificates, keys and tokens in it"
	if c := conditions.Get(s.plane, controlplanev1.KubeconfigAvailableCondition); c == nil || c.Status != metav1.ConditionFalse || !strings.HasPrefix(c.Message, want) {
		t.Errorf("it says %+v", c)
	}
	if _, err := s.Workloads.Client(s.key(), data); err == nil {
		t.Error("there is a client of it")
	}
	if err := NewReadyCheck(loopback())(t.Context(), data); err == nil {
		t.Error("its server is asked whether it is ready")
	}
	if asked > 0 {
		t.Errorf("its server was asked %d times", asked)
	}
}

// TestKubeconfigFollowsTheAuthorities: the Secret trusts the authorities that the cluster reports for its API server,
// unless nothing is reached with them.
func TestKubeconfigFollowsTheAuthorities(t *testing.T) {
	var bundle string
	api := httptest.NewTLSServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch r.URL.Path {
		case "/readyz":
		case "/api/v1/namespaces/openshift-kube-controller-manager/configmaps/serviceaccount-ca":
			w.Header().Set("Content-Type", "application/json")
			_ = json.NewEncoder(w).Encode(&corev1.ConfigMap{
				TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: "ConfigMap"}, ObjectMeta: metav1.ObjectMeta{Name: "serviceaccount-ca"}, Data: map[string]string{"ca-bundle.crt": bundle},
			})
		default:
			http.NotFound(w, r)
		}
	}))
	defer api.Close()
	installers := string(pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: api.Certificate().Raw}))
	both, other := installers+installers, authority(t)
	for name, test := range map[string]struct{ trusts, says, want string }{
		"another one":             {trusts: installers, says: both, want: both},
		"the same":                {trusts: both, says: both, want: both},
		"it does not say":         {trusts: installers, want: installers},
		"it would not be reached": {trusts: installers, says: other, want: installers},
	} {
		t.Run(name, func(t *testing.T) {
			bundle = test.says
			kubeconfig := kubeconfigOf(t, api.URL, "admin", test.trusts)
			s := handing(t, kubeconfig, kubeconfig, kubeconfig)
			s.Answers = NewReadyCheck(loopback())
			for range 2 { // the second time nothing changes
				data, err := s.kubeconfigHandout().handOut(t.Context())
				if err == nil {
					data, err = s.kubeconfigHandout().followAuthorities(t.Context(), data)
				}
				if err != nil {
					t.Fatal(err)
				}
				config, err := clientcmd.Load(data)
				if err != nil {
					t.Fatal(err)
				}
				if got := string(config.Clusters["lab"].CertificateAuthorityData); got != test.want || config.AuthInfos["admin"].Username != "admin" {
					t.Errorf("it trusts %q", got)
				}
			}
		})
	}
	if changed, err := trusting(kubeconfigOf(t, api.URL, "admin", ""), []byte(both)); changed != nil || err != nil {
		t.Errorf("what trusts the machine's authorities becomes %s, %v", changed, err)
	}
}

// authority is the certificate of an authority that has signed no other certificate.
func authority(t *testing.T) string {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	made := &x509.Certificate{SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: "another"}, IsCA: true, BasicConstraintsValid: true}
	der, err := x509.CreateCertificate(rand.Reader, made, made, &key.PublicKey, key)
	if err != nil {
		t.Fatal(err)
	}
	return string(pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der}))
}

// TestIdentityIsKept: a record of another cluster than the installed one is left alone: its id is not recorded, its
// kubeconfig is not handed out, and it is not deleted with the Cluster.
func TestIdentityIsKept(t *testing.T) {
	service := &records{clusters: []model.Cluster{{ClusterRef: model.ClusterRef{ID: "ns/lab"}, OpenShiftID: "another"}}}
	s := deleting(t, service, true)
	s.annotate("oaictl.io/openshift-id", "this")
	s.annotate("oaictl.io/cluster-id", "ns/lab")
	view := &clusterloop.View{Look: install.Look{Observed: &model.Observed{Cluster: &model.Cluster{ClusterRef: model.ClusterRef{ID: "ns/lab"}, State: model.ClusterAddingHosts, OpenShiftID: "another"}}}}
	if err := s.installation().isAnother(view); !clusterloop.IsRefusal(err) {
		t.Errorf("it says %v", err)
	}
	view.Observed.Cluster.OpenShiftID = "THIS"
	if err := s.installation().isAnother(view); err != nil {
		t.Error(err)
	}
	if err := s.deletion().deleteCluster(t.Context()); err != nil || len(service.deleted) > 0 {
		t.Errorf("deleted is %v, %v", service.deleted, err)
	}
	service.clusters[0].OpenShiftID = "this"
	if err := s.deletion().deleteCluster(t.Context()); err != nil || len(service.deleted) != 1 {
		t.Errorf("deleted is %v, %v", service.deleted, err)
	}
}
