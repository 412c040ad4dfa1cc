//go:build linux

package network

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"regexp"
	"sync"
	"time"

	"github.com/go-openapi/strfmt"
	"github.com/openshift/assisted-service/models"

	"github.com/oaictl/oaictl/internal/shared/escape"
)

// Resolver looks names up. A *net.Resolver does.
type Resolver interface {
	LookupHost(ctx context.Context, host string) ([]string, error)
	LookupAddr(ctx context.Context, address string) ([]string, error)
	LookupIPAddr(ctx context.Context, host string) ([]net.IPAddr, error)
	LookupCNAME(ctx context.Context, host string) (string, error)
}

const (
	// lookupTime is the longest that all lookups of a step take together. Without a server of DNS none gets an answer.
	lookupTime = 10 * time.Second
	// lookups at the same time
	lookups = 32
	// mostNames is how many names are looked up.
	mostNames = 512
)

// Domains looks domain names up.
type Domains struct {
	Resolver Resolver
	Log      *slog.Logger
}

// Execute implements Executor. A name without an answer has no addresses.
func (d Domains) Execute(ctx context.Context, args []string) (exitCode int, stdout, stderr string) {
	var request models.DomainResolutionRequest
	if err := decode(d.Log, "domain-resolution", args, &request); err != nil {
		return refuse(failed, err)
	}
	if len(request.Domains) > mostNames {
		return refuse(failed, fmt.Errorf("domain-resolution: the service sent %d names, and %d are the most", len(request.Domains), mostNames))
	}
	for i, domain := range request.Domains {
		if domain.DomainName == nil {
			return refuse(failed, fmt.Errorf("domain-resolution: name %d: %w", i+1, errMissing))
		}
	}
	ctx, cancel := context.WithTimeout(ctx, lookupTime)
	defer cancel()
	response := models.DomainResolutionResponse{Resolutions: make([]*models.DomainResolutionResponseDomain, len(request.Domains))}
	inParallel(len(request.Domains), lookups, func(i int) {
		response.Resolutions[i] = d.resolve(ctx, *request.Domains[i].DomainName)
	})
	return answer(response)
}

// inParallel does something for each number below count, at most so many at the same time.
func inParallel(count, atOnce int, do func(i int)) {
	var all sync.WaitGroup
	slots := make(chan struct{}, atOnce)
	for i := range count {
		slots <- struct{}{}
		all.Go(func() {
			do(i)
			<-slots
		})
	}
	all.Wait()
}

func (d Domains) resolve(ctx context.Context, name string) *models.DomainResolutionResponseDomain {
	found := &models.DomainResolutionResponseDomain{DomainName: &name, IPV4Addresses: []strfmt.IPv4{}, IPV6Addresses: []strfmt.IPv6{}}
	if !isName(name) {
		d.Log.Warn("the service sent a domain name that is none", "name", escape.Word(name))
		return found
	}
	var all sync.WaitGroup
	var canonical string
	all.Go(func() {
		var err error
		canonical, err = d.Resolver.LookupCNAME(ctx, name)
		d.note("find the canonical name", name, err)
	})
	addresses, err := d.Resolver.LookupIPAddr(ctx, name)
	d.note("find the addresses", name, err)
	all.Wait()
	for _, address := range addresses {
		if four := address.IP.To4(); four != nil {
			found.IPV4Addresses = append(found.IPV4Addresses, strfmt.IPv4(four.String()))
		} else {
			found.IPV6Addresses = append(found.IPV6Addresses, strfmt.IPv6(address.IP.String()))
		}
	}
	// The service's own agent does not ask for a canonical name where the addresses cannot be asked for.
	if canonical != "" && (err == nil || notFound(err)) {
		found.Cnames = append(found.Cnames, canonical)
	}
	return found
}

// note logs why a lookup failed, except that there is no such name, which is an answer.
func (d Domains) note(what, name string, err error) {
	if err != nil && !notFound(err) {
		d.Log.Warn("cannot "+what+" of a domain name", "name", escape.Word(name), "error", escape.Word(err.Error()))
	}
}

func notFound(err error) bool {
	var dns *net.DNSError
	return errors.As(err, &dns) && dns.IsNotFound
}

// longestName is that of a name in DNS, with a dot at its end.
const longestName = 254

var nameForm = regexp.MustCompile(`^[A-Za-z0-9_]([A-Za-z0-9_-]{0,61}[A-Za-z0-9_])?(\.[A-Za-z0-9_]([A-Za-z0-9_-]{0,61}[A-Za-z0-9_])?)*\.?$`)

// isName reports whether a text can be the name of a machine.
func isName(name string) bool { return len(name) <= longestName && nameForm.MatchString(name) }
