package kubetest

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
)

// assets are what a hub is made of: a folder of programs, and one of kinds.
type assets struct{ programs, crds string }

// What a folder with everything has beside the programs.
const (
	crdsName = "crds"
	// ServeName is the program that runs API servers (internal/kubetest/serve).
	ServeName = "serve"
)

// built are the assets of the source tree that the process is in. A missing program is built, which is written to log.
func built(ctx context.Context, log io.Writer) (assets, error) {
	tree, err := root(ctx)
	if err != nil {
		return assets{}, err
	}
	programs, err := Build(ctx, log)
	return assets{programs, filepath.Join(tree, "test", "crds")}, err
}

// ready are the assets of a folder that has the programs, and the kinds, unless those are in a
// source tree that the process is in.
func ready(ctx context.Context, folder string) (assets, error) {
	folder, err := filepath.Abs(folder)
	if err != nil {
		return assets{}, err
	}
	if !complete(folder) {
		var names []string
		for _, p := range programs() {
			names = append(names, p.name)
		}
		return assets{}, fmt.Errorf("%s does not have all of %q and %s; `go run ./internal/kubetest/build --assets DIR` makes such a folder",
			folder, names, coreManifests)
	}
	crds := filepath.Join(folder, crdsName)
	if _, err := os.Stat(crds); err == nil {
		return assets{folder, crds}, nil
	}
	tree, err := root(ctx)
	if err != nil {
		return assets{}, fmt.Errorf("%s has no folder %s: %w", folder, crdsName, err)
	}
	return assets{folder, filepath.Join(tree, "test", "crds")}, nil
}

// WriteAssets puts into a folder all that runs API servers and management clusters outside of
// the source tree: the programs, the kinds, and the program that starts them.
func WriteAssets(ctx context.Context, folder string, log io.Writer) error {
	from, err := built(ctx, log)
	if err != nil {
		return err
	}
	if err := os.MkdirAll(folder, 0o755); err != nil {
		return err
	}
	for _, p := range programs() {
		if err := linkOrCopy(filepath.Join(from.programs, p.name), filepath.Join(folder, p.name)); err != nil {
			return err
		}
	}
	for source, target := range map[string]string{
		filepath.Join(from.programs, coreManifests): coreManifests,
		filepath.Join(from.crds, "manifests"):       filepath.Join(crdsName, "manifests"),
		filepath.Join(from.crds, "metal3"):          filepath.Join(crdsName, "metal3"),
	} {
		if err := replaceFolder(source, filepath.Join(folder, target)); err != nil {
			return err
		}
	}
	tree := filepath.Dir(filepath.Dir(from.crds))
	target, err := filepath.Abs(filepath.Join(folder, ServeName))
	if err != nil {
		return err
	}
	b := builder{module: tree, log: log}
	command, args := kindly("go", "build", "-ldflags", "-s -w", "-o", target, "./internal/kubetest/serve")
	_, err = b.run(ctx, command, args...)
	return err
}

func replaceFolder(from, to string) error {
	if err := os.RemoveAll(to); err != nil {
		return err
	}
	return os.CopyFS(to, os.DirFS(from))
}

// linkOrCopy has a file at another place, too.
func linkOrCopy(from, to string) error {
	if err := os.Remove(to); err != nil && !errors.Is(err, os.ErrNotExist) {
		return err
	}
	if os.Link(from, to) == nil {
		return nil // on the same file system
	}
	source, err := os.Open(from)
	if err != nil {
		return err
	}
	defer source.Close()
	target, err := os.OpenFile(to, os.O_CREATE|os.O_WRONLY|os.O_EXCL, 0o755)
	if err != nil {
		return err
	}
	_, err = io.Copy(target, source)
	return errors.Join(err, target.Close())
}
