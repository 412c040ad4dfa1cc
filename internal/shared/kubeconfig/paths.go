package kubeconfig

import (
	"fmt"
	"path/filepath"
	"slices"

	"k8s.io/client-go/tools/clientcmd"
	"k8s.io/client-go/tools/clientcmd/api"
)

// Anywhere is the kubeconfig with all its paths absolute, as kubectl takes them: from where it
// lies. One without relative paths is as it was.
func (c *Config) Anywhere() ([]byte, error) {
	base, err := filepath.Abs(filepath.Dir(c.Path))
	if err != nil {
		return nil, err
	}
	resolved := c.api.DeepCopy()
	isRelative := func(path *string) bool { return *path != "" && !filepath.IsAbs(*path) }
	if !slices.ContainsFunc(clientcmd.GetConfigFileReferences(resolved), isRelative) {
		return c.text, nil
	}
	if err := clientcmd.ResolveConfigPaths(resolved, base); err != nil {
		return nil, err
	}
	return clientcmd.Write(*resolved)
}

// Kept is the kubeconfig as it can be kept elsewhere: one that names files has only what the
// current context needs, with the certificates and keys of those files in it.
func (c *Config) Kept() ([]byte, error) {
	if c.SelfContained() == nil {
		return c.text, nil
	}
	access, err := c.Access()
	if err != nil {
		return nil, err
	}
	name, err := c.meant()
	if err != nil {
		return nil, err
	}
	out := api.NewConfig()
	out.Clusters[access.context.Cluster], out.AuthInfos[access.context.AuthInfo] = access.cluster, access.user
	out.Contexts[name], out.CurrentContext = access.context, name
	text, err := clientcmd.Write(*out)
	if err != nil {
		return nil, fmt.Errorf("write it anew: %w", err)
	}
	return text, nil
}
