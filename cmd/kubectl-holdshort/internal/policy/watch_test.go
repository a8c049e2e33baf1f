package policy

import (
	"bytes"
	"context"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"k8s.io/cli-runtime/pkg/genericiooptions"

	"github.com/holdshort/holdshort/policies/engine/testrun"
)

// shared is a buffer that one goroutine writes and another reads.
type shared struct {
	mu   sync.Mutex
	text bytes.Buffer
}

func (s *shared) Write(p []byte) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.text.Write(p)
}

func (s *shared) await(t *testing.T, want string) {
	t.Helper()
	for deadline := time.Now().Add(time.Minute); time.Now().Before(deadline); time.Sleep(20 * time.Millisecond) {
		s.mu.Lock()
		got := s.text.String()
		s.mu.Unlock()
		if strings.Contains(got, want) {
			return
		}
	}
	t.Fatalf("never said %q, only\n%s", want, s.text.String())
}

func TestWatchRunsTheTestsAgainWhenAFileChanges(t *testing.T) {
	dir, out := filepath.Join(t.TempDir(), "pol"), &shared{}
	p := Plugin{Streams: genericiooptions.IOStreams{Out: out, ErrOut: out}, Now: time.Now}
	if err := p.runNew(dir); err != nil {
		t.Fatal(err)
	}
	ctx, stop := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() { ended <- p.watchTests(ctx, dir, testFlags{watch: true}, testrun.Options{}) }()
	out.await(t, "3 passed\n")
	write := func(name, text string) {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	write("more_test.rego", "package more_test\n\ntest_wrong if 1 == 2\n")
	out.await(t, "3 passed, 1 failed")
	write("more_test.rego", "package more_test\n\ntest_wrong if {\n")
	out.await(t, "more_test.rego:4: rego_parse_error")
	write("more_test.rego", "package more_test\n\ntest_right if 1 == 1\n")
	out.await(t, "4 passed\n")
	stop()
	if err := <-ended; err != nil {
		t.Errorf("an interrupt is how a watch ends, but: %v", err)
	}
}
