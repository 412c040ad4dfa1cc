package service

import (
	"testing"
	"time"
)

// BenchmarkTick evaluates 500 hosts of one cluster that have told everything.
func BenchmarkTick(b *testing.B) {
	t := &testing.T{}
	bench := newBench(t, nil)
	bench.compact(500)
	bench.pass(30 * time.Second)
	for b.Loop() {
		bench.clock.at = bench.clock.at.Add(time.Millisecond)
		bench.s.tick()
	}
}

// BenchmarkPoll is one agent's poll, with 500 hosts about.
func BenchmarkPoll(b *testing.B) {
	t := &testing.T{}
	bench := newBench(t, nil)
	bench.compact(500)
	bench.pass(30 * time.Second)
	for b.Loop() {
		bench.machines[250].poll()
	}
}

// BenchmarkRead is a user's reading of the whole cluster.
func BenchmarkRead(b *testing.B) {
	t := &testing.T{}
	bench := newBench(t, nil)
	bench.compact(500)
	bench.pass(30 * time.Second)
	for b.Loop() {
		bench.get()
	}
}
