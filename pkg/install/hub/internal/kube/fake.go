package kube

import (
	"k8s.io/client-go/dynamic"

	"github.com/oaictl/oaictl/internal/clock"
)

// NewFake makes a client for tests, which speaks to what is given and takes every
// kind for served.
func NewFake(server dynamic.Interface) *Client {
	have := Served{}
	for _, k := range Known() {
		have[k.GroupResource().String()] = true
	}
	return &Client{
		Host: "https://hub.example.com:6443", Clock: clock.Real(), time: &ServerTime{clock: clock.Real()},
		Dynamic: server, have: have, Namespaces: map[string]*Namespace{},
	}
}

// FakeNamespace has a namespace count as watched, with stores that the caller fills.
func (c *Client) FakeNamespace(name string) *Namespace {
	at := newNamespace(name)
	for _, k := range Watched() {
		at.Stores[k.Name] = newStore(k, at.changed)
		at.Stores[k.Name].synced = true
	}
	c.Namespaces[name] = at
	return at
}
