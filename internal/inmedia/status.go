package inmedia

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/oaictl/oaictl/internal/advice"
	"github.com/oaictl/oaictl/internal/model"
	"github.com/oaictl/oaictl/pkg/install"
)

// Status is where things stand on a medium.
type Status struct {
	Cluster  *install.Cluster  // nil while there is none
	InfraEnv *install.InfraEnv // nil while there is none
	Hosts    []install.Host
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

// Trouble is the error that the status is, nil where nothing is in the way.
func (s Status) Trouble() error {
	switch {
	case s.Cluster != nil && slices.Contains([]install.ClusterState{model.ClusterFailed, model.ClusterCancelled}, s.Cluster.State):
		return &install.Fault{
			Code: install.CodeFailed, Op: "install cluster", On: s.Cluster.Name,
			Err: fmt.Errorf("it has ended as %s: %s", s.Cluster.Status, s.Cluster.StatusInfo), Next: advice.Command("why cluster", s.Cluster.Name),
		}
	case s.Cluster != nil && len(unbound(s.Hosts)) > 0:
		return &install.Fault{
			Code: install.CodeBlocked,
			Err:  fmt.Errorf("installation cannot proceed: %s without a cluster; their InfraEnv was registered before cluster %s", count(len(unbound(s.Hosts)), "host"), s.Cluster.Name),
			Next: "{agent start-install}", // which binds them
		}
	case len(s.Failures) > 0:
		return &install.Fault{
			Code: install.CodeBlocked, Err: fmt.Errorf("installation cannot proceed: %s", strings.Join(s.Failures, "; ")),
			Next: "correct the configuration of the hosts; configure-hosts reads it again",
		}
	}
	return nil
}

// readFailures reads the file of failures; none where there is no file.
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
