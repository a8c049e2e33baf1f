//go:build plane

package e2e

import (
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"encoding/pem"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/holdshort/holdshort/test/stories"
)

// stock is a policy's folder and the stock opa that packs and signs it.
type stock struct {
	t           *testing.T
	opa, folder string
	dir         string // where the keys and archives are
}

const stockRules = `package holdshort.policy

import data.holdshort.lib

deny contains lib.reason("team.example/Big", "more than 4") if lib.total("nvidia.com/gpu") > 4
`

const stockTests = `package holdshort.policy_test

import data.holdshort.policy

test_big if count(policy.deny) == 1 with input as {"workload": {"total": {"nvidia.com/gpu": 5}}}
`

// newStock builds the opa that the project's other tools use, and writes a policy
// with rules, tests and a manifest.
func newStock(t *testing.T) *stock {
	t.Helper()
	s := &stock{t: t, dir: t.TempDir()}
	s.opa, s.folder = filepath.Join(s.dir, "opa"), filepath.Join(s.dir, "policy")
	build := exec.CommandContext(t.Context(), "go", "build", "-modfile=go.tools.mod", "-o", s.opa, "github.com/open-policy-agent/opa")
	build.Dir = filepath.Join("..", "..")
	if out, err := build.CombinedOutput(); err != nil {
		t.Fatalf("building opa: %v\n%s", err, out)
	}
	must(t, os.Mkdir(s.folder, 0o755))
	for name, text := range map[string]string{
		".manifest": bundleFiles()[".manifest"], "data.yaml": bundlePolicy, "rules.rego": stockRules, "rules_test.rego": stockTests,
	} {
		must(t, os.WriteFile(filepath.Join(s.folder, name), []byte(text), 0o600))
	}
	return s
}

// run is the stock opa, in a folder.
func (s *stock) run(in string, args ...string) {
	s.t.Helper()
	command := exec.CommandContext(s.t.Context(), s.opa, args...)
	command.Dir = in
	if out, err := command.CombinedOutput(); err != nil {
		s.t.Fatalf("opa %s: %v\n%s", strings.Join(args, " "), err, out)
	}
}

// key makes a pair of keys: where the private one is. The public one goes into the
// folder keys, if it counts.
func (s *stock) key(name string, counts bool) string {
	s.t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	must(s.t, err)
	private, err := x509.MarshalPKCS8PrivateKey(key)
	must(s.t, err)
	public, err := x509.MarshalPKIXPublicKey(key.Public())
	must(s.t, err)
	file := filepath.Join(s.dir, name+".key")
	must(s.t, os.WriteFile(file, pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: private}), 0o600))
	if counts {
		must(s.t, os.MkdirAll(filepath.Join(s.dir, "keys"), 0o700))
		must(s.t, os.WriteFile(filepath.Join(s.dir, "keys", name+".pem"), pem.EncodeToMemory(&pem.Block{Type: "PUBLIC KEY", Bytes: public}), 0o600))
	}
	return file
}

// build is what opa build makes of the folder.
func (s *stock) build(revision string, signing ...string) *[]byte {
	s.t.Helper()
	s.run(s.dir, append([]string{"build", "-b", "policy", "-r", revision, "-o", "bundle.tar.gz"}, signing...)...)
	archive, err := os.ReadFile(filepath.Join(s.dir, "bundle.tar.gz"))
	must(s.t, err)
	return &archive
}

// restart runs the manager with other arguments; at the end of the test it has
// none again.
func restart(t *testing.T, ctx context.Context, s *stories.Scene, args ...string) {
	t.Helper()
	s.Manager.Kill()
	s.Manager.Args = args
	must(t, s.Manager.Start(ctx))
}

// becomes waits until the status says something.
func becomes(t *testing.T, ctx context.Context, s *stories.Scene, path, want string) {
	t.Helper()
	must(t, stories.Eventually(ctx, 20*time.Second, path+" has "+want, func(ctx context.Context) (bool, string) {
		return rolloutSays(ctx, s.Env, path, want)
	}))
}

// TestWhatStockOPABuildsAndSignsIsTaken: from a server and from a folder; without
// keys nobody asks for a signature, and with them only the right one counts.
func TestWhatStockOPABuildsAndSignsIsTaken(t *testing.T) {
	ctx, s := scene(t, "bundle", strings.Replace(bundlePolicy, "gpu: 4}", "gpu: 0}", 1))
	t.Cleanup(func() { restart(t, context.Background(), s) })
	stock := newStock(t)
	right, wrong := stock.key("release", true), stock.key("other", false)
	signed := func(key string) []string {
		return []string{"--signing-key", key, "--signing-alg", "ES256", "--verification-key-id", "release"}
	}
	keys := []string{"--policy-keys-dir", filepath.Join(stock.dir, "keys"), "--policy-signature-required"}
	const active, errors = "{.status.active.source} {.status.conditions[?(@.type=='PolicyActive')].status}", "{.status.candidate.verdict} {.status.candidate.errors}"

	t.Run("from a server", func(t *testing.T) {
		policyCommand(t, ctx, s.Env, "vendor", stock.folder) // the rules use the library, which stock opa does not have
		stock.run(stock.dir, "test", "policy")
		var served atomic.Pointer[[]byte]
		served.Store(stock.build("unsigned"))
		server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { _, _ = w.Write(*served.Load()) }))
		t.Cleanup(server.Close)
		from := []string{"--policy-url", server.URL + "/bundle.tar.gz", "--policy-loopback-http", "--policy-poll=1s"}

		restart(t, ctx, s, from...)
		becomes(t, ctx, s, active, `revision "unsigned" True`)
		_, err := s.Apply(ctx, job{name: "runs", queue: "bundle", pods: 2, gpus: 1, run: "5m"}.yaml())
		must(t, err)
		must(t, s.Running(ctx, "runs", 2))
		if out, err := s.Apply(ctx, job{name: "big", queue: "bundle", pods: 5, gpus: 1}.yaml()); err == nil || !strings.Contains(out+err.Error(), "team.example/Big") {
			t.Errorf("the bundle's rule does not deny: %v\n%s", err, out)
		}

		restart(t, ctx, s, append(from, keys...)...)
		becomes(t, ctx, s, errors, "no signature, and one is required")
		served.Store(stock.build("signed", signed(right)...))
		becomes(t, ctx, s, active, `revision "signed" True`)
		good := activeDigest(t, ctx, s.Env)
		served.Store(stock.build("forged", signed(wrong)...))
		becomes(t, ctx, s, errors, "the signature does not hold with key release")
		served.Store(stock.build("unsigned"))
		becomes(t, ctx, s, errors, "no signature, and one is required")
		if now := activeDigest(t, ctx, s.Env); now != good {
			t.Errorf("in force is %s, want the signed %s still", now, good)
		}
	})
	t.Run("from a folder", func(t *testing.T) {
		must(t, os.RemoveAll(filepath.Join(stock.folder, ".holdshort"))) // for stock opa alone
		sign := func(key string) {
			old := filepath.Join(stock.folder, ".signatures.json") // opa would sign it as well
			if err := os.Remove(old); err != nil && !os.IsNotExist(err) {
				t.Fatal(err)
			}
			stock.run(stock.folder, "sign", "-b", ".", "--signing-key", key, "--signing-alg", "ES256", "-o", ".")
		}
		sign(right)
		restart(t, ctx, s, append([]string{"--policy-dir", stock.folder}, keys...)...)
		becomes(t, ctx, s, active, "folder "+stock.folder+" True")
		good := activeDigest(t, ctx, s.Env)
		data := filepath.Join(stock.folder, "data.yaml")
		must(t, os.WriteFile(data, []byte(strings.Replace(bundlePolicy, "gpu: 4}", "gpu: 3}", 1)), 0o600))
		becomes(t, ctx, s, errors, "not as it was signed")
		sign(wrong)
		becomes(t, ctx, s, errors, "the signature does not hold with key release")
		if now := activeDigest(t, ctx, s.Env); now != good {
			t.Errorf("in force is %s, want what was signed first, %s", now, good)
		}
		sign(right)
		becomes(t, ctx, s, active, "folder "+stock.folder+" True")
		if now := activeDigest(t, ctx, s.Env); now == good {
			t.Error("what was signed anew is not in force")
		}
	})
}
