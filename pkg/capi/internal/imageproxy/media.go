// Package imageproxy is a proxy for discovery images: it passes them on to machines that cannot reach the image service of the
// assisted-service, or do not trust its certificate.
package imageproxy

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"sync"
	"time"

	"github.com/go-logr/logr"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/oaictl/oaictl/internal/shared/clock"
	"github.com/oaictl/oaictl/internal/shared/redact"
	bootstrapv1 "github.com/oaictl/oaictl/pkg/capi/api/bootstrap/v1beta1"
	"github.com/oaictl/oaictl/pkg/capi/internal/clusterloop"
	"github.com/oaictl/oaictl/pkg/install"
)

// Server hands on the discovery image of a config, as its service makes it. It keeps nothing: any process that runs the
// providers serves any image. Its URLs are short, stay the same, and hold the UID of the config: without the UID
// nothing is handed out.
type Server struct {
	// URL is what machines reach the server by, without a slash at its end.
	URL string
	// Address is where it listens.
	Address string
	// Configs reads OpenshiftAssistedConfigs.
	Configs client.Reader
	// Installations know the InfraEnvs of the configs, and the service that has the images.
	Installations *clusterloop.Set
	Clock         clock.Clock
	Log           logr.Logger

	images sync.Map // *known by the UID of a config
}

// file is the end of each URL: programs that read media decide by the suffix of a name.
const file = "discovery.iso"

// Of is the URL of the discovery image of a config.
func (s *Server) Of(config *bootstrapv1.OpenshiftAssistedConfig) string {
	return strings.Join([]string{s.URL, config.Namespace, config.Name, string(config.UID), file}, "/")
}

// NeedLeaderElection says that every process serves.
func (s *Server) NeedLeaderElection() bool { return false }

const (
	// headerTimeout is how long a machine may take for a request, idleTimeout how long it may keep a connection
	// open that it does not use, and stopTimeout how long those that read at the end may go on.
	headerTimeout = 30 * time.Second
	idleTimeout   = 2 * time.Minute
	stopTimeout   = 5 * time.Second
)

// Start serves until ctx ends.
func (s *Server) Start(ctx context.Context) error {
	listener, err := (&net.ListenConfig{}).Listen(ctx, "tcp", s.Address)
	switch {
	case err != nil && ctx.Err() != nil:
		return nil // the process ends, and nothing is served
	case err != nil:
		return fmt.Errorf("serve media: %w", err)
	}
	within, end := context.WithCancel(ctx)
	var tidying sync.WaitGroup
	tidying.Go(func() { s.tidy(within) })
	defer func() { end(); tidying.Wait() }()
	server := &http.Server{Handler: s, ReadHeaderTimeout: headerTimeout, IdleTimeout: idleTimeout}
	stop := context.AfterFunc(ctx, func() {
		last, cancel := context.WithTimeout(context.WithoutCancel(ctx), stopTimeout)
		defer cancel()
		if server.Shutdown(last) != nil {
			_ = server.Close()
		}
	})
	defer stop()
	if err := server.Serve(listener); !errors.Is(err, http.ErrServerClosed) {
		return fmt.Errorf("serve media: %w", err)
	}
	return nil
}

// tidyEvery is how often images are checked that are not read any more, to release what they needed.
const tidyEvery = 10 * time.Minute

// tidy releases that until ctx ends: every process serves, and only the leader does so by itself.
func (s *Server) tidy(ctx context.Context) {
	for s.Clock.Sleep(ctx, tidyEvery) == nil {
		s.Installations.DropUnused()
	}
}

// ServeHTTP hands out an image, or a part of it.
func (s *Server) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if r.Method != http.MethodGet && r.Method != http.MethodHead {
		w.Header().Set("Allow", "GET, HEAD")
		http.Error(w, "there are only images to read", http.StatusMethodNotAllowed)
		return
	}
	config := s.config(r)
	if config == nil {
		http.NotFound(w, r)
		return
	}
	log := s.Log.WithValues("config", client.ObjectKeyFromObject(config), "from", r.RemoteAddr)
	image, err := s.open(r.Context(), config)
	if err != nil {
		log.Error(errors.New(redact.Error(err)), "cannot hand out a discovery image")
		http.Error(w, "the discovery image cannot be read from its service at present", http.StatusBadGateway)
		return
	}
	defer image.close()
	level := 0
	if r.Header.Get("Range") != "" {
		level = 1 // there may be thousands of parts
	}
	log.V(level).Info("handing out a discovery image", "range", r.Header.Get("Range"))
	w.Header().Set("Content-Type", "application/octet-stream")
	http.ServeContent(w, r, file, time.Time{}, image)
}

// config is that of a URL; nil where there is none, or another one of its name.
func (s *Server) config(r *http.Request) *bootstrapv1.OpenshiftAssistedConfig {
	way := strings.Split(strings.TrimPrefix(r.URL.Path, "/"), "/")
	if len(way) < 4 || way[len(way)-1] != file {
		return nil
	}
	way = way[len(way)-4:] // what is before may be a proxy's
	config := &bootstrapv1.OpenshiftAssistedConfig{}
	if s.Configs.Get(r.Context(), client.ObjectKey{Namespace: way[0], Name: way[1]}, config) != nil || string(config.UID) != way[2] ||
		!config.DeletionTimestamp.IsZero() {
		return nil
	}
	return config
}

// knownFor is how long the URL and the size of an image count as current: some machines read an image in thousands of
// small parts.
const knownFor = time.Minute

// known is what was learned of the image of a config.
type known struct {
	service install.Backend
	address string // it may hold a token
	size    int64  // in bytes
	at      time.Time
}

// open finds the image of a config, and how large it is.
func (s *Server) open(ctx context.Context, config *bootstrapv1.OpenshiftAssistedConfig) (*image, error) {
	if found, is := s.images.Load(config.UID); is {
		if k, is := found.(*known); is && s.Clock.Now().Sub(k.at) < knownFor {
			return &image{ctx: ctx, known: k}, nil
		}
	}
	view, err := s.Installations.View(ctx, clusterloop.Key{Namespace: config.Namespace, Name: config.Labels[clusterv1.ClusterNameLabel]})
	if view == nil {
		return nil, err
	}
	env := view.InfraEnv(config.Name) // which machines read whether or not it is known what is desired of the cluster
	if env == nil {
		return nil, errors.Join(fmt.Errorf("there is no InfraEnv %s", config.Name), err)
	}
	k := &known{at: s.Clock.Now()}
	if k.service, err = s.Installations.Service(config.Namespace); err != nil {
		return nil, err
	}
	if k.address, _, err = k.service.DownloadISOURL(ctx, env.ID); err != nil {
		return nil, err
	}
	i := &image{ctx: ctx, known: k}
	if i.from, k.size, err = k.service.OpenISO(ctx, k.address, 0); err != nil {
		return nil, err
	}
	if k.size < 0 {
		i.close()
		return nil, errors.New("the service does not say how large the image is")
	}
	if err := i.checkMark(); err != nil {
		i.close()
		return nil, err
	}
	s.images.Range(func(uid, found any) bool { // those that are not read any more are dropped
		if old, is := found.(*known); is && k.at.Sub(old.at) >= knownFor {
			s.images.Delete(uid)
		}
		return true
	})
	s.images.Store(config.UID, k)
	return i, nil
}

// mark is what each image of ISO 9660 has at markAt, in the first descriptor of its volume.
const (
	mark   = "CD001"
	markAt = 32769
)

// checkMark refuses what is no image. The URL is in the status of an object that a user of its namespace may write, and the
// answer of any server that can be reached from here would be handed out. What was read of the beginning is read again.
func (i *image) checkMark() error {
	start := make([]byte, markAt+len(mark))
	switch _, err := io.ReadFull(i.from, start); {
	case err != nil && !errors.Is(err, io.EOF) && !errors.Is(err, io.ErrUnexpectedEOF):
		return err
	case err != nil || string(start[markAt:]) != mark:
		return errors.New("what is at the URL of the image is no ISO 9660")
	}
	i.from = struct {
		io.Reader
		io.Closer
	}{io.MultiReader(bytes.NewReader(start), i.from), i.from}
	return nil
}

// image reads a discovery image from its service, from wherever it is asked for.
type image struct {
	*known

	ctx    context.Context // of the request
	next   int64           // offset that is read next
	from   io.ReadCloser   // what is open, nil if nothing is
	fromAt int64           // offset at which that goes on
}

var _ io.ReadSeeker = (*image)(nil)

// Read reads on. What is open is read as long as it fits.
func (i *image) Read(data []byte) (int, error) {
	if i.next >= i.size {
		return 0, io.EOF
	}
	if i.from == nil || i.fromAt != i.next {
		i.close()
		from, _, err := i.service.OpenISO(i.ctx, i.address, i.next)
		if err != nil {
			return 0, err
		}
		i.from, i.fromAt = from, i.next
	}
	n, err := i.from.Read(data)
	i.next += int64(n)
	i.fromAt = i.next
	return n, err
}

// Seek goes elsewhere.
func (i *image) Seek(offset int64, whence int) (int64, error) {
	switch whence {
	case io.SeekCurrent:
		offset += i.next
	case io.SeekEnd:
		offset += i.size
	}
	if offset < 0 {
		return 0, fmt.Errorf("offset %d is before the beginning", offset)
	}
	i.next = offset
	return offset, nil
}

func (i *image) close() {
	if i.from != nil {
		_ = i.from.Close() // nothing was written
		i.from = nil
	}
}
