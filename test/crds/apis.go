//go:build never

package main

// These keep the modules in go.mod; controller-gen reads them, nothing runs them.
import (
	_ "github.com/metal3-io/baremetal-operator/apis/metal3.io/v1alpha1"
	_ "github.com/openshift/assisted-service/api/hiveextension/v1beta1"
	_ "github.com/openshift/hive/apis/hive/v1"
)
