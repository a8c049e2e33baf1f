package webhook

import (
	"context"
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strings"
	"unicode/utf8"

	batchv1 "k8s.io/api/batch/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/webhook/admission"

	"github.com/holdshort/holdshort/ledger/intake"
	"github.com/holdshort/holdshort/ledger/reason"
	"github.com/holdshort/holdshort/policies"
)

const (
	warningLength = 250 // the API server cuts longer ones
	warningsMax   = 10
)

// subject is what the policy is asked about.
type subject struct {
	request admission.Request
	job     *batchv1.Job // as it will be stored
	old     *batchv1.Job // nil on creation
	enters  bool         // an update by which it becomes ours
	// warnings of what came before: mutate had no answer.
	warnings []string
}

// asksAgain tells whether an update changed what the policy judges.
func asksAgain(old, job *batchv1.Job) bool {
	for _, label := range intake.UserLabels() {
		if old.Labels[label] != job.Labels[label] {
			return true
		}
	}
	return !equality.Semantic.DeepEqual(old.Spec, job.Spec)
}

// judge asks the policy. An error never denies: the Job is created suspended,
// and the ledger asks again before it starts.
func (j *Jobs) judge(ctx context.Context, doc *document, s subject) admission.Response {
	counted := intake.Job(s.job, j.options.Env(s.request.Namespace))
	warnings := s.warnings
	if problem := counted.Problem; problem != nil {
		warnings = append(warnings, warning(fmt.Sprintf("%s: %s", problem.Code, problem.Message)))
	}
	policy := j.options.Policy()
	if policy == nil {
		return patched(doc, append(warnings, warning(fmt.Sprintf(
			"%s: no policy is in force yet; the Job waits until there is one", reason.PolicyUnavailable))))
	}
	input, err := j.input(s, policy.ReadsJob())
	if err != nil {
		return patched(doc, append(warnings, notJudged(err)))
	}
	denied, err := j.deny(ctx, policy, input, s)
	if err != nil {
		return patched(doc, append(warnings, notJudged(err)))
	}
	if len(denied) > 0 {
		return refused(denied)
	}
	warned, err := policy.Warn(ctx, input, j.given(s))
	if err != nil {
		warnings = append(warnings, notJudged(err))
	}
	for _, r := range warned {
		warnings = append(warnings, warning(sentence(r)))
	}
	return patched(doc, warnings[:min(len(warnings), warningsMax)])
}

// deny leaves out the reasons for which the old object was denied already: what
// a newer policy would not take any more can still be edited. Nobody has asked
// about a Job that was not ours.
func (j *Jobs) deny(ctx context.Context, policy Policy, input *policies.Input, s subject) ([]policies.Reason, error) {
	denied, err := policy.Deny(ctx, input, j.given(s))
	if err != nil || len(denied) == 0 || s.old == nil || s.enters {
		return denied, err
	}
	before := s
	before.job = s.old
	oldInput, err := j.input(before, policy.ReadsJob())
	if err != nil {
		return nil, err
	}
	known, err := policy.Deny(ctx, oldInput, j.given(before))
	if err != nil {
		return nil, err
	}
	return slices.DeleteFunc(slices.Clone(denied), func(r policies.Reason) bool {
		return slices.ContainsFunc(known, func(k policies.Reason) bool { return k.Code == r.Code })
	}), nil
}

// input is what deny and warn may read.
func (j *Jobs) input(s subject, raw bool) (*policies.Input, error) {
	env := j.options.Env(s.request.Namespace)
	namespace, known := j.options.Namespace(s.request.Namespace)
	if !known {
		namespace = policies.Namespace{Name: s.request.Namespace, Labels: map[string]string{}}
	}
	input := &policies.Input{
		Workload:  intake.Job(s.job, env).Policy,
		Namespace: &namespace,
		Request: &policies.Request{
			Operation: string(s.request.Operation),
			User:      s.request.UserInfo.Username,
			Groups:    append([]string{}, s.request.UserInfo.Groups...),
			DryRun:    s.request.DryRun != nil && *s.request.DryRun,
		},
	}
	if s.old != nil {
		input.Old = intake.Job(s.old, env).Policy
	}
	if raw {
		object, err := intake.RawJob(s.job)
		if err != nil {
			return nil, fmt.Errorf("reading the Job: %w", err)
		}
		input.Job = object
	}
	return input, nil
}

// given is for a policy that is not in force and hears of the question.
func (j *Jobs) given(s subject) policies.Given {
	if !suspended(s.job) {
		return nil
	}
	return func(m policies.Mutation, raw bool) (*policies.Input, error) {
		m.NodeSelector, m.Tolerations = nil, nil // as in mutate
		of := s
		of.job, _ = intake.Mutate(intake.AsWritten(s.job), m)
		return j.input(of, raw)
	}
}

// refused is the answer to a Job that the policy does not take.
func refused(denied []policies.Reason) admission.Response {
	sentences := make([]string, len(denied))
	for i, r := range denied {
		sentences[i] = sentence(r)
	}
	response := admission.Denied(strings.Join(sentences, "; "))
	response.Result.Code = http.StatusForbidden
	response.Result.Reason = metav1.StatusReasonForbidden
	return response
}

// sentence is a reason as people read it: code, message, rule.
func sentence(r policies.Reason) string {
	text := r.Code + ": " + r.Message
	if r.RuleAt != "" {
		text += " (" + r.RuleAt + ")"
	}
	if r.Docs != "" {
		text += " see " + r.Docs
	}
	return text
}

func notJudged(err error) string {
	return warning(fmt.Sprintf("%s: %v; the Job waits, and the policy is asked again before it starts", reason.PolicyError, err))
}

// warning is a line that kubectl shows: one line, not cut in the middle of a
// character.
func warning(text string) string {
	text = "holdshort: " + strings.Join(strings.Fields(text), " ")
	if len(text) <= warningLength {
		return text
	}
	cut := warningLength - len("…")
	for !utf8.RuneStart(text[cut]) {
		cut--
	}
	return text[:cut] + "…"
}

func sortedKeys[V any](m map[string]V) []string { return slices.Sorted(maps.Keys(m)) }
