package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"os/signal"
	"syscall"
)

// holdCommand is what up --detach starts; not for people.
const holdCommand = "hold"

// detach starts this program again as the holder of the plane, and returns
// when the holder closes its output, which it does when the plane is ready.
func detach(ctx context.Context, args []string) error {
	self, err := os.Executable()
	if err != nil {
		return fmt.Errorf("finding this program: %w", err)
	}
	holder := exec.Command(self, append([]string{holdCommand}, args...)...)
	holder.SysProcAttr = detached()
	output, err := holder.StdoutPipe()
	if err != nil {
		return fmt.Errorf("making a pipe: %w", err)
	}
	progress, err := holder.StderrPipe()
	if err != nil {
		return fmt.Errorf("making a pipe: %w", err)
	}
	if err := holder.Start(); err != nil {
		return fmt.Errorf("starting the plane's holder: %w", err)
	}
	defer context.AfterFunc(ctx, func() { holder.Process.Signal(syscall.SIGTERM) })()
	go io.Copy(os.Stderr, progress)
	var said bytes.Buffer
	if _, err := io.Copy(&said, output); err != nil {
		return fmt.Errorf("listening to the plane's holder: %w", err)
	}
	if said.Len() == 0 {
		return errors.Join(errors.New("the plane did not start"), holder.Wait())
	}
	_, err = said.WriteTo(os.Stdout)
	return err
}

// hold runs the plane of up --detach. Its output goes to a process that leaves
// when the plane is ready, so from then on it says nothing.
func hold(ctx context.Context, args []string) error {
	signal.Ignore(syscall.SIGPIPE)
	f, err := parseUp(args)
	if err != nil {
		return err
	}
	c, err := bringUp(ctx, f)
	if err != nil {
		return err
	}
	if err := os.Stdout.Close(); err != nil {
		return errors.Join(fmt.Errorf("letting go of the terminal: %w", err), c.Stop())
	}
	return errors.Join(watch(ctx, c, 0), c.Stop())
}
