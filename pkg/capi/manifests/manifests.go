// Package manifests holds the CustomResourceDefinitions of the three Cluster API providers,
// and the configurations of their webhooks. They are written from the types in
// pkg/capi/api and the markers on them; versions that are older than the types stay as they stand here.
package manifests

import (
	"embed"
	"io/fs"
)

//go:generate go run ./internal/manifestgen -root ../../..

//go:embed crd webhook
var files embed.FS

// Files are the manifests: a CustomResourceDefinition in each file of crd, by its name, and
// the webhook configurations of each provider in a file of webhook, by the value of the label
// cluster.x-k8s.io/provider. The webhooks are called through a Service webhook-service of the
// namespace system, which stand for those of the provider.
func Files() fs.FS { return files }
