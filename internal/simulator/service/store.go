package service

import (
	"encoding/json"
	"slices"
	"time"
)

// cluster is what the service keeps of a cluster: what it prints, and what it
// does not.
type cluster struct {
	wireCluster
	pullSecret string
	uiSettings string
	// hosts are the hosts bound to the cluster, in the order in which they came.
	hosts []*host
	// deleted are those that were, by infra-env id/host id, as they were then.
	deleted map[string]*host
	// manifests are the user's and the service's own, by folder/name.
	manifests map[string]manifest
	// objects are the files made when the installation starts, by file name.
	objects map[string][]byte
	logs    map[string][]byte
	// credentials is made when the installation starts.
	credentials *credentials
	ingressCert string
	// preparedAt is when the preparation began whose files are still being made.
	preparedAt time.Time
	checks     checks
	groups     majority
	collisions map[string][]string
	reached    reachability // what groups and collisions were computed from
	// before is the cluster as the tick that is running found it.
	before struct {
		state      string
		groups     majority
		collisions map[string][]string
		searched   bool // for collisions
		machine    []machineNetwork
	}
	// uses are the features that the cluster makes use of, by name, and
	// operatorUses those of them that are operators.
	uses         map[string]featureUse
	operatorUses map[string]bool
}

// infraEnv is what the service keeps of an infra-env.
type infraEnv struct {
	wireInfraEnv
	pullSecret string
	static     []staticHost
	signingKey []byte // of the image's address
	// proxyAsked are the fields of the proxy that was last asked for, joined.
	proxyAsked *string
}

// host is what the service keeps of a host.
type host struct {
	wireHost
	state, info string
	infraEnv    *infraEnv
	cluster     *cluster
	inv         *inventory
	// hostname is the one that the user asked for.
	hostname     string
	chosenDisk   string
	skipDisks    []string
	userPool     bool
	token        string
	headers      string
	diskSpeedMs  int64
	diskTested   bool
	diskFailed   bool
	diskPath     string
	imageResults map[string]imageResult
	peers        map[string]remoteHost
	resolutions  []resolution
	ntp          []ntpSource
	freeNetworks map[string][]string
	apiCheck     *apiCheckReply
	tang         *tangReply
	checks       checks
}

// getCluster finds a cluster or says that it is not there.
func (s *Service) getCluster(id string) (*cluster, error) {
	if c := s.clusters[id]; c != nil {
		return c, nil
	}
	return nil, notFound("Failed to get cluster %s: record not found", id)
}

// storedCluster is getCluster for those operations that tell of the database what it
// is that is not there.
func (s *Service) storedCluster(id, refusal string) (*cluster, error) {
	if c := s.clusters[id]; c != nil {
		return c, nil
	}
	return nil, notFound("%s", refusal)
}

func (s *Service) getInfraEnv(id string) (*infraEnv, error) {
	if e := s.infraEnvs[id]; e != nil {
		return e, nil
	}
	return nil, notFound("record not found")
}

func (s *Service) getHost(infraEnvID, id string) (*host, error) {
	if h := s.hosts[infraEnvID+"/"+id]; h != nil {
		return h, nil
	}
	return nil, notFound("failed to get host %s in infra_env %s: record not found", id, infraEnvID)
}

// clustersInOrder lists the clusters in the order in which they were made.
func (s *Service) clustersInOrder() []*cluster {
	list := make([]*cluster, 0, len(s.clusters))
	for _, id := range s.clusterOrder {
		list = append(list, s.clusters[id])
	}
	return list
}

func (s *Service) infraEnvsInOrder() []*infraEnv {
	list := make([]*infraEnv, 0, len(s.infraEnvs))
	for _, id := range s.infraEnvOrder {
		list = append(list, s.infraEnvs[id])
	}
	return list
}

// infraEnvsOf lists the infra-envs that the cluster's machines came from.
func infraEnvsOf(c *cluster) []*infraEnv {
	var list []*infraEnv
	for _, h := range c.hosts {
		if !slices.Contains(list, h.infraEnv) {
			list = append(list, h.infraEnv)
		}
	}
	return list
}

func (s *Service) hostsInOrder() []*host {
	list := make([]*host, 0, len(s.hosts))
	for _, key := range s.hostOrder {
		list = append(list, s.hosts[key])
	}
	return list
}

func (s *Service) hostsOfInfraEnv(id string) []*host {
	var list []*host
	for _, key := range s.hostOrder {
		if h := s.hosts[key]; h.InfraEnvID == id {
			list = append(list, h)
		}
	}
	return list
}

func (s *Service) dropHost(h *host) {
	key := h.InfraEnvID + "/" + h.ID
	delete(s.hosts, key)
	s.hostOrder = slices.DeleteFunc(s.hostOrder, func(k string) bool { return k == key })
	if c := h.cluster; c != nil {
		c.deleted[key] = h
	}
	h.leave()
}

// join binds the host to a cluster; leave takes it out of its cluster.
func (h *host) join(c *cluster) {
	h.leave()
	h.cluster, h.ClusterID = c, c.ID
	c.hosts = append(c.hosts, h)
}

func (h *host) leave() {
	if h.cluster == nil {
		return
	}
	h.cluster.hosts = slices.DeleteFunc(h.cluster.hosts, func(o *host) bool { return o == h })
	h.cluster, h.ClusterID = nil, ""
}

func (c *cluster) isSingle() bool { return c.ControlPlaneCount == 1 }

func (c *cluster) isDay2() bool { return c.Kind == kindAddHosts }

// userManaged says that the user brings load balancer and DNS.
func (c *cluster) userManaged() bool {
	return c.UserManagedNetworking != nil && *c.UserManagedNetworking
}

func (c *cluster) userBalanced() bool {
	return c.LoadBalancer != nil && c.LoadBalancer.Type == "user-managed"
}

func (c *cluster) platformType() string {
	if c.Platform == nil {
		return ""
	}
	return c.Platform.Type
}

// role is the host's own role or, while that is open, the one suggested.
func (h *host) role() string {
	if h.Role == roleAuto && h.SuggestedRole != "" {
		return h.SuggestedRole
	}
	return h.Role
}

// name is the host name that counts: the user's, else the machine's own, else
// the id.
func (h *host) name() string {
	switch {
	case h.hostname != "":
		return h.hostname
	case h.inv != nil && h.inv.Hostname != "":
		return h.inv.Hostname
	}
	return h.ID
}

// stage is the stage that the host has reached.
func (h *host) stage() string {
	if h.Progress == nil {
		return ""
	}
	return h.Progress.CurrentStage
}

// inString encodes v as the JSON that the API carries inside strings.
func inString(v any) string {
	data, err := json.Marshal(v)
	if err != nil {
		return ""
	}
	return string(data)
}
