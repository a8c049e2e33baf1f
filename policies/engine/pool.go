package engine

import "sync/atomic"

// stuckMax is how many evaluations of one entrypoint may be given up and still run.
// Each holds a goroutine and its memory, and nothing can end it from outside.
const stuckMax = 4

// idleMax is how many goroutines of one entrypoint wait for an evaluation.
const idleMax = 8

// pool runs evaluations where they can be left alone: a built-in that computes a
// number of a billion digits does not hear that its time is up. Its goroutines stay
// for the next one, since their stacks have grown to what an evaluation needs.
type pool struct {
	idle chan chan func()
}

func newPool(idle int) *pool { return &pool{idle: make(chan chan func(), idle)} }

// run calls f and tells whether it ended before given closed.
func (p *pool) run(f func(), given <-chan struct{}, stuck *atomic.Int32) bool {
	done := make(chan struct{})
	work := func() {
		defer close(done)
		f()
	}
	select {
	case worker := <-p.idle:
		worker <- work
	default:
		worker := make(chan func(), 1)
		worker <- work
		go p.serve(worker)
	}
	select {
	case <-done:
		return true
	case <-given:
	}
	stuck.Add(1)
	go func() {
		<-done
		stuck.Add(-1)
	}()
	return false
}

// serve works until more goroutines than are wanted are idle.
func (p *pool) serve(worker chan func()) {
	for work := range worker {
		work()
		select {
		case p.idle <- worker:
		default:
			return
		}
	}
}
