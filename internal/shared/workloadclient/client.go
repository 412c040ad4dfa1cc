package workloadclient

import (
	"crypto/sha256"
	"net/http"
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/dynamic"
	certificatesclient "k8s.io/client-go/kubernetes/typed/certificates/v1"
	coreclient "k8s.io/client-go/kubernetes/typed/core/v1"
	policyclient "k8s.io/client-go/kubernetes/typed/policy/v1"
	"k8s.io/client-go/metadata"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
	"k8s.io/client-go/util/flowcontrol"
)

// Client is the clients of one installed cluster. They share one HTTP client and one limit of calls.
type Client struct {
	// Host is the address of the API server, HTTP what it is called by.
	Host string
	HTTP *http.Client

	Core         coreclient.CoreV1Interface
	Certificates certificatesclient.CertificatesV1Interface
	Policy       policyclient.PolicyV1Interface
	Dynamic      dynamic.Interface
	// Metadata reads which objects there are, and nothing of what is in them.
	Metadata metadata.Interface
}

// Options are how an installed cluster is reached.
type Options struct {
	// Config is the way to the cluster of a kubeconfig, or an error where the kubeconfig is refused. Connector.Config guards
	// a kubeconfig from a Secret, which the users of a namespace may write. Nil takes each kubeconfig that client-go takes.
	Config func(kubeconfig []byte) (*rest.Config, error)
	// Timeout is how long a request may take, 0 for no limit: a watch lasts.
	Timeout time.Duration
	// Wrap returns what requests pass through on their way to next. It may be nil.
	Wrap func(next http.RoundTripper) http.RoundTripper
}

// The rates that calls are limited to: the API server itself sees to fairness.
const (
	callsPerSecond = 200
	callsAtOnce    = 400
)

// Connect makes the clients of the cluster of a kubeconfig. It sends nothing.
func Connect(kubeconfig []byte, options Options) (*Client, error) {
	read := options.Config
	if read == nil {
		read = clientcmd.RESTConfigFromKubeConfig
	}
	config, err := read(kubeconfig)
	if err != nil {
		return nil, err
	}
	config = rest.CopyConfig(config)
	config.Timeout, config.UserAgent, config.WarningHandler = options.Timeout, "oaictl", rest.NoWarnings{}
	if options.Wrap != nil {
		config.Wrap(options.Wrap)
	}
	c := &Client{Host: config.Host}
	if c.HTTP, err = rest.HTTPClientFor(config); err != nil {
		return nil, err
	}
	config.RateLimiter = flowcontrol.NewTokenBucketRateLimiter(callsPerSecond, callsAtOnce) // of all clients together
	if c.Core, err = coreclient.NewForConfigAndClient(config, c.HTTP); err != nil {
		return nil, err
	}
	if c.Certificates, err = certificatesclient.NewForConfigAndClient(config, c.HTTP); err != nil {
		return nil, err
	}
	if c.Policy, err = policyclient.NewForConfigAndClient(config, c.HTTP); err != nil {
		return nil, err
	}
	if c.Dynamic, err = dynamic.NewForConfigAndClient(config, c.HTTP); err != nil {
		return nil, err
	}
	if c.Metadata, err = metadata.NewForConfigAndClient(config, c.HTTP); err != nil {
		return nil, err
	}
	return c, nil
}

// Close ends idle connections. Requests that are under way go on.
func (c *Client) Close() { c.HTTP.CloseIdleConnections() }

// Clients keeps the Client of each cluster for as long as its kubeconfig stays the same. The zero value keeps none yet. It is
// safe for concurrent use.
type Clients struct {
	mu sync.Mutex
	of map[types.NamespacedName]kept
}

type kept struct {
	kubeconfig [sha256.Size]byte // its digest
	client     *Client
}

// Get is the Client of a cluster by its kubeconfig.
func (c *Clients) Get(cluster types.NamespacedName, kubeconfig []byte, options Options) (*Client, error) {
	digest := sha256.Sum256(kubeconfig)
	c.mu.Lock()
	defer c.mu.Unlock()
	known, is := c.of[cluster]
	if is && known.kubeconfig == digest {
		return known.client, nil
	}
	made, err := Connect(kubeconfig, options)
	if err != nil {
		return nil, err
	}
	if is {
		known.client.Close()
	}
	if c.of == nil {
		c.of = map[types.NamespacedName]kept{}
	}
	c.of[cluster] = kept{kubeconfig: digest, client: made}
	return made, nil
}

// Forget drops the Client of a cluster that is gone.
func (c *Clients) Forget(cluster types.NamespacedName) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if known, is := c.of[cluster]; is {
		known.client.Close()
		delete(c.of, cluster)
	}
}
