package main

import (
	"context"
	"fmt"
	"os"
	"os/signal"
	"syscall"
)

const usage = `usage: plane COMMAND [flags]

  up       start a plane; --help lists the flags
  down     end the plane of a directory
  kubectl  run kubectl on it, as alice or --as somebody else
  build    only build the programs
`

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM, syscall.SIGHUP)
	defer stop()
	if err := run(ctx, os.Args[1:]); err != nil {
		fmt.Fprintln(os.Stderr, "plane:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context, args []string) error {
	if len(args) == 0 {
		return fmt.Errorf("which command?\n%s", usage)
	}
	switch command, args := args[0], args[1:]; command {
	case "up":
		return up(ctx, args)
	case holdCommand:
		return hold(ctx, args)
	case "down":
		return down(ctx, args)
	case "kubectl":
		return kubectl(ctx, args)
	case "build":
		return build(ctx, args)
	case "help", "--help", "-h":
		fmt.Print(usage)
		return nil
	default:
		return fmt.Errorf("no command %q\n%s", command, usage)
	}
}
