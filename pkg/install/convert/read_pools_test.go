package convert_test

import (
	"bufio"
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"strings"
	"testing"

	"github.com/oaictl/oaictl/internal/shared/clustersettings"
	"github.com/oaictl/oaictl/internal/shared/must"
	"github.com/oaictl/oaictl/pkg/install/convert"
	"github.com/oaictl/oaictl/pkg/install/render"
	"github.com/oaictl/oaictl/pkg/install/spec"
	"github.com/oaictl/oaictl/test/sample"
)

// TestRecordedPools: hyperthreading in an AgentClusterInstall is carried over as the
// service of a real hub reads it, for clusters with an arbiter, where every role counts.
func TestRecordedPools(t *testing.T) {
	recorded := must.Get(os.Open("../../../internal/shared/hubobjects/testdata/recorded.jsonl"))(t)
	defer recorded.Close()
	read := 0
	for lines := bufio.NewScanner(recorded); lines.Scan(); {
		var row struct {
			Kind    string
			Spec    map[string]any
			Service struct{ Hyperthreading string }
		}
		must.Do(t, json.Unmarshal(lines.Bytes(), &row))
		if row.Service.Hyperthreading == "" {
			continue
		}
		objects := must.Get(render.Hub(sample.Example(t, "arbiter"), render.Options{Secrets: true}))(t)
		for _, u := range objects.All() {
			if s, is := u.Object["spec"].(map[string]any); is && u.GetKind() == row.Kind {
				maps.DeleteFunc(s, func(name string, _ any) bool { return name == "controlPlane" || name == "compute" || name == "arbiter" })
				maps.Copy(s, row.Spec)
			}
		}
		var text bytes.Buffer
		must.Do(t, objects.WriteYAML(&text))
		result := must.Get(convert.Read(t.Context(), "in", convert.Options{Env: memory{"in/a.yaml": text.Bytes()}.env(), AcceptUnknownHosts: true}))(t)
		carried := result.Cluster.Spec.Hyperthreading
		if carried == nil { // which leaves it to the service's default
			carried = spec.RoleSet{spec.AllRoles}
		}
		want, have := clustersettings.Roles(clustersettings.RolesOf(row.Service.Hyperthreading)), clustersettings.Roles(carried)
		if !maps.Equal(want, have) {
			t.Errorf("%v: %v, and the service reads %s", row.Spec, result.Cluster.Spec.Hyperthreading, row.Service.Hyperthreading)
		}
		read++
	}
	if read < 45 {
		t.Errorf("only %d rows were read", read)
	}
}

// TestReadOddPools: what the service would not take, or would take for something else, is
// refused or told.
func TestReadOddPools(t *testing.T) {
	for _, test := range []struct{ name, said, want string }{
		{"a pool that is a text", "compute: [worker]", "spec.compute[0]: has to be a map, but is text"},
		{"a word of another pool", "compute: [{name: infra, hyperthreading: Bogus}]", `"Bogus" is not known here`},
		{"another pool", "compute: [{name: infra, hyperthreading: Enabled}]", "the service reads the pool worker alone"},
		{"two of workers", "compute: [{name: worker, hyperthreading: Enabled}, {name: worker, hyperthreading: Disabled}]", "spec.compute[1] = "},
		{"encryption of a comma", "diskEncryption: {enableOn: ','}", `"," is not a role`},
		{"Tang without a mode", "diskEncryption: {enableOn: '', tangServers: '[{\"url\":\"http://t:80\",\"thumbprint\":\"x\"}]'}", "spec.diskEncryption"},
	} {
		t.Run(test.name, func(t *testing.T) {
			text := strings.Replace(oneNode+oneMachine, "  clusterDeploymentRef: {name: sno}\n", "  clusterDeploymentRef: {name: sno}\n  "+test.said+"\n", 1)
			c, err := convert.Read(t.Context(), "in.yaml", convert.Options{Data: []byte(text), Env: memory{}.env()})
			got := fmt.Sprint(err)
			if err == nil {
				got = toldOf(c)
			}
			if !strings.Contains(got, test.want) {
				t.Errorf("%q is not in\n%s", test.want, got)
			}
		})
	}
	c := readOne(t, oneNode+oneMachine, "spec: {clusterRef: {name: sno},", "spec: {clusterRef: {name: sno}, kernelArguments: [{value: quiet}, {operation: append, value: a}],")
	if args := c.Cluster.Spec.Discovery.KernelArgs; len(args) != 1 || !strings.Contains(toldOf(c), "oaictl only appends kernel arguments") {
		t.Errorf("got %v, lost %s", args, toldOf(c))
	}
}
