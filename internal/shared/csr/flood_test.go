package csr_test

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/oaictl/oaictl/internal/shared/csr"
	"github.com/oaictl/oaictl/pkg/install/model"
)

func TestFlood(t *testing.T) {
	client, serving := clientRequest("csr-1", nil), servingRequest("csr-1", "w-1", nil)
	with := func(r model.CertificateRequest, change func(*model.CertificateRequest)) model.CertificateRequest {
		change(&r)
		return r
	}
	for _, c := range []struct {
		name    string
		request model.CertificateRequest
		counts  bool
	}{
		{"a client request", client, true},
		{"a serving request", serving, true},
		{"one that was denied", with(client, func(r *model.CertificateRequest) { r.Denied, r.ConditionAt = true, r.Created }), true},
		{"one with a certificate and no condition", with(client, func(r *model.CertificateRequest) { r.Issued = true }), true},
		{"the bootstrapper's, whatever its groups", with(client, func(r *model.CertificateRequest) { r.Groups = nil }), true},
		{"an administrator's", with(client, func(r *model.CertificateRequest) { r.Username = "system:admin" }), false},
		{"a renewal", with(client, func(r *model.CertificateRequest) { r.Username = "system:node:w-1" }), false},
		{"a serving request of no node", with(serving, func(r *model.CertificateRequest) { r.Groups = []string{"system:authenticated"} }), false},
		{"a serving request of the bootstrapper", with(serving, func(r *model.CertificateRequest) { r.Username, r.Groups = bootstrapper, bootstrapperGroups() }), false},
		{"another signer's", with(client, func(r *model.CertificateRequest) { r.Signer = "kubernetes.io/legacy-unknown" }), false},
		{"made an hour ago", with(client, func(r *model.CertificateRequest) { r.Created = now().Add(-time.Hour) }), false},
		{"made almost an hour ago", with(client, func(r *model.CertificateRequest) { r.Created = now().Add(-time.Hour + 1) }), true},
		{"made in 10 seconds", with(client, func(r *model.CertificateRequest) { r.Created = now().Add(10 * time.Second) }), false},
		{"made in almost 10 seconds", with(client, func(r *model.CertificateRequest) { r.Created = now().Add(10*time.Second - 1) }), true},
		{"approved by us just now", with(client, func(r *model.CertificateRequest) { r.Approved, r.ConditionAt = true, now() }), true},
		{"approved by us 30 seconds ago", with(client, func(r *model.CertificateRequest) { r.Approved, r.ConditionAt = true, now().Add(-30*time.Second) }), false},
		{"approved by us almost 30 seconds ago", with(client, func(r *model.CertificateRequest) { r.Approved, r.ConditionAt = true, now().Add(-30*time.Second+1) }), true},
		{"approved by us in 10 seconds", with(client, func(r *model.CertificateRequest) { r.Approved, r.ConditionAt = true, now().Add(10*time.Second) }), false},
		{"approved by itself just now", with(approved(client), func(r *model.CertificateRequest) { r.ConditionAt = now() }), false},
	} {
		t.Run(c.name, func(t *testing.T) {
			pending, limit, over := csr.Flood([]model.CertificateRequest{c.request}, 3, 2, now())
			if (pending == 1) != c.counts || pending > 1 || limit != 103 || over {
				t.Errorf("%d pending, limit %d, over %v", pending, limit, over)
			}
		})
	}
}

func TestFloodLimit(t *testing.T) {
	for _, c := range []struct{ machines, nodes, requests, limit int }{
		{0, 0, 100, 100}, {0, 0, 101, 100}, {7, 3, 107, 107}, {7, 3, 108, 107}, {3, 7, 107, 107}, {3, 7, 108, 107}, {0, 0, 0, 100},
	} {
		t.Run(fmt.Sprint(c), func(t *testing.T) {
			requests := slices.Repeat([]model.CertificateRequest{clientRequest("csr-1", nil)}, c.requests)
			pending, limit, over := csr.Flood(requests, c.machines, c.nodes, now())
			if pending != c.requests || limit != c.limit || over != (c.requests > c.limit) {
				t.Errorf("%d pending, limit %d, over %v", pending, limit, over)
			}
		})
	}
}
