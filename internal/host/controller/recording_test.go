//go:build linux

package controller

import (
	"bufio"
	"compress/gzip"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/oaictl/oaictl/internal/shared/check"
	"github.com/oaictl/oaictl/internal/shared/must"
)

// TestRecordedTail: from finalizing on, the original changed the same things at the service in the same order. The original was
// ended before it could upload its last logs.
func TestRecordedTail(t *testing.T) {
	folder := os.Getenv("OAICTL_RECORDINGS")
	if folder == "" {
		t.Skip("OAICTL_RECORDINGS names no folder of recordings")
	}
	for _, name := range []string{"real-agent-installer-compact3-real-2", "real-agent-installer-sno-ours"} {
		t.Run(name, func(t *testing.T) {
			recorded := recordedTail(t, filepath.Join(folder, "host", name+".jsonl.gz"))
			synctest.Test(t, func(t *testing.T) {
				w := newWorld(t, "m-1")
				w.node("m-1", "10.0.0.1", true)
				w.operator("console", "True", "False", "All is well")
				check.Equal(t, w.run(t.Context()), ExitDone)
				ours := w.service.done()
				ours = ours[slices.Index(ours, "FinalizingProgress Waiting for cluster operators"):]
				ours = ours[:slices.Index(ours, "ClusterLogsProgress requested")]
				for i, call := range ours {
					if strings.HasPrefix(call, "UpdateOperator") {
						ours[i] = strings.Replace(call, " 4.19.3", "", 1) // the recorded operator has no version
					}
				}
				check.Slice(t, recorded, ours)
			})
		})
	}
}

// recordedTail are the calls of the original from finalizing on, as the fake service writes them.
func recordedTail(t *testing.T, file string) []string {
	t.Helper()
	opened := must.Get(os.Open(file))(t)
	defer opened.Close()
	lines := bufio.NewScanner(must.Get(gzip.NewReader(opened))(t))
	lines.Buffer(nil, 16<<20)
	var calls []string
	for lines.Scan() {
		var row struct {
			Method, Path string
			Request      json.RawMessage
		}
		must.Do(t, json.Unmarshal(lines.Bytes(), &row))
		_, last, _ := strings.Cut(row.Path, "/v2/clusters/")
		_, last, _ = strings.Cut(last, "/")
		var body map[string]any
		_ = json.Unmarshal(row.Request, &body)
		call := ""
		switch row.Method + " " + last {
		case "PUT progress":
			call = fmt.Sprintf("FinalizingProgress %s", body["finalizing_stage"])
		case "GET monitored-operators":
			call = "MonitoredOperators"
		case "PUT monitored-operators":
			call = fmt.Sprintf("UpdateOperator %s %s %s", body["name"], body["status"], body["status_info"])
		case "POST uploads/ingress-cert":
			call = "UploadIngressCert CERT"
		case "POST actions/complete-installation":
			call = fmt.Sprintf("CompleteInstallation %v  0", body["is_success"])
		default:
			continue
		}
		calls = append(calls, call)
	}
	must.Do(t, lines.Err())
	return calls
}
