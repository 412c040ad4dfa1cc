// Package catalogue explains, offline, what an assisted-service says: every
// validation of hosts and clusters, every status, install stage, finalizing
// stage and event that it is known to send.
//
// The names are the service's own (its REST API, as of August 2026). The
// texts are written for the person who has to do something about it. Tables
// are compiled in and indexed at the first look-up, so a program that only
// links the package pays nothing for it.
package catalogue
