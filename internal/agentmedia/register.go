package agentmedia

import (
	"bytes"
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/oaictl/oaictl/internal/shared/clustersettings"
	"github.com/oaictl/oaictl/internal/shared/hubapi"
	"github.com/oaictl/oaictl/internal/shared/release"
	"github.com/oaictl/oaictl/pkg/install"
	"github.com/oaictl/oaictl/pkg/install/model"
)

// RegisterCluster makes the cluster of the medium, if the service has none, and gives it the install-config overrides
// and extra manifests that it lacks. CLUSTER_ID is recorded.
func (c *Client) RegisterCluster(ctx context.Context) (Result, error) {
	m, err := readClusterManifests(c.Env.Files)
	if err != nil {
		return Result{}, err
	}
	overrides, err := m.overrides()
	if err != nil {
		return Result{}, err
	}
	extra, err := readExtraManifests(c.Env.ExtraManifests)
	if err != nil {
		return Result{}, err
	}
	for _, text := range m.unused {
		c.Warn("%s", text)
	}
	done := unchanged
	cluster, err := c.cluster(ctx)
	if err != nil {
		return Result{}, err
	}
	if cluster == nil {
		if cluster, err = c.registerCluster(ctx, m); err != nil {
			return Result{}, err
		}
		done = "registered"
	}
	if cluster.Name != m.name() {
		return Result{}, &model.Fault{
			Code: model.CodeNotFound, Op: "register cluster", On: m.name(), Permanent: true,
			Err:  fmt.Errorf("the service has a cluster of another name already: %s (%s)", cluster.Name, cluster.ID),
			Next: "if it is not needed, delete it: " + model.Command("delete cluster", cluster.ID),
		}
	}
	changed, err := c.setOverrides(ctx, m, cluster, overrides)
	if err != nil {
		return Result{}, err
	}
	added, err := c.uploadManifests(ctx, cluster, extra)
	if err != nil {
		return Result{}, err
	}
	if done == unchanged && (changed || added) {
		done = "completed"
	}
	if err := c.noteCluster(cluster.ID); err != nil && !c.NoteOptional {
		return Result{}, err
	} else if err != nil {
		c.Warn("CLUSTER_ID is not noted: %v", err)
	}
	return Result{Kind: "cluster", Name: cluster.Name, ID: cluster.ID, Done: done}, nil
}

func (c *Client) registerCluster(ctx context.Context, m *clusterManifests) (*model.Cluster, error) {
	info, err := c.readRelease(ctx, m)
	if err != nil {
		return nil, err
	}
	settings, err := m.settings(info)
	if err != nil {
		return nil, err
	}
	c.Say("registering cluster %s, OpenShift %s for %s", m.name(), info.Version, info.Architecture())
	action := model.Action{Kind: model.RegisterCluster, Scope: model.ScopeCluster, Name: m.name(), Settings: settings}
	desired := m.desired()
	desired.Options.Run = rand.Text() // by which a run may take back what it registers
	return create(ctx, func() error { return c.Service.Act(ctx, desired, action) }, func() (*model.Cluster, error) {
		if err := c.withdraw(ctx, desired); err != nil {
			return nil, err
		}
		return c.cluster(ctx)
	})
}

func (c *Client) readRelease(ctx context.Context, m *clusterManifests) (release.Info, error) {
	options := release.Options{PullSecret: m.pullSecret, Mirror: c.Env.ReleaseMirror, OC: c.OC, Clock: c.Clock}
	if c.RegistryCA != "" {
		var err error
		if options.CA, err = readFile(c.RegistryCA); err != nil {
			return release.Info{}, err
		}
	}
	data, err := readOptional(c.Env.Registries)
	if err != nil {
		return release.Info{}, err
	}
	if options.Registries, err = release.ParseRegistries(data); err != nil {
		return release.Info{}, badFile(c.Env.Registries, err)
	}
	info, err := c.Release(ctx, strings.TrimSpace(m.imageSet.Spec.ReleaseImage), options)
	fault, is := errors.AsType[*model.Fault](err)
	if is && fault.Next == "" && fault.Code == model.CodeFailure {
		reached := *fault
		reached.Next = "check the network and DNS of this machine, or give another location of the image: a mirror in " +
			"OPENSHIFT_INSTALL_RELEASE_IMAGE_MIRROR, or in registries.conf (CONTAINERS_REGISTRIES_CONF)"
		err = &reached
	}
	return info, err
}

// setOverrides sends the install-config overrides that the cluster lacks, and says
// whether it did. Without any on the medium, the cluster's stay.
func (c *Client) setOverrides(ctx context.Context, m *clusterManifests, cluster *model.Cluster, overrides string) (bool, error) {
	if overrides == "" || clustersettings.Same(model.SettingInstallConfigOverrides, model.ValueOf(overrides),
		cluster.Settings[model.SettingInstallConfigOverrides]) {
		return false, nil
	}
	c.Say("setting the install-config overrides of cluster %s", cluster.Name)
	err := c.Service.Act(ctx, m.desired(), model.Action{
		Kind: model.SetOverrides, Scope: model.ScopeCluster, Target: cluster.ID, Name: cluster.Name,
		Settings: model.Settings{model.SettingInstallConfigOverrides: model.ValueOf(overrides)},
	})
	if fault, is := errors.AsType[*model.Fault](err); is && (fault.Status == http.StatusBadRequest ||
		fault.Status == http.StatusUnprocessableEntity) {
		// The keys are those of install-config.yaml, and an unknown one is more likely
		// mistyped than too new for the service.
		err = badFile(m.files.AgentClusterInstall, fmt.Errorf("the service refuses the annotation %s: %w",
			hubapi.AnnotationInstallConfigOverrides, fault.Err))
	}
	return true, err
}

type extraManifest struct {
	name    string
	content []byte
}

const extraFolder = "openshift"

func readExtraManifests(folder string) ([]extraManifest, error) {
	entries, err := os.ReadDir(folder)
	if missing(err) {
		return nil, nil
	} else if err != nil {
		return nil, badFile(folder, err)
	}
	var all []extraManifest
	for _, entry := range entries {
		if matched, _ := filepath.Match("*.y*ml", entry.Name()); !matched || entry.IsDir() { // the pattern is sound
			continue
		}
		content, err := readFile(filepath.Join(folder, entry.Name()))
		if err != nil {
			return nil, err
		}
		if _, err := documents(filepath.Join(folder, entry.Name()), content); err != nil {
			return nil, err
		}
		all = append(all, extraManifest{entry.Name(), content})
	}
	return all, nil
}

// uploadManifests sends the extra manifests that the cluster lacks. One with another content is not overwritten: a user
// or another tool put it there.
func (c *Client) uploadManifests(ctx context.Context, cluster *model.Cluster, extra []extraManifest) (bool, error) {
	if len(extra) == 0 {
		return false, nil
	}
	listed, err := c.Service.Manifests(ctx, cluster.ID, false)
	if err != nil {
		return false, err
	}
	var absent []extraManifest
	for _, m := range extra {
		there := slices.ContainsFunc(listed, func(l install.Manifest) bool { return l.Folder == extraFolder && l.Name == m.name })
		if !there {
			absent = append(absent, m)
			continue
		}
		var content bytes.Buffer
		if err := c.Service.DownloadManifest(ctx, cluster.ID, extraFolder, m.name, &content); err != nil {
			return false, err
		}
		if !bytes.Equal(content.Bytes(), m.content) {
			return false, &model.Fault{
				Code: model.CodeNotFound, Op: "upload manifest", On: extraFolder + "/" + m.name, Permanent: true,
				Err:  errors.New("the cluster has one with that name, but its content is different"),
				Next: "give the file another name, or the content that the cluster has",
			}
		}
	}
	for _, m := range absent {
		c.Say("uploading manifest %s/%s", extraFolder, m.name)
		if err := c.Service.UploadManifest(ctx, cluster.ID, extraFolder, m.name, m.content); err != nil {
			return false, err
		}
	}
	return len(absent) > 0, nil
}

// noteCluster records the cluster. An InfraEnv that is recorded there stays: this step may run again after it.
func (c *Client) noteCluster(id string) error {
	noted, err := readRecord(c.Env.ClientConfig)
	if err != nil {
		return err
	}
	text := "CLUSTER_ID=" + id + "\n"
	if infraEnv := noted["INFRA_ENV_ID"]; infraEnv != "" {
		text += "INFRA_ENV_ID=" + infraEnv + "\n"
	}
	return writeWhole(c.Env.ClientConfig, []byte(text))
}

// RegisterInfraEnv makes the InfraEnv of the medium, if the service has none, bound to the cluster if there is one.
// INFRA_ENV_ID is recorded.
func (c *Client) RegisterInfraEnv(ctx context.Context) (Result, error) {
	m, err := readInfraEnvManifests(c.Env.Files)
	if err != nil {
		return Result{}, err
	}
	for _, text := range m.unused {
		c.Warn("%s", text)
	}
	done := unchanged
	env, err := c.infraEnv(ctx)
	if err != nil {
		return Result{}, err
	}
	if env == nil {
		if env, err = c.registerInfraEnv(ctx, m); err != nil {
			return Result{}, err
		}
		done = "registered"
	} else if err := c.warnUnbound(ctx, env); err != nil {
		return Result{}, err
	}
	result := Result{Kind: "infraenv", Name: env.Name, ID: env.ID, Done: done}
	return result, writeWhole(c.Env.ClientConfig, []byte("INFRA_ENV_ID="+env.ID+"\n"))
}

// warnUnbound names an InfraEnv without the cluster: the service binds its hosts only.
func (c *Client) warnUnbound(ctx context.Context, env *model.InfraEnv) error {
	if env.ClusterID != "" {
		return nil
	}
	cluster, err := c.cluster(ctx)
	if err == nil && cluster != nil {
		c.Warn("InfraEnv %s was registered before cluster %s and does not belong to it: start-install binds its hosts", env.Name, cluster.Name)
	}
	return err
}

// infraEnv is the one InfraEnv of the service, nil while there is none.
func (c *Client) infraEnv(ctx context.Context) (*model.InfraEnv, error) {
	found, err := c.Service.ListInfraEnvs(ctx, "")
	if err == nil {
		found, err = c.withoutEmpty(ctx, found)
	}
	return only("infraenv", found, err, func(e *model.InfraEnv) string { return e.ID + " (" + e.Name + ")" })
}

func (c *Client) registerInfraEnv(ctx context.Context, m *infraEnvManifests) (*model.InfraEnv, error) {
	cluster, err := c.cluster(ctx)
	if err != nil {
		return nil, err
	}
	action := model.Action{Kind: model.RegisterInfraEnv, Scope: model.ScopeInfraEnv.Of(m.infraEnv.Name), Name: m.infraEnv.Name}
	if cluster != nil {
		action.Target = cluster.ID
		c.Say("registering InfraEnv %s of cluster %s", m.infraEnv.Name, cluster.Name)
	} else {
		c.Say("registering InfraEnv %s without a cluster: its hosts are bound later", m.infraEnv.Name)
	}
	if action.Settings, err = m.settings(c.Env.ImageType); err != nil {
		return nil, err
	}
	return create(ctx, func() error { return c.Service.Act(ctx, m.desired(), action) },
		func() (*model.InfraEnv, error) { return c.infraEnv(ctx) })
}
