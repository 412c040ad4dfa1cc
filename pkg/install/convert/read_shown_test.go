package convert_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/oaictl/oaictl/internal/shared/must"
	"github.com/oaictl/oaictl/pkg/install/convert"
)

// TestReadReportsNoSecretOfUnknownKeys: the values of unknown keys are reported as lost, except those that their keys
// call a secret.
func TestReadReportsNoSecretOfUnknownKeys(t *testing.T) {
	hidden := []string{
		"pass: %s", "bmcPass: %s", "password: %s", "passwordHash: %s", "password_hash: %s", "pwd: %s", "apiKey: %s", "api_key: %s", "api-key: %s", "accessKey: %s",
		"secretKey: %s", "privateKey: %s", "tls.key: %s", "client-key-data: %s", "encryptionKey: %s", "token: %s", "tokens: [%s]", "offlinetoken: %s", "clientSecret: %s",
		".dockercfg: %s", "secretGenerator: [{name: a, literals: [x=%s]}]", "users: [{name: core, passwordHash: %s}]", "url: http://u:%s@h",
	}
	shown := []string{"sshKey: %s", "publicKey: %s", "key: %s", "bypass: {a: %s}", "compass: {a: %s}", "keyName: %s"}
	for i, text := range append(append([]string{}, hidden...), shown...) {
		const value = "hunter2"
		files := memory{
			"in/install-config.yaml": []byte(installConfig + "odd:\n  " + fmt.Sprintf(text, value) + "\n"),
			"in/agent-config.yaml":   []byte(agentConfig),
		}
		c := must.Get(convert.Read(t.Context(), "in", convert.Options{Env: files.env(), Version: "4.20"}))(t, text)
		report, err := json.Marshal(c.Losses)
		if err != nil || len(c.Losses) != 1 {
			t.Fatalf("%s: %s, %v", text, report, err)
		}
		if strings.Contains(string(report), value) != (i >= len(hidden)) {
			t.Errorf("%s: %s", text, report)
		}
	}
}
