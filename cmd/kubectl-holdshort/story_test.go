package main

import (
	"context"
	"flag"
	"fmt"
	"net/http/httptest"
	"os"
	"os/signal"
	"path/filepath"
	"testing"
	"time"

	"github.com/rogpeppe/go-internal/testscript"
	"k8s.io/cli-runtime/pkg/genericiooptions"

	"github.com/holdshort/holdshort/cmd/kubectl-holdshort/internal/command"
)

// TestMain lets the stories run the plugin as a process of its own, at a moment
// that stands still.
func TestMain(m *testing.M) {
	testscript.Main(m, map[string]func(){"kubectl-holdshort": plugin})
}

func plugin() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	os.Exit(command.Run(ctx, command.Options{
		Args:    os.Args[1:],
		Streams: genericiooptions.IOStreams{In: os.Stdin, Out: os.Stdout, ErrOut: os.Stderr},
		Now:     func() time.Time { return time.Date(2026, 3, 2, 10, 0, 0, 0, time.UTC) },
		Env:     os.LookupEnv,
	}))
}

// TestStories runs testdata/stories, each against an API server that serves the
// story's folder cluster. With -update, expected output is rewritten.
func TestStories(t *testing.T) {
	testscript.Run(t, testscript.Params{
		Dir:           filepath.Join("testdata", "stories"),
		UpdateScripts: flag.Lookup("update").Value.String() == "true",
		Setup: func(env *testscript.Env) error {
			dir := filepath.Join(env.WorkDir, "cluster")
			server := httptest.NewServer(&apiServer{dir: dir, watched: map[string]bool{}})
			env.Defer(server.Close)
			env.Setenv("KUBECONFIG", filepath.Join(env.WorkDir, "kubeconfig"))
			return os.WriteFile(filepath.Join(env.WorkDir, "kubeconfig"), []byte(kubeconfig(server.URL)), 0o600)
		},
	})
}

var _ = flag.Bool("update", false, "rewrite what the stories expect")

func kubeconfig(url string) string {
	return fmt.Sprintf(`apiVersion: v1
kind: Config
clusters: [{name: story, cluster: {server: %q}}]
users: [{name: alice, user: {token: story}}]
contexts: [{name: story, context: {cluster: story, user: alice, namespace: research}}]
current-context: story
`, url)
}
