package boot

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net/http"
	"strings"
	"sync"
	"time"

	"github.com/oaictl/oaictl/internal/shared/bytesize"
	"github.com/oaictl/oaictl/internal/shared/clustersettings"
	"github.com/oaictl/oaictl/pkg/install/model"
	"github.com/oaictl/oaictl/pkg/install/spec"
	"github.com/oaictl/oaictl/pkg/iso"
	"github.com/oaictl/oaictl/pkg/iso/fetch"
)

// BaseError is what is wrong with a live image that machines shall boot. With no reason
// but Err it is no live image, or cannot be read.
type BaseError struct {
	// Arch is the architecture of the machines as live images call it, where the image is
	// for another one.
	Arch      string
	Archs     int  // how many architectures the machines have, where the image is for one
	Unreached bool // says that it could not be fetched, and may be another time
	Err       error
}

func severalArchs(count int) error {
	return &BaseError{Archs: count, Err: fmt.Errorf("a live image is for one CPU architecture, but the hosts have %d architectures", count)}
}

func (e *BaseError) Error() string { return e.Err.Error() }
func (e *BaseError) Unwrap() error { return e.Err }

// unbootable is the fault that a live image cannot be booted, by the place that it was given as.
func unbootable(location string, problem *BaseError, advice func(*BaseError) model.Advice) error {
	fault := &model.Fault{Code: model.CodeInput, Op: "boot machines with", On: fetch.Redact(location), Permanent: true, Err: problem}
	if advice != nil {
		fault.Next = advice(problem)
	}
	return fault
}

// CheckBase opens a live image that lies on this machine and that all machines of a
// cluster with BMCs are to boot, before anything is registered: what is wrong with it no
// machine and no service can cure. Carried is what Machines.Carried names.
func CheckBase(ctx context.Context, cluster *spec.Cluster, location string,
	advice func(*BaseError) model.Advice) (carried []string, err error) {
	for arch := range hostsByArch(cluster, (*spec.Cluster).BootedByBMC) {
		base := &baseImage{ctx: ctx, arch: arch, advice: advice, where: func(context.Context) (fetch.Source, error) {
			return fetch.Source{Location: location}, nil
		}}
		image, err := base.open(ctx)
		if err == nil {
			carried = carriedBy(image)
		}
		if err := errors.Join(err, base.close()); err != nil {
			return nil, unusable(location, err, advice)
		}
	}
	return carried, nil
}

func unusable(location string, err error, advice func(*BaseError) model.Advice) error {
	var fault *model.Fault
	if errors.As(err, &fault) && fault.Code == model.CodeInput || errors.Is(err, context.Canceled) {
		return err
	}
	return unbootable(location, &BaseError{Err: err}, advice)
}

// serviceUnit, the agent, is in the Ignition of every image that the service makes.
const serviceUnit = `"agent.service"`

// carriedBy names what a live image carries and no host gets: theirs is the service's.
func carriedBy(base *iso.Base) []string {
	config, err := base.Ignition()
	if err != nil { // it is not read, but replaced
		return nil
	}
	keyfiles, err := base.Keyfiles()
	if err != nil || strings.Contains(string(config), serviceUnit) {
		return nil
	}
	var carried []string
	if len(config) > 0 {
		carried = append(carried, "config.ign")
	}
	for _, k := range keyfiles {
		carried = append(carried, k.Name)
	}
	return carried
}

// baseImage is the live image that discovery images are made of, brought to this machine
// when it is first wanted.
type baseImage struct {
	ctx    context.Context // ends a download that no caller waits for any more
	dir    string          // keeps what is downloaded
	arch   spec.Arch       // that of the machines
	client *http.Client
	advice func(*BaseError) model.Advice
	where  func(ctx context.Context) (fetch.Source, error) // says what to open or download, each time it is tried
	// opener opens the live image if it does not come from the cache in dir; its architecture is not checked then.
	opener   func(context.Context, fetch.Source) (*iso.Base, io.Closer, error)
	progress fetch.Progress                      // gets how far a download is; may be nil
	again    func(err error, wait time.Duration) // gets why an attempt failed that is made again; may be nil

	image lazy[*liveImage]

	mu  sync.Mutex
	far [2]int64 // done, of all
}

type liveImage struct {
	*iso.Base
	file io.Closer
	path string
}

// open is the base, once it is here. What failed is tried again by the next call.
func (b *baseImage) open(ctx context.Context) (*iso.Base, error) {
	image, err := b.image.begin(b.bring).wait(ctx)
	if err != nil {
		return nil, err
	}
	return image.Base, nil
}

func (b *baseImage) bring() (*liveImage, error) {
	source, err := b.where(b.ctx)
	if err != nil {
		return nil, err
	}
	if b.opener != nil {
		base, file, err := b.opener(b.ctx, source)
		if err != nil {
			return nil, err
		}
		return &liveImage{Base: base, file: file}, nil
	}
	file, err := fetch.New(fetch.Config{Dir: b.dir, Cap: fetch.DefaultCap, Client: b.client, Again: b.again}).Get(b.ctx, source,
		b.recordProgress)
	if err != nil {
		return nil, err
	}
	base, err := iso.Open(file.Path)
	if err != nil {
		return nil, errors.Join(b.notLive(source.Location, file.Path, err), file.Close())
	}
	if got := base.Info().Arch; got != "" && got != clustersettings.KernelArch(b.arch) {
		err := unbootable(source.Location, &BaseError{
			Arch: clustersettings.KernelArch(b.arch), Err: fmt.Errorf("it is for %s, but the machines are %s", got,
				clustersettings.KernelArch(b.arch)),
		}, b.advice)
		return nil, errors.Join(err, base.Close(), file.Close())
	}
	return &liveImage{base, file, file.Path}, nil
}

// notLive is what is wrong with a base, by the place that it was given as. A file that
// cannot be read may be readable another time.
func (b *baseImage) notLive(location, path string, err error) error {
	var system *fs.PathError
	if errors.As(err, &system) || errors.Is(err, context.Canceled) || errors.Is(err, context.DeadlineExceeded) {
		return err
	}
	return unbootable(location, &BaseError{Err: errors.New(strings.TrimPrefix(err.Error(), path+": "))}, b.advice)
}

func (b *baseImage) recordProgress(done, total int64) {
	b.mu.Lock()
	b.far = [2]int64{done, total}
	b.mu.Unlock()
	if b.progress != nil {
		b.progress(done, total)
	}
}

// missing says how far a base is that is being fetched, "" if it is here, or could not be fetched. It waits for the
// base as long as ctx lasts.
func (b *baseImage) missing(ctx context.Context) string {
	if b.image.begin(b.bring).over(ctx) {
		return ""
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	return "its live image is being downloaded, " + farText(b.far[0], b.far[1])
}

// farText is how far a download is, in steps that are worth a line.
func farText(done, total int64) string {
	if total <= 0 {
		return bytesize.Text(done)
	}
	return fmt.Sprintf("%d%% of %s", done*10/total*10, bytesize.Text(total))
}

func (b *baseImage) path() string {
	image, here, _ := b.image.result()
	if !here {
		return ""
	}
	return image.path
}

func (b *baseImage) failed() error {
	_, _, err := b.image.result()
	return err
}

// close gives the base back. It waits for a download, which ends with its ctx.
func (b *baseImage) close() error {
	return b.image.close(func(i *liveImage) error { return errors.Join(i.Base.Close(), i.file.Close()) })
}

// lazy is something that takes time to fetch, and is fetched once, when it is first needed. What failed is tried again
// for the next caller that needs it.
type lazy[T any] struct {
	mu  sync.Mutex
	run *attempt[T] // the last attempt; nil before the first
}

// attempt is one attempt, which any number may wait for.
type attempt[T any] struct {
	done chan struct{}
	got  T // as err once done is closed
	err  error
}

// begin brings it, unless it is here, or on its way. A caller that stops waiting does not end the attempt.
func (b *lazy[T]) begin(bring func() (T, error)) *attempt[T] {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.run != nil {
		select {
		case <-b.run.done:
			if b.run.err == nil {
				return b.run
			}
		default:
			return b.run
		}
	}
	run := &attempt[T]{done: make(chan struct{})}
	b.run = run
	go func() {
		defer close(run.done)
		run.got, run.err = bring()
	}()
	return run
}

// wait is what came, as long as ctx lasts.
func (r *attempt[T]) wait(ctx context.Context) (T, error) {
	if !r.over(ctx) {
		var nothing T
		return nothing, context.Cause(ctx)
	}
	return r.got, r.err
}

// over waits for the end of an attempt as long as ctx lasts, and reports whether there was one. An attempt that is over
// is reported even if ctx has ended.
func (r *attempt[T]) over(ctx context.Context) bool {
	select {
	case <-r.done:
		return true
	case <-ctx.Done():
	}
	select {
	case <-r.done:
		return true
	default:
		return false
	}
}

// result is what the last attempt brought, or why it failed; neither where it is not over.
func (b *lazy[T]) result() (got T, here bool, err error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.run == nil {
		return got, false, nil
	}
	select {
	case <-b.run.done:
		return b.run.got, b.run.err == nil, b.run.err
	default:
		return got, false, nil
	}
}

// close gives it back. It waits for an attempt that is under way.
func (b *lazy[T]) close(give func(T) error) error {
	b.mu.Lock()
	run := b.run
	b.run = nil
	b.mu.Unlock()
	if run == nil {
		return nil
	}
	<-run.done
	if came := run.err == nil; came {
		return give(run.got)
	}
	return nil
}
