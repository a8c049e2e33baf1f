package policycheck

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/holdshort/holdshort/policies/engine"
)

// verdict is what came of a check, as problems of the policy.
type verdict struct {
	refused   []engine.Problem // what the edit gets wrong
	elsewhere []engine.Problem // what was wrong without it, cannot be judged yet, or a test has against it
	doubtful  []engine.Problem // what the engine warns of, in the edited files
	missing   []string         // ConfigMaps of the policy that are not there
	untested  bool             // there was no time for all of its tests and scenarios
	still     <-chan struct{}  // closed when nothing runs any more for this; nil: nothing does
}

// rest is the other ConfigMaps of the policy.
type rest struct {
	data    map[string]map[string]string
	missing []string
}

func (r rest) with(name string, data map[string]string) map[string]map[string]string {
	all := maps.Clone(r.data)
	all[name] = data
	return all
}

func (c *Checker) others(ctx context.Context, name string) (rest, error) {
	data, missing, err := c.options.ConfigMaps.Present(ctx)
	if err != nil {
		return rest{}, err
	}
	is := func(other string) bool { return other == name }
	others := rest{data: map[string]map[string]string{}, missing: slices.DeleteFunc(slices.Clone(missing), is)}
	maps.Copy(others.data, data)
	delete(others.data, name)
	return others, nil
}

// judge compiles the policy as it would be, and sorts what is wrong with it.
func (c *Checker) judge(ctx context.Context, change edit, others rest) (verdict, error) {
	v := verdict{missing: others.missing}
	revision, problems, err := c.compile(ctx, others.with(change.name, change.data))
	if err != nil {
		return verdict{}, err
	}
	if revision != nil {
		v.doubtful = slices.DeleteFunc(revision.Warnings(), func(p engine.Problem) bool {
			return p.File != "" && !in(change.name, p)
		})
		return v, c.test(ctx, revision.Bundle(), &v)
	}
	before, err := c.wrongBefore(ctx, change, others, problems)
	if err != nil {
		return verdict{}, err
	}
	for _, p := range problems {
		switch {
		case p.Code == engine.CodeInternal, len(others.missing) > 0 && !standsAlone(p),
			!in(change.name, p) && before[identity(p)]:
			v.elsewhere = append(v.elsewhere, p)
		default:
			v.refused = append(v.refused, p)
		}
	}
	return v, nil
}

// wrongBefore is what is wrong with the policy without the edit. It is only
// asked for when something is wrong outside of the edited files.
func (c *Checker) wrongBefore(ctx context.Context, change edit, others rest, now []engine.Problem) (map[string]bool, error) {
	outside := func(p engine.Problem) bool { return !in(change.name, p) }
	if len(others.data) == 0 || !slices.ContainsFunc(now, outside) {
		return nil, nil
	}
	without := others.data
	if change.existed {
		without = others.with(change.name, change.before)
	}
	_, problems, err := c.compile(ctx, without)
	if err != nil {
		return nil, err
	}
	before := map[string]bool{}
	for _, p := range problems {
		before[identity(p)] = true
	}
	return before, nil
}

// compile gives a revision or what is wrong, or an error if neither can be said.
func (c *Checker) compile(ctx context.Context, configMaps map[string]map[string]string) (*engine.Revision, []engine.Problem, error) {
	bundle, err := c.options.ConfigMaps.Assemble(configMaps)
	if err == nil {
		var revision *engine.Revision
		if revision, err = engine.Compile(ctx, bundle, c.options.Engine); err == nil {
			return revision, nil, nil
		}
	}
	if ctx.Err() != nil {
		return nil, nil, fmt.Errorf("it takes more than %v", deadline)
	}
	var bad *engine.BundleError
	if !errors.As(err, &bad) {
		return nil, nil, err
	}
	return nil, bad.Problems, nil
}

// in says whether a problem is in a file of a ConfigMap.
func in(name string, p engine.Problem) bool { return strings.HasPrefix(p.File, name+"/") }

// identity is the same for the same problem before and after an edit. What is
// about the whole policy has numbers in its text that change with every edit.
func identity(p engine.Problem) string {
	if p.File == "" {
		return p.Code
	}
	return p.File + "\n" + p.Code + "\n" + p.Message
}

// standsAlone says whether a problem is one whatever the ConfigMaps say that are
// not there yet: what a file refers to may still come with them.
func standsAlone(p engine.Problem) bool {
	return p.Code == engine.CodeData || p.Code == engine.CodeContract || p.Code == engine.CodeSize ||
		p.Code == "rego_parse_error"
}
