package versions

import (
	"fmt"
	"slices"
)

// ServiceRelease is one of the service, by multicluster engine's: "2.13". Zero is the newest.
type ServiceRelease string

// Latest is the word for the newest release of the service.
const Latest = "latest"

// ServiceReleases are the releases that can be played, oldest first.
func ServiceReleases() []string {
	return []string{"2.11", "2.12", "2.13", "2.14", "2.15", "2.16", "2.17", Latest}
}

// ParseServiceRelease reads one of them.
func ParseServiceRelease(text string) (ServiceRelease, error) {
	switch {
	case !slices.Contains(ServiceReleases(), text):
		return "", fmt.Errorf("%q is not one of the service's releases %v", text, ServiceReleases())
	case text == Latest:
		return "", nil
	}
	return ServiceRelease(text), nil
}

type serviceTable struct {
	Features    map[string][]string `json:"features"` // by release
	Fields      []Field             `json:"fields"`
	Validations map[string]string   `json:"validations"` // the release of each
}

// Has says whether a release has what came with another one.
func (r ServiceRelease) Has(since string) bool {
	return r == "" || since == "" || AtLeast(string(r), since)
}

// HasFeature says whether a release of the service knows a feature.
func (r ServiceRelease) HasFeature(id string) bool {
	for since, ids := range known().service.Features {
		if slices.Contains(ids, id) {
			return r.Has(since)
		}
	}
	return true
}

// HasOperator says whether a release of the service knows an operator.
func (r ServiceRelease) HasOperator(name string) bool {
	i := slices.IndexFunc(known().features, func(f feature) bool { return f.Operator == name })
	return i < 0 || r.HasFeature(known().features[i].ID)
}

// Field is a field of the service's API that came with some release.
type Field struct {
	Name  string `json:"name"`
	Kind  string `json:"kind"` // of the object that has it: Cluster, InfraEnv, Host
	Since string `json:"since"`
	// Known are the values that older releases know as well; without any they do not know the field.
	Known []string `json:"known"`
}

// Fields are the fields that not every release of the service knows as it does now.
func Fields() []Field { return known().service.Fields }

// LaterValidations are the checks, but for those of operators, that a release does not make yet.
func (r ServiceRelease) LaterValidations() []string {
	var later []string
	for id, since := range known().service.Validations {
		if !r.Has(since) {
			later = append(later, id)
		}
	}
	return later
}
