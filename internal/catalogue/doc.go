// Package catalogue explains, offline, what an assisted-service says: every
// validation of hosts and clusters, every status, install stage, finalizing
// stage and event that it is known to send.
//
// The names are the service's own (its REST API, as of August 2026). The texts
// are written for the person who has to do something about it. They stand in
// the YAML files of this folder, which README.md describes, and are embedded.
// The files are indexed at the first look-up, and an entry is read when it is
// asked for.
package catalogue
