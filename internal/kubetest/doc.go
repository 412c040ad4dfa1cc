// Package kubetest runs a real Kubernetes API server for tests.
package kubetest

import (
	_ "sigs.k8s.io/controller-runtime/pkg/envtest"
)
