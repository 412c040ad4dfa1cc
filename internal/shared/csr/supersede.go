package csr

import (
	"fmt"
	"slices"

	"github.com/oaictl/oaictl/pkg/install/model"
)

// supersede marks the pending requests that the same kubelet has probably replaced by a newer one: requests of the same
// kind, for the same node and with the same standing. A request that a kubelet would not make replaces only requests
// that are wrong in the same way.
func supersede(requests []model.CertificateRequest, verdicts []model.RequestVerdict) {
	type claimed struct {
		kind     model.RequestKind
		node     string
		standing string
	}
	groups := map[claimed][]int{}
	for i := range verdicts {
		v := &verdicts[i]
		if !requests[i].Pending() || v.Node == "" || v.Kind != model.RequestClient && v.Kind != model.RequestServing {
			continue
		}
		of := claimed{v.Kind, v.Node, standing(v)}
		groups[of] = append(groups[of], i)
	}
	for _, group := range groups {
		newest := slices.MaxFunc(group, func(i, k int) int { return compare(&requests[i], &requests[k]) })
		for _, i := range group {
			if requests[i].Created.Before(requests[newest].Created) {
				verdicts[i].Newer = requests[newest].Name
				verdicts[newest].Older++
			}
		}
		if v := &verdicts[newest]; v.Older > 0 && v.Decision != model.RequestApprove && v.Reason != model.ReasonRivalKeys {
			v.Message += fmt.Sprintf("; older requests that are also pending: %d", v.Older)
		}
	}
}

// standing says what a request probably is: "" for one that a kubelet may have made, even if its host does not allow to
// approve it, or the reason why it is something else.
func standing(v *model.RequestVerdict) string {
	switch v.Reason {
	case model.ReasonProven, model.ReasonRivalKeys, model.ReasonSuperseded, model.ReasonUnknownAddress, model.ReasonNodeMissing,
		model.ReasonHostNotNamed, model.ReasonHostUnasked,
		model.ReasonHostNotInstalled, model.ReasonRebootUnknown, model.ReasonBeforeReboot, model.ReasonNodeExists, model.ReasonAlreadyApproved,
		model.ReasonAlreadyJoined,
		model.ReasonUnprovenNode:
		return ""
	}
	return v.Reason
}
