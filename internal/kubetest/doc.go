// Package kubetest runs a real hub for tests: etcd, kube-apiserver and
// kube-controller-manager on loopback, with the CustomResourceDefinitions that an
// assisted-service works on, and kubectl beside them.
//
// The programs are built from Go modules (test/tools/kubernetes), once for each
// version of them and of Go, and kept outside the tree. Building them takes five
// minutes and more on two cores; `go run ./internal/kubetest/build` does it ahead
// of the tests, and `go run ./internal/kubetest/serve` starts a hub to try things out.
package kubetest

//go:generate ../../test/crds/generate
