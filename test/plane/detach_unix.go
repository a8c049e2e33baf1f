//go:build unix

package main

import "syscall"

// detached is a session of its own: what ends the terminal does not end it.
func detached() *syscall.SysProcAttr { return &syscall.SysProcAttr{Setsid: true} }
