package policycheck

import (
	"context"
	"fmt"
	"maps"
	"net/http"
	"reflect"
	"time"

	admissionv1 "k8s.io/api/admission/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/webhook/admission"

	"github.com/holdshort/holdshort/policies/engine"
	"github.com/holdshort/holdshort/policies/engine/testrun"
)

// Path of the handler on the webhook server; the chart's configuration says the
// same.
const Path = "/webhook/policies"

const (
	// deadline of one check. The API server waits a second longer: an answer in
	// time that the edit was not checked beats none.
	deadline = 2 * time.Second
	// testsTime is how long of it the policy's own tests and scenarios may take.
	testsTime = time.Second
	// answerTime is kept for the answer, however long compiling took.
	answerTime = 250 * time.Millisecond
	// patience is how long one check keeps the next one waiting. It goes on beside it
	// then, since both have to end in time.
	patience = time.Second
	// lag is how long the cache may take to show what was applied just before,
	// by the same command.
	lag = 200 * time.Millisecond
)

// ConfigMaps are those that the policy is made of.
type ConfigMaps interface {
	// Counts says whether one of this name with these labels is among them.
	Counts(name string, labels map[string]string) bool
	// Present is the data of those that are there, by name, and the names of those
	// that should be there and are not. Callers don't change it.
	Present(ctx context.Context) (data map[string]map[string]string, missing []string, err error)
	// Assemble makes the policy of them.
	Assemble(data map[string]map[string]string) (engine.Bundle, error)
}

// Options of the handler.
type Options struct {
	// ConfigMaps of the policy; nil if it comes from somewhere else.
	ConfigMaps ConfigMaps
	// Engine are the limits of the manager's engine.
	Engine engine.Options
	// Scenarios plays those of a bundle; nil: they are not looked at.
	Scenarios func(ctx context.Context, bundle engine.Bundle) ([]testrun.Result, error)
}

// Checker answers the API server about ConfigMaps with policy.
type Checker struct {
	options Options
	slot    *slot // one check at a time: compiling is the most that anybody can make us do
}

// labelOfPolicy marks ConfigMaps of others that may be part of the policy.
const labelOfPolicy = "holdshort.dev/policy"

var _ admission.Handler = (*Checker)(nil)

// New makes the handler.
func New(options Options) *Checker {
	return &Checker{options: options, slot: newSlot(patience)}
}

// Handle answers one request.
func (c *Checker) Handle(ctx context.Context, req admission.Request) admission.Response {
	ctx, cancel := context.WithTimeout(ctx, deadline)
	defer cancel()
	change, err := read(req)
	if err != nil {
		return unchecked(err.Error())
	}
	if c.options.ConfigMaps == nil {
		return admission.Allowed("").WithWarnings(line(fmt.Sprintf(
			"ConfigMap %s has no effect: the manager does not take its policy from ConfigMaps", change.name)))
	}
	counts := c.options.ConfigMaps.Counts(change.name, change.labels)
	change.existed = change.existed && c.options.ConfigMaps.Counts(change.name, change.oldLabels)
	switch {
	case change.deleted, change.existed && counts && maps.Equal(change.data, change.before):
		return admission.Allowed("")
	case !counts:
		try := "name it in --policy-config-maps"
		if change.labels[labelOfPolicy] == "true" {
			try = "--policy-labelled with what it may write in --policy-roots, with the chart policy.configMaps; or " + try
		}
		return admission.Allowed("").WithWarnings(line(fmt.Sprintf(
			"ConfigMap %s has no effect: the manager does not take its policy from it. Try: %s", change.name, try)))
	}
	return c.inTime(ctx, change)
}

// inTime checks beside this goroutine, because a compilation cannot be stopped.
func (c *Checker) inTime(ctx context.Context, change edit) admission.Response {
	turn, err := c.slot.take(ctx)
	if err != nil {
		return unchecked(err.Error())
	}
	done := make(chan admission.Response, 1)
	go func() {
		defer func() {
			turn.end()
			// Nothing else would catch it here, and no edit may end the manager.
			if problem := recover(); problem != nil {
				done <- unchecked(fmt.Sprintf("panic: %v", problem))
			}
		}()
		response, still := c.answer(ctx, change)
		done <- response
		if still != nil {
			<-still // it has its turn for so long
		}
	}()
	select {
	case response := <-done:
		return response
	case <-ctx.Done():
		return unchecked(fmt.Sprintf("it takes more than %v", deadline))
	}
}

// answer makes a response of the verdict; still is closed when nothing runs any more
// for it.
func (c *Checker) answer(ctx context.Context, change edit) (response admission.Response, still <-chan struct{}) {
	found, err := c.patiently(ctx, change)
	if err != nil {
		return unchecked(err.Error()), nil
	}
	if len(found.refused) > 0 && change.upgrades == "" {
		return refused(found.refused), nil
	}
	response = admission.Allowed("")
	if len(found.refused) > 0 {
		response = response.WithWarnings(line(fmt.Sprintf("%s, so the running version only warns: %s", change.upgrades, found.refused[0])))
	}
	return response.WithWarnings(warnings(found)...), found.still
}

// patiently looks again before it refuses, if another ConfigMap has changed
// meanwhile.
func (c *Checker) patiently(ctx context.Context, change edit) (verdict, error) {
	others, err := c.others(ctx, change.name)
	if err != nil {
		return verdict{}, err
	}
	found, err := c.judge(ctx, change, others)
	if err != nil || len(found.refused) == 0 || len(others.data) == 0 && len(others.missing) == 0 {
		return found, err
	}
	select {
	case <-time.After(lag):
	case <-ctx.Done():
		return found, nil
	}
	later, err := c.others(ctx, change.name)
	if err != nil || reflect.DeepEqual(later, others) {
		return found, err
	}
	return c.judge(ctx, change, later)
}

// unchecked lets an edit pass that could not be judged.
func unchecked(why string) admission.Response {
	return admission.Allowed("").WithWarnings(line("this policy was not checked: " + why + ". Try: kubectl get policyrollouts"))
}

// refused is the answer that kubectl prints as it is, rows and all.
func refused(problems []engine.Problem) admission.Response {
	shown := &engine.BundleError{Problems: problems[:min(len(problems), refusedMax)]}
	message := "this would be refused, and nothing is changed:\n" + shown.Error()
	if len(problems) > refusedMax {
		message += "\nand more"
	}
	return admission.Response{AdmissionResponse: admissionv1.AdmissionResponse{
		Allowed: false,
		Result:  &metav1.Status{Code: http.StatusForbidden, Reason: metav1.StatusReasonForbidden, Message: message},
	}}
}
