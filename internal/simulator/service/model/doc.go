// Package model is what the simulated service keeps of clusters, hosts and
// infra-envs: what it prints, what it does not print, and what follows from
// these alone. It decides nothing and writes no event.
package model
