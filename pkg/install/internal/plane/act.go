// Package plane is what the service planes share: how they judge actions, and how they
// read what agents report.
package plane

import (
	"github.com/oaictl/oaictl/pkg/install"

	"github.com/oaictl/oaictl/internal/model"
)

// OfFile says whether what an action of a kind writes comes from the user's
// file, so that a refusal of it is the file's fault.
func OfFile(kind install.Kind) bool {
	switch kind {
	case model.RegisterCluster, model.ImportCluster, model.UpdateCluster, model.SetOverrides, model.UploadManifest, model.IgnoreValidations,
		model.RegisterInfraEnv, model.UpdateInfraEnv, model.RegisterHost, model.UpdateHost:
		return true
	}
	return false
}

// Refusal is the error for an action that cannot be sent at all.
func Refusal(action install.Action, err error) error {
	return &install.Fault{Code: install.CodeFailure, Op: string(action.Kind), On: action.Name, Permanent: true, Err: err}
}
