//go:build linux

package controller

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"log/slog"
	"regexp"
	"slices"
	"time"

	"github.com/oaictl/oaictl/internal/host/hostfile"
	"github.com/oaictl/oaictl/internal/host/kube"
	"github.com/oaictl/oaictl/internal/host/machine"
	"github.com/oaictl/oaictl/internal/shared/escape"
)

const (
	gatherLimit      = 30 * time.Minute
	gatherFolder     = "must-gather"
	gatherKubeconfig = "kubeconfig"
)

// gathered is what must-gather collected, so that it need not run again if an upload fails.
type gathered struct {
	scratch *hostfile.Scratch
	size    int64
}

// mustGather runs "oc adm must-gather", and has its result as an archive.
func (c *Controller) mustGather(ctx context.Context) (entry, error) {
	if c.gathered.size == 0 {
		if err := c.gather(ctx); err != nil {
			return entry{}, err
		}
	}
	files := c.gathered.scratch.FS()
	open := func() (io.ReadCloser, error) { return files.Open(mustGatherFile) }
	return entry{name: mustGatherFile, size: c.gathered.size, open: open}, nil
}

func (c *Controller) gather(ctx context.Context) (err error) {
	if !c.Runner.Has("oc") {
		return &lastError{errors.New("run must-gather: there is no program oc in this image")}
	}
	images, err := gatherImages(c.Config.MustGatherImage, c.status.whole(), c.status.operators())
	if err != nil {
		return err
	}
	kubeconfig, err := c.kubeconfig(ctx)
	if err == nil {
		kubeconfig, err = kube.PlainKubeconfig(kubeconfig) // it comes from the service, and oc would run what it names
	}
	if err != nil {
		return err
	}
	scratch, err := hostfile.NewScratch(c.Temporary, "must-gather-")
	if err != nil {
		return err
	}
	defer func() {
		if err != nil {
			err = errors.Join(err, scratch.Remove())
		}
	}()
	if err := scratch.Write(gatherKubeconfig, kubeconfig); err != nil {
		return fmt.Errorf("write the kubeconfig for must-gather: %w", err)
	}
	args := []string{"adm", "must-gather", "--kubeconfig=" + scratch.Path(gatherKubeconfig), "--dest-dir=" + scratch.Path(gatherFolder)}
	for _, image := range images {
		args = append(args, "--image="+image)
	}
	c.Log.Info("running must-gather", slog.Any("images", images))
	// oc keeps what it finds out about the cluster in the folder of its user.
	home := "HOME=" + scratch.Path(".")
	if _, err := c.Runner.Run(ctx, machine.Command{Name: "oc", Args: args, Env: []string{home}, Timeout: gatherLimit}); err != nil {
		return err
	}
	size, err := packFolder(scratch, gatherFolder, mustGatherFile)
	if err != nil {
		return fmt.Errorf("pack what must-gather collected: %w", err)
	}
	c.gathered = gathered{scratch: scratch, size: size}
	return nil
}

// image is the form of the name of an image.
var image = regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9._:/@-]*$`)

// gatherImages are the images with which must-gather runs; none means that of the release. If several are configured, that for
// "ocp" is used if the installation failed as a whole, and those of operators that failed.
func gatherImages(configured string, whole bool, operators []string) ([]string, error) {
	if configured == "" {
		return nil, nil
	}
	var images []string
	var of map[string]string
	if json.Unmarshal([]byte(configured), &of) != nil {
		images = []string{configured}
	}
	if whole && of["ocp"] != "" {
		images = append(images, of["ocp"])
	}
	for _, operator := range operators {
		if of[operator] != "" {
			images = append(images, of[operator])
		}
	}
	for _, name := range images {
		if !image.MatchString(name) {
			return nil, errors.New(escape.Sprintf("the image for must-gather %q is not the name of an image", name))
		}
	}
	slices.Sort(images)
	return slices.Compact(images), nil
}

// packFolder packs the files of a folder. It returns how many bytes the archive has.
func packFolder(scratch *hostfile.Scratch, folder, archive string) (int64, error) {
	file, err := scratch.Create(archive)
	if err != nil {
		return 0, err
	}
	counted := &counter{to: file}
	zipped := gzip.NewWriter(counted)
	tape := tar.NewWriter(zipped)
	err = addFiles(tape, scratch.FS(), folder)
	err = errors.Join(err, tape.Close(), zipped.Close(), file.Close())
	return counted.bytes, err
}

// addFiles adds the regular files of a folder. Links and others are left out.
func addFiles(tape *tar.Writer, files fs.FS, folder string) error {
	return fs.WalkDir(files, folder, func(path string, d fs.DirEntry, err error) error {
		if err != nil || !d.Type().IsRegular() {
			return err
		}
		content, err := files.Open(path)
		if err != nil {
			return err
		}
		info, err := content.Stat()
		if err == nil {
			err = tape.WriteHeader(&tar.Header{Name: path, Size: info.Size(), Mode: 0o644, ModTime: info.ModTime()})
		}
		if err == nil {
			_, err = io.Copy(tape, content)
		}
		return errors.Join(err, content.Close())
	})
}

// counter counts what is written.
type counter struct {
	to    io.Writer
	bytes int64
}

func (c *counter) Write(p []byte) (int, error) {
	n, err := c.to.Write(p)
	c.bytes += int64(n)
	return n, err
}

func bytesOf(content []byte) io.ReadCloser { return io.NopCloser(bytes.NewReader(content)) }
