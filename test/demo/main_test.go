package main

import (
	"bytes"
	"context"
	"errors"
	"testing"
	"time"

	"github.com/holdshort/holdshort/test/stories"
)

func TestInterruptBlamesNoStory(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	wait := stories.Eventually(ctx, time.Minute, "the moon", func(context.Context) (bool, string) { return false, "" })
	if !errors.Is(wait, context.Canceled) {
		t.Errorf("the wait ended with %v; want one that says that it was cancelled", wait)
	}
	var out bytes.Buffer
	if code := report(ctx, &out, wait); code != interrupted || out.String() != "\ndemo: interrupted; the control plane is gone\n" {
		t.Errorf("code %d, said %q", code, out.String())
	}
}

func TestFailedStoryIsTold(t *testing.T) {
	var out bytes.Buffer
	if code := report(t.Context(), &out, errors.New(`story "x": no`)); code != 1 || out.String() != "demo: story \"x\": no\n" {
		t.Errorf("code %d, said %q", code, out.String())
	}
}

func TestCommandsOfSeveralLinesCanBeCopied(t *testing.T) {
	var out bytes.Buffer
	plain := func(s string) string { return s }
	(&narrator{out: &out, bold: plain, dim: plain}).Show("kubectl apply -f - <<'EOF'\na: 1\nEOF", "made\n")
	if want := "$ kubectl apply -f - <<'EOF'\na: 1\nEOF\n  made\n"; out.String() != want {
		t.Errorf("said %q, want %q", out.String(), want)
	}
}
