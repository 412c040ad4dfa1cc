package boot

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/oaictl/oaictl/pkg/install"
	"github.com/oaictl/oaictl/pkg/install/model"
	"github.com/oaictl/oaictl/pkg/install/spec"
	"github.com/oaictl/oaictl/pkg/iso/fetch"
)

// NoInfraEnvError says why a host has no discovery image: no InfraEnv is registered for it.
type NoInfraEnvError struct {
	Installed bool // the cluster is installed, and the host can only be added to it
}

func (e *NoInfraEnvError) Error() string {
	if e.Installed {
		return "the cluster is installed, and the host is not part of it"
	}
	return "the service has no discovery image for the host yet"
}

// Service is what a service has of discovery images. [rest.Plane] and [hub.Plane] are such.
type Service interface {
	Observe(ctx context.Context, query model.Query, prior *model.Observed) (*model.Observed, error)
	DownloadInfraEnvFile(ctx context.Context, infraEnvID, file string, out io.Writer) error
	DownloadISOURL(ctx context.Context, infraEnvID string) (url string, expires time.Time, err error)
}

type discovery struct {
	service Service
	desired *model.Desired

	mu       sync.Mutex
	observed *model.Observed
}

// update takes an observation that the caller has made.
func (d *discovery) update(observed *model.Observed) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.observed = observed
}

func (d *discovery) envOf(ctx context.Context, host string) (model.InfraEnv, error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.observed != nil {
		if env, known := (&install.Look{Desired: d.desired, Observed: d.observed}).InfraEnv(host); known {
			return env, nil
		}
	}
	observed, err := d.observe(ctx)
	if err != nil {
		return model.InfraEnv{}, err
	}
	env, known := (&install.Look{Desired: d.desired, Observed: observed}).InfraEnv(host)
	if !known && observed.Cluster != nil && slices.Contains([]model.ClusterState{model.ClusterInstalled, model.ClusterAddingHosts},
		observed.Cluster.State) {
		return model.InfraEnv{}, &model.Fault{
			Code: model.CodeNotFound, Op: "find the InfraEnv of", On: host, Err: &NoInfraEnvError{Installed: true},
		}
	}
	if !known {
		return model.InfraEnv{}, &model.Fault{
			Code: model.CodeNotFound, Op: "find the InfraEnv of", On: host, Err: &NoInfraEnvError{},
		}
	}
	d.observed = observed
	return env, nil
}

// present is the file's cluster as far as it can have hosts now.
func (d *discovery) present(ctx context.Context) (*spec.Cluster, error) {
	observed, err := d.observe(ctx)
	if err != nil {
		return nil, err
	}
	d.update(observed)
	return d.desired.At(observed).Spec, nil
}

func (d *discovery) observe(ctx context.Context) (*model.Observed, error) {
	c := d.desired.Spec
	return d.service.Observe(ctx, model.Query{
		Name: c.Metadata.Name, BaseDomain: c.Spec.BaseDomain, InfraEnv: c.Spec.InfraEnv.Ref, Adopt: d.desired.Options.Adopt, Detail: true,
	}, nil)
}

func (d *discovery) ignition(ctx context.Context, host string) ([]byte, error) {
	env, err := d.envOf(ctx, host)
	if err != nil {
		return nil, err
	}
	var config bytes.Buffer
	if err := d.service.DownloadInfraEnvFile(ctx, env.ID, "discovery.ign", &config); err != nil {
		return nil, fmt.Errorf("get the discovery Ignition of %s: %w", host, err)
	}
	return config.Bytes(), nil
}

func (d *discovery) networks(ctx context.Context, host string) ([]model.StaticNetwork, error) {
	env, err := d.envOf(ctx, host)
	if err != nil {
		return nil, err
	}
	var networks []model.StaticNetwork
	if value, said := env.Settings[model.SettingStaticNetworks]; said {
		err = value.Decode(&networks)
	}
	return networks, err
}

func (d *discovery) renew(env model.InfraEnv) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.observed == nil {
		return
	}
	now := *d.observed
	now.InfraEnvs = slices.Clone(now.InfraEnvs)
	for i := range now.InfraEnvs {
		if now.InfraEnvs[i].ID == env.ID {
			now.InfraEnvs[i].Settings = env.Settings
		}
	}
	d.observed = &now
}

func (d *discovery) image(ctx context.Context, host string) (fetch.Source, error) {
	env, err := d.envOf(ctx, host)
	if err != nil {
		return fetch.Source{}, err
	}
	return serviceImage(ctx, d.service, env, imageOwner(d.desired.Spec))
}

// serviceImage is the full image that the service has for an InfraEnv: of what
// it holds, only the live system is used.
func serviceImage(ctx context.Context, service Service, env model.InfraEnv, owner string) (fetch.Source, error) {
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
func madeOf(address string, env model.InfraEnv) string {
	settings, err := json.Marshal(env.Settings)
	if err != nil {
		return "" // and the server is asked
	}
	sum := sha256.Sum256(settings)
	return fetch.Redact(address) + " " + hex.EncodeToString(sum[:])
}

// cachedImage is what the cache calls the full image of an InfraEnv. Its address holds
// a token that changes, the name must not.
func cachedImage(env model.InfraEnv) fetch.Source {
	return fetch.Source{Location: "https://service/full.iso", Name: "the full image of InfraEnv " + env.ID}
}

// ForgetImages removes the images of InfraEnvs that are gone from the cache: they hold the pull secret of their cluster. Where
// Desired is set, the service does not have its cluster any more, and all images of it are removed, too.
func (c *Config) ForgetImages(ctx context.Context, envs ...model.InfraEnv) error {
	images := fetch.New(fetch.Config{Dir: c.Cache})
	var errs []error
	for _, env := range envs {
		_, err := images.Forget(ctx, cachedImage(env))
		errs = append(errs, err)
	}
	if c.Desired != nil {
		errs = append(errs, images.ForgetOf(imageOwner(c.Desired.Spec)))
	}
	return errors.Join(errs...)
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
