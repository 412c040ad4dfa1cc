package media

import (
	"cmp"
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io/fs"
	"net"
	"net/netip"
	"net/url"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/spf13/cobra"

	"github.com/oaictl/oaictl/internal/cli/app"
	"github.com/oaictl/oaictl/internal/cli/liveimage"
	"github.com/oaictl/oaictl/internal/cli/output"
	"github.com/oaictl/oaictl/internal/cli/printer"
	"github.com/oaictl/oaictl/internal/shared/bytesize"
	"github.com/oaictl/oaictl/pkg/install/bmc"
	"github.com/oaictl/oaictl/pkg/install/boot"
	"github.com/oaictl/oaictl/pkg/install/model"
	"github.com/oaictl/oaictl/pkg/install/spec"
	"github.com/oaictl/oaictl/pkg/iso"
	"github.com/oaictl/oaictl/pkg/iso/overlay"
	"github.com/oaictl/oaictl/pkg/iso/serve"
)

type isoServeOptions struct {
	hostMediaOptions
	Dir    string
	Listen string
	Cert   string
	Key    string
	URL    string
	Expire time.Duration
}

// NewServe is `iso serve`.
func NewServe(a *app.App) *cobra.Command {
	o := &isoServeOptions{hostMediaOptions: hostMediaOptions{Options: liveimage.Options{App: a}}}
	command := &cobra.Command{
		Use:   "serve -f FILE",
		Short: "Serve every host's own discovery image, until stopped",
		Args:  app.NoArguments,
		RunE:  app.Run(o.run),
	}
	flags := command.Flags()
	o.declare(flags)
	flags.StringVar(&o.Dir, "dir", ".", "`DIR` below which the results of the cluster are, as DIR/CLUSTER")
	flags.StringVar(&o.Listen, "listen", app.MediaListen, "`ADDRESS` to listen on")
	flags.StringVar(&o.Cert, "tls-cert", "", "`FILE` with the certificate (PEM) to serve TLS with")
	flags.StringVar(&o.Key, "tls-key", "", "`FILE` with the certificate's key (PEM)")
	flags.StringVar(&o.URL, "url", "", "`URL` at which machines reach it (default: derived from --listen)")
	flags.DurationVar(&o.Expire, "expire", mediaExpire, "serve no host any more that has asked for nothing for this `TIME`; 0: for ever")
	return command
}

func (o *isoServeOptions) run(ctx context.Context) error {
	if err := o.check("iso serve"); err != nil {
		return err
	}
	if o.Expire < 0 {
		return app.Usagef("--expire is a time, or 0")
	}
	if err := app.CheckListen("--listen", o.Listen); err != nil {
		return err
	}
	certificate, err := app.LoadCertificate(o.Cert, o.Key)
	if err != nil {
		return err
	}
	given, err := liveimage.FolderURL(o.URL)
	if err != nil {
		return err
	}
	cluster, err := o.cluster(ctx)
	if err != nil {
		return err
	}
	dir, err := app.Folder(o.Dir, cluster.Metadata.Name)
	if err != nil {
		return err
	}
	key, err := serve.LoadKey(app.MediaKeyFile(dir))
	if err != nil {
		return &model.Fault{Code: model.CodeFailure, Op: "serve", On: "the machines' images", Err: err}
	}
	listener, err := net.Listen("tcp", o.Listen)
	if err != nil {
		return &model.Fault{Code: model.CodeFailure, Op: "listen on", On: o.Listen, Err: err, Next: app.ListenAdvice(err, "--listen", "")}
	}
	o.URL = given
	if o.URL == "" {
		if o.URL, err = o.derivedURL(ctx, listener.Addr(), cluster); err != nil {
			return errors.Join(err, listener.Close())
		}
	}
	return o.serve(ctx, cluster, key, certificate, listener)
}

// derivedURL is the listener's address or, where it listens on all, the one from which the
// way to the BMCs, or else to the service, begins.
func (o *isoServeOptions) derivedURL(ctx context.Context, listens net.Addr, cluster *spec.Cluster) (string, error) {
	scheme := "http://"
	if o.Cert != "" {
		scheme = "https://"
	}
	at, err := netip.ParseAddrPort(listens.String())
	if err != nil {
		return "", fmt.Errorf("read the address %s: %w", listens, err)
	}
	if addr := at.Addr().Unmap(); !addr.IsUnspecified() {
		return scheme + netip.AddrPortFrom(addr, at.Port()).String(), nil
	}
	ways := map[netip.Addr]bool{}
	for _, host := range cluster.BootedByBMC() {
		if way, err := bmc.Route(ctx, host.BMC); err == nil {
			ways[way] = true
		}
	}
	if service, err := url.Parse(o.Globals.ServiceURL); len(ways) == 0 && err == nil && service.Hostname() != "" {
		if way, err := bmc.Route(ctx, &spec.BMC{Address: service.Hostname()}); err == nil && !way.IsLoopback() {
			ways[way] = true
		}
	}
	if len(ways) != 1 {
		return "", app.Usagef("oaictl does not know the address at which machines reach this one: give it with --url, such as --url "+
			"http://192.0.2.1:%d",
			at.Port())
	}
	for way := range ways {
		return scheme + netip.AddrPortFrom(way, at.Port()).String(), nil
	}
	return "", nil
}

func (o *isoServeOptions) serve(ctx context.Context, cluster *spec.Cluster, key []byte, certificate *tls.Certificate,
	listener net.Listener) error {
	log := &fetchLog{App: o.App, reported: map[string]int64{}}
	server, err := serve.New(serve.Config{
		Key: key, URL: o.URL, Clock: o.Clock, TLS: certificate, Expire: o.Expire, HostMetrics: true, Access: log.access,
	})
	if err != nil {
		return errors.Join(err, listener.Close())
	}
	log.server = server
	media, err := o.images(ctx, cluster, server)
	if err != nil {
		return errors.Join(err, listener.Close())
	}
	defer func() { _ = media.Close() }() // it was only read from

	running, stop := context.WithCancelCause(ctx)
	defer stop(nil)
	ended := make(chan error, 1)
	go func() {
		err := server.Serve(running, listener)
		stop(err)
		ended <- err
	}()
	renewal := &renewal{o, media, server, map[string]servedConfig{}}
	renewal.changed(running) // what is made now is of this, or later
	if err = o.prepare(running, media, server); err != nil {
		stop(err)
	}
	renewal.loop(running)
	served := <-ended
	if err != nil && ctx.Err() == nil {
		return err
	}
	if cut, is := errors.AsType[*serve.CutOffError](served); is {
		o.Warn("%s", o.cutOff(cut))
		served = nil
	}
	if ctx.Err() == nil && served != nil {
		return &model.Fault{Code: model.CodeFailure, Op: "serve on", On: o.Listen, Err: served}
	}
	return app.Stopped(ctx, "iso serve", ctx.Err())
}

// prepare warns of a host whose image cannot be made; it is made when its machine asks.
func (o *isoServeOptions) prepare(ctx context.Context, media *boot.Images, server *serve.Server) error {
	if err := o.openBases(ctx, media); err != nil {
		return err
	}
	var items []output.Media
	var failed error
	for n := range media.Cluster.Spec.Hosts {
		host := &media.Cluster.Spec.Hosts[n]
		item, err := o.prepareHost(ctx, media, server, host)
		if err != nil {
			if ctx.Err() != nil {
				return context.Cause(ctx)
			}
			o.Warn("%s: %v", host.Name, err)
			o.SayNext(err)
			failed = liveimage.ContentFault(err)
			continue
		}
		items = append(items, item)
	}
	if len(items) == 0 {
		return failed
	}
	o.sayBootURL(items, server.BootURL())
	return o.Print(mediaResult(items))
}

func (o *isoServeOptions) sayBootURL(items []output.Media, url string) {
	netboots := slices.ContainsFunc(items, func(m output.Media) bool { return m.IPXE != "" })
	if netboots && (o.Globals.Output == "wide" || o.Globals.Verbose > 0) {
		o.Say("for DHCP, to all machines: %s", url)
	}
}

func (o *isoServeOptions) prepareHost(ctx context.Context, media *boot.Images, server *serve.Server,
	host *spec.Host) (output.Media, error) {
	part := media.Of(host.Name)
	live, err := part.Base(ctx)
	if err != nil {
		return output.Media{}, err
	}
	made, _, err := part.ISO(ctx, host.Name)
	if err != nil {
		return output.Media{}, err
	}
	item := output.Media{Host: host.Name, ISO: server.URL(host.Name, serve.ISO)}
	files := []serve.File{{Kind: serve.ISO, Image: made, Base: live.Identity()}}
	if n, err := part.Netboot(ctx, host.Name); err != nil {
		if err := o.sayNoNetboot(ctx, host.Name, err); err != nil {
			return output.Media{}, err
		}
	} else {
		files = append(files, netbootMedia(n, live.Identity(), server.URL(host.Name, serve.Rootfs))...)
		if n.Ins == "" {
			item.IPXE = server.URL(host.Name, serve.IPXE)
		} else {
			item.Ins = server.URL(host.Name, serve.Ins)
		}
	}
	if err := server.Set(host.Name, files...); err != nil {
		return output.Media{}, err
	}
	return item, server.SetMACs(host.Name, macsOf(media.Cluster, host)...)
}

// sayNoNetboot is silent about old images that hold only what a CD boots: that cannot be changed.
func (o *isoServeOptions) sayNoNetboot(ctx context.Context, host string, err error) error {
	switch {
	case ctx.Err() != nil:
		return context.Cause(ctx)
	case !errors.Is(err, fs.ErrNotExist):
		o.Warn("%s cannot boot over the network: %v", host, err)
		o.SayNext(err)
	case o.Globals.Verbose > 0:
		o.Say("%s cannot boot over the network: %v", host, err)
	}
	return nil
}

// netbootMedia has a script for iPXE; s390x has no iPXE, but a list of files and their
// places in memory.
func netbootMedia(n *iso.Netboot, live, rootfs string) []serve.File {
	files := []serve.File{{Kind: serve.Kernel, Image: n.Kernel, Base: live}, {Kind: serve.Initrd, Image: n.Initrd, Base: live}}
	if n.Rootfs == nil {
		rootfs = ""
	} else {
		files = append(files, serve.File{Kind: serve.Rootfs, Image: n.Rootfs, Base: live})
	}
	if n.Ins == "" {
		return append(files, serve.File{Kind: serve.IPXE, Script: n.Script})
	}
	return append(files,
		serve.File{Kind: serve.AddrSize, Image: overlay.Bytes(n.AddrSize)},
		serve.File{Kind: serve.Ins, Image: overlay.Bytes([]byte(n.Ins))},
		serve.File{Kind: serve.Prm, Image: overlay.Bytes(liveimage.ParameterFile(n, rootfs))},
	)
}

func macsOf(c *spec.Cluster, host *spec.Host) []string {
	var macs []string
	_, named, _ := c.StaticNetwork(host)
	for _, mac := range append([]string{host.Match.MAC}, output.Each(named, func(m spec.NIC) string { return m.MAC })...) {
		if mac != "" && !slices.ContainsFunc(macs, func(known string) bool { return strings.EqualFold(known, mac) }) {
			macs = append(macs, mac)
		}
	}
	return macs
}

func mediaResult(items []output.Media) printer.Result {
	names := output.Each(items, func(m output.Media) string { return m.ISO })
	table := printer.Table{Columns: []printer.Column{{Name: "HOST"}, {Name: "NETBOOT", Wide: true}, {Name: "ISO", Prose: true}},
		Rows: output.Each(items, func(m output.Media) []string {
			return []string{m.Host, cmp.Or(m.IPXE, m.Ins), m.ISO}
		})}
	return printer.Result{Data: output.List(items), Names: names, Table: func() printer.Table { return table }}
}

func (o *isoServeOptions) cutOff(cut *serve.CutOffError) string {
	names := output.Each(cut.Readers, func(r serve.Reader) string {
		return fmt.Sprintf("%s (%s of %s)", r.Host, bytesize.Text(r.Bytes), bytesize.Text(r.Size))
	})
	return fmt.Sprintf("interrupted while they read: %s. To continue, run the same command again", strings.Join(names, ", "))
}

const mediaExpire = 24 * time.Hour

// fetchStep is how many percent a host fetches between two lines about it: a BMC
// reads an image in thousands of pieces.
const fetchStep = 10

type fetchLog struct {
	*app.App
	server *serve.Server

	mu       sync.Mutex
	reported map[string]int64 // percent of each host, as last reported
}

func (l *fetchLog) access(a serve.Access) {
	if l.Globals.Verbose > 0 {
		l.Say("%s", app.AccessText(a))
		return
	}
	if a.Host == "" || a.Status >= 400 {
		if a.Err != nil {
			l.Say("%s", app.AccessText(a))
		}
		return
	}
	if a.Kind != serve.ISO && a.Kind != serve.Initrd && a.Kind != serve.Rootfs {
		l.Say("%s fetched %s (%s)", a.Host, a.Kind, a.Client)
		return
	}
	f := l.server.Fetched(a.Host)
	if f.Size <= 0 || !l.further(a.Host, f.Bytes*100/f.Size) {
		return
	}
	l.Say("%s has fetched %s of %s, %d%% (%s)", a.Host, bytesize.Text(f.Bytes), bytesize.Text(f.Size), f.Bytes*100/f.Size, a.Client)
}

func (l *fetchLog) further(host string, percent int64) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	last, known := l.reported[host]
	if known && percent < last+fetchStep && (percent < 100 || last >= 100) {
		return false
	}
	l.reported[host] = percent
	return true
}
