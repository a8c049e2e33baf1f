package binaries

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"os/exec"
	"strings"
	"sync"
	"time"
)

// build runs the Go command. Its -v output, one line for each package that is
// compiled, is what the progress is made of; all other output is kept and
// shown when the build fails.
func (c component) build(ctx context.Context, module, out string, log io.Writer) error {
	args := []string{"build", "-v", "-buildvcs=false", "-mod=readonly", "-o", out + "/", "-ldflags", c.ldflags}
	cmd := exec.CommandContext(ctx, "go", append(args, c.packages...)...)
	cmd.Dir = module
	cmd.Env = buildEnv()
	cmd.WaitDelay = 5 * time.Second
	output := &buildOutput{}
	cmd.Stdout, cmd.Stderr = output, output

	started := time.Now()
	fmt.Fprintf(log, "plane: building %s; %s, later ones are cached\n", strings.Join(c.programs, ", "), c.patience)
	stop := reportProgress(log, func() string { return output.progress(c.name, c.about) })
	err := cmd.Run()
	stop()
	if ctx.Err() != nil {
		return ctx.Err()
	}
	if err != nil {
		return fmt.Errorf("go build: %w\n%s", err, output.tail())
	}
	fmt.Fprintf(log, "plane: built %s in %s\n", c.name, time.Since(started).Round(time.Second))
	return nil
}

// buildOutput counts the lines of a build and keeps the last ones.
type buildOutput struct {
	mu                   sync.Mutex
	downloaded, compiled int
	line                 []byte // begun, and not ended yet
	text                 []byte
}

const buildOutputBytesMax = 16 << 10

func (o *buildOutput) Write(p []byte) (int, error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	for _, b := range p {
		if b != '\n' {
			o.line = append(o.line, b)
			continue
		}
		if bytes.HasPrefix(o.line, []byte("go: downloading ")) {
			o.downloaded++
		} else {
			o.compiled++
		}
		o.line = o.line[:0]
	}
	o.text = append(o.text, p...)
	if excess := len(o.text) - buildOutputBytesMax; excess > 0 {
		o.text = o.text[excess:]
	}
	return len(p), nil
}

// progress says how far it is. A package that is cached is not compiled, so
// there is no honest percentage.
func (o *buildOutput) progress(name string, about int) string {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.compiled == 0 && o.downloaded > 0 {
		return fmt.Sprintf("building %s, %d modules downloaded", name, o.downloaded)
	}
	return fmt.Sprintf("building %s, %d of about %d packages compiled", name, o.compiled, about)
}

func (o *buildOutput) tail() string {
	o.mu.Lock()
	defer o.mu.Unlock()
	return string(o.text)
}
