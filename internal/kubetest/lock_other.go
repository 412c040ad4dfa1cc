//go:build !unix

package kubetest

import (
	"context"
	"os"
)

// lock locks nothing: two processes that build at once do the work twice, and one
// of them replaces the other's programs by the same.
func lock(context.Context, string) (func(), error) { return func() {}, nil }

// tryLock never gets a lock, so that nobody takes another's folder for abandoned.
func tryLock(*os.File) (bool, error) { return false, nil }
