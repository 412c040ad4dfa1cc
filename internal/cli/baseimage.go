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
	// dir keeps what is downloaded.
	dir      string
	caFile   string
	insecure bool
	// where says what to open or download, each time it is tried.
	where    func(ctx context.Context) (fetch.Source, error)
	progress fetch.Progress

	mu   sync.Mutex
	base *iso.Base
	file *fetch.File
}

// open is the base, brought here by the first call that succeeds.
func (b *baseImage) open(ctx context.Context) (*iso.Base, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.base != nil {
		return b.base, nil
	}
	source, err := b.where(ctx)
	if err != nil {
		return nil, err
	}
	client, err := rest.HTTPClient(b.caFile, b.insecure)
	if err != nil {
		return nil, err
	}
	file, err := fetch.New(fetch.Config{Dir: b.dir, Cap: imageCacheCap, Client: client}).Get(ctx, source, b.progress)
	if err != nil {
		return nil, err
	}
	base, err := iso.Open(file.Path)
	if err != nil {
		return nil, errors.Join(err, file.Close())
	}
	b.base, b.file = base, file
	return base, nil
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

func (b *baseImage) close() error {
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
