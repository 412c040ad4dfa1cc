// Package agentmedia is what runs inside agent-based installation media, next to their
// assisted-service: it turns the manifests on the medium into a cluster and an
// InfraEnv, gives hosts their roles and disks, starts the installation, and adds nodes
// to an installed cluster.
//
// Systemd units run each step as a program of its own, again when it fails. So each step does what is missing,
// distinguishes why it failed, and waits for a bounded time only.
//
// It uses [github.com/oaictl/oaictl/pkg/install/rest], but not Decide: that depends on the names of hosts, these media
// on their number.
package agentmedia

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	"github.com/oaictl/oaictl/internal/shared/clock"
	"github.com/oaictl/oaictl/internal/shared/listtext"
	"github.com/oaictl/oaictl/internal/shared/release"
	"github.com/oaictl/oaictl/pkg/install"
	"github.com/oaictl/oaictl/pkg/install/model"
	"github.com/oaictl/oaictl/pkg/install/rest"
	"github.com/oaictl/oaictl/pkg/install/spec"
)

// Service is what the steps ask of a *rest.Plane.
type Service interface {
	Observe(ctx context.Context, query model.Query, prior *model.Observed) (*model.Observed, error)
	Act(ctx context.Context, desired *model.Desired, action model.Action) error
	ListClusters(ctx context.Context) ([]model.Cluster, error)
	ListInfraEnvs(ctx context.Context, clusterID string) ([]model.InfraEnv, error)
	ListHosts(ctx context.Context, infraEnvID string) ([]model.Host, error)
	Manifests(ctx context.Context, clusterID string, system bool) ([]install.Manifest, error)
	DownloadManifest(ctx context.Context, clusterID, folder, name string, out io.Writer) error
	UploadManifest(ctx context.Context, clusterID, folder, name string, content []byte) error
	BindHost(ctx context.Context, infraEnvID, hostID, clusterID string) error
	ImportedClusters(ctx context.Context, openShiftID string) ([]model.Cluster, error)
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
	// NoteOptional only warns of a CLUSTER_ID that cannot be recorded, like the client that existing units know: no
	// step reads it.
	NoteOptional bool
	// MACs are the addresses of this machine's interfaces.
	MACs func() ([]string, error)
	// Timeout is how long a step waits for hosts and service, on the clock.
	Timeout time.Duration
	// Poll is the time between two requests; zero is the step's own. Configure always
	// has its own.
	Poll time.Duration
	// Say reports, in a line, what happens; Warn what should be corrected.
	Say, Warn func(format string, arguments ...any)
}

// Result is what a step came to.
type Result struct {
	Kind string // cluster, infraenv, host
	Name string
	ID   string
	Done string // "registered", "unchanged": what was done, in the past tense
}

const unchanged = "unchanged"

// create sends what makes an object, and finds the object. A request that was not
// answered counts by what it left, so that nothing is made twice.
func create[T any](ctx context.Context, send func() error, find func() (*T, error)) (*T, error) {
	sent := send()
	if fault, is := errors.AsType[*model.Fault](sent); sent != nil && (!is || !fault.Ambiguous || context.Cause(ctx) != nil) {
		return nil, sent
	}
	found, err := find()
	switch {
	case err != nil:
		return nil, errors.Join(sent, err)
	case found == nil && sent != nil:
		return nil, sent
	case found == nil:
		return nil, &model.Fault{Code: model.CodeFailure, Op: "register",
			Err: errors.New("the service accepted the request, but does not have the requested object")}
	}
	return found, nil
}

// cluster is the one cluster of the service, nil while there is none.
func (c *Client) cluster(ctx context.Context) (*model.Cluster, error) {
	found, err := c.Service.ListClusters(ctx)
	if err == nil {
		found, err = c.withoutDuplicates(ctx, found)
	}
	return only("cluster", found, err, clusterLabel)
}

func (c *Client) awaitCluster(ctx context.Context, until *deadline) (found *model.Cluster, err error) {
	err = until.await(ctx, func() (bool, wait, error) {
		found, err = c.cluster(ctx)
		return found != nil, wait{what: "a cluster to be registered", code: model.CodeTimeout, next: "{agent register-cluster}"}, err
	})
	return found, err
}

func clusterLabel(c *model.Cluster) string {
	return fmt.Sprintf("%s (%s, %s)", c.ID, c.Name, c.Status)
}

// only is the one object of a kind, nil for none; several are an error.
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
	return nil, &model.Fault{
		Code: model.CodeNotFound, Op: "find " + kind, Permanent: true,
		Err:  fmt.Errorf("found multiple %ss, but the service of agent-based media must have one: %s", kind, strings.Join(names, ", ")),
		Next: "delete the wrong ones: " + model.Command("delete", kind, "ID"),
	}
}

// infraEnvID is the InfraEnv that the units name, else the recorded one.
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
		return "", &model.Fault{
			Code: model.CodeNotFound, Op: "find InfraEnv", Next: "{agent register-infraenv}", // it may be recorded later
			Err: fmt.Errorf("%s is not set, and %s does not contain it", variable, c.Env.ClientConfig),
		}
	}
	return noted[variable], nil
}

// byID is for actions that need nothing of a desired cluster.
func byID() *model.Desired { return &model.Desired{Spec: &spec.Cluster{}} }

// wait is what a step waits for.
type wait struct {
	what  string
	code  model.Code // if the wait is too long
	next  model.Advice
	pause time.Duration // until it is observed again; 0 for the step's own
}

// deadline ends what waits too long.
type deadline struct {
	client   *Client
	op       string
	until    time.Time
	pause    time.Duration
	reported string
}

func (c *Client) deadline(op string, pause time.Duration) *deadline {
	return &deadline{client: c, op: op, until: c.Clock.Now().Add(c.Timeout), pause: cmp.Or(c.Poll, pause)}
}

// await tries until a try is done, and gives its error. That of one that is not done is
// waited for if it may be gone a little later.
func (d *deadline) await(ctx context.Context, try func() (done bool, on wait, err error)) error {
	for {
		done, on, err := try()
		if err != nil && !done {
			on, err = waitOut(ctx, err)
		}
		if done || err != nil {
			return err
		}
		if err := d.sleep(ctx, on); err != nil {
			return err
		}
	}
}

// sleep says what it waits for when that is new. It is an error once the step has
// waited for as long as it may.
func (d *deadline) sleep(ctx context.Context, on wait) error {
	if on.what != d.reported {
		d.client.Say("waiting for %s", on.what)
		d.reported = on.what
	}
	length := cmp.Or(on.pause, d.pause)
	if !d.client.Clock.Now().Add(length).Before(d.until) {
		return &model.Fault{
			Code: on.code, Op: d.op, Next: on.next, Err: fmt.Errorf("waited for %s for %s", d.client.Timeout, on.what),
		}
	}
	return d.client.Clock.Sleep(ctx, length)
}

// waitOut makes a wait of an error that may be gone a little later.
func waitOut(ctx context.Context, err error) (wait, error) {
	if !passing(err) || context.Cause(ctx) != nil {
		return wait{}, err
	}
	return wait{what: "the service: " + err.Error(), code: model.CodeTimeout, next: model.FaultOf(err).Next}, nil
}

func passing(err error) bool {
	fault, is := errors.AsType[*model.Fault](err)
	return is && !fault.Permanent && fault.Code == model.CodeFailure
}

// rawToken is sent as it is, a token of any kind, unless it is empty.
type rawToken struct{ secret spec.Secret }

// NoToken is for services that want no token. If one is asked for after all, the advice
// names USER_AUTH_TOKEN.
func NoToken() rest.TokenSource { return rawToken{} }

// RawToken sends a token as the Authorization header has it in USER_AUTH_TOKEN of the
// units, without a word in front of it.
func RawToken(secret spec.Secret) rest.TokenSource { return rawToken{secret} }

func (t rawToken) Header(context.Context) (name, value string, err error) {
	if t.secret.IsZero() {
		return "", "", nil
	}
	return "Authorization", strings.TrimSpace(t.secret.Reveal()), nil
}

func (rawToken) Refused(string) bool { return false }
func (rawToken) Next() string {
	return "set USER_AUTH_TOKEN to the token that the medium was made with"
}

// Status is where things stand on a medium.
type Status struct {
	Cluster  *model.Cluster  // nil while there is none
	InfraEnv *model.InfraEnv // nil while there is none
	Hosts    []model.Host
	// Failures are the lines of the file of failures: "<host>: <text>".
	Failures []string
}

// Status looks, and changes nothing.
func (c *Client) Status(ctx context.Context) (Status, error) {
	var s Status
	var err error
	if s.Failures, err = readFailures(c.Env.Failures); err != nil {
		return s, err
	}
	if s.Cluster, err = c.cluster(ctx); err != nil {
		return s, err
	}
	if s.InfraEnv, err = c.infraEnv(ctx); err != nil || s.InfraEnv == nil {
		return s, err
	}
	s.Hosts, err = c.Service.ListHosts(ctx, s.InfraEnv.ID)
	return s, err
}

// Trouble is the status as an error, nil if there is no problem.
func (s Status) Trouble() error {
	switch {
	case s.Cluster != nil && slices.Contains([]model.ClusterState{model.ClusterFailed, model.ClusterCancelled}, s.Cluster.State):
		return &model.Fault{
			Code: model.CodeFailed, Op: "install cluster", On: s.Cluster.Name,
			Err: fmt.Errorf("it has ended with the state %s: %s", s.Cluster.Status, s.Cluster.StatusInfo), Next: model.Command("why cluster",
				s.Cluster.Name),
		}
	case s.Cluster != nil && len(unbound(s.Hosts)) > 0:
		return &model.Fault{
			Code: model.CodeBlocked,
			Err: fmt.Errorf("installation cannot proceed: %s without a cluster; their InfraEnv was registered before cluster %s",
				listtext.CountText(len(unbound(s.Hosts)), "host"), s.Cluster.Name),
			Next: "{agent start-install}", // which binds them
		}
	case len(s.Failures) > 0:
		return &model.Fault{
			Code: model.CodeBlocked, Err: fmt.Errorf("installation cannot proceed: %s", strings.Join(s.Failures, "; ")),
			Next: "correct the configuration of the hosts; configure-hosts reads it again",
		}
	}
	return nil
}

func readFailures(path string) ([]string, error) {
	data, err := readOptional(path)
	if err != nil {
		return nil, err
	}
	var lines []string
	for line := range strings.Lines(string(data)) {
		if line = strings.TrimSpace(line); line != "" {
			lines = append(lines, line)
		}
	}
	return lines, nil
}
