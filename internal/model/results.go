package model

import (
	"sync"

	"github.com/oaictl/oaictl/internal/setting"
)

// SavedResult is a result as it lies on disk.
type SavedResult struct {
	Digest  string // of the content, as Digest has it
	Private bool   // has the mode that Save gives it
	Path    string // where a person finds it
}

// KnownResults remembers of a run what the service's results are, so that each is
// read once to be compared, and which of them the run has saved.
type KnownResults struct {
	mu      sync.Mutex
	digests map[string]string // "" where the service did not give it
	saved   map[string]bool
}

// NewKnownResults knows nothing yet.
func NewKnownResults() *KnownResults {
	return &KnownResults{digests: map[string]string{}, saved: map[string]bool{}}
}

// Save remembers what was written. Its mode is as good as that file system has it.
func (c *KnownResults) Save(name string, data []byte) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.digests[name], c.saved[name] = setting.Digest(data), true
}

// Agrees says whether a file is what the service has. Where the service gives
// nothing to compare it with, the cluster's id beside the file is proof enough.
func (c *KnownResults) Agrees(name string, file SavedResult, offered bool, read func(string) ([]byte, error)) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	switch {
	case !file.Private && !c.saved[name]:
		return false
	case !offered:
		return true
	}
	if _, asked := c.digests[name]; !asked {
		c.digests[name] = ""
		if data, err := read(name); err == nil {
			c.digests[name] = setting.Digest(data)
		}
	}
	return c.digests[name] == "" || c.digests[name] == file.Digest
}

// The results of a cluster, by the names of their files.
const (
	NoIngressFile  = "kubeconfig-noingress"
	KubeconfigFile = "kubeconfig"
	PasswordFile   = "kubeadmin-password"
)

// Results are the files that an install leaves: which are on disk now, with the
// content that the service has and the mode that they need.
type Results struct {
	NoIngress  bool // auth/kubeconfig-noingress
	Kubeconfig bool // auth/kubeconfig
	Password   bool // auth/kubeadmin-password
	// KubeconfigPath is where a kubeconfig of the cluster lies; "" where none is known.
	KubeconfigPath string
}
