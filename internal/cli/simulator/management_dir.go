package simulator

import (
	"errors"
	"net"
	"net/url"
	"os"

	"k8s.io/client-go/tools/clientcmd"

	"github.com/oaictl/oaictl/internal/cli/app"
	"github.com/oaictl/oaictl/internal/shared/filelock"
	"github.com/oaictl/oaictl/pkg/install/model"
)

// occupy makes the folder of kubeconfigs, and keeps other runs out of it until leave is called, or this process is
// gone: each writes files of the same names, and removes them in the end.
func occupy(dir string) (leave func(), err error) {
	if _, err := app.Folder(dir); err != nil {
		return nil, err
	}
	folder, err := os.Open(dir)
	if err != nil {
		return nil, unusable(dir, err)
	}
	leave = func() { _ = folder.Close() }
	free, err := filelock.Try(folder, true)
	if err == nil && !free {
		err = errors.New("another simulator keeps its kubeconfigs there")
	}
	if err != nil {
		leave()
		return nil, unusable(dir, err)
	}
	return leave, nil
}

func unusable(dir string, err error) error {
	return &model.Fault{Code: model.CodeInput, Op: "use the folder", On: dir, Err: err, Next: "give another one by --dir"}
}

// replaceable is an error where there is a file that is no kubeconfig of a cluster on this machine, as one of an
// earlier run is that could not remove it.
func replaceable(path string) error {
	there, err := clientcmd.LoadFromFile(path)
	if os.IsNotExist(err) {
		return nil
	}
	if err == nil {
		for _, cluster := range there.Clusters {
			if server, wrong := url.Parse(cluster.Server); wrong == nil && net.ParseIP(server.Hostname()).IsLoopback() {
				return nil
			}
		}
	}
	return &model.Fault{
		Code: model.CodeInput, Op: "write the kubeconfig", On: path,
		Err:  errors.New("there is a file of that name, which is not of a simulated cluster"),
		Next: "move it elsewhere, or give another folder by --dir",
	}
}
