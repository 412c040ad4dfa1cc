package sample

import _ "embed"

// Head is how a file begins.
const Head = "apiVersion: oaictl.io/v1alpha1\nkind: Cluster\nmetadata: {name: lab}\n"

//go:embed clusters/ca.pem
var certificate string

//go:embed clusters/every-field.yaml
var everyField string

// EveryField says something in every field that a hub has a place for, save
// those that exclude each other, which EveryOtherField has.
func EveryField() string { return everyField }

// EveryOtherField says what EveryField cannot.
//
//go:embed clusters/every-other-field.yaml
var EveryOtherField string

// External is a cluster on a platform of its own, with machines of an image that
// exists.
//
//go:embed clusters/external.yaml
var External string

// Imported is a cluster that is installed already, to which hosts are added.
//
//go:embed clusters/imported.yaml
var Imported string

// LaterWorker is a single node to which a worker is added once it is installed.
//
//go:embed clusters/later-worker.yaml
var LaterWorker string

// Clusters are files that say everything, by name.
func Clusters() map[string]string {
	return map[string]string{"every-field": EveryField(), "every-other-field": EveryOtherField, "external": External, "imported": Imported}
}
