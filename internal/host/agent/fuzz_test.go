//go:build linux

package agent

import (
	"os"
	"strings"
	"testing"

	"github.com/oaictl/oaictl/internal/host/hostfile"
	"github.com/oaictl/oaictl/internal/host/machine"
	"github.com/oaictl/oaictl/internal/shared/must"
)

// FuzzInstall checks that each argument of a program is one that podman cannot take for a flag of its own.
func FuzzInstall(f *testing.F) {
	for _, name := range []string{"install-recorded.json", "install-full.json"} {
		f.Add(string(must.Get(os.ReadFile("testdata/" + name))(f)))
	}
	f.Add(changed(f, map[string]any{"installer_image": "--privileged"}))
	files := hostfile.Files{Root: f.TempDir()}
	for _, disk := range []string{"/dev/vda", "/dev/vdb", "/dev/disk/by-id/wwn-0x1"} {
		must.Do(f, files.Write(disk, nil, 0o600))
	}
	i := &Install{Options: Options{HostID: hostID}, Runner: &machine.Recorder{}, Files: files, Log: quiet()}
	f.Fuzz(func(t *testing.T, argument string) {
		request, args, err := i.parse(hostID, []string{argument})
		if err != nil {
			return
		}
		if strings.HasPrefix(*request.InstallerImage, "-") || strings.ContainsAny(*request.InstallerImage, " \n;$`'\"") {
			t.Errorf("the image is %q", *request.InstallerImage)
		}
		for _, arg := range i.argv(request, args) {
			if strings.ContainsAny(arg, "\n\r\x00\x1b") {
				t.Errorf("an argument is %q", arg)
			}
		}
	})
}

func FuzzNextStepRunner(f *testing.F) {
	f.Add(response(ownImage).NextStepRunnerCommand.Args[0])
	f.Add(`{"agent_version":"--privileged"}`)
	f.Fuzz(func(t *testing.T, argument string) {
		request, err := parseRunner([]string{argument}, quiet())
		if err == nil && (strings.HasPrefix(*request.AgentVersion, "-") || strings.ContainsAny(*request.AgentVersion, " \n;$`'\"")) {
			t.Errorf("the image is %q", *request.AgentVersion)
		}
	})
}

func FuzzUpgrade(f *testing.F) {
	f.Add(`{"agent_image":"quay.io/a/b:1"}`)
	f.Fuzz(func(t *testing.T, argument string) {
		request, err := parseUpgrade([]string{argument}, quiet())
		if err == nil && (strings.HasPrefix(request.AgentImage, "-") || strings.ContainsAny(request.AgentImage, " \n;$`'\"")) {
			t.Errorf("the image is %q", request.AgentImage)
		}
	})
}

// FuzzBootArtifacts checks that a boot entry has only the lines and arguments of its template.
func FuzzBootArtifacts(f *testing.F) {
	f.Add(artifactsArgument)
	f.Fuzz(func(t *testing.T, argument string) {
		request, err := parseArtifacts([]string{argument}, quiet())
		if err != nil {
			return
		}
		if strings.ContainsAny(*request.RootfsURL, " \n\r\t'\"\\") || strings.Contains(*request.HostFsMountDir, "..") {
			t.Errorf("%q %q", *request.RootfsURL, *request.HostFsMountDir)
		}
	})
}
