package hub

import "context"

// Follow has lists read what watches bring, from the next list on: for who lists
// again and again. The first list of a kind begins to watch it, and waits until
// all of it is there; no later one asks the API server for anything.
func (p *Plane) Follow() {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.views == nil {
		p.views = map[string]*place{}
	}
}

func (p *Plane) follows() bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.views != nil
}

// watchesAll says whether kinds are watched in all namespaces already.
func (p *Plane) watchesAll(kinds []kind) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, k := range kinds {
		if p.views[viewName("", k)] == nil {
			return false
		}
	}
	return true
}

func viewName(scope string, k kind) string { return scope + "/" + k.name }

// followed is listedIn from watches of a scope: of the namespace, or "" for all.
func (p *Plane) followed(ctx context.Context, scope, namespace string, kinds ...kind) (map[string]*place, error) {
	places := map[string]*place{}
	for _, k := range kinds {
		view, err := p.view(ctx, scope, k)
		if err != nil {
			return nil, err
		}
		for _, u := range view.store(k).all() {
			if namespace == "" || u.GetNamespace() == namespace {
				arrange(places, k, u)
			}
		}
	}
	return places, nil
}

// view is a kind as a watch brings it, with all that there is.
func (p *Plane) view(ctx context.Context, scope string, k kind) (*place, error) {
	life, err := p.lifetime(ctx)
	if err != nil {
		return nil, err
	}
	name := viewName(scope, k)
	p.mu.Lock()
	view, begun := p.views[name]
	if !begun {
		view = &place{namespace: scope, stores: map[string]*store{}, news: make(chan struct{})}
		s := newShelf(k, view.changed)
		s.wide = true
		view.stores[k.name] = s
		p.views[name] = view
		go p.fill(life, scope, s)
	}
	p.mu.Unlock()
	ctx, cancel := brief(ctx)
	defer cancel()
	for {
		news := view.wait()
		synced, failing := view.store(k).health()
		switch {
		case failing != nil:
			return nil, p.unlisted(k, scope, failing)
		case synced:
			return view, nil
		}
		select {
		case <-news:
		case <-ctx.Done():
			return nil, p.unlisted(k, scope, context.Cause(ctx))
		}
	}
}
