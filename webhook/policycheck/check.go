package policycheck

import (
	"context"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"time"

	admissionv1 "k8s.io/api/admission/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/webhook/admission"

	"github.com/holdshort/holdshort/policies/engine"
)

// Path of the handler on the webhook server; the chart's configuration says the
// same.
const Path = "/webhook/policies"

const (
	// deadline of one check. The API server waits a second longer: an answer in
	// time that the edit was not checked beats none.
	deadline = 2 * time.Second
	// lag is how long the cache may take to show what was applied just before,
	// by the same command.
	lag = 200 * time.Millisecond
)

// Options of the handler.
type Options struct {
	// Names of the ConfigMaps that the policy is made of. Empty if it comes from
	// somewhere else, which Source names.
	Names  []string
	Source string
	// Granted are the roots that some of them are held to.
	Granted map[string]engine.Roots
	// ConfigMap returns the data of one of them as it is now; false if it is not
	// there.
	ConfigMap func(ctx context.Context, name string) (map[string]string, bool, error)
	// Engine are the limits of the manager's engine.
	Engine engine.Options
}

// Checker answers the API server about ConfigMaps with policy.
type Checker struct {
	options Options
	busy    chan struct{} // one check at a time: compiling is the most that anybody can make us do
}

var _ admission.Handler = (*Checker)(nil)

// New makes the handler.
func New(options Options) *Checker {
	return &Checker{options: options, busy: make(chan struct{}, 1)}
}

// Handle answers one request.
func (c *Checker) Handle(ctx context.Context, req admission.Request) admission.Response {
	ctx, cancel := context.WithTimeout(ctx, deadline)
	defer cancel()
	change, err := read(req)
	if err != nil {
		return unchecked(err.Error())
	}
	if change.unchanged {
		return admission.Allowed("")
	}
	if !slices.Contains(c.options.Names, change.name) {
		return admission.Allowed("").WithWarnings(line(c.noEffect(change.name)))
	}
	return c.inTime(ctx, change)
}

// inTime checks beside this goroutine, because a compilation cannot be stopped.
func (c *Checker) inTime(ctx context.Context, change edit) admission.Response {
	tooSlow := unchecked(fmt.Sprintf("it takes more than %v", deadline))
	select {
	case c.busy <- struct{}{}:
	case <-ctx.Done():
		return tooSlow
	}
	done := make(chan admission.Response, 1)
	go func() {
		defer func() { <-c.busy }()
		done <- c.answer(ctx, change)
	}()
	select {
	case response := <-done:
		return response
	case <-ctx.Done():
		return tooSlow
	}
}

// answer makes a response of the verdict.
func (c *Checker) answer(ctx context.Context, change edit) admission.Response {
	found, err := c.patiently(ctx, change)
	if err != nil {
		return unchecked(err.Error())
	}
	if len(found.refused) > 0 && change.upgrades == "" {
		return refused(found.refused)
	}
	response := admission.Allowed("")
	if len(found.refused) > 0 {
		response = response.WithWarnings(line(fmt.Sprintf("%s, so the running version only warns: %s", change.upgrades, found.refused[0])))
	}
	return response.WithWarnings(warnings(found)...)
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
	if err != nil || later.equal(others) {
		return found, err
	}
	return c.judge(ctx, change, later)
}

func (c *Checker) noEffect(name string) string {
	if len(c.options.Names) == 0 {
		return fmt.Sprintf("ConfigMap %s has no effect: the manager takes its policy from %s", name, c.options.Source)
	}
	return fmt.Sprintf("ConfigMap %s has no effect: the manager takes its policy from %s. Try: name it in --policy-config-maps",
		name, strings.Join(c.options.Names, ", "))
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
