package inplaceupdate

import (
	_ "embed"
	"strconv"
	"strings"
)

//go:embed extensionconfig.yaml
var extensionConfig string

// Place is where the extension is served.
type Place struct {
	// Namespace, Service and Port are those of the Service before the webhook server.
	Namespace, Service string
	Port               int
	// Secret in Namespace has, under ca.crt, the certificate of the authority that has signed the server's certificate.
	Secret string
}

// Manifest is the ExtensionConfig (YAML) that has Cluster API ask the extension. It is no part of a
// provider's components: Cluster API refuses it while its feature gate RuntimeSDK is off.
func Manifest(p Place) string {
	return strings.NewReplacer("${NAMESPACE}", p.Namespace, "${SERVICE}", p.Service, "${PORT}", strconv.Itoa(p.Port), "${SECRET}",
		p.Secret).Replace(extensionConfig)
}
