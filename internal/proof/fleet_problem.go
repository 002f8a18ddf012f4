package proof

import (
	"cmp"
	"slices"
	"strings"

	gwv1 "sigs.k8s.io/gateway-api/apis/v1"

	"github.com/gatewright/gatewright/internal/ir"
	"github.com/gatewright/gatewright/internal/outcome"
	"github.com/gatewright/gatewright/internal/store"
)

// maxProblem is how much of a problem is told. Whoever refuses an object may have much to say.
const maxProblem = 1024

// Report says why the objects of a Gateway's fleet, or of one that is shared, can not be brought to the cluster, and with nil that they have been. The Gateways say so at once.
func (k *Keeper) Report(fleet ir.Name, problem error) {
	k.mu.Lock()
	defer k.mu.Unlock()
	name, text := fleet.String(), ""
	if problem != nil {
		text = problem.Error()
		text = strings.ToValidUTF8(text[:min(len(text), maxProblem)], "")
	}
	if k.problems[name] == text {
		return
	}
	if k.problems[name] = text; text == "" {
		delete(k.problems, name)
	}
	k.publish(subject{store.Gateway, name})
	for gateway, shared := range k.sharing {
		if shared == name {
			k.publish(subject{store.Gateway, gateway})
		}
	}
}

// withProblem has a Gateway say what keeps its fleet from being as it should. One that serves goes on to serve.
func (k *Keeper) withProblem(gateway string, conditions []outcome.Condition) []outcome.Condition {
	problem := cmp.Or(k.problems[gateway], k.problems[k.sharing[gateway]])
	i := slices.IndexFunc(conditions, func(c outcome.Condition) bool { return c.Type == string(gwv1.GatewayConditionProgrammed) })
	if problem == "" || i < 0 || conditions[i].Reason == string(gwv1.GatewayReasonInvalid) {
		return conditions
	}
	told := slices.Clone(conditions)
	if told[i].State == outcome.True {
		told[i].Message += "; what has changed about its fleet can not be applied: " + problem
	} else {
		told[i].Message = "the Gateway's fleet can not be applied: " + problem
	}
	return told
}
