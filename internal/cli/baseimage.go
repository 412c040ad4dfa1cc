package cli

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"

	"github.com/oaictl/oaictl/pkg/install"
	"github.com/oaictl/oaictl/pkg/install/rest"
	"github.com/oaictl/oaictl/pkg/install/spec"
	"github.com/oaictl/oaictl/pkg/iso"
	"github.com/oaictl/oaictl/pkg/iso/fetch"
)

// imageCacheCap is how many bytes of base images are kept: those of a few
// versions.
const imageCacheCap = 20 << 30

// imageCacheDir is where base images are kept between runs.
func (a *app) imageCacheDir() (string, error) {
	if dir := a.env.Get("XDG_CACHE_HOME"); filepath.IsAbs(dir) {
		return filepath.Join(dir, "oaictl", "images"), nil
	}
	dir, err := os.UserCacheDir()
	if err != nil {
		return "", fmt.Errorf("find a place for base images: %w", err)
	}
	return filepath.Join(dir, "oaictl", "images"), nil
}

// baseImage is the live image that discovery media are made of, brought here
// when it is first wanted.
type baseImage struct {
	// ctx ends a download that nobody waits for any more.
	ctx context.Context
	// dir keeps what is downloaded.
	dir string
	// arch is that of the machines.
	arch     spec.Arch
	caFile   string
	insecure bool
	// where says what to open or download, each time it is tried.
	where func(ctx context.Context) (fetch.Source, error)
	// progress is told how far a download is; nil tells nobody.
	progress fetch.Progress

	mu   sync.Mutex
	run  *bringing // the last attempt; nil before the first
	base *iso.Base
	file *fetch.File
	far  [2]int64 // done, of all
}

// bringing is one attempt to bring the base here.
type bringing struct {
	done chan struct{}
	err  error // once done is closed
}

// open is the base, once it is here. What failed is tried again by the next call.
func (b *baseImage) open(ctx context.Context) (*iso.Base, error) {
	run := b.begin()
	select {
	case <-run.done:
		b.mu.Lock()
		defer b.mu.Unlock()
		return b.base, run.err
	case <-ctx.Done():
		return nil, context.Cause(ctx)
	}
}

// begin brings the base here, unless it is here, or on its way.
func (b *baseImage) begin() *bringing {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.run != nil {
		select {
		case <-b.run.done:
			if b.base != nil {
				return b.run
			}
		default:
			return b.run
		}
	}
	run := &bringing{done: make(chan struct{})}
	b.run = run
	go func() {
		defer close(run.done)
		base, file, err := b.bring()
		b.mu.Lock()
		defer b.mu.Unlock()
		b.base, b.file, run.err = base, file, err
	}()
	return run
}

func (b *baseImage) bring() (*iso.Base, *fetch.File, error) {
	source, err := b.where(b.ctx)
	if err != nil {
		return nil, nil, err
	}
	client, err := rest.HTTPClient(b.caFile, b.insecure)
	if err != nil {
		return nil, nil, err
	}
	file, err := fetch.New(fetch.Config{Dir: b.dir, Cap: imageCacheCap, Client: client}).Get(b.ctx, source, b.note)
	if err != nil {
		return nil, nil, err
	}
	base, err := iso.Open(file.Path)
	if err != nil {
		return nil, nil, errors.Join(err, file.Close())
	}
	if got := base.Info().Arch; got != "" && got != liveArch(b.arch) {
		err := &install.Fault{
			Code: install.CodeInput, Op: "boot machines with", On: fetch.Redact(source.Location), Permanent: true,
			Err: fmt.Errorf("it is for %s, and the machines are %s", got, liveArch(b.arch)), Next: "give --base an image for " + liveArch(b.arch),
		}
		return nil, nil, errors.Join(err, base.Close(), file.Close())
	}
	return base, file, nil
}

func (b *baseImage) note(done, total int64) {
	b.mu.Lock()
	b.far = [2]int64{done, total}
	b.mu.Unlock()
	if b.progress != nil {
		b.progress(done, total)
	}
}

// missing says how far a base is that is on its way, "" for one that is here, or
// that could not be brought. It waits for it as long as ctx lasts.
func (b *baseImage) missing(ctx context.Context) string {
	select {
	case <-b.begin().done:
		return ""
	case <-ctx.Done():
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	return "its live image is on its way here, " + farText(b.far[0], b.far[1])
}

// farText is how far a download is, in steps that are worth a line.
func farText(done, total int64) string {
	if total <= 0 {
		return sizeText(done)
	}
	return fmt.Sprintf("%d%% of %s", done*10/total*10, sizeText(total))
}

// path is where the base lies on this machine, "" as long as it does not.
func (b *baseImage) path() string {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.file == nil {
		return ""
	}
	return b.file.Path
}

// close gives the base back. It waits for a download, which ends with its ctx.
func (b *baseImage) close() error {
	b.mu.Lock()
	run := b.run
	b.mu.Unlock()
	if run != nil {
		<-run.done
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.base == nil {
		return nil
	}
	err := errors.Join(b.base.Close(), b.file.Close())
	b.base, b.file = nil, nil
	return err
}

// serviceImage is the full image that the service has for an InfraEnv: of what
// it holds, only the live system is used.
func serviceImage(ctx context.Context, service downloader, env install.InfraEnv) (fetch.Source, error) {
	address, _, err := service.DownloadISOURL(ctx, env.ID)
	if err != nil {
		return fetch.Source{}, err
	}
	address = fullImage(address)
	// The address holds a token that changes, the name must not.
	return fetch.Source{Location: address, Name: "the full image of InfraEnv " + env.ID}, nil
}

// fullImage is the address of an InfraEnv's full image, where that of its
// minimal one is given: the image service has both.
func fullImage(address string) string {
	path, query, asked := strings.Cut(address, "?")
	if before, ok := strings.CutSuffix(path, "/minimal.iso"); ok {
		path = before + "/full.iso"
	}
	if !asked {
		return path
	}
	return path + "?" + strings.ReplaceAll(query, "type=minimal-iso", "type=full-iso")
}
