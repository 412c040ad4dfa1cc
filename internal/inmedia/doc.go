// Package inmedia is what runs inside agent-based installation media, next to
// the assisted-service that the media bring along: it turns the manifests on the
// medium into a cluster and an InfraEnv, gives hosts their roles and disks, starts
// the installation, and adds nodes to a cluster that is installed already.
//
// The systemd units on such media run each step as a program of its own and start
// it again when it fails. So each step looks first at what is there, does what is
// missing, and does nothing where nothing is; it tells apart why it failed; and
// whatever it waits for, it waits for a bounded time.
//
// The service is reached through [github.com/oaictl/oaictl/pkg/install/rest].
// Decide has no part here: its file names the hosts of a cluster, these media know
// them by their number.
package inmedia
