package serve

import (
	"net/netip"
	"sync"
	"time"
)

// How many MAC addresses a client may ask for in vain, in how long, and how
// many clients are told apart.
const (
	missesAllowed = 30
	missesWithin  = time.Minute
	missesClients = 1024
)

// misses counts in vain tries by client, in bounded memory.
type misses struct {
	mu       sync.Mutex
	byClient map[netip.Prefix]miss
	swept    time.Time // when old ones were last looked for
}

// miss is how often a client has missed since a moment.
type miss struct {
	count int
	since time.Time
}

func newMisses() *misses { return &misses{byClient: map[netip.Prefix]miss{}} }

// tooMany says whether a client has missed too often of late.
func (m *misses) tooMany(client netip.Addr, now time.Time) bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	of := m.byClient[m.bucket(client)]
	return of.count >= missesAllowed && now.Sub(of.since) < missesWithin
}

// add counts a miss.
func (m *misses) add(client netip.Addr, now time.Time) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if len(m.byClient) >= missesClients && now.Sub(m.swept) >= missesWithin {
		m.swept = now
		for bucket, of := range m.byClient {
			if now.Sub(of.since) >= missesWithin {
				delete(m.byClient, bucket)
			}
		}
	}
	bucket := m.bucket(client)
	of := m.byClient[bucket]
	if now.Sub(of.since) >= missesWithin {
		of = miss{since: now}
	}
	of.count++
	m.byClient[bucket] = of
}

// bucket is whom a client is counted with: by itself, an IPv6 client with all
// of its /64. Where there are too many, new ones are counted as one, the zero
// prefix; m.mu is held.
func (m *misses) bucket(client netip.Addr) netip.Prefix {
	bits := 64
	if client = client.Unmap(); client.Is4() {
		bits = 32
	}
	prefix, err := client.Prefix(bits)
	if err != nil {
		return netip.Prefix{}
	}
	if _, known := m.byClient[prefix]; !known && len(m.byClient) >= missesClients {
		return netip.Prefix{}
	}
	return prefix
}
