// Package release reads the version and the architectures of an OpenShift
// release image from its registry.
//
// A release image says its version in the label io.openshift.release of its
// configuration and, whatever built it, in the file
// release-manifests/release-metadata of its layers. Its architectures are those
// of its manifest list or, of a single image, that of its configuration.
//
// [Read] asks the mirrors that a registries.conf names before the registry in
// the reference, with the credentials that a pull secret has for each of them,
// and what it reads is bounded. Where the registries do not answer it can ask
// the program oc, whose host may have other ways to reach them.
package release
