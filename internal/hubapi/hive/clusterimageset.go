package hive

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/oaictl/oaictl/internal/hubapi"
)

// ClusterImageSet is a release that a hub offers. It stands in no namespace.
type ClusterImageSet struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitzero"`
	Spec              ClusterImageSetSpec   `json:"spec,omitzero"`
	Status            ClusterImageSetStatus `json:"status,omitzero"`
}

// ClusterImageSetSpec names the release.
type ClusterImageSetSpec struct {
	// ReleaseImage is a pull spec.
	ReleaseImage string `json:"releaseImage"`
}

// ClusterImageSetStatus says nothing that an install needs.
type ClusterImageSetStatus struct {
	Conditions []hubapi.Condition `json:"conditions,omitempty"`
}

// ClusterImageSetReference names a ClusterImageSet.
type ClusterImageSetReference struct {
	Name string `json:"name"`
}
