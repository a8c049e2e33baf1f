package engine

import (
	"context"
	"fmt"

	"github.com/open-policy-agent/opa/v1/ast"
	"github.com/open-policy-agent/opa/v1/metrics"
	"github.com/open-policy-agent/opa/v1/storage"
	"github.com/open-policy-agent/opa/v1/topdown"
)

// query is compiled once and asked many times. It goes straight to the evaluator:
// what OPA's package rego does around that, for callers who want plain values and
// every expression's outcome, costs as much as a short rule.
type query struct {
	body     ast.Body
	compiler ast.QueryCompiler
	rules    *ast.Compiler
	store    storage.Store
	x        ast.Var // as the compiler has renamed it
}

// newQuery compiles a query that gives its answer as x.
func newQuery(text string, rules *ast.Compiler, store storage.Store) (*query, error) {
	body, err := ast.ParseBodyWithOpts(text, ast.ParserOptions{RegoVersion: ast.RegoV1})
	if err != nil {
		return nil, fmt.Errorf("parsing the query: %w", err)
	}
	q := &query{compiler: rules.QueryCompiler().WithStrict(false), rules: rules, store: store}
	if q.body, err = q.compiler.Compile(body); err != nil {
		return nil, fmt.Errorf("compiling the query: %w", err)
	}
	for renamed, name := range q.compiler.RewrittenVars() {
		if name == "x" {
			q.x = renamed
		}
	}
	return q, nil
}

// ask gives the value of x; nil if the query has no answer. The store never
// changes, so the value stays valid.
func (q *query) ask(ctx context.Context, input ast.Value, cancel topdown.Cancel) (x ast.Value, err error) {
	txn, err := q.store.NewTransaction(ctx)
	if err != nil {
		return nil, fmt.Errorf("reading the data: %w", err)
	}
	defer q.store.Abort(ctx, txn)
	err = topdown.NewQuery(q.body).WithQueryCompiler(q.compiler).WithCompiler(q.rules).
		WithStore(q.store).WithTransaction(txn).WithInput(ast.NewTerm(input)).
		WithCancel(cancel).WithMetrics(metrics.NoOp()).WithStrictBuiltinErrors(true).
		Iter(ctx, func(result topdown.QueryResult) error {
			if term := result[q.x]; term != nil {
				x = term.Value
			}
			return nil
		})
	if err != nil {
		return nil, err // OPA's own, which says where
	}
	return x, nil
}
