package kubeconfig

import (
	"bytes"
	"cmp"
	"encoding/base64"
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
	"k8s.io/client-go/tools/clientcmd/api"

	"github.com/oaictl/oaictl/internal/shared/listtext"
)

// Access is what one context of a kubeconfig names: a cluster, and the user that reaches it. The certificates are in
// it, and all paths that it still has are absolute.
type Access struct {
	// ID is the id of the cluster at its service, "" if it is not known.
	ID string

	cluster *api.Cluster
	user    *api.AuthInfo
	context *api.Context
}

// Access is that of the current context, or of the only one.
func (c *Config) Access() (Access, error) {
	name, err := c.meant()
	if err != nil {
		return Access{}, err
	}
	context := c.api.Contexts[name]
	cluster, user := c.api.Clusters[context.Cluster], c.api.AuthInfos[context.AuthInfo]
	switch {
	case cluster == nil:
		return Access{}, fmt.Errorf("its context %q is of the cluster %q, which is not in it", name, context.Cluster)
	case user == nil:
		return Access{}, fmt.Errorf("its context %q is of the user %q, which is not in it", name, context.AuthInfo)
	}
	a := Access{cluster: cluster.DeepCopy(), user: user.DeepCopy(), context: context.DeepCopy()}
	if err := c.embed(a.cluster, a.user); err != nil {
		return Access{}, err
	}
	a.ID = cmp.Or(markOf(a.cluster.Extensions).ID, markOf(a.user.Extensions).ID, markOf(a.context.Extensions).ID)
	return a, a.check()
}

// WithCredentials is the same way to the cluster, with what lets another access in there.
func (a Access) WithCredentials(of Access) Access {
	return Access{ID: of.ID, cluster: a.cluster, user: of.user, context: a.context}
}

func (c *Config) meant() (string, error) {
	contexts := slices.Sorted(maps.Keys(c.api.Contexts))
	switch current := c.api.CurrentContext; {
	case len(contexts) == 0:
		return "", errors.New("it has no context")
	case current == "" && len(contexts) == 1:
		return contexts[0], nil
	case current == "":
		return "", fmt.Errorf("it has no current context; it has %s", listtext.ListText(contexts))
	case c.api.Contexts[current] == nil:
		return "", fmt.Errorf("its current context is %q; it has %s", current, listtext.ListText(contexts))
	default:
		return current, nil
	}
}

// SelfContained says what a kubeconfig names beside itself: a file, or a program that kubectl
// would run. One that came from elsewhere is not to decide on those.
func (c *Config) SelfContained() error {
	for _, cluster := range c.api.Clusters {
		if cluster.CertificateAuthority != "" {
			return errors.New("it names a file of this machine as a certificate-authority")
		}
	}
	for _, u := range c.api.AuthInfos {
		switch {
		case u.Exec != nil || u.AuthProvider != nil:
			return errors.New("it has a program run for its credentials")
		case u.ClientCertificate != "" || u.ClientKey != "" || u.TokenFile != "":
			return errors.New("it names files of this machine as its credentials")
		}
	}
	return nil
}

// Connection is the way to the cluster of a kubeconfig that came from elsewhere. One
// that is not self-contained is refused before any file is read for it: with a file of this machine it could have the
// machine's own token sent to its server.
func Connection(text []byte) (*rest.Config, error) {
	c, err := Parse("", text)
	if err != nil {
		return nil, err
	}
	if err := c.SelfContained(); err != nil {
		return nil, fmt.Errorf("%w: give one that has its certificates, keys and tokens in it, as `oc config new-admin-kubeconfig` makes it", err)
	}
	return clientcmd.RESTConfigFromKubeConfig(text)
}

// embed puts what files have into a cluster and a user, and has their other paths lead to
// the same from everywhere.
func (c *Config) embed(cluster *api.Cluster, user *api.AuthInfo) error {
	base, err := filepath.Abs(filepath.Dir(c.Path))
	if err != nil {
		return err
	}
	paths := append(clientcmd.GetClusterFileReferences(cluster), clientcmd.GetAuthInfoFileReferences(user)...)
	if err := clientcmd.ResolvePaths(paths, base); err != nil {
		return err
	}
	for _, f := range []struct {
		field string
		path  *string
		data  *[]byte
	}{
		{"certificate-authority", &cluster.CertificateAuthority, &cluster.CertificateAuthorityData},
		{"client-certificate", &user.ClientCertificate, &user.ClientCertificateData},
		{"client-key", &user.ClientKey, &user.ClientKeyData},
	} {
		if *f.path != "" && len(*f.data) == 0 { // which beats the path
			if *f.data, err = readFile(*f.path); err != nil {
				return fmt.Errorf("its %s cannot be read: %w", f.field, err)
			}
		}
		*f.path = ""
	}
	return nil
}

// readFile reads a file that a kubeconfig names.
func readFile(path string) ([]byte, error) {
	info, err := os.Stat(path)
	if err != nil {
		return nil, err
	}
	if !info.Mode().IsRegular() || info.Size() > Largest {
		return nil, fmt.Errorf("%s is no file of a certificate or key", path)
	}
	return os.ReadFile(path)
}

// check refuses an access that reaches no cluster.
func (a Access) check() error {
	if a.cluster.Server == "" {
		return errors.New("its cluster has no server")
	}
	for _, data := range [][]byte{a.cluster.CertificateAuthorityData, a.user.ClientCertificateData, a.user.ClientKeyData,
		[]byte(a.user.Token)} {
		if leftOut(data) {
			return errLeftOut
		}
	}
	switch u := a.user; {
	case (len(u.ClientCertificateData) == 0) != (len(u.ClientKeyData) == 0):
		return errors.New("its client certificate and key go together, and one of them is missing")
	case len(u.ClientCertificateData) > 0:
		return pair(u)
	case u.Token == "" && u.TokenFile == "" && u.Username == "" && u.AuthProvider == nil && u.Exec == nil:
		return errors.New("its user has no credentials")
	}
	return nil
}

// errLeftOut is what `kubectl config view` prints, which is for looking at.
var errLeftOut = errors.New("its secrets were left out when it was printed: kubectl config view --raw prints them")

// leftOut reports whether kubectl printed a word in place of a certificate, key or token.
func leftOut(data []byte) bool {
	text := base64.StdEncoding.EncodeToString(data)
	return text == "DATA+OMITTED" || text == "REDACTED+" || string(data) == "REDACTED"
}

// Server is the URL of the cluster's API server, as it may be shown.
func (a Access) Server() string { return shown(a.cluster.Server) }

// Name is the cluster's name and its domain, which the address of an OpenShift cluster's API
// server has; "" where the address is none of those.
func (a Access) Name() (name, domain string) {
	host, found := strings.CutPrefix(hostOf(a.cluster.Server), "api.")
	if name, domain, dotted := strings.Cut(host, "."); found && dotted && name != "" && domain != "" {
		return name, domain
	}
	return "", ""
}

// sameCredentials reports whether two users are let in by the same.
func sameCredentials(a, b *api.AuthInfo) bool {
	return equality.Semantic.DeepEqual(plainUser(a), plainUser(b))
}

// plainUser is a user without what says nothing of the credentials.
func plainUser(u *api.AuthInfo) *api.AuthInfo {
	out := u.DeepCopy()
	out.Extensions, out.LocationOfOrigin = nil, ""
	out.Impersonate, out.ImpersonateUID, out.ImpersonateGroups, out.ImpersonateUserExtra = "", "", nil, nil
	out.ClientCertificateData, out.ClientKeyData = bytes.TrimSpace(out.ClientCertificateData), bytes.TrimSpace(out.ClientKeyData)
	return out
}

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
