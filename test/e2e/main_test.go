//go:build plane

package e2e

import (
	"context"
	"fmt"
	"os"
	"sync"
	"testing"
	"time"

	"github.com/holdshort/holdshort/test/plane/history"
	"github.com/holdshort/holdshort/test/stories"
)

// shared is the plane that most tests use, one after the other, each in
// namespaces and with a policy of its own.
var shared struct {
	once sync.Once
	env  *stories.Env
	err  error
}

func TestMain(m *testing.M) {
	code := m.Run()
	if shared.env != nil {
		if err := shared.env.Stop(); err != nil {
			fmt.Fprintln(os.Stderr, "stopping the shared plane:", err)
			code = 1
		}
	}
	os.Exit(code)
}

// built is where our binaries are, if the shared plane has them already.
func built() string {
	if shared.env == nil {
		return ""
	}
	return shared.env.BinDir()
}

// scene gives a test the shared plane with a policy in force, a namespace, and a
// check of the API server's whole history of the test when it ends.
func scene(t *testing.T, ns, policy string, limits ...history.Limit) (context.Context, *stories.Scene) {
	t.Helper()
	return sceneBy(t, ns, policy, history.Rules{Limits: limits})
}

// sceneBy is scene with other rules for the history.
func sceneBy(t *testing.T, ns, policy string, rules history.Rules) (context.Context, *stories.Scene) {
	t.Helper()
	shared.once.Do(func() {
		shared.env, shared.err = stories.Start(context.Background(), stories.Options{
			Nodes: stories.Nodes(), Policy: stories.Policy, Log: os.Stderr,
		})
	})
	if shared.err != nil {
		t.Fatal(shared.err)
	}
	return onBy(t, shared.env, ns, policy, rules)
}

// on is scene for any environment.
func on(t *testing.T, env *stories.Env, ns, policy string, limits ...history.Limit) (context.Context, *stories.Scene) {
	t.Helper()
	return onBy(t, env, ns, policy, history.Rules{Limits: limits})
}

func onBy(t *testing.T, env *stories.Env, ns, policy string, rules history.Rules) (context.Context, *stories.Scene) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 5*time.Minute)
	t.Cleanup(cancel)
	s := &stories.Scene{Env: env, Teller: teller{t}, NS: ns}
	t.Cleanup(func() {
		if t.Failed() {
			t.Logf("the manager's log ends with:\n%s", env.Manager.Tail())
		}
	})
	must(t, env.Namespace(ctx, ns))
	inForce(t, ctx, env, policy)
	watched(t, env, rules)
	t.Cleanup(func() { cleanUp(t, s) })
	return ctx, s
}

// watched records the API server's history during the test, and holds it
// against the invariants at the end.
func watched(t *testing.T, env *stories.Env, rules history.Rules) {
	t.Helper()
	recorder, err := history.Start(context.Background(), env.Admin)
	must(t, err)
	t.Cleanup(func() {
		defer recorder.Stop()
		ctx, cancel := context.WithTimeout(context.Background(), 30*time.Second)
		defer cancel()
		if err := recorder.Flush(ctx); err != nil {
			t.Errorf("recording the history: %v", err)
		}
		for _, violation := range recorder.Check(rules) {
			t.Errorf("the history violates an invariant: %v\n%s", violation, violation.Holders)
		}
	})
}

// teller tells a story to a test's log.
type teller struct{ t *testing.T }

func (t teller) Say(format string, args ...any) { t.t.Logf(format, args...) }

func (t teller) Show(command, output string) { t.t.Logf("$ %s\n%s", command, output) }

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}
