package rest

import (
	"cmp"
	"context"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/oaictl/oaictl/pkg/install"
	"github.com/oaictl/oaictl/pkg/install/model"
	"github.com/oaictl/oaictl/pkg/install/rest/internal/objects"
	"github.com/oaictl/oaictl/pkg/install/rest/internal/transport"
)

// readInfraEnvs reads the InfraEnvs that are bound to the cluster and the one
// that the file refers to or, if there are none, the unbound ones that have the
// cluster's name. Where only a mark proves whose a cluster is, the name of an
// InfraEnv proves nothing either.
func (p *Plane) readInfraEnvs(ctx context.Context, w *watch) error {
	bound, err := p.listInfraEnvs(ctx, w.id)
	if err != nil {
		return err
	}
	w.orphans = nil
	if (len(bound) == 0 && !w.exact || w.ref != "") && w.cluster != nil {
		all, err := p.listInfraEnvs(ctx, "")
		if err != nil {
			return err
		}
		none := len(bound) == 0
		for _, env := range all {
			meant := w.ref != "" && (env.Name == w.ref || env.ID == w.ref)
			own := w.ref == "" && none && !w.exact && ofCluster(env.Name, w.cluster.Name)
			switch {
			case env.ClusterID == "" && (meant || own):
				bound = append(bound, env)
			case env.ClusterID != "" && own:
				orphan, err := p.isOrphan(ctx, &env)
				if err != nil {
					return err
				}
				if orphan {
					w.orphans = append(w.orphans, env)
				}
			}
		}
	}
	p.mu.Lock()
	for i := range bound {
		own := bound[i].ClusterID != "" && slices.Contains(w.alone, bound[i].Name)
		bound[i].Owned = w.cluster != nil && w.cluster.Owned && (own || ofCluster(bound[i].Name, w.cluster.Name))
		bound[i].ThisRun = p.made[bound[i].ID]
	}
	p.mu.Unlock()
	slices.SortFunc(bound, func(a, b model.InfraEnv) int {
		return cmp.Or(strings.Compare(a.Name, b.Name), a.Created.Compare(b.Created), strings.Compare(a.ID, b.ID))
	})
	if err := p.findReserved(ctx, w); err != nil {
		return err
	}
	had := w.hasPool()
	if w.infraEnvs = bound; w.hasPool() != had {
		w.request(overdue, hostList)
	}
	// Before the pools' hosts are read: what happens from now on shows in the count.
	return p.probePools(ctx, w, func(env *model.InfraEnv) bool {
		_, known := w.log.pools[env.ID]
		return !known
	})
}

// isOrphan reports whether an InfraEnv is of no use any more: its cluster was deleted, and it has no hosts. A service
// does not delete it with the cluster, and binds it to no other.
func (p *Plane) isOrphan(ctx context.Context, env *model.InfraEnv) (bool, error) {
	switch _, err := p.getCluster(ctx, env.ClusterID); {
	case transport.Gone(err):
	case transport.Permanent(err):
		return false, nil // it is there, for others to see
	default:
		return false, err
	}
	hosts, err := p.listPool(ctx, env.ID)
	if transport.Gone(err) {
		return false, nil
	}
	return err == nil && len(hosts) == 0, err
}

func ofCluster(name, cluster string) bool {
	if name == cluster {
		return true
	}
	number, found := strings.CutPrefix(name, cluster+"-")
	_, err := strconv.ParseUint(number, 10, 16)
	return found && err == nil
}

func (p *Plane) listInfraEnvs(ctx context.Context, clusterID string) ([]model.InfraEnv, error) {
	r := transport.Request{Op: "list InfraEnvs of", On: cmp.Or(clusterID, "the service"), Method: http.MethodGet, Path: "/v2/infra-envs"}
	if clusterID != "" {
		r.Query = map[string][]string{"cluster_id": {clusterID}}
	}
	return transport.ListOf(ctx, p.conn, r, func(wire *objects.InfraEnv) (model.InfraEnv, bool) {
		return p.tables.InfraEnvOf(wire), wire.ID != nil
	})
}

// imageUpdated is the event that an InfraEnv's discovery image was made anew,
// and imageUpdatedText a part of its message.
const (
	imageUpdated     = "image_info_updated"
	imageUpdatedText = "Updated image information"
)

type imageDate struct {
	updated time.Time // the InfraEnv's updated_at that this was found out for
	made    time.Time // zero: the service does not say
}

// dateImages finds out when the images became what they are. An InfraEnv's updated_at also moves when a client only
// asks for a fresh URL of the image; the event log shows which of the two it was. It is asked where it matters: a host
// registered before updated_at, and is not installed yet.
func (p *Plane) dateImages(ctx context.Context, w *watch) error {
	if w.cluster == nil || w.running() {
		return nil
	}
	for i := range w.infraEnvs {
		env := &w.infraEnvs[i]
		known, asked := w.images[env.ID]
		if !w.questionable(env) || (asked && known.updated.Equal(env.Image.Created)) {
			continue
		}
		filter := install.EventFilter{InfraEnvID: env.ID, Message: imageUpdatedText, Newest: true, Limit: 1}
		page, err := p.Events(ctx, filter, 0)
		if err != nil && (model.FaultOf(err).Code == model.CodeAuth || !transport.Permanent(err)) {
			return err
		}
		date := imageDate{updated: env.Image.Created}
		if i := slices.IndexFunc(page.Events, func(e install.ServiceEvent) bool { return e.Name == imageUpdated }); i >= 0 {
			date.made = page.Events[i].Time
		}
		if w.images == nil {
			w.images = map[string]imageDate{}
		}
		w.images[env.ID] = date
	}
	return nil
}

func (w *watch) questionable(env *model.InfraEnv) bool {
	if !env.Owned {
		return false // its owner has to see to it
	}
	for id := range w.hosts {
		if h := w.hosts[id]; h.InfraEnvID == env.ID && !h.Registered.IsZero() && h.Registered.Before(env.Image.Created) {
			return true
		}
	}
	return false
}

func (w *watch) datedInfraEnvs() []model.InfraEnv {
	out := slices.Clone(w.infraEnvs)
	for i := range out {
		image := &out[i].Image
		date, asked := w.images[out[i].ID]
		switch {
		case !w.questionable(&out[i]):
		case !asked || !date.updated.Equal(image.Created):
			image.Created = time.Time{}
		case date.made.Before(image.Created):
			image.Created = date.made
		}
	}
	return out
}
