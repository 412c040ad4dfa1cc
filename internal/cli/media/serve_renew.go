package media

import (
	"bytes"
	"context"
	"slices"
	"strings"
	"time"

	"github.com/oaictl/oaictl/pkg/install/boot"
	"github.com/oaictl/oaictl/pkg/install/model"
	"github.com/oaictl/oaictl/pkg/iso/serve"
)

const renewEvery = time.Minute

// servedConfig is what the service had of an InfraEnv when media were made of it.
type servedConfig struct {
	updated  time.Time
	ignition []byte
	failed   bool // some host's media could not be made anew
}

// renewal makes media anew where the service's Ignition has changed.
type renewal struct {
	*isoServeOptions
	media  *boot.Images
	server *serve.Server
	served map[string]servedConfig // by InfraEnv
}

func (r *renewal) loop(ctx context.Context) {
	for r.Clock.Sleep(ctx, renewEvery) == nil {
		for env, hosts := range r.changed(ctx) {
			r.renew(ctx, env, hosts)
		}
	}
}

// changed are the hosts whose Ignition is new. A silent service is asked again next time.
func (r *renewal) changed(ctx context.Context) map[string][]string {
	hosts := map[string][]string{}
	clusters := map[string]string{} // that the InfraEnvs are of
	for n := range r.media.Cluster.Spec.Hosts {
		host := r.media.Cluster.Spec.Hosts[n].Name
		env, err := r.media.InfraEnv(ctx, host)
		if err != nil {
			continue // the code that makes its image reports it
		}
		hosts[env.ID], clusters[env.ID] = append(hosts[env.ID], host), env.ClusterID
	}
	now := map[string][]model.InfraEnv{} // by cluster
	for env, cluster := range clusters {
		if _, asked := now[cluster]; !asked {
			listed, err := r.service.ListInfraEnvs(ctx, cluster)
			if err != nil && ctx.Err() == nil && r.Globals.Verbose > 0 {
				r.Say("oaictl cannot find out whether the service's Ignition has changed: %v", err)
			}
			now[cluster] = listed
		}
		if !r.check(ctx, env, hosts[env][0], now[cluster]) {
			delete(hosts, env)
		}
	}
	return hosts
}

// check fetches Ignition only where the InfraEnv was touched.
func (r *renewal) check(ctx context.Context, id, host string, listed []model.InfraEnv) bool {
	for _, env := range listed {
		before, known := r.served[id]
		if env.ID != id || known && !before.failed && before.updated.Equal(env.Image.Created) {
			continue
		}
		r.media.Renew(env)
		config, err := r.media.Ignition(ctx, host)
		if err != nil {
			return false
		}
		other := !bytes.Equal(before.ignition, config)
		r.served[id] = servedConfig{env.Image.Created, config, before.failed && !other}
		return other || before.failed
	}
	return false
}

// renew skips machines that have begun to read: they must not find another image halfway.
func (r *renewal) renew(ctx context.Context, env string, hosts []string) {
	config := r.served[env]
	again := config.failed // those that are reported then were reported already
	config.failed = false
	var reading []string
	for n := range r.media.Cluster.Spec.Hosts {
		host := &r.media.Cluster.Spec.Hosts[n]
		switch {
		case !slices.Contains(hosts, host.Name):
		case r.server.Fetched(host.Name).Requests > 0:
			reading = append(reading, host.Name)
		default:
			_, err := r.prepareHost(ctx, r.media, r.server, host)
			config.failed = config.failed || err != nil
			if err != nil && ctx.Err() == nil && !again {
				r.Warn("%s keeps the old image, because the new image cannot be made: %v", host.Name, err)
			}
		}
	}
	r.served[env] = config
	if len(reading) > 0 && !again {
		r.Warn("the service's Ignition has changed. Machines that already started to read the image get the old one: %s. To serve them "+
			"the new image, start this command again", strings.Join(reading, ", "))
	}
}
