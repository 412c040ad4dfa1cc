package rest_test

import (
	"fmt"

	"github.com/oaictl/oaictl/pkg/install"
	"github.com/oaictl/oaictl/pkg/install/rest"
	"github.com/oaictl/oaictl/pkg/install/spec"
)

// A service plane that authorises with an offline token, and an installer that
// drives it.
func ExampleNew() {
	client, err := rest.HTTPClient("", false)
	if err != nil {
		fmt.Println(err)
		return
	}
	auth, err := rest.Credentials{OfflineToken: spec.NewSecret("…")}.Authorise(client, "", nil)
	if err != nil {
		fmt.Println(err)
		return
	}
	plane, err := rest.New(rest.Config{URL: "https://api.openshift.com", HTTPClient: client, Auth: auth})
	if err != nil {
		fmt.Println(err)
		return
	}
	installer := install.New(plane)
	fmt.Println(plane.URL(), installer != nil)
	// Output: https://api.openshift.com/api/assisted-install true
}
