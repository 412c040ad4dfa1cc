package boot

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"strings"

	"github.com/oaictl/oaictl/pkg/install"
	"github.com/oaictl/oaictl/pkg/install/spec"
	"github.com/oaictl/oaictl/pkg/iso/fetch"
)

// serviceImage is the full image that the service has for an InfraEnv: of what
// it holds, only the live system is used.
func serviceImage(ctx context.Context, service Service, env install.InfraEnv, owner string) (fetch.Source, error) {
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

// ForgetImage removes the image of an InfraEnv that is gone from a cache: it holds the
// pull secret of its cluster.
func ForgetImage(ctx context.Context, cache string, env install.InfraEnv) error {
	_, err := fetch.New(fetch.Config{Dir: cache}).Forget(ctx, cachedImage(env))
	return err
}

// ForgetImages does so with all images of a cluster that the service does not have any
// more, nor its InfraEnvs.
func ForgetImages(cache string, cluster *spec.Cluster) error {
	return fetch.New(fetch.Config{Dir: cache}).ForgetOf(imageOwner(cluster))
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
