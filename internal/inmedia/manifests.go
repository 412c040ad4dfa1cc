package inmedia

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/oaictl/oaictl/internal/hubapi"
	"github.com/oaictl/oaictl/pkg/install/spec"
)

// secret is a Kubernetes Secret, as far as a pull secret needs it.
type secret struct {
	metav1.TypeMeta `json:",inline"`
	Metadata        metav1.ObjectMeta `json:"metadata,omitzero"`
	Type            string            `json:"type,omitempty"`
	Immutable       *bool             `json:"immutable,omitempty"`
	Data            map[string][]byte `json:"data,omitempty"`
	StringData      map[string]string `json:"stringData,omitempty"`
}

func object[T any](path, kind string) (*T, error) {
	value, unknown, err := looseObject[T](path, kind)
	if err == nil && len(unknown) > 0 {
		err = badFile(path, errors.New(strings.Join(unknown, "; ")))
	}
	return value, err
}

// looseObject is object for kinds that have more fields than oaictl knows: it
// hands those back that are unknown.
func looseObject[T any](path, kind string) (value *T, unknown []string, err error) {
	data, err := readFile(path)
	if err != nil {
		return nil, nil, err
	}
	docs, err := documents(path, data)
	switch {
	case err != nil:
		return nil, nil, err
	case len(docs) == 0:
		return nil, nil, badFile(path, errors.New("it is empty"))
	case len(docs) > 1:
		return nil, nil, badFile(path, fmt.Errorf("%sit has a second document; one %s is expected", docs[1].place(""), kind))
	}
	value = new(T)
	unknown, err = docs[0].object(kind, value)
	return value, unknown, err
}

func (d document) object(kind string, value any) (unknown []string, err error) {
	var meta metav1.TypeMeta
	if _, err := d.into(&meta); err != nil {
		return nil, err
	}
	want := hubapi.GroupVersionKind(kind)
	switch have := meta.GroupVersionKind(); {
	case meta.Kind == "" || meta.APIVersion == "":
		return nil, badFile(d.path, fmt.Errorf("%sit has no apiVersion and kind; %s is expected", d.place(""), one(kind)))
	case have.Kind != kind || have.Group != want.Group:
		return nil, badFile(d.path, fmt.Errorf("%sit is %s of %s; %s of %s is expected", d.place("kind"), one(meta.Kind), meta.APIVersion, one(kind), want.GroupVersion()))
	}
	return d.into(value)
}

// one is a kind with its article, as it is spoken: an NMStateConfig.
func one(kind string) string {
	if strings.ContainsAny(kind[:1], "AEIOaeio") || strings.HasPrefix(kind, "NMState") {
		return "an " + kind
	}
	return "a " + kind
}

// readPullSecret reads the pull secret from either of the places where a Secret
// may have it: stringData, which wins as it does for Kubernetes, or data.
func readPullSecret(path string) (spec.Secret, error) {
	s, err := object[secret](path, hubapi.KindSecret)
	if err != nil {
		return spec.Secret{}, err
	}
	text := s.StringData[hubapi.KeyPullSecret]
	if text == "" {
		text = string(s.Data[hubapi.KeyPullSecret])
	}
	var content struct {
		Auths map[string]json.RawMessage `json:"auths"`
	}
	switch {
	case strings.TrimSpace(text) == "":
		return spec.Secret{}, badFile(path, fmt.Errorf("neither stringData nor data has the key %s", hubapi.KeyPullSecret))
	case json.Unmarshal([]byte(text), &content) != nil || content.Auths == nil:
		return spec.Secret{}, badFile(path, fmt.Errorf("what stands under %s is not JSON with auths", hubapi.KeyPullSecret))
	}
	return spec.NewSecret(text), nil
}
