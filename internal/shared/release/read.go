// Package release reads the version and the architectures of an OpenShift release image
// from its registry, and the version of Kubernetes in it.
//
// The version is in the label io.openshift.release of its configuration or in the file
// release-manifests/release-metadata of its layers; the architectures are in its
// manifest list or its configuration. The version of Kubernetes is in the file
// release-manifests/image-references, and read where it is asked for.
//
// [Read] asks the mirrors of a registries.conf before the registry, with the
// credentials of a pull secret, and what it reads is bounded. Where no registry answers
// it can ask the program oc, whose host may have other ways.
package release

import (
	"context"
	"crypto/tls"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/url"
	"strings"

	"github.com/google/go-containerregistry/pkg/authn"
	"github.com/google/go-containerregistry/pkg/name"
	"github.com/google/go-containerregistry/pkg/v1/remote/transport"

	"github.com/oaictl/oaictl/internal/shared/clock"
	"github.com/oaictl/oaictl/pkg/install/model"
	"github.com/oaictl/oaictl/pkg/install/spec"
)

// Info is what a release image says of itself.
type Info struct {
	// Version of OpenShift: "4.20.33".
	Version string
	// Arch are its architectures as the service calls them: x86_64, arm64, ppc64le,
	// s390x. Sorted; never empty.
	Arch []string
	// Digest is what the reference resolves to, "sha256:…": the digest of the
	// manifest list where it is one.
	Digest string
	// Kubernetes is the version of Kubernetes in it, "1.33.5"; "" where the image does not
	// say it, or Options do not ask for it.
	Kubernetes string
}

// Architecture is the service's one word for all of Arch: "multi" for several.
func (i Info) Architecture() string {
	if len(i.Arch) == 1 {
		return i.Arch[0]
	}
	return string(spec.Multi)
}

// Options say how registries are reached.
type Options struct {
	// PullSecret is a .dockerconfigjson: {"auths": {"registry[/path]": {"auth":
	// "…"}}}. The entry with the longest path that fits is used.
	PullSecret spec.Secret
	// Registries are what a registries.conf says, see ParseRegistries.
	Registries []Registry
	// Mirror is tried before all others: OPENSHIFT_INSTALL_RELEASE_IMAGE_MIRROR.
	// Without tag and digest it takes those of the release image.
	Mirror string
	// CA holds certificates (PEM) to trust beside the system's.
	CA []byte
	// Kubernetes makes it read the version of Kubernetes, which needs a layer of the image.
	Kubernetes bool
	// OC is the path of the program oc, asked where no registry answers; "" for none. It makes connections its own way.
	OC string
	// Dial makes the connections, and Proxy names the proxy of a request: also of those that a registry sends elsewhere,
	// for a token or a part of an image. Nil for those of http.DefaultTransport.
	Dial  func(ctx context.Context, network, address string) (net.Conn, error)
	Proxy func(*http.Request) (*url.URL, error)
	// Quiet keeps what registries say out of errors, except the HTTP status and the standard code of a registry's
	// error: for references that were not written by the user who runs the program.
	Quiet bool
	// Clock is what is waited by between attempts.
	Clock clock.Clock
}

// Read reads a release image. Errors are *model.Fault: CodeInput for an unreadable
// reference, pull secret or certificate, CodeAuth for refused credentials, CodeNotFound
// where no registry has the image. They name what was tried, and hold no secret.
func Read(ctx context.Context, ref string, o Options) (Info, error) {
	s, err := newSearch(ref, o)
	if err != nil {
		return Info{}, refused(ref, err)
	}
	defer s.client.close()
	info, failures, err := first(ctx, s, func(ctx context.Context, from *repository, identifier string) (Info, error) {
		return from.describe(ctx, identifier, o.Kubernetes)
	})
	if failures == nil {
		return info, err
	}
	if o.OC != "" {
		info, err := askOC(ctx, o, s.places)
		if err == nil {
			return info, nil
		}
		if cause := context.Cause(ctx); cause != nil {
			return Info{}, cause
		}
		failures = append(failures, fmt.Errorf("oc: %w", err))
	}
	return Info{}, unreadable(ref, failures)
}

// search is where an image is looked for.
type search struct {
	client *client
	places []source
	quiet  bool
}

func newSearch(ref string, o Options) (*search, error) {
	image, err := parse(ref)
	if err != nil {
		return nil, err
	}
	places, err := sourcesOf(image, o)
	if err != nil {
		return nil, err
	}
	client, err := newClient(o)
	if err != nil {
		return nil, err
	}
	return &search{client, places, o.Quiet}, nil
}

// first is what the first place gives that has the image. failures say why each place gave nothing; they are nil if one
// did, or if ctx ended.
func first[V any](ctx context.Context, s *search, read reader[V]) (found V, failures []error, err error) {
	failures = []error{}
	for _, at := range s.places {
		found, err = again(ctx, s.client, at, read)
		if err == nil {
			return found, nil, nil
		}
		if cause := context.Cause(ctx); cause != nil {
			return found, nil, cause
		}
		if s.quiet {
			err = quiet(err)
		}
		failures = append(failures, fmt.Errorf("%s: %w", at.image, err))
	}
	return found, failures, nil
}

// parse refuses a reference without a registry: the default one has no OpenShift.
func parse(ref string) (name.Reference, error) {
	ref = strings.TrimSpace(ref)
	if ref == "" {
		return nil, errors.New("it is empty")
	}
	if err := tooLong(ref); err != nil {
		return nil, err
	}
	host, _, hasPath := strings.Cut(ref, "/")
	if !hasPath || !strings.ContainsAny(host, ".:") && host != "localhost" {
		return nil, errors.New("it names no registry; write REGISTRY/REPOSITORY:TAG or REGISTRY/REPOSITORY@sha256:…")
	}
	return name.ParseReference(ref, name.WithDefaultTag("latest"))
}

// longestReference is in bytes: of a name 255, of a tag 128, and of a digest 71.
const longestReference = 512

func tooLong(ref string) error {
	if len(ref) <= longestReference {
		return nil
	}
	return fmt.Errorf("the reference of an image has at most %d bytes, and this one has %d: it begins with %s", longestReference, len(ref),
		oneLine(ref[:40]))
}

func refused(ref string, err error) error {
	if len(ref) > longestReference {
		ref = ""
	}
	return &model.Fault{Code: model.CodeInput, Op: "read release image", On: ref, Permanent: true, Err: err}
}

// mostFailures is how many places an error names.
const mostFailures = 16

// unreadable is the error for a release that no place gave. A refusal of credentials
// counts most: registries answer so for images that they have.
func unreadable(ref string, failures []error) error {
	fault := &model.Fault{Code: model.CodeFailure, Op: "read release image", On: ref}
	texts := make([]string, 0, len(failures))
	missing := len(failures) > 0
	for i, failure := range failures {
		if i < mostFailures {
			texts = append(texts, plain(failure))
		} else if i == len(failures)-1 {
			texts = append(texts, fmt.Sprintf("and so on, at %d places in all", len(failures)))
		}
		status := 0
		if answer, is := errors.AsType[*transport.Error](failure); is {
			status = answer.StatusCode
		}
		switch {
		case status == http.StatusUnauthorized, status == http.StatusForbidden:
			fault.Code = model.CodeAuth
			fault.Next = "check that the pull secret has an entry for the registry"
			missing = false
		case status != http.StatusNotFound:
			missing = false
		}
		if _, is := errors.AsType[*tls.CertificateVerificationError](failure); is && fault.Next == "" {
			fault.Next = "check the certificate of the registry, and give the one that signed it with --registry-ca-file"
		}
	}
	if missing {
		fault.Code, fault.Permanent = model.CodeNotFound, true
		fault.Next = "check the release image and its mirrors in registries.conf"
	}
	fault.Err = errors.New(strings.Join(texts, "; "))
	return fault
}

// distrust is the error of the certificate, if there is one: the library goes on to ask without TLS, and the error of
// that explains nothing.
func distrust(err error) error {
	_, distrusted := errors.AsType[*tls.CertificateVerificationError](err)
	if asked, is := errors.AsType[*url.Error](err); distrusted && is {
		return asked // the first: with TLS
	}
	return err
}

// plain is a failure in one line, without the query of the address, which may hold a
// token, and without a page of text for an answer.
func plain(err error) string {
	if _, is := errors.AsType[*quieted](err); is {
		return err.Error()
	}
	answer, is := errors.AsType[*transport.Error](err)
	if !is {
		text := err.Error()
		if asked, is := errors.AsType[*url.Error](err); is {
			address, _, _ := strings.Cut(asked.URL, "?")
			text = strings.ReplaceAll(text, asked.URL, address)
		}
		return oneLine(text)
	}
	where, _, _ := strings.Cut(err.Error(), ": ")
	text := where + ": " + http.StatusText(answer.StatusCode)
	for _, detail := range answer.Errors {
		if detail.Message != "" {
			text += " (" + oneLine(detail.Message) + ")"
		}
	}
	return text
}

func oneLine(text string) string {
	const longest = 300
	text = strings.Join(strings.Fields(text), " ")
	if len(text) > longest {
		text = strings.ToValidUTF8(text[:longest], "") + "…"
	}
	return text
}

type logins map[string]authn.AuthConfig

// readLogins reads a .dockerconfigjson. Errors hold nothing of its entries.
func readLogins(secret spec.Secret) (logins, error) {
	if strings.TrimSpace(secret.Reveal()) == "" {
		return nil, nil
	}
	var file struct {
		Auths map[string]json.RawMessage `json:"auths"`
	}
	err := json.Unmarshal([]byte(secret.Reveal()), &file)
	all := logins{}
	for at, entry := range file.Auths {
		var login authn.AuthConfig
		wrong := json.Unmarshal(entry, &login)
		_, otherKind := errors.AsType[*json.UnmarshalTypeError](wrong)
		_, damaged := errors.AsType[base64.CorruptInputError](wrong)
		switch {
		case wrong == nil:
		case otherKind:
			err = wrong
		case damaged:
			return nil, fmt.Errorf("the pull secret's entry for %s is not base64", at)
		default:
			return nil, fmt.Errorf("the pull secret's entry for %s is not USER:PASSWORD in base64", at)
		}
		all[registryKey(at)] = login
	}
	if err != nil {
		return nil, errors.New("the pull secret is not JSON of the form {\"auths\": {…}}") // the cause could quote it
	}
	return all, nil
}

// registryKey is the registry of an entry: "https://index.docker.io/v1/" is
// index.docker.io.
func registryKey(at string) string {
	at = strings.TrimPrefix(strings.TrimPrefix(at, "https://"), "http://")
	at = strings.TrimSuffix(at, "/")
	for _, version := range []string{"/v1", "/v2"} {
		at = strings.TrimSuffix(at, version)
	}
	return at
}

// Resolve implements authn.Keychain: the entry with the longest path that fits.
func (l logins) Resolve(target authn.Resource) (authn.Authenticator, error) {
	for key := target.String(); ; {
		if login, found := l[key]; found {
			return authn.FromConfig(login), nil
		}
		cut := strings.LastIndex(key, "/")
		if cut < 0 {
			return authn.Anonymous, nil
		}
		key = key[:cut]
	}
}
