package hub

import (
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/oaictl/oaictl/internal/hubapi"
	"github.com/oaictl/oaictl/internal/hubapi/agentinstall"
	"github.com/oaictl/oaictl/pkg/install/model"
)

// Every row that the service has of an InfraEnv's image, and what is said of it.
func TestImageOf(t *testing.T) {
	for name, test := range map[string]struct {
		status              metav1.ConditionStatus
		reason, message     string
		url                 string
		want                model.ImageState
		says, doesNotRepeat string
	}{
		"not looked at":     {want: model.ImagePending},
		"no cluster yet":    {status: metav1.ConditionUnknown, reason: "MissingClusterDeployment", message: "ClusterDeployment not found", want: model.ImagePending, says: "not found"},
		"in progress":       {status: metav1.ConditionTrue, reason: "ImageCreated", message: "Image has been created", want: model.ImagePending},
		"there":             {status: metav1.ConditionTrue, reason: "InfraEnvAvailable", url: "http://x/full.iso", want: model.ImageReady},
		"no image service":  {status: metav1.ConditionTrue, reason: "InfraEnvAvailable", want: model.ImagePending, says: "enable-image-service"},
		"refused":           {status: metav1.ConditionFalse, reason: "ImageCreationError", message: "bad nmstate", want: model.ImageFailed, says: "bad nmstate"},
		"a password in it":  {status: metav1.ConditionFalse, reason: "ImageCreationError", message: "proxy http://me:hunter2@proxy:3128 is no URL", want: model.ImageFailed, says: "proxy:3128", doesNotRepeat: "hunter2"},
		"unknown to oaictl": {status: metav1.ConditionFalse, reason: "Other", message: "what", want: model.ImagePending, says: "what"},
	} {
		env := &agentinstall.InfraEnv{}
		env.Status.ISODownloadURL = test.url
		if test.status != "" {
			env.Status.Conditions = []hubapi.Condition{{Type: hubapi.ConditionImageCreated, Status: test.status, Reason: test.reason, Message: test.message}}
		}
		got := imageOf(env)
		if got.State != test.want || !strings.Contains(got.Info, test.says) || (got.Info == "") != (test.says == "") || test.doesNotRepeat != "" && strings.Contains(got.Info, test.doesNotRepeat) {
			t.Errorf("%s: got %s, %q", name, got.State, got.Info)
		}
	}
}
