package hub

import (
	"k8s.io/client-go/dynamic"

	"github.com/oaictl/oaictl/internal/clock"
)

// newFake makes a client for tests, which speaks to what is given and takes every
// kind for served.
func newFake(server dynamic.Interface) *Client {
	have := &served{resources: map[string]bool{}}
	for _, k := range known() {
		have.resources[k.GroupResource().String()] = true
	}
	return &Client{
		host: "https://hub.example.com:6443", clock: clock.Real(), time: &serverTime{clock: clock.Real()},
		dynamic: server, have: have, namespaces: map[string]*Namespace{},
	}
}

// fakeNamespace has a namespace count as watched, with stores that the caller fills.
func (c *Client) fakeNamespace(name string) *Namespace {
	at := newNamespace(name)
	for _, k := range watched() {
		at.stores[k.name] = newStore(k, at.changed)
		at.stores[k.name].synced = true
	}
	c.namespaces[name] = at
	return at
}
