package kubeconfig

import (
	"fmt"
	"path/filepath"

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
	resolved, relative := c.api.DeepCopy(), false
	var paths []*string
	for _, cluster := range resolved.Clusters {
		paths = append(paths, clientcmd.GetClusterFileReferences(cluster)...)
	}
	for _, user := range resolved.AuthInfos {
		paths = append(paths, clientcmd.GetAuthInfoFileReferences(user)...)
	}
	for _, path := range paths {
		relative = relative || *path != "" && !filepath.IsAbs(*path)
	}
	if !relative {
		return c.text, nil
	}
	if err := clientcmd.ResolvePaths(paths, base); err != nil {
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
