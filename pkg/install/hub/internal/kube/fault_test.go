package kube

import (
	"encoding/json"
	"errors"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/rest"

	"github.com/oaictl/oaictl/pkg/install/model"
)

func statusError(code int32, reason metav1.StatusReason, message string, causes ...metav1.StatusCause) error {
	return &apierrors.StatusError{ErrStatus: metav1.Status{Status: metav1.StatusFailure, Code: code, Reason: reason, Message: message, Details: &metav1.StatusDetails{Causes: causes}}}
}

// What an API server, and the webhooks behind it, refuse is told in their words,
// with a code and what to do.
func TestFaults(t *testing.T) {
	const denies = `admission webhook "agentclusterinstallvalidators.admission.agentinstall.openshift.io" denied the request: `
	for name, test := range map[string]struct {
		err       error
		ofFile    bool
		code      model.Code
		permanent bool
		says      string
		next      string
	}{
		"a webhook, 409": {
			err: statusError(409, metav1.StatusReasonConflict, denies+"Can't set userManagedNetworking to true with platform BareMetal"), ofFile: true,
			code: model.CodeInput, permanent: true, says: "Can't set userManagedNetworking", next: "change the file",
		},
		"a webhook, frozen": {
			err:  statusError(400, metav1.StatusReasonBadRequest, denies+"Attempted to change AgentClusterInstall.Spec which is immutable after install started, except for ClusterMetadata,IgnitionEndpoint fields."),
			code: model.CodeInput, permanent: true, says: "immutable", next: "takes no such change any more",
		},
		"a webhook that is down": {
			err:  statusError(500, metav1.StatusReasonInternalError, `Internal error occurred: failed calling webhook "agentvalidators.admission.agentinstall.openshift.io": connection refused`),
			code: model.CodeFailure, says: "agentvalidators.admission.agentinstall.openshift.io does not answer", next: "pods",
		},
		"a webhook that refuses the API server": {
			err:  statusError(500, metav1.StatusReasonInternalError, `Internal error occurred: failed calling webhook "agentvalidators.admission.agentinstall.openshift.io": failed to call webhook: agentvalidators.admission.agentinstall.openshift.io is forbidden: User "system:anonymous" cannot create resource "agentvalidators"`),
			code: model.CodeFailure, says: "the server of webhook agentvalidators.admission.agentinstall.openshift.io refuses the API server of the hub", next: "RBAC",
		},
		"a webhook that is not trusted": {
			err:  statusError(500, metav1.StatusReasonInternalError, `Internal error occurred: failed calling webhook "x.example.com": failed to call webhook: Post "https://x.svc:443/": tls: failed to verify certificate: x509: certificate signed by unknown authority`),
			code: model.CodeFailure, says: "does not trust the server of webhook x.example.com", next: "caBundle",
		},
		"the schema": {
			err:    statusError(422, metav1.StatusReasonInvalid, "x is invalid", metav1.StatusCause{Type: metav1.CauseTypeFieldValueInvalid, Field: "spec.apiVIPs", Message: "Too many"}),
			ofFile: true, code: model.CodeInput, permanent: true, says: "spec.apiVIPs: Too many",
		},
		"an owner": {
			err:  statusError(409, metav1.StatusReasonConflict, "Apply failed with 1 conflict", metav1.StatusCause{Type: metav1.CauseTypeFieldManagerConflict, Field: ".spec.apiVIPs", Message: `conflict with "kubectl-edit" using v1beta1`}),
			code: model.CodeNotFound, permanent: true, says: "spec.apiVIPs is owned by kubectl-edit",
		},
		"a field that the hub has not": {
			err:  statusError(500, "", `failed to create typed patch object (lab/cp-0; metal3.io/v1alpha1, Kind=BareMetalHost): .spec.architecture: field not declared in schema`),
			code: model.CodeInput, permanent: true, says: "has no field spec.architecture", next: "operator",
		},
		"somebody was quicker":  {err: statusError(409, metav1.StatusReasonConflict, "the object has been modified"), code: model.CodeFailure, says: "modified", next: "again"},
		"expired":               {err: statusError(401, metav1.StatusReasonUnauthorized, "Unauthorized"), code: model.CodeAuth, permanent: true, says: "expired", next: "log in"},
		"not allowed":           {err: statusError(403, metav1.StatusReasonForbidden, `agents is forbidden: User "u" cannot watch resource "agents"`), code: model.CodeAuth, permanent: true, says: "may not watch agents.agent-install.openshift.io in namespace lab", next: "kubectl auth can-i watch agents"},
		"a namespace that goes": {err: statusError(403, metav1.StatusReasonForbidden, "x", metav1.StatusCause{Type: "NamespaceTerminating"}), code: model.CodeFailure, says: "the namespace lab is being deleted"},
		"no namespace":          {err: statusError(404, metav1.StatusReasonNotFound, `namespaces "lab" not found`), code: model.CodeNotFound, permanent: true, says: "no namespace lab", next: "kubectl create namespace lab"},
		"too many":              {err: statusError(429, metav1.StatusReasonTooManyRequests, "slow down"), code: model.CodeFailure, says: "slow down"},
		"broken":                {err: statusError(500, metav1.StatusReasonInternalError, "etcd"), code: model.CodeFailure, says: "etcd"},
		"a credential plug-in":  {err: errors.New(`Get "https://hub": getting credentials: exec: executable oc failed`), code: model.CodeAuth, permanent: true, says: "getting credentials", next: "log in"},
	} {
		p := &Client{Host: "https://hub"}
		f := p.Fault(Attempt{Op: "apply Agent", Verb: "patch", Kind: Agents, Namespace: "lab", Name: "x", FromFile: test.ofFile}, test.err)
		if f.Code != test.code || f.Permanent != test.permanent || !strings.Contains(f.Error(), test.says) || !strings.Contains(f.Next.String(), test.next) {
			t.Errorf("%s: got %v (code %d, permanent %v, next %q)", name, f, f.Code, f.Permanent, f.Next)
		}
	}
}

// A server that is no hub is told apart from one that is.
func TestHubsThatLackSomething(t *testing.T) {
	for name, test := range map[string]struct {
		serve map[string][]string // resources by group and version
		says  string
	}{
		"no hub":    {nil, "does not serve clusterdeployments.hive.openshift.io, clusterimagesets.hive.openshift.io, agentclusterinstalls.extensions.hive.openshift.io, infraenvs"},
		"Hive only": {map[string][]string{"hive.openshift.io/v1": {"clusterdeployments", "clusterimagesets"}}, "does not serve agentclusterinstalls.extensions.hive.openshift.io, infraenvs"},
		"all, without metal3": {map[string][]string{
			"hive.openshift.io/v1": {"clusterdeployments", "clusterimagesets"}, "extensions.hive.openshift.io/v1beta1": {"agentclusterinstalls"},
			"agent-install.openshift.io/v1beta1": {"infraenvs", "nmstateconfigs", "agents"},
		}, ""},
	} {
		web := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			names, there := test.serve[strings.TrimPrefix(r.URL.Path, "/apis/")]
			w.Header().Set("Content-Type", "application/json")
			if !there {
				w.WriteHeader(http.StatusNotFound)
				_ = json.NewEncoder(w).Encode(metav1.Status{TypeMeta: metav1.TypeMeta{Kind: "Status", APIVersion: "v1"}, Status: "Failure", Reason: metav1.StatusReasonNotFound, Code: 404})
				return
			}
			list := metav1.APIResourceList{TypeMeta: metav1.TypeMeta{Kind: "APIResourceList", APIVersion: "v1"}}
			for _, name := range names {
				list.APIResources = append(list.APIResources, metav1.APIResource{Name: name})
			}
			_ = json.NewEncoder(w).Encode(list)
		}))
		p, err := New(&rest.Config{Host: web.URL}, "", nil, nil)
		if err != nil {
			t.Fatal(err)
		}
		have, err := p.Connect(t.Context())
		switch {
		case test.says == "" && (err != nil || have[BareMetalHosts] || !have[Agents]):
			t.Errorf("%s: %v, %v", name, have, err)
		case test.says != "" && (err == nil || !strings.Contains(err.Error(), test.says) || model.FaultOf(err).Next == ""):
			t.Errorf("%s: got %v", name, err)
		}
		web.Close()
	}
}

func FuzzConditionsOfFaults(f *testing.F) {
	f.Add(`admission webhook "x" denied the request: y`)
	f.Add(`cannot list resource "x"`)
	f.Fuzz(func(t *testing.T, text string) {
		p := &Client{Host: "h"}
		if p.Fault(Attempt{Op: "x", Verb: "list", Kind: Agents}, statusError(403, metav1.StatusReasonForbidden, text)).Err == nil {
			t.Error("no error")
		}
	})
}
