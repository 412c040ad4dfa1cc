package kubetest

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
)

// root is the folder of oaictl's go.mod, at or above the working folder, which for
// a test is that of its package.
func root() (string, error) {
	folder, err := os.Getwd()
	if err != nil {
		return "", err
	}
	for {
		content, err := os.ReadFile(filepath.Join(folder, "go.mod"))
		if err == nil && strings.HasPrefix(string(content), "module github.com/oaictl/oaictl\n") {
			return folder, nil
		}
		above := filepath.Dir(folder)
		if above == folder {
			return "", errors.New("not inside of oaictl's source tree")
		}
		folder = above
	}
}
