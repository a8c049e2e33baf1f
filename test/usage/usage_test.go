package usage_test

import (
	"os"
	"os/exec"
	"testing"
	"time"

	"github.com/holdshort/holdshort/test/usage"
)

func TestOwnUsageGrowsWithWork(t *testing.T) {
	before, err := usage.Of(os.Getpid())
	if err != nil {
		t.Fatal(err)
	}
	for n, began := 0, time.Now(); time.Since(began) < 100*time.Millisecond; n++ {
		_ = n * n
	}
	after, err := usage.Of(os.Getpid())
	if err != nil {
		t.Fatal(err)
	}
	if after.CPU <= before.CPU || after.MemoryMax < 1<<20 {
		t.Errorf("after 100 ms of work %+v, before %+v", after, before)
	}
}

func TestChildIsFoundByItsProgram(t *testing.T) {
	path, err := exec.LookPath("sleep")
	if err != nil {
		t.Fatal(err)
	}
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	const name = "holdshort-test-sleeper"
	copied := t.TempDir() + "/" + name
	if err := os.WriteFile(copied, data, 0o700); err != nil {
		t.Fatal(err)
	}
	if pid, err := usage.Child(name); err == nil {
		t.Fatalf("found %d, which was not started yet", pid)
	}
	cmd := exec.Command(copied, "60")
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = cmd.Process.Kill(); _ = cmd.Wait() })
	pid, err := usage.Child(name)
	if err != nil || pid != cmd.Process.Pid {
		t.Errorf("found %d (%v), started %d", pid, err, cmd.Process.Pid)
	}
}
