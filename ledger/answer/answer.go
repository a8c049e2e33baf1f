package answer

import (
	"errors"
	"fmt"
	"strings"

	"github.com/holdshort/holdshort/ledger/reason"
	"github.com/holdshort/holdshort/policies"
	"github.com/holdshort/holdshort/policies/engine"
)

// Failed is that a policy gave none.
func Failed(err error) *reason.Reason {
	r := &reason.Reason{Code: reason.PolicyError, Message: err.Error()}
	var eval *engine.EvalError
	if errors.As(err, &eval) {
		r.Message, r.RuleAt = fmt.Sprintf("%s: %s", eval.Entrypoint, eval.Message), eval.At
	}
	return r
}

// No joins what the policy's rules say under our code; there is at least one.
func No(code reason.Code, said []policies.Reason) *reason.Reason {
	r := &reason.Reason{Code: code, PolicyCode: said[0].Code, RuleAt: said[0].RuleAt}
	var messages []string
	for _, s := range said {
		messages = append(messages, s.Code+": "+s.Message)
		if s.UntilNS > r.Until {
			r.Until = s.UntilNS // held until the last of them lets go
		}
	}
	r.Message = strings.Join(messages, "; ")
	return r
}
