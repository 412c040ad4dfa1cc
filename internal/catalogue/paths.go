package catalogue

import (
	"fmt"
	"io/fs"
)

// Path is a way through an installation: the stages that a host goes through
// depend on its part in it.
type Path string

// The paths of hosts; paths.yaml has their stages. The bootstrap host is the
// control plane host that the others start from.
const (
	PathBootstrap    Path = "bootstrap"
	PathControlPlane Path = "control-plane" // and arbiters
	PathWorker       Path = "worker"
	PathSingleNode   Path = "single-node"
	PathAdded        Path = "added" // to a running cluster, as far as the REST service follows it
)

// Stages are the stages of a path in their order. Copying registry data to
// disk is on most paths and is passed over at once where there is no registry
// on the discovery image.
func Stages(path Path) []StageEntry {
	stages, err := of(KindStage).readPaths(texts)
	if err != nil {
		panic("catalogue: " + err.Error())
	}
	var found []StageEntry
	for _, name := range stages[path] {
		if s, ok := Stage(name); ok {
			found = append(found, s)
		}
	}
	return found
}

// paths are all paths.
func paths() []Path {
	return []Path{PathBootstrap, PathControlPlane, PathWorker, PathSingleNode, PathAdded}
}

// readPaths reads the stages of each path.
func (x *index) readPaths(files fs.FS) (map[Path][]string, error) {
	const file = "paths.yaml"
	parts, err := partsOf(files, file)
	if err != nil {
		return nil, err
	}
	if len(parts) != 1 {
		return nil, fmt.Errorf("%s: has %d keys where one, paths, should stand", file, len(parts))
	}
	f, err := parts[0].fields()
	if err != nil {
		return nil, err
	}
	found := map[Path][]string{}
	for _, path := range paths() {
		f.require(string(path))
		found[path] = f.list(string(path))
		for _, name := range found[path] {
			if x.byRef[Ref{SubjectHost, name}] == nil {
				f.wrong = append(f.wrong, fmt.Errorf("%s: %s names the stage %q, which there is not", file, path, name))
			}
		}
	}
	return found, f.done()
}
