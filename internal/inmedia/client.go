package inmedia

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/oaictl/oaictl/internal/advice"
	"github.com/oaictl/oaictl/internal/clock"
	"github.com/oaictl/oaictl/pkg/install"
	"github.com/oaictl/oaictl/pkg/install/release"
	"github.com/oaictl/oaictl/pkg/install/rest"
	"github.com/oaictl/oaictl/pkg/install/spec"
)

// Service is what the steps ask of the service on the medium; a *rest.Plane has
// all of it.
type Service interface {
	Observe(ctx context.Context, query install.Query, prior *install.Observed) (*install.Observed, error)
	Act(ctx context.Context, desired *install.Desired, action install.Action) error
	ListClusters(ctx context.Context) ([]install.Cluster, error)
	ListInfraEnvs(ctx context.Context, clusterID string) ([]install.InfraEnv, error)
	ListHosts(ctx context.Context, infraEnvID string) ([]install.Host, error)
	Manifests(ctx context.Context, clusterID string, system bool) ([]install.Manifest, error)
	DownloadManifest(ctx context.Context, clusterID, folder, name string, out io.Writer) error
	UploadManifest(ctx context.Context, clusterID, folder, name string, content []byte) error
	BindHost(ctx context.Context, infraEnvID, hostID, clusterID string) error
	ImportedClusters(ctx context.Context, openShiftID string) ([]install.Cluster, error)
	ImportCluster(ctx context.Context, i rest.Import) error
}

// Client carries out the steps.
type Client struct {
	Service Service
	Clock   clock.Clock
	Env     Environment
	// Release reads the release image that is installed.
	Release func(ctx context.Context, ref string, o release.Options) (release.Info, error)
	// RegistryCA is a file of certificates (PEM) to trust registries by, beside the
	// system's; OC is the program oc. "" for none of either.
	RegistryCA string
	OC         string
	// NoteOptional has a CLUSTER_ID that cannot be noted warned of only, as the client
	// that existing units know ignores it: no step reads it.
	NoteOptional bool
	// MACs are the addresses of this machine's interfaces.
	MACs func() ([]string, error)
	// Timeout is how long a step waits for hosts and service, on the clock.
	Timeout time.Duration
	// Poll is the time between two looks at the service; zero is what the step
	// finds right. How long Configure pauses, it says itself.
	Poll time.Duration
	// Say is told, in a line for a person, what happens; Warn what should be
	// looked at.
	Say, Warn func(format string, arguments ...any)
}

// Result is what a step came to.
type Result struct {
	Kind string // cluster, infraenv, host
	Name string
	ID   string
	Done string // "registered", "unchanged": what was done, in the past tense
}

// unchanged is Result.Done where there was nothing to do.
const unchanged = "unchanged"

// create sends what makes an object, and finds the object. A request that may
// have been carried out although it was not answered counts by what it left; so
// nothing is made twice.
func create[T any](ctx context.Context, send func() error, find func() (*T, error)) (*T, error) {
	sent := send()
	var fault *install.Fault
	if sent != nil && (!errors.As(sent, &fault) || !fault.Ambiguous || context.Cause(ctx) != nil) {
		return nil, sent
	}
	found, err := find()
	switch {
	case err != nil:
		return nil, errors.Join(sent, err)
	case found == nil && sent != nil:
		return nil, sent
	case found == nil:
		return nil, &install.Fault{Code: install.CodeFailure, Op: "register", Err: errors.New("the service took the request, but does not have what it asked for")}
	}
	return found, nil
}

// cluster is the one cluster of the service on a medium, nil while there is none.
func (c *Client) cluster(ctx context.Context) (*install.Cluster, error) {
	found, err := c.Service.ListClusters(ctx)
	if err == nil {
		found, err = c.withoutDuplicates(ctx, found)
	}
	return only("cluster", found, err, func(c *install.Cluster) string { return fmt.Sprintf("%s (%s, %s)", c.ID, c.Name, c.Status) })
}

func (c *Client) awaitCluster(ctx context.Context, until *deadline, pause time.Duration) (*install.Cluster, error) {
	for {
		found, err := c.cluster(ctx)
		on := wait{what: "a cluster to be registered", code: install.CodeTimeout, next: "{agent register-cluster}"}
		switch {
		case err != nil:
			if on, err = waitOut(ctx, err); err != nil {
				return nil, err
			}
		case found != nil:
			return found, nil
		}
		if err := until.pause(ctx, on, pause); err != nil {
			return nil, err
		}
	}
}

// only is the one object of a kind, nil for none. Several are nobody's to choose
// from.
func only[T any](kind string, found []T, err error, name func(*T) string) (*T, error) {
	if err != nil || len(found) == 0 {
		return nil, err
	}
	if len(found) == 1 {
		return &found[0], nil
	}
	names := make([]string, 0, len(found))
	for i := range found {
		names = append(names, name(&found[i]))
	}
	return nil, &install.Fault{
		Code: install.CodeNotFound, Op: "find " + kind, Permanent: true,
		Err:  fmt.Errorf("found multiple %ss, where the service of a medium has one: %s", kind, strings.Join(names, ", ")),
		Next: "delete those that are not meant: " + advice.Command("delete", kind, "ID"),
	}
}

// infraEnvID is the InfraEnv that the units name, else the one that
// register-infraenv noted.
func (c *Client) infraEnvID() (string, error) {
	const variable = "INFRA_ENV_ID"
	if id := c.Env.InfraEnvID; id != "" {
		return id, nil
	}
	noted, err := readRecord(c.Env.ClientConfig)
	if err != nil {
		return "", err
	}
	if noted[variable] == "" {
		return "", &install.Fault{
			Code: install.CodeNotFound, Op: "find InfraEnv", Next: "{agent register-infraenv}", // it may be noted yet
			Err: fmt.Errorf("%s is not set, and %s does not say it", variable, c.Env.ClientConfig),
		}
	}
	return noted[variable], nil
}

// byID is a desired cluster that says nothing, for actions that need none.
func byID() *install.Desired { return &install.Desired{Spec: &spec.Cluster{}} }

type wait struct {
	what string
	code install.Code // if it is waited for too long
	next install.Advice
}

// deadline ends what waits too long.
type deadline struct {
	client *Client
	op     string
	until  time.Time
	told   string
}

func (c *Client) deadline(op string) *deadline {
	return &deadline{client: c, op: op, until: c.Clock.Now().Add(c.Timeout)}
}

// pause waits for a while, and says what for when that is another thing than
// before. It is an error once the step has waited for as long as it may.
func (d *deadline) pause(ctx context.Context, on wait, length time.Duration) error {
	if on.what != d.told {
		d.client.Say("waiting for %s", on.what)
		d.told = on.what
	}
	if !d.client.Clock.Now().Add(length).Before(d.until) {
		return &install.Fault{
			Code: on.code, Op: d.op, Next: on.next, Err: fmt.Errorf("waited for %s for %s", d.client.Timeout, on.what),
		}
	}
	return d.client.Clock.Sleep(ctx, length)
}

// waitOut has an error waited for that may be gone a little later; others it hands
// back.
func waitOut(ctx context.Context, err error) (wait, error) {
	if !passing(err) || context.Cause(ctx) != nil {
		return wait{}, err
	}
	return wait{what: "the service: " + err.Error(), code: install.CodeTimeout, next: install.NextOf(err)}, nil
}

func passing(err error) bool {
	var fault *install.Fault
	return errors.As(err, &fault) && !fault.Permanent && fault.Code == install.CodeFailure
}

// noToken sends none, and says where a medium has one.
type noToken struct{}

// NoToken sends no token, which is for services that want none.
func NoToken() rest.TokenSource { return noToken{} }

func (noToken) Header(context.Context) (name, value string, err error) { return "", "", nil }

func (noToken) Refused(string) bool { return false }

func (noToken) Next() string { return rawToken{}.Next() }

// rawToken is sent as it is, whatever kind of token it looks like.
type rawToken struct{ secret spec.Secret }

// RawToken sends a token in the Authorization header without a word in front of
// it, as the units of agent-based media have it in USER_AUTH_TOKEN.
func RawToken(secret spec.Secret) rest.TokenSource { return rawToken{secret} }

func (t rawToken) Header(context.Context) (name, value string, err error) {
	return "Authorization", strings.TrimSpace(t.secret.Reveal()), nil
}

func (rawToken) Refused(string) bool { return false }
func (rawToken) Next() string {
	return "set USER_AUTH_TOKEN to the token that the medium was made with"
}
