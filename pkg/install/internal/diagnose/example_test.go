package diagnose_test

import (
	"fmt"
	"strings"

	"github.com/oaictl/oaictl/internal/shared/explain"
	"github.com/oaictl/oaictl/pkg/install/internal/diagnose"
)

func ExampleExplain() {
	checks := []diagnose.Check{{
		Subject: explain.SubjectCluster, ID: "all-hosts-are-ready-to-install", Category: "hosts-data",
		Status: diagnose.StatusFailure, Message: "The cluster has hosts that are not ready to install.",
	}}
	for _, host := range []string{"worker-0", "worker-1"} {
		checks = append(checks, diagnose.Check{
			Subject: explain.SubjectHost, Host: host, ID: "has-default-route", Category: "network",
			Status: diagnose.StatusFailure, Message: "Host has not yet been configured with a default route.",
		})
	}
	report := diagnose.Explain(diagnose.Input{Checks: checks, Registered: 5, Expected: 5})
	for _, cause := range report.Causes {
		fmt.Println(strings.Join(cause.Hosts, ", ") + ": " + cause.Meaning)
		fmt.Println(cause.Remedy)
		fmt.Println(cause.Field, cause.Cure, cause.Consequences)
	}
	// Output:
	// worker-0, worker-1: The host has no default route.
	// Set spec.network.defaults.gateway, or gateway for the host; with DHCP, let the server hand out a router.
	// spec.network.defaults.gateway machine [cluster/all-hosts-are-ready-to-install]
}
