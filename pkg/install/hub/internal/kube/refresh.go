package kube

import (
	"net/http"

	"k8s.io/client-go/rest"
)

// retryTransport sends a call that was not authorised once more: by then client-go has
// had the credential plug-in make new ones.
type retryTransport struct{ next http.RoundTripper }

// renewsCredentials says whether the credentials of a connection are made anew once they are
// refused. Those that stand in a kubeconfig would be the same again.
func renewsCredentials(kube *rest.Config) bool {
	return kube.ExecProvider != nil || kube.AuthProvider != nil
}

// RoundTrip is of http.RoundTripper.
func (r *retryTransport) RoundTrip(request *http.Request) (*http.Response, error) {
	response, err := r.next.RoundTrip(request)
	if err != nil || response.StatusCode != http.StatusUnauthorized {
		return response, err
	}
	again := request.Clone(request.Context())
	if request.Body != nil && request.Body != http.NoBody {
		if request.GetBody == nil {
			return response, nil
		}
		if again.Body, err = request.GetBody(); err != nil {
			return response, nil //nolint:nilerr // the answer that there is says more
		}
	}
	_ = response.Body.Close()
	return r.next.RoundTrip(again)
}
