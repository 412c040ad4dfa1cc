// Package spec is cluster.yaml: its types, and the strict reader that turns a
// file into a Cluster or into the complete list of what is wrong with it.
//
// The reader knows where every field stands (file, line, column), reads every
// file, variable and command that the document refers to exactly once, and
// hands out what it read through methods. Secrets come out as [Secret], which
// prints as "[redacted]" everywhere.
//
// The package imports the standard library and a YAML reader, nothing else. It
// decides nothing about a service: what of a Cluster is sent, and in which
// words, is the business of the service planes.
package spec

//go:generate go run ./internal/schemagen -docs ../../../docs/cluster.schema.json -out schema/schema.json
