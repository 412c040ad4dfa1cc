package app

import (
	"context"
	"errors"
	"fmt"
	"path"
	"strings"

	"github.com/oaictl/oaictl/internal/shared/names"
	"github.com/oaictl/oaictl/pkg/install"
	"github.com/oaictl/oaictl/pkg/install/hub/machines"
	"github.com/oaictl/oaictl/pkg/install/model"
)

// machineReader is a service that has Machines of Cluster API beside it: a hub may.
type machineReader interface {
	Machines(ctx context.Context) ([]machines.Machine, error)
}

// Machines are the Machines of Cluster API that the user may see. A REST service has none.
func Machines(ctx context.Context, service *install.Client) ([]machines.Machine, error) {
	reader, is := service.Backend.(machineReader)
	if !is {
		return nil, &model.Fault{
			Code: model.CodeUsage, Op: "list Machines", Permanent: true, Err: errors.New("a REST service knows no Machines of Cluster API"),
			Next: "give --backend hub, and the --kubeconfig of the management cluster; over REST hosts have the names of their Machines: {why host NAME}",
		}
	}
	return reader.Machines(ctx)
}

// ErrSeveralMachines is in the error of a search for a Machine by a name that several have.
var ErrSeveralMachines = errors.New("there are several")

// FindMachine finds the Machine that a target names.
func (a *App) FindMachine(ctx context.Context, service *install.Client, t Target) (machines.Machine, error) {
	all, err := Machines(ctx, service)
	if fault, is := errors.AsType[*model.Fault](err); is {
		fault.Next = fault.Next.Map(func(command string) string {
			return strings.Replace(command, "why host NAME", "why host "+names.Quoted(path.Base(t.Name)), 1)
		})
	}
	if err != nil {
		return machines.Machine{}, err
	}
	var same []machines.Machine
	var others, ids []string
	for i := range all {
		switch m := &all[i]; t.Name {
		case m.ID():
			return *m, nil
		case m.Name:
			same, ids = append(same, *m), append(ids, m.ID())
		default:
			others = append(others, m.Name)
		}
	}
	fault := &model.Fault{Code: model.CodeNotFound, Op: "find Machine", On: t.Name, Permanent: true, Next: "{get machines}"}
	switch {
	case len(same) == 1:
		return same[0], nil
	case len(same) > 1:
		fault.Err, fault.Next = fmt.Errorf("%w: %s", ErrSeveralMachines, names.Few(ids)), "use the id, NAMESPACE/NAME"
	case len(others) == 0:
		fault.Err = errors.New("there are no Machines at all")
	default:
		fault.Err = fmt.Errorf("there is none of that name; there are %s", names.Few(others))
	}
	return machines.Machine{}, fault
}
