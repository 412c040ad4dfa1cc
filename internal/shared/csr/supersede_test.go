package csr_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/oaictl/oaictl/internal/shared/csr"
	"github.com/oaictl/oaictl/pkg/install/model"
)

// TestKubeletThatAsksAnew: of what a kubelet has asked again and again, the newest is of use.
func TestKubeletThatAsksAnew(t *testing.T) {
	const often = 12
	for name, change := range map[string]func(*csr.Cluster, *[]model.CertificateRequest){
		model.ReasonRivalKeys:     func(*csr.Cluster, *[]model.CertificateRequest) {},
		model.ReasonAlreadyJoined: func(c *csr.Cluster, _ *[]model.CertificateRequest) { c.Hosts[0].Joined = true },
		model.ReasonHostNotNamed:  func(c *csr.Cluster, _ *[]model.CertificateRequest) { c.Hosts[0].Named = false },
	} {
		t.Run(name, func(t *testing.T) {
			known := cluster()
			var requests []model.CertificateRequest
			for i := range often { // the newest is the first by name
				r := clientRequest(fmt.Sprintf("csr-%02d", often-i), encode(t, newKey(t), template("system:node:w-1", nil)))
				r.Created = r.Created.Add(time.Duration(i) * 15 * time.Minute)
				requests = append(requests, r)
			}
			forged := clientRequest("csr-99", encode(t, newKey(t), template("system:node:w-1", []string{"w-1"})))
			forged.Created = forged.Created.Add(24 * time.Hour)
			change(&known, &requests)
			for _, v := range csr.Judge(append(requests, forged), known, now()) {
				switch v.Name {
				case "csr-99":
					if v.Newer != "" || v.Older != 0 {
						t.Errorf("%+v", v)
					}
				case "csr-01":
					if v.Reason != name || v.Newer != "" || v.Older != often-1 || len(v.Message) > 600 {
						t.Errorf("%+v", v)
					}
					if name != model.ReasonRivalKeys && !strings.Contains(v.Message, "older requests that are also pending: 11") {
						t.Errorf("it says %q", v.Message)
					}
				default:
					if v.Decision != model.RequestRefuse || v.Newer != "csr-01" {
						t.Errorf("%+v", v)
					}
				}
			}
		})
	}
}
