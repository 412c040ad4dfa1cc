package wire

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"strings"

	oaerrors "github.com/go-openapi/errors"
	"github.com/go-openapi/strfmt"
)

// validatable is a parameter object that can check itself as the framework
// checks it: required fields, patterns, enumerations.
type validatable interface {
	Validate(formats strfmt.Registry) error
}

// decode reads a JSON body into v, strictly: an unknown field is refused, as the
// real service does by default. param is the framework's name of the body.
func decode(body []byte, param string, v any) error {
	if len(bytes.TrimSpace(body)) == 0 {
		return Malformed("%s in body is required", param)
	}
	d := json.NewDecoder(bytes.NewReader(body))
	d.DisallowUnknownFields()
	if err := d.Decode(v); err != nil {
		var mistyped *json.UnmarshalTypeError
		switch {
		case errors.Is(err, io.ErrUnexpectedEOF):
			err = errors.New("unexpected EOF")
		case errors.As(err, &mistyped):
			mistyped.Struct = serviceType(mistyped.Struct)
			mistyped.Field = strings.TrimPrefix(mistyped.Field, mistyped.Struct+".")
		}
		return Malformed("parsing %s body from \"\" failed, because %s", param, err)
	}
	return validate(v)
}

// serviceType is the service's name of a type where this one's is another.
func serviceType(name string) string {
	switch name {
	case "ClusterCreate":
		return "ClusterCreateParams"
	case "ClusterUpdate":
		return "V2ClusterUpdateParams"
	case "HostUpdate":
		return "HostUpdateParams"
	case "InfraEnvCreate":
		return "InfraEnvCreateParams"
	case "InfraEnvUpdate":
		return "InfraEnvUpdateParams"
	case "wireIgnored":
		return "IgnoredValidations"
	}
	return name
}

// validate makes the framework's own checks.
func validate(v any) error {
	checked, ok := v.(validatable)
	if !ok {
		return nil
	}
	if err := checked.Validate(strfmt.Default); err != nil {
		return Malformed("%s", flatten(err))
	}
	return nil
}

// flatten prints the first problem: the real framework looks no further.
func flatten(err error) string {
	var composite *oaerrors.CompositeError
	if !errors.As(err, &composite) {
		return inBody(err.Error())
	}
	all := leaves(composite)
	if len(all) == 0 {
		return inBody(err.Error())
	}
	return inBody(all[0].Error())
}

func leaves(err *oaerrors.CompositeError) []error {
	var all []error
	for _, e := range err.Errors {
		var inner *oaerrors.CompositeError
		if errors.As(e, &inner) {
			all = append(all, leaves(inner)...)
			continue
		}
		all = append(all, e)
	}
	return all
}

func inBody(text string) string { return strings.TrimPrefix(text, "validation failure list:\n") }
