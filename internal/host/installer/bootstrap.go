//go:build linux

package installer

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"path"
	"regexp"
	"strings"

	"github.com/google/uuid"

	"github.com/oaictl/oaictl/internal/host/installer/firstboot"
	"github.com/oaictl/oaictl/internal/host/installer/manifests"
)

const (
	bootstrapFile     = "bootstrap.ign"
	bootstrapIgnition = installDir + "/" + bootstrapFile
	sshFolder         = "/root/.ssh"
	sshKey            = sshFolder + "/id_rsa"
	openshiftFolder   = "/opt/openshift/openshift"
	manifestsFolder   = "/opt/openshift/manifests"
	// clientPath is a program that only live systems with OpenShift's programs have.
	clientPath       = "/usr/bin/oc"
	nodeImagePull    = "node-image-pull.service"
	nodeImageOverlay = "node-image-overlay.service"
)

// fetchBootstrapIgnition gets the config of the temporary control plane, and takes the credentials for registries out of it.
func (r *run) fetchBootstrapIgnition(ctx context.Context) error {
	const private = 0o700
	// The sender of logs mounts this folder, also on a single node.
	if err := r.Files.MakeFolder(sshFolder, private); err != nil {
		return err
	}
	config, err := r.Service.ClusterFile(ctx, r.cluster, bootstrapFile)
	if err != nil {
		return fmt.Errorf("get %s from the service: %w", bootstrapFile, err)
	}
	if err := firstboot.Check(config); err != nil {
		return fmt.Errorf("check the service's %s: %w", bootstrapFile, err)
	}
	err = firstboot.CheckCluster(config, r.clusterNow.Name, r.clusterNow.BaseDNSDomain)
	if err != nil && !errors.Is(err, firstboot.ErrUnknownCluster) {
		return fmt.Errorf("check the service's %s: %w", bootstrapFile, err)
	}
	if err != nil {
		r.Log.Warn("the bootstrap's Ignition config is not compared with the cluster", "why", err)
	}
	credentials, found := firstboot.File(config, firstboot.DockerConfig)
	if !found {
		// A registry may need none.
		r.Log.Warn("the bootstrap's Ignition config has no credentials for registries: images are pulled without", "file", firstboot.DockerConfig)
	} else if err := r.Files.Write(firstboot.DockerConfig, credentials, onlyRoot); err != nil {
		return err
	}
	return r.Files.Write(bootstrapIgnition, config, onlyRoot)
}

// applyIgnition lets the machine-config-daemon write the config's files and units into the live system. These include
// /opt/openshift/assisted-install-bootstrap, which lets etcd begin with fewer members.
func (r *run) applyIgnition(ctx context.Context) error {
	_, err := r.program(ctx, "podman", "run", "--net", "host",
		"--pid=host",
		"--volume", "/:/rootfs:rw",
		"--volume", "/usr/bin/rpm-ostree:/usr/bin/rpm-ostree",
		"--privileged",
		"--entrypoint", "/usr/bin/machine-config-daemon",
		r.config.MCOImage,
		"start", "--node-name", "localhost", "--root-mount", "/rootfs", "--once-from", bootstrapIgnition, "--skip-reboot")
	if err != nil {
		return fmt.Errorf("write the files of %s into the live system: %w", bootstrapFile, err)
	}
	return nil
}

var publicKeyPattern = regexp.MustCompile(`^ssh-[a-z0-9-]+ [A-Za-z0-9+/=]+( [ -~]*)?$`)

// makeSSHKey makes a key with which the bootstrap fetches logs of the other control plane nodes.
func (r *run) makeSSHKey(ctx context.Context) error {
	// ssh-keygen asks before it replaces a key, which a step that was stopped may have left.
	if err := errors.Join(r.Files.Remove(sshKey), r.Files.Remove(sshKey+".pub")); err != nil {
		return err
	}
	if _, err := r.program(ctx, "ssh-keygen", "-q", "-f", sshKey, "-N", ""); err != nil {
		return fmt.Errorf("make an SSH key: %w", err)
	}
	content, err := r.Files.Read(sshKey + ".pub")
	if err != nil {
		return fmt.Errorf("read the SSH key that was made: %w", err)
	}
	key := strings.TrimSpace(string(content))
	if !publicKeyPattern.MatchString(key) {
		return fmt.Errorf("%s.pub is not a public SSH key", sshKey)
	}
	manifest, err := manifests.SSHKey(key)
	if err != nil {
		return err
	}
	return r.writeManifest(openshiftFolder, manifest)
}

func (r *run) writeManifest(folder string, file manifests.File) error {
	mode := fs.FileMode(readable)
	if file.Secret {
		mode = onlyRoot
	}
	return r.Files.Write(path.Join(folder, file.Name), file.Content, mode)
}

// namePattern has the host names that a node may have (RFC 1123).
var namePattern = regexp.MustCompile(`^[a-z0-9]([a-z0-9-]{0,62}[a-z0-9])?(\.[a-z0-9]([a-z0-9-]{0,62}[a-z0-9])?)*$`)

const longestName = 253

// checkHostname gives the machine a random name if its name cannot be a node's. NetworkManager would otherwise ask for another
// name, and write /etc/resolv.conf anew without the cluster's names, which bootkube needs.
func (r *run) checkHostname(ctx context.Context) error {
	name, err := r.Hostname()
	if err != nil {
		return fmt.Errorf("read the name of this machine: %w", err)
	}
	if name != "localhost" && len(name) <= longestName && namePattern.MatchString(name) {
		return nil
	}
	random := "random-hostname-" + uuid.NewString()
	r.Log.Info("the machine gets a random name, since a node cannot have its own", "name", name, "random", random)
	if _, err := r.program(ctx, "hostnamectl", "set-hostname", random); err != nil {
		return fmt.Errorf("name this machine %s: %w", random, err)
	}
	return nil
}

// writeManifests adds the controller to what bootkube applies.
func (r *run) writeManifests(context.Context) error {
	rules := manifests.OriginalRules()
	if r.Controller.Image != "" && r.config.ControllerImage == r.Controller.Image {
		rules = r.Controller.Rules
	}
	c := r.config
	files, err := manifests.Render(manifests.Options{
		ClusterID: c.ClusterID, ServiceURL: c.URL, Insecure: c.Insecure, CACertPath: c.CACertPath,
		CheckClusterVersion: c.CheckClusterVersion, ControlPlaneCount: c.ControlPlaneCount, SingleNode: c.singleNode(),
		MustGatherImage: c.MustGatherImage, PullSecretToken: c.Token, Image: c.ControllerImage,
		OpenShiftVersion: c.OpenShiftVersion, NotifyNumReboots: c.NotifyNumReboots, ServiceIPs: c.serviceIPs(), Rules: rules,
	})
	if err != nil {
		return err
	}
	for _, file := range files {
		if err := r.writeManifest(manifestsFolder, file); err != nil {
			return err
		}
	}
	return nil
}

// overlayNodeImage adds the programs of OpenShift to a plain live system.
func (r *run) overlayNodeImage(ctx context.Context) error {
	if err := r.systemctl(ctx, "start", "--no-block", nodeImagePull, nodeImageOverlay); err != nil {
		return err
	}
	for _, unit := range []string{nodeImagePull, nodeImageOverlay} {
		if err := r.waitFor(ctx, r.unitActive(unit)); err != nil {
			return err
		}
	}
	if !r.Files.Exists(clientPath) {
		return fmt.Errorf("%s is active, and yet there is no %s", nodeImageOverlay, clientPath)
	}
	return nil
}

func (r *run) unitActive(unit string) wait {
	return wait{
		what: unit + " to be active", next: "look at `journalctl -u " + unit + "`", tell: true,
		look: func(ctx context.Context) (bool, string, error) {
			state, err := r.unitState(ctx, unit)
			return state == "active", "it is " + state, err
		},
	}
}

// startBootkube starts the temporary control plane.
func (r *run) startBootkube(ctx context.Context) error {
	for _, unit := range []string{"bootkube.service", "approve-csr.service", "progress.service"} {
		if err := r.systemctl(ctx, "start", unit); err != nil {
			return err
		}
	}
	return nil
}
