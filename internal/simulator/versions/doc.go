// Package versions is what the simulated assisted-service knows about OpenShift
// releases: which it can install, with which images and on which architectures,
// which operators and bundles it offers, how well each feature is supported,
// and what hardware each role needs.
//
// Everything here is constant and pure: the same question has the same answer
// in every process, and every answer is a fresh value that the caller may keep
// or change.
package versions
