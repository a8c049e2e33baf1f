package engine

import (
	"context"
	"strings"
	"testing"
)

func TestNumbersThatAreNotWrittenPlainlyAreRefused(t *testing.T) {
	for text, says := range map[string]string{
		"weight: 0x10":                   "0x10 is not written as a plain decimal number, and is taken for 16. Try: 16 if that is meant",
		"weight: 1_0":                    "taken for 10",
		"weight: -0.0":                   "-0.0 is zero with a sign. Try: 0",
		"weight: -0":                     "-0 is zero with a sign",
		"maxWorkloads: 010":              "010 is not written as a plain decimal number, and is taken for 8",
		"maxWorkloads: 0b11":             "taken for 3",
		"placementTimeoutSeconds: 0o17":  "taken for 15",
		"quota: {a: {memory: 1_0.5}}":    "taken for 10.5",
		"weight: 1e999999999":            "queues.q.weight: want a number, got 1e999999999, which is too large a number",
		"maxWorkloads: 1e999999999":      "got 1e999999999, which is too large a number",
		"quota: {a: {cpu: 1e999999999}}": "queues.q.quota.a.cpu: 1e999999999 is more than can be counted",
	} {
		t.Run(text, func(t *testing.T) {
			more := []string{"cohort: ai", text}
			if !strings.HasPrefix(text, "quota") {
				more = append(more, "quota: {a: {cpu: 1}}")
			}
			_, err := Compile(context.Background(), Bundle{Files: aQueue(more...)}, Options{})
			if err == nil || !strings.Contains(err.Error(), says) {
				t.Errorf("got %v, want %q", err, says)
			}
		})
	}
}

func TestNumbersThatAreTheAuthorsAreWrittenAsTheyLike(t *testing.T) {
	queue := "queues: {q: {flavors: [a], quota: {a: {cpu: 0.5, memory: 1e3, pods: 0}}, namespaces: {all: true}}}"
	if _, err := Compile(context.Background(), Bundle{Files: config("flavors: {a: {}}", queue, "custom: {mask: 0x10, many: 1_000, none: -0.0}")}, Options{}); err != nil {
		t.Error(err)
	}
}
