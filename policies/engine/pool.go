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
	idle chan *worker
}

// worker is one such goroutine, and belongs to one caller at a time.
type worker struct {
	work chan func()
	done chan struct{} // has room, so that nobody need be there to hear of the end
}

func newPool(idle int) *pool { return &pool{idle: make(chan *worker, idle)} }

// run calls f and tells whether it ended before given closed.
func (p *pool) run(f func(), given <-chan struct{}, stuck *atomic.Int32) bool {
	w := p.take()
	w.work <- f
	select {
	case <-w.done:
		p.put(w)
		return true
	case <-given:
	}
	stuck.Add(1)
	go func() {
		<-w.done
		stuck.Add(-1)
		close(w.work)
	}()
	return false
}

func (p *pool) take() *worker {
	select {
	case w := <-p.idle:
		return w
	default:
	}
	w := &worker{work: make(chan func(), 1), done: make(chan struct{}, 1)}
	go w.serve()
	return w
}

// put keeps a worker, until more are idle than are wanted.
func (p *pool) put(w *worker) {
	select {
	case p.idle <- w:
	default:
		close(w.work)
	}
}

func (w *worker) serve() {
	for work := range w.work {
		work()
		w.done <- struct{}{}
	}
}
