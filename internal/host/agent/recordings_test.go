//go:build linux

package agent

import (
	"bufio"
	"compress/gzip"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/openshift/assisted-service/models"

	"github.com/oaictl/oaictl/internal/shared/check"
	"github.com/oaictl/oaictl/internal/shared/must"
)

// exchange is one line of a recording.
type exchange struct {
	Method, Path      string
	Status            int
	Request, Response json.RawMessage
}

// recordings are those of real agents; the folder is that of the recordings of the assisted-service.
func recordings(t *testing.T) []string {
	t.Helper()
	folder := os.Getenv("OAICTL_RECORDINGS")
	if folder == "" {
		t.Skip("OAICTL_RECORDINGS names no folder with recordings")
	}
	files := must.Get(filepath.Glob(filepath.Join(folder, "host", "*real*.jsonl.gz")))(t)
	if len(files) == 0 {
		t.Skip("the folder of OAICTL_RECORDINGS has no recordings of machines in host/")
	}
	return files
}

func exchanges(t *testing.T, name string, do func(exchange)) {
	t.Helper()
	file := must.Get(os.Open(name))(t)
	defer file.Close()
	lines := bufio.NewScanner(must.Get(gzip.NewReader(file))(t))
	lines.Buffer(nil, 64<<20)
	for lines.Scan() {
		var e exchange
		must.Do(t, json.Unmarshal(lines.Bytes(), &e))
		do(e)
	}
	must.Do(t, lines.Err())
}

// TestRecordings reads what services sent to real agents, and sends what these sent.
func TestRecordings(t *testing.T) {
	for _, name := range recordings(t) {
		t.Run(filepath.Base(name), func(t *testing.T) {
			kinds := map[models.StepType]bool{}
			var installers []string
			exchanges(t, name, func(e exchange) {
				switch {
				case e.Method == "POST" && strings.HasSuffix(e.Path, "/hosts") && e.Status == 201:
					registered(t, e)
				case e.Method == "GET" && strings.Contains(e.Path, "/instructions") && e.Status == 200:
					installers = append(installers, instructed(t, e, kinds)...)
				case e.Method == "POST" && strings.HasSuffix(e.Path, "/instructions"):
					var reply models.StepReply
					must.Do(t, json.Unmarshal(e.Request, &reply))
					same(t, e.Request, reply)
				}
			})
			t.Logf("%d types of steps, %d install steps", len(kinds), len(installers))
			argvLog(t, name, installers)
		})
	}
}

// registered checks that the agent sends the same registration, and understands the answer.
func registered(t *testing.T, e exchange) {
	t.Helper()
	var params models.HostCreateParams
	must.Do(t, json.Unmarshal(e.Request, &params))
	same(t, e.Request, params)
	var response models.HostRegistrationResponse
	must.Do(t, json.Unmarshal(e.Response, &response))
	request := must.Get(parseRunner(response.NextStepRunnerCommand.Args, quiet()))(t)
	check.Equal(t, *request.HostID, *params.HostID)
}

// instructed checks that each install step is understood, and gives the arguments of the installer.
func instructed(t *testing.T, e exchange, kinds map[models.StepType]bool) []string {
	t.Helper()
	var steps models.Steps
	must.Do(t, json.Unmarshal(e.Response, &steps))
	var installers []string
	for _, step := range steps.Instructions {
		kinds[step.StepType] = true
		if step.StepType != models.StepTypeInstall {
			continue
		}
		i, runner := newInstall(t)
		i.Options.HostID = ""
		reply := i.Execute(t.Context(), step.Args)
		check.Equal(t, reply, Reply{})
		_, flags, _ := strings.Cut(runner.Commands()[1], " --role ")
		before, after, _ := strings.Cut(flags, " --url http://192.0.2.1:8090 ")
		installers = append(installers, before+"\n"+after)
	}
	return installers
}

// argvLog checks that the real agent started the installer with the same arguments, but for the URL of the service.
func argvLog(t *testing.T, recording string, installers []string) {
	t.Helper()
	name := strings.TrimSuffix(recording, ".jsonl.gz") + "-argv.log"
	content, err := os.ReadFile(name)
	if err != nil || len(installers) == 0 {
		return
	}
	for line := range strings.Lines(string(content)) {
		_, flags, is := strings.Cut(strings.TrimSpace(line), "assisted-installer:latest --role ")
		if !is {
			continue
		}
		before, after, _ := strings.Cut(flags, " --url ")
		_, after, _ = strings.Cut(after, " ")
		check.Equal(t, before+"\n"+after, installers[0])
		return
	}
}

// same checks that a value is written as it was read.
func same(t *testing.T, recorded json.RawMessage, value any) {
	t.Helper()
	var want, got any
	must.Do(t, json.Unmarshal(recorded, &want))
	must.Do(t, json.Unmarshal(must.Get(json.Marshal(value))(t), &got))
	check.Same(t, want, got)
}
