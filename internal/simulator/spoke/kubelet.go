package spoke

import (
	"cmp"
	"context"
	"crypto/x509"
	"encoding/pem"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"slices"
	"strings"
	"time"

	certificatesv1 "k8s.io/api/certificates/v1"
	coordinationv1 "k8s.io/api/coordination/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/client-go/kubernetes"

	"github.com/oaictl/oaictl/internal/simulator/pki"
)

// How long things take a kubelet, in simulated time.
const (
	// answerTimeout is how long it waits for a certificate before it asks anew, with another key: an approver is
	// another process, which a simulation is not to outrun.
	answerTimeout = 15 * time.Minute
	answerSoon    = 2 * time.Minute // real time, without Config.AnswerSoon
	// networkTime is from its registration until its network provider has started.
	networkTime = 75 * time.Second
	// reportEvery is how often it reports a status that has not changed, leaseEvery how often it renews its lease.
	reportEvery = 5 * time.Minute
	leaseEvery  = 10 * time.Second
	leaseSoon   = 600 * time.Millisecond // real time, without Config.LeaseEvery
	askEvery    = 2 * time.Second
	askSoon     = 50 * time.Millisecond // real time
	firstRetry  = 2 * time.Second
	lastRetry   = 32 * time.Second
)

// disk is what a kubelet has left on its machine's disk.
type disk struct {
	installation, node string
	clientCert         []byte
	clientKey          []byte
	servingCert        *x509.Certificate
}

// kubelet is that of one machine, from one start to the next.
type kubelet struct {
	spoke   *Spoke
	machine Machine
	trouble KubeletTrouble
	disk    *disk
	started time.Time

	boot       kubernetes.Interface // with the bootstrapper's token
	api        kubernetes.Interface // with its own certificate
	client     *request
	serving    *request
	asking     time.Time // when it may ask again
	retry      time.Duration
	registered time.Time // zero before
	posted     []netip.Addr
	isReady    bool
	compared   time.Time
	reported   time.Time
	lease      *coordinationv1.Lease
	renewed    time.Time
	rotated    bool
	annotated  bool
	said       string
}

// Join plays a machine that has booted its disk. Its kubelet asks for certificates, registers its Node and reports
// on it until ctx, the machine's power, ends; Join returns the cause of ctx. A machine that boots the same
// installation again has its certificate already, and makes its Node anew if it was deleted.
func (s *Spoke) Join(ctx context.Context, m Machine) error {
	if err := m.check(); err != nil {
		return fmt.Errorf("boot machine %q: %w", m.Hostname, err)
	}
	k := s.startKubelet(m)
	defer k.stop()
	k.logf("starts its kubelet")
	for {
		pause, atLeast := k.step(ctx)
		if err := s.sleep(ctx, pause, atLeast); err != nil {
			return err
		}
	}
}

func (s *Spoke) startKubelet(m Machine) *kubelet {
	trouble := s.config.Trouble.Kubelets[m.Hostname]
	if trouble.Hostname != "" {
		m.Hostname = trouble.Hostname
	}
	k := &kubelet{spoke: s, machine: m, trouble: trouble, started: s.clock.Now()}
	s.mu.Lock()
	defer s.mu.Unlock()
	k.disk = s.disks[m.UUID]
	if k.disk == nil || k.disk.installation != m.Installation || k.disk.node != m.nodeName() {
		k.disk = &disk{installation: m.Installation, node: m.nodeName()}
		s.disks[m.UUID] = k.disk
	}
	s.running[m.nodeName()]++
	return k
}

func (k *kubelet) saved() disk {
	k.spoke.mu.Lock()
	defer k.spoke.mu.Unlock()
	return *k.disk
}

// keep writes to the machine's disk. Only its kubelet does, but others look there.
func (k *kubelet) keep(change func(*disk)) {
	k.spoke.mu.Lock()
	defer k.spoke.mu.Unlock()
	change(k.disk)
}

func (k *kubelet) stop() {
	k.logf("stops")
	k.spoke.mu.Lock()
	defer k.spoke.mu.Unlock()
	if name := k.machine.nodeName(); k.spoke.running[name] > 1 {
		k.spoke.running[name]--
	} else {
		delete(k.spoke.running, name)
	}
}

func (k *kubelet) logf(format string, args ...any) {
	k.spoke.logf("%s: "+format, append([]any{k.machine.nodeName()}, args...)...)
}

// step does what is to be done next, and returns how long there is nothing more to do, and how long at least in
// real time.
func (k *kubelet) step(ctx context.Context) (pause, atLeast time.Duration) {
	err := k.spoke.timely(ctx, func(ctx context.Context) error {
		if k.api == nil {
			return k.identify(ctx)
		}
		return k.live(ctx)
	})
	if err != nil && ctx.Err() == nil {
		k.logf("%v", err)
		k.retry = min(max(2*k.retry, firstRetry), lastRetry)
		return k.retry, askSoon
	}
	k.retry = 0
	if k.api == nil || k.registered.IsZero() || k.serving != nil || k.client != nil {
		return askEvery, askSoon
	}
	if !k.isReady || !k.annotated {
		due := k.registered.Add(networkTime).Sub(k.spoke.clock.Now())
		return min(max(due, askEvery), k.spoke.atLeast(leaseEvery, k.spoke.leaseSoon())), askSoon
	}
	return leaseEvery, k.spoke.leaseSoon()
}

func (k *kubelet) identify(ctx context.Context) error {
	if k.saved().clientCert == nil {
		if err := k.bootstrap(ctx); err != nil {
			return err
		}
	}
	saved := k.saved()
	if saved.clientCert == nil {
		return nil
	}
	var err error
	k.api, err = k.spoke.clientWith(saved.clientCert, saved.clientKey)
	return err
}

// bootstrap asks for the kubelet's first certificate, and looks for the answer.
func (k *kubelet) bootstrap(ctx context.Context) error {
	if k.boot == nil {
		var err error
		if k.boot, err = k.spoke.bootstrapClient(ctx); err != nil {
			return err
		}
	}
	given, err := k.exchange(
		ctx, k.boot, &k.client, certificatesv1.KubeAPIServerClientKubeletSignerName, clientTemplate(k.machine.nodeName()), clientUsages(),
	)
	if apierrors.IsUnauthorized(err) {
		k.boot = nil // its token has ended
	}
	if err != nil || given == nil {
		return err
	}
	k.logf("has its client certificate")
	k.keep(func(d *disk) { d.clientCert, d.clientKey = given.CertPEM, given.KeyPEM })
	return nil
}

// exchange makes a request unless one is pending, and gives the certificate once that is
// answered. One that is not answered in time, or refused, is left, and another one made.
func (k *kubelet) exchange(
	ctx context.Context, api kubernetes.Interface, pending **request, signer string, template *x509.CertificateRequest,
	usages []certificatesv1.KeyUsage,
) (*pki.Pair, error) {
	now := k.spoke.clock.Now()
	if *pending == nil {
		if now.Before(k.asking) {
			return nil, nil
		}
		made, err := k.spoke.ask(ctx, api, k.machine.clusterLabels(), signer, template, usages)
		if err != nil {
			return nil, err
		}
		k.logf("asks for a certificate: %s, %s", made.name, signer)
		*pending = made
	}
	r := *pending
	cert, err := r.answer(ctx, api)
	switch {
	case errors.Is(err, errRefused):
		k.logf("is refused: %s", r.name)
		*pending, k.asking = nil, now.Add(firstRetry)
		return nil, nil
	case err != nil:
		return nil, err
	case cert == nil && now.Sub(r.asked) >= k.spoke.atLeast(answerTimeout, cmp.Or(k.spoke.config.AnswerSoon, answerSoon)):
		k.logf("gets no answer: %s", r.name)
		*pending = nil
		return nil, nil
	case cert == nil:
		return nil, nil
	}
	*pending = nil
	block, _ := pem.Decode(cert)
	if block == nil {
		return nil, fmt.Errorf("the certificate of %s is none", r.name)
	}
	given := &pki.Pair{Key: r.key, CertPEM: cert}
	if given.Certificate, err = x509.ParseCertificate(block.Bytes); err != nil {
		return nil, err
	}
	given.KeyPEM, err = pki.EncodeKey(r.key)
	return given, err
}

// live is the kubelet's work once it has a certificate.
func (k *kubelet) live(ctx context.Context) error {
	if k.registered.IsZero() {
		if err := k.register(ctx); err != nil {
			return err
		}
	}
	if err := k.report(ctx); err != nil {
		return err
	}
	if err := k.renewLease(ctx); err != nil {
		return err
	}
	if err := k.annotate(ctx); err != nil {
		return err
	}
	if err := k.rotate(ctx); err != nil {
		return err
	}
	return k.serve(ctx)
}

// serve has the certificate that the kubelet answers with name all that its Node is known
// by. It asks for it once it has reported that.
func (k *kubelet) serve(ctx context.Context) error {
	template := k.servingTemplate()
	if template == nil || k.serving == nil && satisfies(k.saved().servingCert, template) {
		return nil
	}
	given, err := k.exchange(ctx, k.api, &k.serving, certificatesv1.KubeletServingSignerName, template, servingUsages())
	if err != nil || given == nil {
		return err
	}
	k.logf("has its serving certificate")
	k.keep(func(d *disk) { d.servingCert = given.Certificate })
	return nil
}

// servingTemplate is what the serving certificate has to say; nil while nothing is known.
func (k *kubelet) servingTemplate() *x509.CertificateRequest {
	if len(k.posted) == 0 {
		return nil
	}
	template := clientTemplate(k.machine.nodeName())
	template.DNSNames = []string{k.machine.nodeName()}
	for _, address := range k.posted {
		template.IPAddresses = append(template.IPAddresses, net.IP(address.AsSlice()))
	}
	slices.SortFunc(template.IPAddresses, func(a, b net.IP) int { return strings.Compare(a.String(), b.String()) })
	return template
}

func satisfies(cert *x509.Certificate, template *x509.CertificateRequest) bool {
	if cert == nil {
		return false
	}
	for _, name := range template.DNSNames {
		if !slices.Contains(cert.DNSNames, name) {
			return false
		}
	}
	for _, address := range template.IPAddresses {
		if !slices.ContainsFunc(cert.IPAddresses, address.Equal) {
			return false
		}
	}
	return true
}

// rotate asks for a new client certificate, where it is told to do so before the old one ends.
func (k *kubelet) rotate(ctx context.Context) error {
	if k.trouble.RotatesAfter == 0 || k.rotated || k.spoke.clock.Now().Sub(k.registered) < k.trouble.RotatesAfter {
		return nil
	}
	given, err := k.exchange(
		ctx, k.api, &k.client, certificatesv1.KubeAPIServerClientKubeletSignerName, clientTemplate(k.machine.nodeName()), clientUsages(),
	)
	if err != nil || given == nil {
		return err
	}
	k.keep(func(d *disk) { d.clientCert, d.clientKey = given.CertPEM, given.KeyPEM })
	k.rotated = true
	k.logf("has a new client certificate")
	k.api, err = k.spoke.clientWith(given.CertPEM, given.KeyPEM)
	return err
}
