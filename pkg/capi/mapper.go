package capi

import (
	"net/http"
	"strings"
	"sync"

	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client/apiutil"
)

// mapper remembers which resource a kind is of: a cache that is limited to namespaces asks at each reading
// whether a kind has them, and the API server's kinds are many.
type mapper struct {
	meta.RESTMapper

	known sync.Map // *meta.RESTMapping by kind and versions
}

func newMapper(connection *rest.Config, c *http.Client) (meta.RESTMapper, error) {
	inner, err := apiutil.NewDynamicRESTMapper(connection, c)
	return &mapper{RESTMapper: inner}, err
}

// RESTMapping is the resource of a kind.
func (m *mapper) RESTMapping(kind schema.GroupKind, versions ...string) (*meta.RESTMapping, error) {
	key := kind.String() + " " + strings.Join(versions, " ")
	if found, is := m.known.Load(key); is {
		if mapping, is := found.(*meta.RESTMapping); is {
			return mapping, nil
		}
	}
	mapping, err := m.RESTMapper.RESTMapping(kind, versions...)
	if err == nil {
		m.known.Store(key, mapping)
	}
	return mapping, err
}
