package cli

import (
	"context"
	"fmt"
	"strings"

	"github.com/oaictl/oaictl/pkg/install/boot"
	"github.com/oaictl/oaictl/pkg/install/spec"
	"github.com/oaictl/oaictl/pkg/iso/fetch"
)

// checkBase opens a base that lies on this machine before anything is registered:
// what is wrong with it no machine and no service can cure.
func (o *runOptions) checkBase(ctx context.Context, cluster *spec.Cluster) error {
	if o.boot.Base == "" || isURL(o.boot.Base) {
		return nil
	}
	carried, err := boot.CheckBase(ctx, cluster, o.boot.Base, o.adviseBase)
	o.tellCarried(carried, o.boot.Base)
	return err
}

// adviseBase says what to do about a base that machines cannot boot.
func (o *runOptions) adviseBase(problem *boot.BaseError) string {
	if problem.Unreached {
		return fmt.Sprintf("see to it that %s can be fetched from here, or give another --base", fetch.Redact(o.boot.Base))
	}
	return nextBase(problem)
}

// nextBase is what to do about a base that no machine can ever boot.
func nextBase(problem *boot.BaseError) string {
	if problem.Arch != "" {
		return "give --base an image for " + problem.Arch
	}
	return "give --base a live image that can be read, or leave it out, and the service's is used"
}

// tellCarried warns of what a base carries and no host gets: theirs is the service's.
func (a *app) tellCarried(names []string, location string) {
	if len(names) > 0 {
		a.warn("--base %s carries %s; hosts get the service's instead", fetch.Redact(location), strings.Join(names, ", "))
	}
}
