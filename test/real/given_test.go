//go:build e2e

package real

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"os"
	"strconv"
	"strings"
	"time"

	"k8s.io/client-go/tools/clientcmd"

	kube "k8s.io/client-go/rest"

	"github.com/oaictl/oaictl/pkg/install/rest"
	"github.com/oaictl/oaictl/pkg/install/spec"
)

// given is what the environment names: a service, and how it is reached.
type given struct {
	service    string // its URL; "" for none, which is the simulated one
	kubeconfig string // the path of one
	kube       *kube.Config
	client     *http.Client
	caFile     string
	auth       rest.TokenSource
	hostToken  string
	images     string  // the address of the image service that the tests play for a service that has none
	pullSecret string  // the path of one, "" for that of the examples
	speed      float64 // of the machines
	monitor    time.Duration
}

// stockMonitor is how often a service checks its clusters by default.
const stockMonitor = 10 * time.Second

// fromEnvironment reads what is given.
func fromEnvironment() (given, error) {
	g := given{
		service: os.Getenv("OAICTL_REAL_SERVICE"), pullSecret: os.Getenv("OAICTL_REAL_PULL_SECRET"), caFile: os.Getenv("OAICTL_CA_FILE"),
		kubeconfig: os.Getenv("OAICTL_REAL_HUB"), images: os.Getenv("OAICTL_REAL_IMAGE_SERVICE"), speed: 60, monitor: stockMonitor,
	}
	if g.service == "" {
		if g.kubeconfig != "" {
			return g, errors.New("OAICTL_REAL_HUB needs OAICTL_REAL_SERVICE, too: the address of the service behind the hub, where its machines register")
		}
		return g, nil
	}
	if err := refuseHosted(g.service); err != nil {
		return g, err
	}
	if text := os.Getenv("OAICTL_REAL_SPEED"); text != "" {
		speed, err := strconv.ParseFloat(text, 64)
		if err != nil || speed <= 0 {
			return g, fmt.Errorf("OAICTL_REAL_SPEED is %q, and no number above 0", text)
		}
		g.speed = speed
	}
	if text := os.Getenv("OAICTL_REAL_MONITOR"); text != "" {
		interval, err := time.ParseDuration(text)
		if err != nil || interval <= 0 {
			return g, fmt.Errorf("OAICTL_REAL_MONITOR is %q, and no time such as 10s", text)
		}
		g.monitor = interval
	}
	if path := os.Getenv("OAICTL_HOST_TOKEN_FILE"); path != "" {
		text, err := os.ReadFile(path)
		if err != nil {
			return g, fmt.Errorf("read the token that OAICTL_HOST_TOKEN_FILE names: %w", err)
		}
		g.hostToken = strings.TrimSpace(string(text))
	}
	var err error
	if g.client, err = rest.HTTPClient(g.caFile, os.Getenv("OAICTL_INSECURE") == "true"); err != nil {
		return g, err
	}
	g.auth, err = rest.Credentials{
		Token: secret("OAICTL_TOKEN"), OfflineToken: secret("OAICTL_OFFLINE_TOKEN"), SSOURL: os.Getenv("OAICTL_SSO_URL"),
	}.Authorise(g.client, g.caFile, nil)
	if err != nil || g.kubeconfig == "" {
		return g, err
	}
	if g.kube, err = clientcmd.BuildConfigFromFlags("", g.kubeconfig); err != nil {
		return g, fmt.Errorf("read the kubeconfig that OAICTL_REAL_HUB names: %w", err)
	}
	return g, nil
}

// answers reports whether the service is there, is an assisted-service, and accepts the user. Nothing is made before
// that is known.
func (g given) answers(ctx context.Context) error {
	ctx, stop := context.WithTimeout(ctx, answerWithin)
	defer stop()
	var got struct {
		Versions map[string]any `json:"versions"`
	}
	status, err := wire{base: g.service, client: g.client, auth: g.auth}.do(ctx, http.MethodGet, "/v2/component-versions", nil, &got)
	switch {
	case status == 0:
		return fmt.Errorf("nothing answers at OAICTL_REAL_SERVICE: %w", err)
	case status == http.StatusUnauthorized && g.kubeconfig != "":
		return nil // the one behind a hub knows machines only
	case status == http.StatusUnauthorized || status == http.StatusForbidden:
		return fmt.Errorf("the service at %s does not know who asks (%d): set OAICTL_TOKEN to a token that it takes, or OAICTL_OFFLINE_TOKEN with OAICTL_SSO_URL", g.service, status)
	case status >= http.StatusInternalServerError:
		return fmt.Errorf("the service at %s is not ready: %w", g.service, err)
	case err != nil || got.Versions == nil:
		return fmt.Errorf("what answers at OAICTL_REAL_SERVICE (%s) is no assisted-service: GET /v2/component-versions gives %d", g.service, status)
	}
	return nil
}

// answerWithin is how long a service may take to say that it is there.
const answerWithin = 30 * time.Second

func secret(variable string) spec.Secret {
	if text := strings.TrimSpace(os.Getenv(variable)); text != "" {
		return spec.NewSecret(text)
	}
	return spec.Secret{}
}

// refuseHosted refuses Red Hat's hosted service: machines that do not exist would be
// registered with a subscription, and its people would wonder.
func refuseHosted(service string) error {
	address, err := url.Parse(service)
	if err != nil || address.Host == "" {
		return fmt.Errorf("OAICTL_REAL_SERVICE is %q, and no URL such as http://127.0.0.1:8090", service)
	}
	host := "." + strings.ToLower(strings.TrimSuffix(address.Hostname(), "."))
	for _, hosted := range []string{".openshift.com", ".redhat.com"} {
		if strings.HasSuffix(host, hosted) {
			return fmt.Errorf("%s is a hosted service: this suite makes clusters of machines that do not exist; use a service of your own", address.Hostname())
		}
	}
	return nil
}
