package policycheck

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/holdshort/holdshort/policies/engine"
	"github.com/holdshort/holdshort/policies/engine/testrun"
)

// test finds what the policy's tests and scenarios have against it. They refuse no
// edit: rule and test may lie in two ConfigMaps, which are applied one after the
// other. What there is no time for, the rollout runs.
func (c *Checker) test(ctx context.Context, bundle engine.Bundle, v *verdict) error {
	ctx, cancel := context.WithDeadline(ctx, testsUntil(ctx, time.Now()))
	defer cancel()
	report, err := testrun.Run(ctx, bundle, testrun.Options{})
	var bad *engine.BundleError
	switch {
	case ctx.Err() != nil:
		v.untested = true
		return nil
	case errors.As(err, &bad):
		v.elsewhere = bad.Problems
		return nil
	case err != nil:
		return err
	}
	if c.options.Scenarios != nil {
		played, err := c.play(ctx, bundle, v)
		if err != nil {
			return err
		}
		report.Results = append(report.Results, played...)
	}
	v.elsewhere = report.Failures()
	return nil
}

// testsUntil leaves time to answer: what the compiler said is worth more.
func testsUntil(ctx context.Context, now time.Time) time.Time {
	until := now.Add(testsTime)
	if end, limited := ctx.Deadline(); limited && end.Add(-answerTime).Before(until) {
		until = end.Add(-answerTime)
	}
	return until
}

// play lets the scenarios happen, and goes on without them when the time is up: they
// look at the time only between one moment and the next.
func (c *Checker) play(ctx context.Context, bundle engine.Bundle, v *verdict) (played []testrun.Result, err error) {
	ended := make(chan struct{})
	var results []testrun.Result
	var failure error
	go func() {
		defer close(ended)
		defer func() {
			if problem := recover(); problem != nil {
				failure = fmt.Errorf("panic: %v", problem)
			}
		}()
		results, failure = c.options.Scenarios(ctx, bundle)
	}()
	select {
	case <-ended:
		if ctx.Err() == nil {
			return results, failure
		}
	case <-ctx.Done():
	}
	v.untested, v.still = true, ended
	return nil, nil
}
