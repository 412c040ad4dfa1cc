package rest

import (
	"context"
	"slices"
	"time"

	"github.com/oaictl/oaictl/pkg/install"
	"github.com/oaictl/oaictl/pkg/install/rest/internal/transport"
)

// imageUpdated is the event that an InfraEnv's discovery image was made anew,
// and imageUpdatedText a part of its message.
const (
	imageUpdated     = "image_info_updated"
	imageUpdatedText = "Updated image information"
)

// imageDate is when an InfraEnv's image became what it is.
type imageDate struct {
	updated time.Time // the InfraEnv's updated_at that this was found out for
	made    time.Time // zero: the service does not say
}

// dateImages finds out when the images became what they are. An InfraEnv's
// updated_at also moves when somebody only asks for a fresh URL of the image;
// the event log tells the two apart. It is asked where it matters: a host
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
		if err != nil && (install.CodeOf(err) == install.CodeAuth || !transport.Permanent(err)) {
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

// questionable says whether a host registered before its InfraEnv was last
// touched.
func (w *watch) questionable(env *install.InfraEnv) bool {
	if !env.Owned {
		return false // somebody else sees to it
	}
	for id := range w.hosts {
		if h := w.hosts[id]; h.InfraEnvID == env.ID && !h.Registered.IsZero() && h.Registered.Before(env.Image.Created) {
			return true
		}
	}
	return false
}

// datedInfraEnvs are the InfraEnvs with what was found out of their images.
func (w *watch) datedInfraEnvs() []install.InfraEnv {
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
