//go:build linux

package controller

import (
	"context"
	"errors"
	"log/slog"
	"net/netip"
	"slices"
	"strings"
	"time"

	"github.com/openshift/assisted-service/models"

	"github.com/oaictl/oaictl/internal/host/kube"
	"github.com/oaictl/oaictl/internal/shared/csr"
	"github.com/oaictl/oaictl/internal/shared/escape"
	"github.com/oaictl/oaictl/pkg/install/model"
)

const (
	// beforeVersion is how long before the ClusterVersion the first request may have been made.
	beforeVersion = 10 * time.Minute

	// Events about requests: of one look, and of the whole installation.
	noticesAtOnce = 20
	noticesInAll  = 200
	noticeLength  = 1000 // characters of a message
)

// known is what the controller knows of the machines that may become nodes.
type known struct {
	cluster *models.Cluster
	hosts   []host
	// lost says that the service of the agent-based installer does not answer. It ends when the machine on which it runs reboots,
	// the last of all machines that it installs.
	lost bool
}

// approveRequests approves requests for certificates until ctx ends. The first look comes after the interval.
func (c *Controller) approveRequests(ctx context.Context) {
	for c.Clock.Sleep(ctx, generalInterval) == nil {
		if err := c.look(ctx, c.lookAtRequests); err != nil && ctx.Err() == nil {
			c.Log.Error("could not approve certificate requests", said(err))
		}
	}
}

// lookAtRequests judges all requests that there are now.
func (c *Controller) lookAtRequests(ctx context.Context) error {
	requests, err := c.Cluster.Requests(ctx)
	if errors.Is(err, kube.ErrTooMany) {
		c.Log.Error("too many certificate requests: only the first are judged; find out who sends them", said(err))
	} else if err != nil {
		return err
	}
	if !slices.ContainsFunc(requests, func(r kube.Request) bool { m := requestOf(r); return m.Pending() }) {
		return nil
	}
	expected, err := c.expected(ctx)
	if err != nil {
		return err
	}
	all := make([]model.CertificateRequest, 0, len(requests))
	for _, r := range requests {
		all = append(all, requestOf(r))
	}
	if pending, limit, over := csr.Flood(all, len(expected.Hosts), len(expected.Nodes), c.Clock.Now()); over {
		c.Log.Warn("too many certificate requests are pending: the cluster's own approver stops; find out who sends them",
			slog.Int("pending", pending), slog.Int("limit", limit))
	}
	var errs []error
	notices := 0
	for i, v := range csr.Judge(all, expected, c.Clock.Now()) {
		if !all[i].Pending() {
			continue
		}
		if v.Decision == model.RequestApprove {
			c.Log.Info("approving a certificate request", word("request", v.Name), word("node", v.Node), word("reason", v.Message))
			message := "assisted-installer-controller approved this request: " + v.Message
			errs = append(errs, c.Cluster.Approve(ctx, requests[i], csr.ApprovedReason, shortened(message), c.Clock.Now()))
			continue
		}
		if v.Decision != model.RequestIgnore && notices < noticesAtOnce && c.notApproved(ctx, v) {
			notices++
		}
	}
	return errors.Join(errs...)
}

// notApproved says once for each reason why a request is not approved: in the log and as an Event.
func (c *Controller) notApproved(ctx context.Context, v model.RequestVerdict) (noticed bool) {
	key := v.UID + "-" + strings.ToLower(v.Reason)
	if c.noticed[key] || len(c.noticed) >= noticesInAll {
		return false
	}
	c.noticed[key] = true
	c.Log.Warn("a certificate request is not approved", word("request", v.Name), word("kind", string(v.Kind)), word("node", v.Node),
		slog.String("decision", string(v.Decision)), slog.String("reason", v.Reason), word("message", v.Message))
	if v.Decision == model.RequestWait {
		return true
	}
	err := c.Cluster.CreateEvent(ctx, kube.Notice{
		Namespace: "default", Name: "assisted-installer-controller." + key, Reason: v.Reason, Warning: true, At: c.Clock.Now(),
		About: kube.Reference{APIVersion: "certificates.k8s.io/v1", Kind: "CertificateSigningRequest", Name: v.Name},
		Message: shortened(escape.Word("This request is not approved: " + v.Message +
			". If the node is yours: oc adm certificate approve " + v.Name)),
	})
	if err != nil && !kube.AlreadyExists(err) {
		c.Log.Warn("could not create an event about a certificate request", word("request", v.Name), said(err))
	}
	return true
}

// shortened is a text of at most noticeLength characters.
func shortened(text string) string {
	letters := []rune(text)
	if len(letters) <= noticeLength {
		return text
	}
	return string(letters[:noticeLength-1]) + "…"
}

// requestOf is a request as the judge reads it.
func requestOf(r kube.Request) model.CertificateRequest {
	out := model.CertificateRequest{
		Name: r.Name, UID: r.UID, Created: r.Created.Time, Signer: r.Spec.Signer, Username: r.Spec.Username, Groups: r.Spec.Groups,
		Usages: r.Spec.Usages, PEM: r.Spec.PEM, Issued: len(r.Status.Certificate) > 0,
	}
	for _, condition := range r.Status.Conditions {
		switch condition.Type {
		case "Approved":
			out.Approved = true
		case "Denied":
			out.Denied = true
		default:
			continue
		}
		out.Reason, out.Message, out.ConditionAt = condition.Reason, condition.Message, condition.LastTransitionTime.Time
	}
	return out
}

// expected is what requests are compared with.
func (c *Controller) expected(ctx context.Context) (csr.Cluster, error) {
	nodes, err := c.Cluster.Nodes(ctx)
	if err != nil {
		return csr.Cluster{}, err
	}
	k := c.knows()
	if k.cluster != nil && len(k.hosts) == 0 {
		return csr.Cluster{}, missing("the service has not said yet which hosts the cluster has")
	}
	since, err := c.clusterBegan(ctx, k.cluster)
	if err != nil {
		return csr.Cluster{}, err
	}
	out := expectedOf(k, since)
	if k.cluster == nil {
		k.hosts = nil
		if out.Hosts, err = c.expectedMachines(ctx, since); err != nil {
			return csr.Cluster{}, err
		}
	}
	for i := range nodes {
		node := csr.Node{Name: nodes[i].Name, Created: nodes[i].Created.Time, Addresses: parsed(nodes[i].Addresses()...)}
		out.Nodes = append(out.Nodes, node)
		allowAddresses(out.Hosts, k.hosts, node)
	}
	return out, nil
}

// allowAddresses allows a host the addresses that its Node reports in a network in which the host had an address before: with
// the installed system, an interface may get another address than with the live system. The judge still refuses addresses of
// other machines, and of the cluster.
func allowAddresses(judged []csr.Host, hosts []host, node csr.Node) {
	for i := range hosts { // which the judged ones are made of
		if hosts[i].name != node.Name {
			continue
		}
		for _, address := range node.Addresses {
			if slices.ContainsFunc(hosts[i].networks, func(n netip.Prefix) bool { return n.Contains(address) }) {
				judged[i].Allowed = append(judged[i].Allowed, address)
			}
		}
	}
}

// clusterBegan is when the first request of this installation can have been made. The API server is new: it has no request
// of an earlier installation, and its own clock dates requests. The service's clock may be another one.
func (c *Controller) clusterBegan(ctx context.Context, cluster *models.Cluster) (time.Time, error) {
	if c.began.IsZero() {
		version, err := c.Cluster.ClusterVersion(ctx)
		if err != nil {
			return time.Time{}, err
		}
		c.began = version.Created.Add(-beforeVersion)
	}
	if cluster != nil {
		if started := time.Time(cluster.InstallStartedAt); !started.IsZero() && started.Unix() > 0 && started.Before(c.began) {
			return started, nil
		}
	}
	return c.began, nil
}

// expectedOf turns what the service knows into what requests are compared with. The times of requests are compared with
// since, when the installation began.
func expectedOf(k known, since time.Time) csr.Cluster {
	var out csr.Cluster
	for i := range k.hosts {
		h := &k.hosts[i]
		stage := h.stage()
		joined := stage == models.HostStageJoined || stage == models.HostStageDone
		out.Hosts = append(out.Hosts, csr.Host{
			Name: h.name, Hostname: h.name, Addresses: h.addresses, Named: true, Rebooted: since, Joined: joined,
			Installed: joined || k.lost || h.has(models.HostStatusInstalled) || slices.Contains([]models.HostStage{
				models.HostStageRebooting, models.HostStageWaitingForIgnition, models.HostStageConfiguring,
			}, stage),
		})
	}
	if k.cluster == nil {
		return out
	}
	if len(k.hosts) > 1 { // the address of a single node may serve as virtual address
		out.VIPs = vipsOf(k.cluster)
	}
	out.Networks = networksOf(k.cluster)
	return out
}

func vipsOf(cluster *models.Cluster) []netip.Addr {
	var all []netip.Addr
	for _, vip := range cluster.APIVips {
		if vip != nil {
			all = append(all, parsed(string(vip.IP))...)
		}
	}
	for _, vip := range cluster.IngressVips {
		if vip != nil {
			all = append(all, parsed(string(vip.IP))...)
		}
	}
	return all
}

func networksOf(cluster *models.Cluster) []netip.Prefix {
	var all []netip.Prefix
	for _, network := range cluster.ClusterNetworks {
		if network != nil {
			all = append(all, prefixes(string(network.Cidr))...)
		}
	}
	for _, network := range cluster.ServiceNetworks {
		if network != nil {
			all = append(all, prefixes(string(network.Cidr))...)
		}
	}
	return all
}

// expectedMachines are the machines that the cluster itself knows, for a controller that started after the service had
// ended. Other platforms than baremetal have none: then no request is approved.
func (c *Controller) expectedMachines(ctx context.Context, since time.Time) ([]csr.Host, error) {
	machines, err := c.Cluster.BareMetalHosts(ctx)
	if kube.NotFound(err) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	var hosts []csr.Host
	for i := range machines {
		m := &machines[i]
		h := csr.Host{Name: m.Name, Hostname: m.Name, Named: true, Installed: true, Rebooted: since}
		if m.Status.Hardware.Hostname != "" {
			h.Hostname = m.Status.Hardware.Hostname
		}
		for _, nic := range m.Status.Hardware.NICs {
			h.Addresses = append(h.Addresses, parsed(nic.IP)...)
		}
		hosts = append(hosts, h)
	}
	return hosts, nil
}

// parsed are the addresses in texts. What is no address is left out.
func parsed(texts ...string) []netip.Addr {
	var all []netip.Addr
	for _, text := range texts {
		if address, err := netip.ParseAddr(text); err == nil {
			all = append(all, plain(address))
		}
	}
	return all
}

func prefixes(text string) []netip.Prefix {
	prefix, err := netip.ParsePrefix(text)
	if err != nil {
		return nil
	}
	return []netip.Prefix{prefix}
}
