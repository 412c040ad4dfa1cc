package create

import (
	"context"

	"github.com/oaictl/oaictl/internal/advice"
	"github.com/oaictl/oaictl/internal/cli/base"
	"github.com/oaictl/oaictl/pkg/install"
	"github.com/oaictl/oaictl/pkg/install/boot"
	"github.com/oaictl/oaictl/pkg/install/spec"
	"github.com/oaictl/oaictl/pkg/iso/fetch"
)

// checkBase opens a base that lies on this machine before anything is registered:
// what is wrong with it no machine and no service can cure.
func (o *runOptions) checkBase(ctx context.Context, cluster *spec.Cluster) error {
	if o.boot.Base == "" || base.IsURL(o.boot.Base) {
		return nil
	}
	carried, err := boot.CheckBase(ctx, cluster, o.boot.Base, o.adviseBase)
	o.WarnCarried(carried, o.boot.Base)
	return err
}

// adviseBase says what to do about a base that machines cannot boot.
func (o *runOptions) adviseBase(problem *boot.BaseError) install.Advice {
	if problem.Unreached {
		return advice.Sprintf("see to it that %s can be fetched from here, or give another --base", fetch.Redact(o.boot.Base))
	}
	return base.ImageAdvice(problem)
}
