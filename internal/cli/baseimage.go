package cli

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"time"

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
	// again is told why an attempt failed that is made again; nil tells nobody.
	again func(err error, wait time.Duration)

	image brought[*liveImage]

	mu  sync.Mutex
	far [2]int64 // done, of all
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
	client, err := rest.HTTPClient(b.caFile, b.insecure)
	if err != nil {
		return nil, err
	}
	file, err := fetch.New(fetch.Config{Dir: b.dir, Cap: imageCacheCap, Client: client, Again: b.again}).Get(b.ctx, source, b.note)
	if err != nil {
		return nil, err
	}
	base, err := iso.Open(file.Path)
	if err != nil {
		return nil, errors.Join(notToBoot(source.Location, file.Path, err), file.Close())
	}
	if got := base.Info().Arch; got != "" && got != liveArch(b.arch) {
		err := &install.Fault{
			Code: install.CodeInput, Op: "boot machines with", On: fetch.Redact(source.Location), Permanent: true,
			Err: fmt.Errorf("it is for %s, and the machines are %s", got, liveArch(b.arch)), Next: "give --base an image for " + liveArch(b.arch),
		}
		return nil, errors.Join(err, base.Close(), file.Close())
	}
	return &liveImage{base, file}, nil
}

// notToBoot is what is wrong with a base, by the place that it was given as.
func notToBoot(location, path string, err error) error {
	var fault *install.Fault
	if !errors.As(imageFault(err), &fault) || fault.Code != install.CodeInput {
		return err
	}
	return &install.Fault{
		Code: install.CodeInput, Op: "boot machines with", On: fetch.Redact(location), Permanent: true,
		Err: errors.New(strings.TrimPrefix(err.Error(), path+": ")), Next: nextBase,
	}
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
	case <-b.image.begin(b.bring).done:
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
	image, here := b.image.here()
	if !here {
		return ""
	}
	return image.file.Path
}

// close gives the base back. It waits for a download, which ends with its ctx.
func (b *baseImage) close() error { return b.image.close((*liveImage).close) }

// serviceImage is the full image that the service has for an InfraEnv: of what
// it holds, only the live system is used.
func serviceImage(ctx context.Context, service downloader, env install.InfraEnv, owner string) (fetch.Source, error) {
	address, _, err := service.DownloadISOURL(ctx, env.ID)
	if err != nil {
		return fetch.Source{}, err
	}
	source := cachedImage(env)
	source.Location = fullImage(address)
	source.Version, source.Owner = madeOf(source.Location, env), owner
	return source, nil
}

// imageOwner is what the cache calls the cluster that images are kept for.
func imageOwner(c *spec.Cluster) string { return c.Metadata.Name + "." + c.Spec.BaseDomain }

// madeOf names what went into an InfraEnv's image: the live system that its address
// names, and the InfraEnv's settings. When the InfraEnv was changed says nothing: asking
// for the address changes it.
func madeOf(address string, env install.InfraEnv) string {
	settings, err := json.Marshal(env.Settings)
	if err != nil {
		return "" // and the server is asked
	}
	sum := sha256.Sum256(settings)
	return fetch.Redact(address) + " " + hex.EncodeToString(sum[:])
}

// cachedImage is what the cache calls the full image of an InfraEnv. Its address holds
// a token that changes, the name must not.
func cachedImage(env install.InfraEnv) fetch.Source {
	return fetch.Source{Location: "https://service/full.iso", Name: "the full image of InfraEnv " + env.ID}
}

// forgetImages removes the cached images of InfraEnvs that are gone: each holds the pull
// secret of its cluster. One that cannot be removed is told of, and ends nothing.
func (a *app) forgetImages(ctx context.Context, envs []install.InfraEnv) {
	dir, err := a.imageCacheDir()
	if err != nil {
		return // so that there is none
	}
	cache := fetch.New(fetch.Config{Dir: dir})
	for _, env := range envs {
		if _, err := cache.Forget(ctx, cachedImage(env)); err != nil {
			a.warn("the image of InfraEnv %s stays in %s: %v. It holds the pull secret: delete it", env.Name, dir, err)
		}
	}
}

// forgetImagesOf does so for a cluster that the service does not have any more, nor its
// InfraEnvs.
func (a *app) forgetImagesOf(c *spec.Cluster) {
	dir, err := a.imageCacheDir()
	if err != nil {
		return
	}
	if err := fetch.New(fetch.Config{Dir: dir}).ForgetOf(imageOwner(c)); err != nil {
		a.warn("not all images of %s could be removed from %s: %v. They hold the pull secret: delete them", c.Metadata.Name, dir, err)
	}
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
