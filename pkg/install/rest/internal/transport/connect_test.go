package transport

import "testing"

func TestServiceURL(t *testing.T) {
	const want = "https://api.example.com/api/assisted-install"
	for _, text := range []string{"https://api.example.com", "https://api.example.com/", want, want + "/", want + "/v2", want + "/v2/"} {
		u, err := serviceURL(text)
		if err != nil || u.String() != want {
			t.Errorf("%s: %v, %v", text, u, err)
		}
	}
	if u, err := serviceURL("http://h:8090/behind"); err != nil || u.String() != "http://h:8090/behind/api/assisted-install" {
		t.Errorf("%v, %v", u, err)
	}
}
